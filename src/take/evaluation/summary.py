"""Means, errors and differences of the cells: the tables behind everything that is shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from take.evaluation.cells import Metric
from take.evaluation.measured import Key, Measured, difference, measured, summarised
from take.evaluation.names import (
    DISTILLED,
    FULL,
    RANDOM,
    is_competitor,
    ordered_budgets,
    ordered_corpora,
    ordered_learners,
    ordered_methods,
)
from take.evaluation.statistics import Difference, share_kept

SCORES: tuple[Metric, ...] = ("accuracy", "macro_f1", "accuracy_f1")
VS_RANDOM = ("vs_random", "vs_random_low", "vs_random_high", "vs_random_verdict")
_MARGIN = ("margin", "margin_low", "margin_high", "margin_verdict")
DIFFERENCE = ("difference", "low", "high", "verdict")
_SUMMARY = (
    *Key._fields,
    *("metric", "mean", "standard_error", "over", "set_deviation", "training_deviation"),
    *("n_sets", "n_distinct_sets", "n_cells", "n_failed"),
    *SCORES,
    *("share_kept", "share_kept_error"),
    *VS_RANDOM,
    *("compared", *_MARGIN),
    *("rows", "evaluation_rows", "updates", "seconds", "set_seconds", "peak_megabytes"),
    "learner_title",
)
_TEXTS = (
    *("corpus", "budget", "learner", "method", "other", "metric", "over", "compared"),
    *("vs_random_verdict", "margin_verdict", "verdict", "learner_title"),
)
_COUNTS = ("n_sets", "n_distinct_sets", "n_cells", "n_failed", "pairs")
_COMPARISONS = (
    *("corpus", "budget", "learner", "method", "other", "metric", "mean", "other_mean"),
    *(*DIFFERENCE, "pairs", "runner_up", "overall_runner_up"),
)


def summary_table(
    cells: pd.DataFrame, headline: Mapping[str, Metric], compared: str = "take"
) -> pd.DataFrame:
    """One row per corpus, budget, learner and method; scores are shares of 1.

    `headline` names the metric of a corpus (accuracy by default). For each method:

        mean, standard_error   of the headline metric; a single observation has no error
        n_sets, n_cells        set seeds and cells with scores
        share_kept             of the learner's score with full data
        vs_random, _low, …     the method minus `random`, with interval and verdict
        margin, _low, …        `compared` minus the method: 'better' refers to `compared`

    `compared` falls back to `distilled` if it was not run (see the column). Full data has a row at
    every budget.

    >>> from take.evaluation.cells import CellResult, cells_table
    >>> cells = cells_table([
    ...     CellResult(corpus="films", budget="2/class", method=method, learner="lr", set_seed=seed,
    ...         training_seed=0, accuracy=accuracy + 0.01 * seed, set_digest=f"{method}{seed}")
    ...     for method, accuracy in (("random", 0.6), ("take", 0.7)) for seed in (0, 1)])
    >>> summary_table(cells, {}).loc[:, ["method", "mean", "standard_error", "n_sets"]].round(3)
       method   mean  standard_error  n_sets
    0  random  0.605           0.005       2
    1    take  0.705           0.005       2
    """
    grid = measured(cells, headline)
    rows = [_summary_row(key, grid, compared) for key in _ordered(grid)]
    return _typed(pd.DataFrame(rows, columns=list(_SUMMARY)))


def comparisons_table(
    cells: pd.DataFrame, headline: Mapping[str, Metric], compared: str = "take"
) -> pd.DataFrame:
    """`compared`, and `distilled` if it was run, minus every other method on the same seeds.

    `runner_up` marks the best competing method, `overall_runner_up` the best of all others except
    full data, including TAKE's variants. Without common seeds the difference is empty.
    """
    grid = measured(cells, headline)
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
            if k.method != FULL and grid[k].n_sets >= grid[key].n_sets
        }
        best = _best({name: mean for name, mean in means.items() if is_competitor(name)})
        best_of_all = _best(means)
        for other in others:
            found = difference(grid[key], grid[other])
            rows.append(
                {
                    **key._asdict(),
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
        "metric": mine.metric,
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
    full = grid.get(key._replace(method=FULL))
    random = grid.get(key._replace(method=RANDOM))
    ours = None if chosen is None else grid[key._replace(method=chosen)]
    row |= {
        "mean": mine.found.mean,
        "standard_error": mine.found.standard_error,
        "over": mine.found.over,
        "set_deviation": mine.found.set_deviation,
        "training_deviation": mine.found.training_deviation,
        **_scores(mine),
        **_cost(mine.cells),
    }
    if full is not None and full.found is not None and full.found.mean > 0:
        share = share_kept(mine.found, full.found)
        error = None if key.method == FULL else share.standard_error
        row |= {"share_kept": share.value, "share_kept_error": error}
    if random is not None and key.method != RANDOM:
        row |= _difference(difference(mine, random), VS_RANDOM)
    if ours is not None and key.method != chosen:
        row |= _difference(difference(ours, mine), _MARGIN)
    return row


def _scores(mine: Measured) -> dict[str, float]:
    """Of every metric, averaged like the headline."""
    found: dict[str, float] = {}
    for metric in SCORES:
        values = mine.cells[metric].tolist()
        if not mine.cells[metric].isna().any():
            scores = dict(zip(mine.scores, values, strict=True))
            found[metric] = summarised(mine.cells, scores, mine.n_distinct_sets).mean
    return found


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
    """The difference, its interval and verdict under these names; nothing without pairs."""
    if found is None:
        return {}
    low, high = found.interval or (None, None)
    return dict(zip(names, (found.mean, low, high, found.verdict), strict=True))


def _typed(table: pd.DataFrame) -> pd.DataFrame:
    """The same column types, even of an empty table."""
    types = {**dict.fromkeys(_TEXTS, "str"), **dict.fromkeys(_COUNTS, "int64")}
    types |= {"runner_up": "bool", "overall_runner_up": "bool"}
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
    return sorted(grid, key=lambda key: [p[name] for p, name in zip(places, key, strict=True)])
