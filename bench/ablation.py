"""What a part of the method is worth: what is lost if it is changed."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from take.evaluation.bootstrap import averaged, compare
from take.evaluation.measured import Key, Measured, measured
from take.evaluation.names import is_variant, ordered_budgets, ordered_corpora, ordered_methods
from take.evaluation.outcomes import Outcomes
from take.evaluation.statistics import Difference

ALL_LEARNERS = "all learners"
_COLUMNS = (
    *("corpus", "budget", "method", "variant", "learner"),
    *("difference", "low", "high", "verdict", "pairs"),
)


def ablation_table(
    cells: pd.DataFrame, outcomes: Outcomes, comparisons: pd.DataFrame, compared: str = "take"
) -> pd.DataFrame:
    """`compared` minus each of its variants, with every learner and over all of them.

    `comparisons` is `comparisons_table` of the cells.
    Learners that share a set do not count as more sets: they are averaged set by set.
    """
    is_ours: pd.Series[bool] = comparisons["method"] == compared
    found = comparisons[is_ours & comparisons["other"].map(is_variant).astype(bool)]
    by_learner = found.rename(columns={"other": "variant"})[list(_COLUMNS)]
    grid = measured(cells, outcomes) if len(found) else {}
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
    keys = [key for key in grid if key.method == theirs and key._replace(method=ours) in grid]
    mine = averaged([grid[key._replace(method=ours)].sample for key in keys])
    other = averaged([grid[key].sample for key in keys])
    return None if mine is None or other is None else compare(mine, other)
