"""The long part of the page of results: every score, the ablation, cost and failures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import sqrt
from typing import Any

import pandas as pd

from bench.ablation import ALL_LEARNERS, ablation_table
from bench.in_short import budget_in_words
from bench.markdown import both, code, folded, percent, points, table
from take.evaluation.names import (
    CONSTANT,
    FULL,
    meaning,
    ordered_corpora,
    ordered_learners,
    ordered_methods,
)
from take.evaluation.outcomes import Outcomes
from take.evaluation.summary import DIFFERENCE, VS_RANDOM
from take.evaluation.tables import ABOVE, BELOW, MARKS, METRICS, number, seeds
from take.text.format import MISSING

Row = dict[Any, Any]
_ONE_SET = (FULL, CONSTANT)


def grid_sections(
    summary: pd.DataFrame, comparisons: pd.DataFrame, training_rows: Mapping[str, int]
) -> Iterator[str]:
    """For every corpus and budget: scores, shares kept, differences, deviations."""
    if summary.empty:
        return
    names = " or ".join(summary["compared"].dropna().unique())
    marks = f"{BELOW} and {ABOVE}: shown to be below or above {code(names)}. " if names else ""
    yield (
        f"## Every score\n\n{marks}*Seeds* are distinct training sets × trainings on each. The "
        "tables below the first of each section open at a click."
    )
    for (corpus, budget), block in summary.groupby(["corpus", "budget"], sort=False):
        metric = str(block["metric"].iloc[0])
        budget_ = budget_in_words(summary, str(corpus), str(budget), training_rows)
        here = comparisons[(comparisons["corpus"] == corpus) & (comparisons["budget"] == budget)]
        parts = [
            f"### {code(corpus)} at {budget}",
            f"Accuracy / macro F1 in %; {METRICS.get(metric, metric)} counts. {budget_}. "
            "Independent learners come first.",
            _by_learner(block, _marked, with_seeds=True),
            folded("Share kept above chance, %", _by_learner(block, _kept)),
            folded(
                "Difference from `random`, points, with its 95 % interval",
                _by_learner(block, lambda row: points(row, VS_RANDOM)),
            ),
            *_against(here),
            folded(
                "Standard deviation over sets / over trainings of one set, points",
                _by_learner(block, _deviations)
                + "\n\n*Both*: with one training on each set, they cannot be separated.",
            ),
        ]
        yield "\n\n".join(parts)


def parts_section(
    cells: pd.DataFrame, outcomes: Outcomes, comparisons: pd.DataFrame, compared: str
) -> str:
    """What each part of TAKE is worth: its lead over itself with that part changed."""
    found = ablation_table(cells, outcomes, comparisons, compared)
    if found.empty:
        return ""
    parts = [
        "## What the parts are worth",
        f"Points that {code(compared)} scores above itself with one part changed, with the 95 % "
        "interval: *better* favours the part as it is, *worse* the change. Over all "
        "learners, scores are averaged set by set first.",
    ]
    for (corpus, budget), block in found.groupby(["corpus", "budget"], sort=False):
        learners = [name for name in block["learner"].unique() if name != ALL_LEARNERS]
        columns = [ALL_LEARNERS, *ordered_learners(learners)]
        places = {(row["variant"], row["learner"]): row for row in block.to_dict("records")}
        rows = [
            [
                meaning(variant),
                code(variant),
                *(points(places.get((variant, name), {}), DIFFERENCE) for name in columns),
            ]
            for variant in ordered_methods(block["variant"])
        ]
        header = ["changed", "variant", *(n if n == ALL_LEARNERS else code(n) for n in columns)]
        parts += [f"### {code(corpus)} at {budget}", table(header, rows, left=2)]
    return "\n\n".join(parts)


def cost_section(summary: pd.DataFrame) -> str:
    """The cost of training and predicting, and of making a set."""
    scored = summary[summary["n_cells"] > 0]
    if scored.empty:
        return ""
    learners, sets = [], []
    corpora = ordered_corpora(scored["corpus"])
    for corpus in corpora:
        of_corpus = scored[scored["corpus"] == corpus]
        for learner in ordered_learners(of_corpus["learner"]):
            mine = of_corpus[of_corpus["learner"] == learner]
            groups = (mine[mine["method"] != FULL], mine[mine["method"] == FULL])
            seconds = [f"{g['seconds'].mean():,.1f}" if len(g) else MISSING for g in groups]
            peaks = [f"{g['peak_megabytes'].max():,.0f}" if len(g) else MISSING for g in groups]
            learners.append([code(corpus), code(learner), *seconds, *peaks])
    made = scored.groupby(["method", "corpus"])["set_seconds"].mean().to_dict()
    for method in ordered_methods(scored["method"]):
        found = [number(made.get((method, corpus))) for corpus in corpora]
        sets.append([code(method), *(MISSING if s is None else f"{s:,.1f}" for s in found)])
    header = ["corpus", "learner", "seconds", "seconds, full", "peak MB", "peak MB, full"]
    return "\n\n".join(
        [
            "## Cost",
            "Seconds to train a learner once and evaluate it, and the peak memory of the process "
            "meanwhile.",
            table(header, learners, left=2),
            folded(
                "Seconds to make a training set",
                table(["method", *map(code, corpora)], sets),
            ),
        ]
    )


def failures_section(cells: pd.DataFrame) -> str:
    """The cells that have no scores, and why."""
    failed = cells[cells["error"].notna()]
    if failed.empty:
        return "## Failed cells\n\nNone."
    names = ["corpus", "budget", "method", "learner"]
    rows = [
        [*map(str, key), ", ".join(f"{i}/{j}" for i, j in _seeds_of(group)), str(error)]
        for (*key, error), group in failed.groupby([*names, "error"], sort=False)
    ]
    header = [*names, "seeds of set/training", "error"]
    return f"## Failed cells\n\n{table(header, rows, left=len(header))}"


def missing_section(summary: pd.DataFrame) -> str:
    """What was not run: methods by learner, among those with any cell at a corpus and budget.

    Full data and the constant have one set; others are incomplete with fewer sets than most.
    """
    lines = []
    for (corpus, budget), block in summary.groupby(["corpus", "budget"], sort=False):
        usual = max(block.loc[~block["method"].isin(_ONE_SET), "n_sets"], default=0)
        methods = ordered_methods(block["method"])
        for learner in ordered_learners(block["learner"]):
            mine = block[block["learner"] == learner]
            sets: dict[str, int] = dict(zip(mine["method"], mine["n_sets"], strict=True))
            absent = [code(name) for name in methods if not sets.get(name)]
            short = [
                f"{code(name)} ({count} of {usual} sets)"
                for name, count in sets.items()
                if 0 < count < usual and name not in _ONE_SET
            ]
            if absent or short:
                where = f"{code(corpus)} at {budget}, {code(learner)}"
                lines.append(f"- {where}: {', '.join([*absent, *short])}")
    if not lines:
        return ""
    return "## What was not run\n\n" + folded("By corpus and learner", "\n".join(lines))


def _by_learner(block: pd.DataFrame, show: Callable[[Row], str], with_seeds: bool = False) -> str:
    """Methods down, learners across."""
    # The summary has independent learners first.
    learners, methods = block["learner"].unique(), ordered_methods(block["method"])
    places = {(row["method"], row["learner"]): row for row in block.to_dict("records")}
    rows = []
    for method in methods:
        shown = [
            show(places[method, name]) if (method, name) in places else MISSING for name in learners
        ]
        counted = [seeds(block[block["method"] == method])] if with_seeds else []
        rows.append([code(method), *counted, *shown])
    return table(["method", *(["seeds"] if with_seeds else []), *map(code, learners)], rows)


def _against(comparisons: pd.DataFrame) -> Iterator[str]:
    """The compared method minus each other one; the best competing method in bold."""
    for method, mine in comparisons.groupby("method", sort=False):
        renamed = mine.drop(columns="method").rename(columns={"other": "method"})

        def show(row: Row) -> str:
            text = points(row, DIFFERENCE)
            return f"**{text}**" if row["runner_up"] else text

        yield folded(
            f"{code(method)} minus each method, points, with the 95 % interval",
            f"{_by_learner(renamed, show)}\n\n*Better* and *worse* refer to {code(method)}. In "
            "bold: the best competing method.",
        )


def _marked(row: Row) -> str:
    if not row["n_cells"]:
        return "failed"
    text = f"{both(row)} {MARKS.get(str(row['margin_verdict']), '')}".rstrip()
    return f"**{text}**" if row["method"] == row["compared"] else text


def _kept(row: Row) -> str:
    error = number(row["share_kept_error"])
    return percent(row["share_kept"]) + ("" if error is None else f" ± {percent(error)}")


def _deviations(row: Row) -> str:
    error, over_trainings = number(row["standard_error"]), number(row["training_deviation"])
    if over_trainings is None:
        return MISSING if error is None else f"{percent(error * sqrt(row['n_sets']))} both"
    return f"{percent(row['set_deviation'])} / {percent(over_trainings)}"


def _seeds_of(group: pd.DataFrame) -> Iterator[tuple[int, int]]:
    yield from zip(group["set_seed"], group["training_seed"], strict=True)
