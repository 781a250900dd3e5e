"""The scores as a table for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from math import isnan
from typing import Any

import pandas as pd

from take.evaluation.names import KINDS, ordered_learners, ordered_methods
from take.text.format import MISSING

WIDTH = 100
METRICS = {"accuracy": "accuracy", "macro_f1": "macro F1", "accuracy_f1": "(accuracy + F1) / 2"}
# Where a method is, seen from the one that is compared.
BELOW, ABOVE = "▼", "▲"
MARKS = {"better": BELOW, "worse": ABOVE}
_BOTH = ("accuracy", "macro_f1")
_GAP = 2
_UNLIMITED = 10_000


def readable_table(summary: pd.DataFrame, width: int = WIDTH) -> str:
    """Methods down, learners across: mean ± standard error in %, at most `width` columns wide.

    First the headline metric, then the other one; independent learners first.

    >>> from take.evaluation.cells import CellResult, cells_table
    >>> from take.evaluation.summary import summary_table
    >>> cells = cells_table([
    ...     CellResult(corpus="films", budget="2/class", method=method, learner="lr", set_seed=seed,
    ...         training_seed=0, accuracy=accuracy, macro_f1=accuracy - 0.02, rows=4,
    ...         independent=False, set_digest=f"{method}{seed}", evaluation_rows=1000,
    ...         learner_title="logistic regression on TF-IDF")
    ...     for method, accuracy in (("random", 0.6), ("take", 0.7)) for seed in range(5)])
    >>> print(readable_table(summary_table(cells)))
    films, 2/class: accuracy in %, learners in the selector's feature spaces
    <BLANKLINE>
            seeds  lr
    random  5      60.0
    take    5      70.0
    <BLANKLINE>
    films, 2/class: macro F1 in %, learners in the selector's feature spaces
    <BLANKLINE>
            seeds  lr
    random  5      58.0
    take    5      68.0
    <BLANKLINE>
    lr  logistic regression on TF-IDF; evaluated on 1,000 rows
    <BLANKLINE>
    ±      standard error over training sets and evaluation rows
    seeds  distinct sets × trainings on each
    no ±   not measured: predictions were not stored, or a single one of many sets
    ▼ ▲    nowhere: no method is shown to be below or above take at 95 %
    """
    if summary.empty:
        return "Nothing was evaluated: there are no scores."
    blocks = []
    for (corpus, budget), block in summary.groupby(["corpus", "budget"], sort=False):
        headline = str(block["metric"].iloc[0])
        for metric in (headline, *(name for name in _BOTH if name != headline)):
            for kind, its in block.groupby("independent", sort=False):
                if metric != headline and its[metric].isna().all():
                    continue
                title = f"{corpus}, {budget}: {METRICS[metric]} in %, {KINDS[bool(kind)]}"
                blocks += [_drawn([(title,)], width), *_tables(its, metric, width)]
        failures = "; ".join(_failures(block))
        if failures:
            blocks.append(_drawn([("failed", failures)], width))
    learners, legend = _learners(summary), _legend(summary)
    return "\n\n".join([*blocks, _drawn(learners, width), _drawn(legend, width)])


def score(row: Mapping[Any, object], decimals: int = 1) -> str:
    """A mean and its standard error in %.

    >>> score({"mean": 0.7214, "standard_error": 0.0042}), score({"mean": None})
    ('72.1 ± 0.4', '–')
    """
    mean, error = number(row.get("mean")), number(row.get("standard_error"))
    if mean is None:
        return MISSING
    spread = "" if error is None else f" ± {100 * error:.{decimals}f}"
    return f"{100 * mean:.{decimals}f}{spread}"


def number(value: object) -> float | None:
    """A number of a table; None if the place is empty."""
    return float(value) if isinstance(value, int | float) and not isnan(value) else None


def seeds(of_method: pd.DataFrame) -> str:
    """Distinct sets, and trainings on each if there were several; learners may differ."""
    scored = of_method[of_method["n_cells"] > 0]
    if scored.empty:
        return MISSING
    sets = int(scored["n_distinct_sets"].max())
    trainings = int((scored["n_cells"] / scored["n_distinct_sets"]).max())
    return str(sets) if trainings == 1 else f"{sets} × {trainings}"


def _tables(block: pd.DataFrame, metric: str, width: int) -> Iterator[str]:
    """The learners next to each other, as many per table as fit."""
    methods = ordered_methods(block["method"])
    is_headline = metric == block["metric"].iloc[0]
    by_place = {(str(r["learner"]), str(r["method"])): r for r in block.to_dict("records")}
    columns = {
        learner: [
            learner,
            *(_cell(by_place.get((learner, name)), metric, is_headline) for name in methods),
        ]
        for learner in ordered_learners(block["learner"])
    }
    first = ["", *methods]
    counts = ["seeds", *(seeds(block[block["method"] == name]) for name in methods)]
    kept = {learner: _kept(block[block["learner"] == learner]) for learner in columns}
    if is_headline and set(kept.values()) != {MISSING}:
        first.append("share kept")
        counts.append("")
        for learner, column in columns.items():
            column.append(kept[learner])
    room = width - _width(first) - _width(counts) - _GAP
    for group in _fitting(list(columns.values()), room):
        yield _drawn(list(zip(first, counts, *group, strict=True)), _UNLIMITED)


def _cell(row: Mapping[Any, object] | None, metric: str, is_headline: bool) -> str:
    """The score; in the headline metric, marked if the difference from the compared is shown."""
    if row is None:
        return ""
    if not row["n_cells"]:
        return "failed"
    mark = MARKS.get(str(row["margin_verdict"]), "") if is_headline else ""
    mine = {"mean": row[metric], "standard_error": row[f"{metric}_error"]}
    return f"{score(mine)} {mark}".rstrip()


def _kept(of_learner: pd.DataFrame) -> str:
    """The share of the gain from full data that the compared method keeps."""
    ours = of_learner[of_learner["method"] == of_learner["compared"]]
    if ours.empty:
        return MISSING
    share, error = (number(ours[name].iloc[0]) for name in ("share_kept", "share_kept_error"))
    spread = "" if error is None else f" ± {100 * error:.1f}"
    return MISSING if share is None else f"{100 * share:.1f}{spread}"


def _failures(block: pd.DataFrame) -> Iterator[str]:
    for row in block[block["n_failed"] > 0].to_dict("records"):
        failed = int(row["n_failed"])
        yield f"{row['method']} with {row['learner']} ({failed} of {failed + int(row['n_cells'])})"


def _learners(summary: pd.DataFrame) -> list[tuple[str, str]]:
    """What the learners are, and on how many rows they were evaluated."""
    found = []
    for name in ordered_learners(summary["learner"]):
        mine = summary[(summary["learner"] == name) & (summary["n_cells"] > 0)]
        titles = [str(title) for title in mine["learner_title"] if title]
        rows = sorted({int(count) for count in mine["evaluation_rows"].dropna() if count})
        ends = " to ".join(f"{count:,}" for count in dict.fromkeys(rows[:1] + rows[-1:]))
        parts = [*titles[:1], *([f"evaluated on {ends} rows"] if rows else [])]
        found.append((name, "; ".join(parts)))
    return found


def _legend(summary: pd.DataFrame) -> list[tuple[str, str]]:
    legend = [
        ("±", "standard error over training sets and evaluation rows"),
        ("seeds", "distinct sets × trainings on each"),
    ]
    if (summary["standard_error"].isna() & (summary["n_cells"] > 0)).any():
        what = "not measured: predictions were not stored, or a single one of many sets"
        legend.append(("no ±", what))
    names = " or ".join(summary["compared"].dropna().unique())
    if names and summary["share_kept"].notna().any():
        what = f"above chance, by {names}: % of the gain from full data over a constant prediction"
        legend.append(("share kept", what))
    shown = f"shown to be below or above {names}"
    if summary["margin_verdict"].isin(list(MARKS)).any():
        what = f"{shown}: the 95 % interval of the difference excludes 0, over sets and rows"
        legend.append((f"{BELOW} {ABOVE}", what))
    elif names:
        legend.append((f"{BELOW} {ABOVE}", f"nowhere: no method is {shown} at 95 %"))
    return legend


def _drawn(rows: Sequence[Sequence[str]], width: int) -> str:
    """Aligned columns; the last one wraps."""
    from rich.console import Console
    from rich.table import Table

    table = Table.grid(padding=(0, _GAP, 0, 0))
    for place in range(len(rows[0])):
        table.add_column(no_wrap=place + 1 < len(rows[0]))
    for row in rows:
        table.add_row(*row)
    console = Console(width=width, file=StringIO(), color_system=None, markup=False, emoji=False)
    with console.capture() as drawn:
        console.print(table, highlight=False)
    return "\n".join(line.rstrip() for line in drawn.get().splitlines())


def _fitting(columns: Sequence[list[str]], room: int) -> Iterator[list[list[str]]]:
    """Columns in groups that fit; a column that is too wide forms a group of its own."""
    group: list[list[str]] = []
    for column in columns:
        if group and sum(_width(one) + _GAP for one in [*group, column]) > room:
            yield group
            group = []
        group.append(column)
    yield group


def _width(texts: Sequence[str]) -> int:
    return max(map(len, texts))
