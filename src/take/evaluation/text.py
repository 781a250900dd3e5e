"""The scores as a table for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from textwrap import wrap
from typing import Any

import pandas as pd

from take.evaluation.names import FULL, ordered_learners, ordered_methods

WIDTH = 100
METRICS = {"accuracy": "accuracy", "macro_f1": "macro F1", "accuracy_f1": "(accuracy + F1) / 2"}
# Where a method stands, seen from the one that is compared.
BELOW, ABOVE = "▼", "▲"
MARKS = {"better": BELOW, "worse": ABOVE}
_GAP = "  "
_NOTHING = "–"


def readable_table(summary: pd.DataFrame, width: int = WIDTH) -> str:
    """Methods down, learners across: mean ± standard error in %, at most `width` columns wide.

    >>> from take.evaluation.cells import CellResult, cells_table
    >>> from take.evaluation.summary import summary_table
    >>> cells = cells_table([
    ...     CellResult(corpus="films", budget="2/class", method=method, learner="lr", set_seed=seed,
    ...         training_seed=0, accuracy=accuracy + gain * seed, set_digest=f"{method}{seed}",
    ...         rows=4, asked_rows=1000, learner_title="logistic regression on TF-IDF")
    ...     for method, accuracy, gain in (("random", 0.6, 0), ("take", 0.7, 0.004))
    ...     for seed in range(5)])
    >>> print(readable_table(summary_table(cells, {})))
    films, 2/class: accuracy in %
    <BLANKLINE>
            seeds  lr
    random  5      60.0 ± 0.0 ▼
    take    5      70.8 ± 0.3
    <BLANKLINE>
    lr  logistic regression on TF-IDF; asked 1,000 rows
    <BLANKLINE>
    ±      standard error over training sets, or over the trainings of a single set
    seeds  distinct sets × trainings on each
    ▼ ▲    shown to be below or above take: the 95 % interval of paired differences excludes 0
    """
    if summary.empty:
        return "Nothing was evaluated: there are no scores."
    blocks = []
    for (corpus, budget), block in summary.groupby(["corpus", "budget"], sort=False):
        metric = str(block["metric"].iloc[0])
        blocks.append(f"{corpus}, {budget}: {METRICS.get(metric, metric)} in %")
        blocks += _tables(block, width)
        failures = list(_failures(block))
        if failures:
            blocks.append("\n".join(_hung("failed", "; ".join(failures), width)))
    return "\n\n".join([*blocks, _learners(summary, width), _legend(summary, width)])


def score(row: Mapping[Any, object], decimals: int = 1) -> str:
    """A mean and its error in %, as both terminal and page print them.

    >>> score({"mean": 0.7214, "standard_error": 0.0042}), score({"mean": None})
    ('72.1 ± 0.4', '–')
    """
    mean, error = number(row.get("mean")), number(row.get("standard_error"))
    if mean is None:
        return _NOTHING
    spread = "" if error is None else f" ± {100 * error:.{decimals}f}"
    return f"{100 * mean:.{decimals}f}{spread}"


def number(value: object) -> float | None:
    """A number out of a table; None of an empty place."""
    return float(value) if isinstance(value, int | float) and not isnan(value) else None


def _tables(block: pd.DataFrame, width: int) -> Iterator[str]:
    """The learners side by side, as many at a time as there is room for."""
    methods = ordered_methods(block["method"])
    by_place = {(str(r["learner"]), str(r["method"])): r for r in block.to_dict("records")}
    columns = {
        learner: [learner, *(_cell(by_place.get((learner, name))) for name in methods)]
        for learner in ordered_learners(block["learner"])
    }
    compared = block["compared"].dropna()
    kept = {learner: _kept(block[block["learner"] == learner]) for learner in columns}
    stub = ["", *methods]
    if any(kept.values()):
        stub.append(f"{compared.iloc[0]} / {FULL}")
        for learner, column in columns.items():
            column.append(kept[learner] or _NOTHING)
    counts = ["seeds", *(seeds(block[block["method"] == name]) for name in methods)]
    counts += [""] * (len(stub) - len(counts))
    room = width - _width(stub) - _width(counts) - len(_GAP)
    for group in _fitting(list(columns.values()), room):
        yield _aligned([stub, counts, *group])


def _cell(row: Mapping[Any, object] | None) -> str:
    if row is None:
        return ""
    if not row["n_cells"]:
        return "failed"
    mark = MARKS.get(str(row["margin_verdict"]), "")
    return f"{score(row)} {mark}".rstrip()


def _kept(of_learner: pd.DataFrame) -> str:
    """What part of the full-data score the compared method keeps."""
    ours = of_learner[of_learner["method"] == of_learner["compared"]]
    share = number(ours["share_kept"].iloc[0]) if len(ours) else None
    return "" if share is None else f"{100 * share:.1f} %"


def seeds(of_method: pd.DataFrame) -> str:
    """Distinct sets, and trainings on each where there were more; learners may differ."""
    scored = of_method[of_method["n_cells"] > 0]
    if scored.empty:
        return _NOTHING
    sets = int(scored["n_distinct_sets"].max())
    trainings = int((scored["n_cells"] / scored["n_distinct_sets"]).max())
    return str(sets) if trainings == 1 else f"{sets} × {trainings}"


def _failures(block: pd.DataFrame) -> Iterator[str]:
    for row in block[block["n_failed"] > 0].to_dict("records"):
        failed = int(row["n_failed"])
        yield f"{row['method']} with {row['learner']} ({failed} of {failed + int(row['n_cells'])})"


def _learners(summary: pd.DataFrame, width: int) -> str:
    """What the learners are, and how many rows they were asked on each corpus."""
    names = ordered_learners(summary["learner"])
    lines = []
    for name in names:
        mine = summary[(summary["learner"] == name) & (summary["n_cells"] > 0)]
        titles = [str(title) for title in mine["learner_title"] if title]
        asked = sorted({int(rows) for rows in mine["asked_rows"].dropna() if rows})
        parts = [*titles[:1], *([f"asked {_range(asked)} rows"] if asked else [])]
        lines += _hung(name.ljust(_width(names)), "; ".join(parts), width)
    return "\n".join(lines)


def _range(counts: Sequence[int]) -> str:
    ends = f"{counts[0]:,}", f"{counts[-1]:,}"
    return ends[0] if len(counts) == 1 else " to ".join(ends)


def _legend(summary: pd.DataFrame, width: int) -> str:
    told = {
        "±": "standard error over training sets, or over the trainings of a single set",
        "seeds": "distinct sets × trainings on each",
    }
    if summary["standard_error"].isna().any():
        told["no ±"] = "one observation: a single run, or a method and a learner that draw nothing"
    names = " or ".join(summary["compared"].dropna().unique())
    if summary["margin_verdict"].isin(list(MARKS)).any():
        told[f"{BELOW} {ABOVE}"] = (
            f"shown to be below or above {names}: the 95 % interval of paired differences "
            "excludes 0"
        )
    elif names:
        told[f"{BELOW} {ABOVE}"] = (
            f"nowhere: no method is shown to be below or above {names} at 95 %"
        )
    heads = _width(list(told))
    return "\n".join(
        line for head, text in told.items() for line in _hung(head.ljust(heads), text, width)
    )


def _hung(head: str, text: str, width: int) -> list[str]:
    """The text behind its head, further lines below its beginning."""
    lines = wrap(text, width - len(head) - len(_GAP)) or [""]
    return [f"{head if n == 0 else ' ' * len(head)}{_GAP}{line}" for n, line in enumerate(lines)]


def _fitting(columns: Sequence[list[str]], room: int) -> Iterator[list[list[str]]]:
    """Columns in groups that fit; one that fits nowhere stands alone."""
    group: list[list[str]] = []
    for column in columns:
        if group and sum(_width(one) + len(_GAP) for one in [*group, column]) > room:
            yield group
            group = []
        group.append(column)
    yield group


def _aligned(columns: Sequence[Sequence[str]]) -> str:
    padded = [[text.ljust(_width(column)) for text in column] for column in columns]
    return "\n".join(_GAP.join(line).rstrip() for line in zip(*padded, strict=True))


def _width(texts: Sequence[str]) -> int:
    return max(map(len, texts))
