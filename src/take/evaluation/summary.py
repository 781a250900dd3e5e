"""Means, errors and differences of the cells: the tables behind everything that is shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from take.evaluation.measured import METRICS, Key, Measured, difference, measured, share_kept
from take.evaluation.names import (
    CONSTANT,
    DISTILLED,
    FULL,
    RANDOM,
    is_competitor,
    ordered_budgets,
    ordered_corpora,
    ordered_learners,
    ordered_methods,
)
from take.evaluation.outcomes import Outcomes
from take.evaluation.statistics import Difference

_FIGURES = ("", "_low", "_high", "_p", "_verdict")
VS_RANDOM = tuple(f"vs_random{end}" for end in _FIGURES)
_MARGIN = tuple(f"margin{end}" for end in _FIGURES)
DIFFERENCE = ("difference", "low", "high", "p", "verdict")
_SUMMARY = (
    *(*Key._fields, "independent", "metric"),
    *("mean", "standard_error", "over", "set_deviation", "training_deviation"),
    *("n_sets", "n_distinct_sets", "n_cells", "n_failed"),
    *(*METRICS, *(f"{metric}_error" for metric in METRICS)),
    *("chance", "share_kept", "share_kept_error"),
    *VS_RANDOM,
    *("compared", *_MARGIN),
    *("rows", "evaluation_rows", "updates", "seconds", "set_seconds", "peak_megabytes"),
    "learner_title",
)
_COMPARISONS = (
    *("corpus", "budget", "learner", "independent", "method", "other", "metric"),
    *("mean", "other_mean", *DIFFERENCE, "pairs", "runner_up", "overall_runner_up"),
)
_TEXTS = (
    *("corpus", "budget", "learner", "method", "other", "metric", "over", "compared"),
    *("vs_random_verdict", "margin_verdict", "verdict", "learner_title"),
)
_COUNTS = ("n_sets", "n_distinct_sets", "n_cells", "n_failed", "pairs")
_FLAGS = ("independent", "runner_up", "overall_runner_up")


def summary_table(
    cells: pd.DataFrame, outcomes: Outcomes | None = None, compared: str = "take"
) -> pd.DataFrame:
    """One row per corpus, budget, learner and method; scores are shares of 1.

    Rows of independent learners come before those of learners in the selector's feature spaces. For
    each method:

        mean, standard_error   of the headline metric, over sets and evaluation rows
        accuracy, _error, …    the same of every metric
        n_sets, n_cells        set seeds and cells with scores
        chance                 the score of a constant prediction
        share_kept             of the gain from full data over chance
        vs_random, _low, …     the method minus `random`, with interval, p-value and verdict
        margin, _low, …        `compared` minus the method: 'better' refers to `compared`

    Errors and intervals need `outcomes`; without them they are empty, and verdicts "not measured".
    `compared` falls back to `distilled` if it was not run (see the column). Full data and the
    constant prediction have a row at every budget.

    >>> from take.evaluation.cells import CellResult, cells_table
    >>> cells = cells_table([
    ...     CellResult(corpus="films", budget="2/class", method=method, learner="lr", set_seed=seed,
    ...         training_seed=0, accuracy=accuracy + 0.01 * seed, set_digest=f"{method}{seed}")
    ...     for method, accuracy in (("random", 0.6), ("take", 0.7)) for seed in (0, 1)])
    >>> summary_table(cells).loc[:, ["method", "mean", "set_deviation", "n_sets"]].round(3)
       method   mean  set_deviation  n_sets
    0  random  0.605          0.007       2
    1    take  0.705          0.007       2
    """
    grid = measured(cells, outcomes)
    rows = [_summary_row(key, grid, compared) for key in _ordered(grid)]
    return _typed(pd.DataFrame(rows, columns=list(_SUMMARY)))


def comparisons_table(
    cells: pd.DataFrame, outcomes: Outcomes | None = None, compared: str = "take"
) -> pd.DataFrame:
    """`compared`, and `distilled` if it was run, minus every other method on the same seeds.

    `runner_up` marks the best competing method, `overall_runner_up` the best of all others except
    full data, including TAKE's variants. Without common seeds the difference is empty.
    """
    grid = measured(cells, outcomes)
    keys = _ordered(grid)
    rows = []
    for key in keys:
        if key.method not in (compared, DISTILLED) or not grid[key].scores:
            continue
        others = [k for k in keys if k[:3] == key[:3] and k != key and grid[k].scores]
        # A method with fewer seeds may be lucky: it is compared, but cannot be the runner-up.
        means = {
            k.method: grid[k].mean
            for k in others
            if k.method != FULL and (grid[k].n_sets >= grid[key].n_sets or grid[k].draws_nothing)
        }
        best = _best({name: mean for name, mean in means.items() if is_competitor(name)})
        best_of_all = _best(means)
        for other in others:
            found = difference(grid[key], grid[other])
            rows.append(
                {
                    **key._asdict(),
                    "independent": grid[key].independent,
                    "other": other.method,
                    "metric": grid[key].metric,
                    "mean": grid[key].mean,
                    "other_mean": grid[other].mean,
                    **_difference(found, DIFFERENCE),
                    "pairs": found.pairs if found else 0,
                    "runner_up": other.method == best,
                    "overall_runner_up": other.method == best_of_all,
                }
            )
    return _typed(pd.DataFrame(rows, columns=list(_COMPARISONS)))


def compared_in(methods: Iterable[str], compared: str = "take") -> str | None:
    """The method that is compared with the others: `compared`, `distilled`, or none.

    >>> compared_in(["random", "distilled"]), compared_in(["random"])
    ('distilled', None)
    """
    present = set(methods)
    return next((name for name in (compared, DISTILLED) if name in present), None)


def _summary_row(key: Key, grid: Mapping[Key, Measured], compared: str) -> dict[str, Any]:
    mine = grid[key]
    row: dict[str, Any] = {
        **key._asdict(),
        "independent": mine.independent,
        "metric": mine.metric,
        "over": mine.over,
        "n_sets": mine.n_sets,
        "n_distinct_sets": mine.n_distinct_sets,
        "n_cells": len(mine.scores),
        "n_failed": mine.n_failed,
    }
    chosen = compared_in(
        [k.method for k, m in grid.items() if k[:3] == key[:3] and m.scores], compared
    )
    row["compared"] = chosen
    if mine.found is None:
        return row
    full, random, constant = (
        grid.get(key._replace(method=name)) for name in (FULL, RANDOM, CONSTANT)
    )
    row |= {
        "mean": mine.found.mean,
        "standard_error": mine.sample.standard_error,
        "set_deviation": mine.found.set_deviation,
        "training_deviation": mine.found.training_deviation,
        **_cost(mine.cells),
    }
    for metric, sample in mine.samples.items():
        row |= {metric: sample.mean, f"{metric}_error": sample.standard_error}
    if constant is not None:
        row["chance"] = constant.mean
        share = None if full is None else share_kept(mine, full, constant)
        if share is not None:
            row |= {"share_kept": share.value, "share_kept_error": share.standard_error}
    if random is not None and key.method != RANDOM:
        row |= _difference(difference(mine, random), VS_RANDOM)
    if chosen is not None and key.method != chosen:
        row |= _difference(difference(grid[key._replace(method=chosen)], mine), _MARGIN)
    return row


def _cost(cells: pd.DataFrame) -> dict[str, Any]:
    titles = [str(title) for title in cells["learner_title"] if title]
    return {
        "rows": float(cells["rows"].mean()),
        "evaluation_rows": int(cells["evaluation_rows"].max()),
        "updates": float(cells["updates"].mean()),
        "seconds": float((cells["training_seconds"] + cells["prediction_seconds"]).mean()),
        "set_seconds": float(cells["set_seconds"].mean()),
        "peak_megabytes": float(cells["peak_megabytes"].max()),
        "learner_title": titles[-1] if titles else "",
    }


def _difference(found: Difference | None, names: Sequence[str]) -> dict[str, Any]:
    """The difference, its interval, p and verdict under these names; nothing without pairs."""
    if found is None:
        return {}
    low, high = found.interval or (None, None)
    return dict(zip(names, (found.mean, low, high, found.p, found.verdict), strict=True))


def _typed(table: pd.DataFrame) -> pd.DataFrame:
    """The same column types, even of an empty table."""
    types = {**dict.fromkeys(_TEXTS, "str"), **dict.fromkeys(_COUNTS, "int64")}
    types |= dict.fromkeys(_FLAGS, "bool")
    return table.astype({name: types.get(name, "float64") for name in table.columns})


def _best(means: Mapping[str, float]) -> str | None:
    """The method with the highest mean; of equals, the first by name.

    Because it is chosen by the same scores that it is compared by, it looks slightly better than it
    is; a lead over it is underestimated.
    """
    return max(sorted(means), key=lambda name: means[name], default=None)


def _ordered(grid: Mapping[Key, Measured]) -> list[Key]:
    orders = (
        ordered_corpora(key.corpus for key in grid),
        ordered_budgets(key.budget for key in grid),
        ordered_learners(key.learner for key in grid),
        ordered_methods(key.method for key in grid),
    )
    places = [{name: place for place, name in enumerate(order)} for order in orders]

    def place(key: Key) -> tuple[int, int, bool, int, int]:
        corpus, budget, learner, method = (p[n] for p, n in zip(places, key, strict=True))
        return corpus, budget, not grid[key].independent, learner, method

    return sorted(grid, key=place)
