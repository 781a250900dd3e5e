"""Tables, figures and footnotes in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from take.evaluation.tables import number
from take.text.format import MISSING

_LETTERS = "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ"


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


def folded(title: str, body: str) -> str:
    """A section that opens at a click."""
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"


def code(name: object) -> str:
    """A name as in the settings."""
    return f"`{name}`"


def percent(share: object, decimals: int = 1) -> str:
    """A share in %, without the unit.

    >>> percent(0.8614), percent(None)
    ('86.1', '–')
    """
    value = number(share)
    return MISSING if value is None else f"{100 * value:.{decimals}f}"


def both(row: Mapping[Any, object]) -> str:
    """Accuracy and macro F1 of a row of the summary, each with its error.

    >>> both({"accuracy": 0.72, "accuracy_error": 0.01, "macro_f1": 0.5, "macro_f1_error": None})
    '72.0 ± 1.0 / 50.0'
    >>> both({})
    '–'
    """
    shown = []
    for name in ("accuracy", "macro_f1"):
        error = number(row.get(f"{name}_error"))
        spread = "" if error is None else f" ± {percent(error)}"
        shown.append(percent(row.get(name)) + spread)
    return MISSING if shown == [MISSING] * 2 else " / ".join(shown)


def both_of(accuracy: object, macro_f1: object) -> str:
    """The same of two shares without errors."""
    return both({"accuracy": accuracy, "macro_f1": macro_f1})


def points(row: Mapping[Any, object], names: Sequence[str], decimals: int = 1) -> str:
    """A difference in points, its interval and verdict: the first three and the last of `names`.

    >>> points({"d": 0.041, "l": 0.02, "h": 0.062, "v": "better"}, "dlhv")
    '+4.1 [+2.0, +6.2] better'
    >>> points({"d": -0.004, "l": None, "h": None, "v": "no difference shown"}, "dlhv")
    '-0.4'
    """
    mean, low, high = (number(row.get(name)) for name in names[:3])
    if mean is None:
        return MISSING
    text = _signed(mean, decimals)
    if low is not None and high is not None:
        text += f" [{_signed(low, decimals)}, {_signed(high, decimals)}]"
    verdict = str(row.get(names[-1]))
    return f"{text} {verdict}" if verdict in ("better", "worse") else text


class Footnotes:
    """Footnote marks and their texts, in order of first use.

    >>> notes = Footnotes()
    >>> notes.mark("other weights"), notes.mark("fewer rows"), notes.mark("other weights")
    ('ᵃ', 'ᵇ', 'ᵃ')
    >>> print(notes)
    - ᵃ other weights
    - ᵇ fewer rows
    """

    def __init__(self) -> None:
        self._texts: list[str] = []

    def mark(self, text: str) -> str:
        """The mark of a footnote; equal texts share one."""
        if text not in self._texts:
            self._texts.append(text)
        return self._letter(self._texts.index(text))

    def __str__(self) -> str:
        return "\n".join(f"- {self._letter(n)} {text}" for n, text in enumerate(self._texts))

    @staticmethod
    def _letter(place: int) -> str:
        more, letter = divmod(place, len(_LETTERS))
        return _LETTERS[letter] * (more + 1)


def _signed(share: float, decimals: int) -> str:
    return f"{100 * share:+.{decimals}f}"


def _escaped(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
