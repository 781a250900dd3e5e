"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from take.evaluation.tables import number
from take.text.format import MISSING


def table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    r"""A table whose first `left` columns hold words, the others figures.

    >>> print(table(["method", "lr"], [["take", "72.1"], ["a|b", ""]]))
    | method | lr |
    |---|---:|
    | take | 72.1 |
    | a\|b |  |
    """
    rule = "|".join(["---"] * left + ["---:"] * (len(header) - left))
    lines = ["| " + " | ".join(map(_escaped, row)) + " |" for row in (header, *rows)]
    return "\n".join([lines[0], f"|{rule}|", *lines[1:]])


def percent(share: object, decimals: int = 1) -> str:
    """A share in %, without the unit.

    >>> percent(0.8614), percent(None)
    ('86.1', '–')
    """
    value = number(share)
    return MISSING if value is None else f"{100 * value:.{decimals}f}"


def _escaped(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
