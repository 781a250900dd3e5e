"""What a part of the method is worth: what is lost if it is changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from take.evaluation.cells import Metric
from take.evaluation.measured import Key, Measured, measured
from take.evaluation.names import is_variant, ordered_budgets, ordered_corpora, ordered_methods
from take.evaluation.statistics import Cell, Difference, paired_difference
from take.evaluation.summary import comparisons_table

ALL_LEARNERS = "all learners"
_COLUMNS = (
    *("corpus", "budget", "method", "variant", "learner"),
    *("difference", "low", "high", "verdict", "pairs"),
)


def ablation_table(
    cells: pd.DataFrame, headline: Mapping[str, Metric], compared: str = "take"
) -> pd.DataFrame:
    """`compared` minus each of its variants, with every learner and over all of them.

    Learners that share a set do not count as more sets: scores are averaged over learners set by
    set, and the interval is over sets.
    """
    found = comparisons_table(cells, headline, compared)
    found = found[(found["method"] == compared) & found["other"].map(is_variant).astype(bool)]
    by_learner = found.rename(columns={"other": "variant"})[list(_COLUMNS)]
    grid = measured(cells, headline)
    averages = []
    for corpus in ordered_corpora(key.corpus for key in grid):
        for budget in ordered_budgets(key.budget for key in grid if key.corpus == corpus):
            here = {key: mine for key, mine in grid.items() if key[:2] == (corpus, budget)}
            for variant in ordered_methods(k.method for k in here if is_variant(k.method)):
                average = _over_learners(here, compared, variant)
                if average is None:
                    continue
                low, high = average.interval or (None, None)
                values = (average.mean, low, high, average.verdict, average.pairs)
                averages.append((corpus, budget, compared, variant, ALL_LEARNERS, *values))
    over_all = pd.DataFrame(averages, columns=list(_COLUMNS))
    parts = [part for part in (by_learner, over_all.astype(by_learner.dtypes)) if len(part)]
    return pd.concat(parts, ignore_index=True) if parts else by_learner


def _over_learners(grid: Mapping[Key, Measured], ours: str, theirs: str) -> Difference | None:
    """Over the learners that both were run with, and the sets that these have in common."""
    pairs = []
    for key, other in grid.items():
        mine = grid.get(key._replace(method=ours))
        if key.method == theirs and mine is not None:
            common = sorted(set(mine.scores) & set(other.scores))
            if common:
                pairs.append((_by_set(mine, common), _by_set(other, common)))
    if not pairs:
        return None
    sets = set.intersection(*(set(mine) for mine, _ in pairs))
    if not sets:
        return None
    mean_ours = {Cell(i, 0): sum(mine[i] for mine, _ in pairs) / len(pairs) for i in sets}
    mean_theirs = {Cell(i, 0): sum(other[i] for _, other in pairs) / len(pairs) for i in sets}
    return paired_difference(mean_ours, mean_theirs)


def _by_set(found: Measured, cells: Sequence[Cell]) -> dict[int, float]:
    scores: dict[int, list[float]] = {}
    for cell in cells:
        scores.setdefault(cell.set_seed, []).append(found.scores[cell])
    return {seed: sum(values) / len(values) for seed, values in scores.items()}
