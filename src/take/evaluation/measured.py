"""The scores of a grid by corpus, budget, learner and method, as they are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import sqrt
from typing import NamedTuple

import numpy as np
import pandas as pd

from take.errors import InputError
from take.evaluation.cells import Metric
from take.evaluation.names import DISTILLED, FULL
from take.evaluation.statistics import Cell, Difference, Summary, paired_difference, summarise

_EQUAL = 1e-12
# Given sets are the same for every seed.
_GIVEN = (FULL, DISTILLED, "file")


class Key(NamedTuple):
    """Everything that identifies scores except the seeds."""

    corpus: str
    budget: str
    learner: str
    method: str


@dataclass(frozen=True)
class Measured:
    """The scores of one method with one learner, over seeds."""

    key: Key
    metric: Metric
    scores: dict[Cell, float]
    found: Summary | None  # None where every cell failed
    cells: pd.DataFrame  # those that were scored
    n_failed: int
    n_distinct_sets: int
    is_constant: bool
    """The same score for any seed: neither the method nor the learner draws anything."""

    @property
    def mean(self) -> float:
        """Of its scores; nan if every cell failed."""
        return float("nan") if self.found is None else self.found.mean

    @property
    def n_sets(self) -> int:
        """Set seeds with scores."""
        return len({cell.set_seed for cell in self.scores})


def measured(
    cells: pd.DataFrame, headline: Mapping[str, Metric], default: Metric = "accuracy"
) -> dict[Key, Measured]:
    """The scores of each method by seed, in the corpus's headline metric.

    Training on full data has no budget: its cells count at every budget of its learner. Of
    duplicate cells, the later counts.
    """
    columns = [*Key._fields, "set_seed", "training_seed"]
    single = cells.drop_duplicates(columns, keep="last")
    single = _full_at_every_budget(single).drop_duplicates(columns, keep="last")
    found = {}
    for names, group in single.groupby(list(Key._fields), sort=False):
        key = Key(*map(str, names))
        found[key] = _measured(key, group, headline.get(key.corpus, default))
    return found


def difference(ours: Measured, theirs: Measured) -> Difference | None:
    """How much higher ours scores on the cells both have; None where there are none.

    What draws nothing has the same score for seeds that it was not run with.
    """
    mine, other = ours.scores, theirs.scores
    if theirs.is_constant and other:
        other = dict.fromkeys([*mine, *other], next(iter(other.values())))
    if ours.is_constant and mine:
        mine = dict.fromkeys([*mine, *other], next(iter(mine.values())))
    return paired_difference(mine, other) if set(mine) & set(other) else None


def summarised(scored: pd.DataFrame, scores: Mapping[Cell, float], n_distinct: int) -> Summary:
    """Over distinct sets; of a single one, over its trainings."""
    if n_distinct > 1:
        found = summarise(scores)
        if scored["updates"].notna().any() or found.standard_error is None:
            return found
        # A learner that is solved to its optimum adds no variation: all of it is between sets.
        deviation = found.standard_error * sqrt(found.n_sets)
        return replace(found, set_deviation=deviation, training_deviation=0.0)
    prints = [mark or str(place) for place, mark in enumerate(scored["fingerprint"])]
    single = dict(zip(prints, scores.values(), strict=True))  # a copy is not another training
    values = list(single.values())
    if max(values) - min(values) < _EQUAL:
        values = values[:1]  # identical repeats are one observation
    return summarise({Cell(0, place): value for place, value in enumerate(values)})


def _full_at_every_budget(cells: pd.DataFrame) -> pd.DataFrame:
    is_full = cells["method"] == FULL
    places = cells.loc[~is_full, ["corpus", "learner", "budget"]].drop_duplicates()
    spread = cells[is_full].drop(columns="budget").merge(places, on=["corpus", "learner"])
    # Its own budget comes last, and counts if seeds were stored at several.
    return pd.concat([cells[~is_full], spread[cells.columns], cells[is_full]], ignore_index=True)


def _measured(key: Key, group: pd.DataFrame, metric: Metric) -> Measured:
    scored = group[group["error"].isna()]
    values = scored[metric].to_numpy(dtype=np.float64)
    if not np.isfinite(values).all():
        raise InputError(
            f"{key.method} with {key.learner} has no {metric}",
            where=f"cells of {key.corpus}",
            allowed="accuracy and macro_f1 of any corpus, accuracy_f1 of two classes",
            remedy="choose another metric for this corpus",
        )
    seeds = zip(scored["set_seed"], scored["training_seed"], strict=True)
    scores = {Cell(int(i), int(j)): float(y) for (i, j), y in zip(seeds, values, strict=True)}
    # Without a digest, sets are distinguished by their seeds.
    digests = scored["set_digest"].where(scored["set_digest"] != "", scored["set_seed"].map(str))
    n_distinct = int(digests.nunique())
    n_seeds = int(scored["set_seed"].nunique())
    one_score = len(values) > 0 and float(np.ptp(values)) < _EQUAL
    solved = bool(scored["updates"].isna().all())
    draws_nothing = n_distinct == 1 and (n_seeds > 1 or key.method in _GIVEN)
    # A single full-data run counts as exact, as for the share kept.
    is_exact = solved or (key.method == FULL and len(values) == 1)
    return Measured(
        key=key,
        metric=metric,
        scores=scores,
        found=summarised(scored, scores, n_distinct) if scores else None,
        cells=scored,
        n_failed=len(group) - len(scored),
        n_distinct_sets=n_distinct,
        is_constant=draws_nothing and one_score and is_exact,
    )
