"""The scores of a grid by corpus, budget, learner and method, as they are compared."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from take.errors import InputError
from take.evaluation.bootstrap import Sample, compare, rows_part
from take.evaluation.cells import Metric
from take.evaluation.names import CONSTANT, DISTILLED, FULL
from take.evaluation.outcomes import EvaluatedOn, Outcomes
from take.evaluation.statistics import Cell, Difference, Summary, summarise
from take.rows.arrays import Float64

Over = Literal["sets and rows", "trainings and rows", "rows", "not measured"]

METRICS: tuple[Metric, ...] = ("accuracy", "macro_f1", "accuracy_f1")
_ROUNDING = 1e-6
# Given sets are the same for every seed, and are listed at every budget if they have none.
_GIVEN = (FULL, CONSTANT, DISTILLED, "file")
_WITHOUT_BUDGET = (FULL, CONSTANT)

_logger = logging.getLogger(__name__)


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
    independent: bool
    scores: dict[Cell, float]
    found: Summary | None  # None where every cell failed
    samples: Mapping[Metric, Sample]
    """Scores by set in every metric that all cells have."""
    cells: pd.DataFrame  # those that were scored
    n_failed: int
    n_distinct_sets: int
    draws_nothing: bool
    """The method makes the same set for any seed."""

    @property
    def sample(self) -> Sample:
        """In the headline metric; of methods with scores only."""
        return self.samples[self.metric]

    @property
    def mean(self) -> float:
        """Of its scores; nan if every cell failed."""
        return float("nan") if self.found is None else self.found.mean

    @property
    def n_sets(self) -> int:
        """Set seeds with scores."""
        return len({cell.set_seed for cell in self.scores})

    @property
    def over(self) -> Over:
        """What the standard error is over."""
        if not self.scores or self.sample.resampled is None:
            return "not measured"
        if len(self.sample.scores) == 1:
            return "rows"
        return "trainings and rows" if self.n_distinct_sets == 1 else "sets and rows"


def measured(cells: pd.DataFrame, outcomes: Outcomes | None = None) -> dict[Key, Measured]:
    """The scores of each method by seed, in the corpus's headline metric.

    Full data and the constant prediction have no budget: their cells count at every budget of the
    learner. Of duplicate cells, the later counts.
    """
    columns = [*Key._fields, "set_seed", "training_seed"]
    single = cells.drop_duplicates(columns, keep="last")
    single = _at_every_budget(single).drop_duplicates(columns, keep="last")
    resampled = _resampled(single, outcomes)
    metrics = {corpus: _metric(corpus, its) for corpus, its in single.groupby("corpus")}
    found = {}
    for names, group in single.groupby(list(Key._fields), sort=False):
        key = Key(*map(str, names))
        found[key] = _measured(key, group, metrics[key.corpus], resampled)
    return found


def difference(ours: Measured, theirs: Measured) -> Difference | None:
    """How much higher ours scores, on the set seeds both have; None where there are none."""
    if not ours.scores or not theirs.scores:
        return None
    return compare(ours.sample, theirs.sample)


class Share(NamedTuple):
    """What part of the gain from full data is kept."""

    value: float
    standard_error: float | None


def share_kept(mine: Measured, full: Measured, constant: Measured) -> Share | None:
    """The share r = (μ − c) / (μ_full − c) of the gain over a constant prediction c that is kept.

    Its error by the delta method, with sets apart and the same rows drawn for all three:

        √(V_sets(μ) + r² V_sets(μ_full) + V_rows(μ − (1 − r) c − r μ_full)) / (μ_full − c)

    None where full data gains nothing.
    """
    if not (mine.scores and full.scores and constant.scores) or full.mean <= constant.mean:
        return None
    gain = full.mean - constant.mean
    value = (mine.mean - constant.mean) / gain
    score, ceiling, floor = mine.sample, full.sample, constant.sample
    is_exact = mine.key.method in _WITHOUT_BUDGET  # 1 and 0
    if is_exact or score.means is None or ceiling.means is None or floor.means is None:
        return Share(value, None)
    rows = rows_part(score.means - (1 - value) * floor.means - value * ceiling.means, score.n_rows)
    sets = score.variance_by_sets + value**2 * ceiling.variance_by_sets
    return Share(value, float(np.sqrt(sets + rows.variance)) / gain)


def _measured(
    key: Key, group: pd.DataFrame, metric: Metric, resampled: Mapping[str, Mapping[Metric, Float64]]
) -> Measured:
    scored = group[group["error"].isna()]
    values = scored[metric].to_numpy(dtype=np.float64)
    if not np.isfinite(values).all():
        raise InputError(
            f"{key.method} with {key.learner} has no {metric}",
            where=f"cells of {key.corpus}",
            allowed="accuracy and macro_f1 of any corpus, accuracy_f1 of two classes",
            remedy="choose another metric for this corpus",
        )
    seeds = [Cell(int(i), int(j)) for i, j in scored[["set_seed", "training_seed"]].to_numpy()]
    scores = dict(zip(seeds, values.tolist(), strict=True))
    # Without a digest, sets are distinguished by their seeds.
    digests = scored["set_digest"].where(scored["set_digest"] != "", scored["set_seed"].map(str))
    n_distinct = int(digests.nunique())
    draws_nothing = n_distinct == 1 and (scored["set_seed"].nunique() > 1 or key.method in _GIVEN)
    units = _units(scored, digests, draws_nothing=draws_nothing)
    present = [name for name in METRICS if len(scored) and scored[name].notna().all()]
    return Measured(
        key=key,
        metric=metric,
        independent=bool(group["independent"].iloc[-1]),
        scores=scores,
        found=_summarised(scored, values, digests) if scores else None,
        samples={name: _sample(key, scored, name, units, resampled) for name in present},
        cells=scored,
        n_failed=len(group) - len(scored),
        n_distinct_sets=n_distinct,
        draws_nothing=draws_nothing,
    )


class _Units(NamedTuple):
    """What scores are averaged within, and varies between: sets, or the trainings on one."""

    of_cell: Sequence[Any]
    are_seeds: bool
    vary: bool
    """Whether they show how scores vary: not a single set of a method that draws."""


def _units(scored: pd.DataFrame, digests: pd.Series[Any], *, draws_nothing: bool) -> _Units:
    n_distinct, n_seeds = digests.nunique(), scored["set_seed"].nunique()
    if n_distinct > 1:
        # Sets that several seeds share are counted once.
        are_seeds = n_distinct == n_seeds
        return _Units((scored["set_seed"] if are_seeds else digests).tolist(), are_seeds, True)
    if not draws_nothing:
        return _Units(scored["set_seed"].tolist(), are_seeds=True, vary=False)
    # A copy under another seed is not another training.
    prints = [mark or f"{place}" for place, mark in enumerate(scored["fingerprint"])]
    is_solved = scored["updates"].isna().all()
    # A single run on full data counts as exact but for the rows.
    is_exact = bool(is_solved or scored["method"].isin(_WITHOUT_BUDGET).all())
    units = ["all"] * len(scored) if is_solved else prints
    return _Units(units, are_seeds=False, vary=len(set(units)) > 1 or is_exact)


def _sample(
    key: Key,
    scored: pd.DataFrame,
    metric: Metric,
    units: _Units,
    resampled: Mapping[str, Mapping[Metric, Float64]],
) -> Sample:
    order = list(dict.fromkeys(units.of_cell))
    members = [[u == unit for u in units.of_cell] for unit in order]
    values, prints = scored[metric].to_numpy(dtype=np.float64), scored["fingerprint"]
    scores = np.array([values[mine].mean() for mine in members])
    seeds = tuple(map(int, order)) if units.are_seeds else None
    of_cell = [None if pd.isna(pool) else int(pool) for pool in scored["pool"]]
    pools = None
    if any(pool is not None for pool in of_cell):
        pools = tuple(of_cell[mine.index(True)] for mine in members)
    replicates = [resampled.get(str(mark), {}).get(metric) for mark in prints]
    known = [one for one in replicates if one is not None]
    if not units.vary or len(known) < len(values):
        return Sample(scores, seeds, pools=pools)
    table = np.stack(known, axis=1)
    if np.abs(table[0] - values).max() > _ROUNDING:
        _logger.warning(
            "%s: the stored predictions do not have the scores of their cells; no interval.",
            ", ".join(key),
        )
        return Sample(scores, seeds, pools=pools)
    by_unit = np.stack([table[1:, mine].mean(axis=1) for mine in members], axis=1)
    return Sample(scores, seeds, by_unit, int(scored["evaluation_rows"].min()), pools)


def _summarised(scored: pd.DataFrame, values: Float64, digests: pd.Series[Any]) -> Summary:
    """Sets are told apart by their digests; copies of a training count once."""
    marks = [mark or str(place) for place, mark in enumerate(scored["fingerprint"])]
    places = {digest: place for place, digest in enumerate(dict.fromkeys(digests))}
    single = {(places[d], m): y for d, m, y in zip(digests, marks, values.tolist(), strict=True)}
    found = summarise({Cell(i, at): y for at, ((i, _), y) in enumerate(single.items())})
    if len(places) > 1 and scored["updates"].isna().all():
        # A learner that is solved to its optimum adds no variation: all of it is between sets.
        means = pd.Series(values).groupby(digests.to_numpy()).mean()
        return replace(found, set_deviation=float(means.std(ddof=1)), training_deviation=0.0)
    return found


def _resampled(
    cells: pd.DataFrame, outcomes: Outcomes | None
) -> dict[str, Mapping[Metric, Float64]]:
    found: dict[str, Mapping[Metric, Float64]] = {}
    if outcomes is not None:
        scored = cells[cells["error"].isna()]
        for (corpus, n_rows), its in scored.groupby(["corpus", "evaluation_rows"]):
            found |= outcomes.resampled(
                EvaluatedOn(str(corpus), int(str(n_rows))), its["fingerprint"]
            )
    return found


def _metric(corpus: Any, cells: pd.DataFrame) -> Metric:
    scored = cells[cells["error"].isna()]
    found: list[Metric] = (scored if len(scored) else cells)["metric"].unique().tolist()
    if len(found) > 1:
        raise InputError(
            f"the cells have the headline metrics {' and '.join(found)}",
            where=f"cells of {corpus}",
            allowed="one metric for a corpus",
            remedy="evaluate again, which reuses stored cells",
        )
    return found[0]


def _at_every_budget(cells: pd.DataFrame) -> pd.DataFrame:
    is_spread = cells["method"].isin(_WITHOUT_BUDGET)
    places = cells.loc[~is_spread, ["corpus", "learner", "budget"]].drop_duplicates()
    spread = cells[is_spread].drop(columns="budget").merge(places, on=["corpus", "learner"])
    # Its own budget comes last, and counts if seeds were stored at several.
    parts = [cells[~is_spread], spread[cells.columns], cells[is_spread]]
    return pd.concat(parts, ignore_index=True)
