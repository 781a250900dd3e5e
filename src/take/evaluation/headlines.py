"""What is said about a whole grid: medians over learners, and in how many cases a method is better.

Learners in the feature spaces that rows are selected in favour the selector. They are counted apart
from independent ones, which come first; no figure is the best of several learners.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from take.evaluation.names import KINDS, RANDOM, is_competitor
from take.evaluation.statistics import CONFIDENCE
from take.rows.corrections import holm

EVERY_RIVAL = "every rival"
_AGAINST = (RANDOM, EVERY_RIVAL)
_OUTCOMES = ("better", "worse", "inconclusive", "not_measured")
_CASE = ["independent", "corpus", "budget", "learner"]
_RANGE = {"median": "median", "lowest": "min", "highest": "max"}
_COLUMNS = (
    *("corpus", "budget", "independent", "method", "learners", *_RANGE),
    *(f"share_{name}" for name in _RANGE),
)


def over_learners(summary: pd.DataFrame) -> pd.DataFrame:
    """The median, lowest and highest score of each method over the learners of a kind.

    A row per corpus, budget, kind of learner (`independent`) and method; of the headline metric,
    and as `share_median`, … of the share kept above chance.

    >>> summary = pd.DataFrame({"corpus": "films", "budget": "2/class", "method": "take",
    ...     "learner": ["a", "b", "c"], "independent": [True, True, False],
    ...     "mean": [0.6, 0.7, 0.9], "share_kept": [0.4, 0.5, 0.8]})
    >>> over_learners(summary)[["independent", "learners", "median", "lowest", "share_median"]]
       independent  learners  median  lowest  share_median
    0         True         2    0.65     0.6          0.45
    1        False         1    0.90     0.9          0.80
    """
    scored = summary[summary["mean"].notna()]
    groups = scored.groupby(["corpus", "budget", "independent", "method"], sort=False)
    figures = {"learners": ("learner", "nunique")}
    figures |= {name: ("mean", how) for name, how in _RANGE.items()}
    figures |= {f"share_{name}": ("share_kept", how) for name, how in _RANGE.items()}
    return groups.agg(**figures).reset_index()[list(_COLUMNS)]


@dataclass(frozen=True)
class Wins:
    """In how many cases, corpora at a budget with a learner, a method is better than others."""

    method: str
    table: pd.DataFrame
    """independent, against, cases, better, worse, inconclusive, not_measured."""
    n_corrected: int
    """Comparisons that p-values are corrected for."""

    def sentences(self) -> list[str]:
        """One for each kind of learner and what the method is compared with."""
        found = [self._sentence(*row) for row in self.table.itertuples(index=False)]
        if found:
            found.append(
                f"95 % in all {self.n_corrected} comparisons together (Holm). The best rival of a "
                "case is chosen by the same scores, which makes it look slightly better than it "
                "is; better than every rival means that each of them is shown to be below."
            )
        return found

    def _sentence(self, independent: bool, against: str, cases: int, *counts: int) -> str:
        better, worse, inconclusive, unknown = counts
        of = f"{KINDS[independent].capitalize()}: {self.method} is shown to be better than"
        than = "some rival" if against == EVERY_RIVAL else against
        rest = f"worse than {than} in {worse}; {inconclusive} are inconclusive"
        end = f", {unknown} not measured" if unknown else ""
        return f"{of} {against} in {better} of {cases} cases, {rest}{end}."


def count_wins(comparisons: pd.DataFrame, method: str = "take") -> Wins:
    """The cases in which the method is shown to be better or worse than random, and every rival.

    Of the rivals k of a case, with differences d_k and two-sided p_k, the case's p-value is

        max_k p_k             if all d_k > 0: it is better than every rival if it is than each,
        m · min_{d_k<0} p_k   otherwise: m rivals had the chance to be better than it.

    The p-values of all cases, against random and against every rival, are corrected together.

    >>> def row(other, difference, p):
    ...     return {"corpus": "films", "budget": "2/class", "learner": "lr", "independent": False,
    ...         "method": "take", "other": other, "difference": difference, "p": p}
    >>> found = count_wins(pd.DataFrame([row("random", 0.1, 0.001), row("kmeans", 0.01, 0.3)]))
    >>> found.table[["against", "cases", "better", "inconclusive"]].values.tolist()
    [['random', 1, 1, 0], ['every rival', 1, 0, 1]]
    """
    mine = comparisons[comparisons["method"] == method]
    rivals = mine[mine["other"].map(is_competitor).astype(bool)]
    cases = pd.DataFrame(list(_cases(rivals)), columns=[*_CASE, "against", "p", "ahead"])
    known = cases["p"].notna()
    adjusted = pd.Series(np.nan, cases.index)
    adjusted[known] = holm(cases.loc[known, "p"].to_numpy(dtype=np.float64))
    shown = adjusted <= 1 - CONFIDENCE
    ahead = cases["ahead"].astype(bool)
    counted = pd.DataFrame(
        {
            "independent": cases["independent"].astype(bool),
            "against": cases["against"],
            "cases": 1,
            "better": shown & ahead,
            "worse": shown & ~ahead,
            "inconclusive": known & ~shown,
            "not_measured": ~known,
        }
    )
    counts = counted.groupby(["independent", "against"], sort=False).sum().astype("int64")
    order = [(kind, what) for kind in KINDS for what in _AGAINST if (kind, what) in counts.index]
    names = ["independent", "against"]
    table = counts.reindex(pd.MultiIndex.from_tuples(order, names=names)) if order else counts
    return Wins(method, table.reset_index(), int(known.sum()))


def _cases(rivals: pd.DataFrame) -> Iterator[tuple[object, ...]]:
    """Each case against random, and against every rival: p-value, and whether it is ahead."""
    for key, case in rivals.groupby(_CASE, sort=False):
        for against in _AGAINST:
            others = case if against == EVERY_RIVAL else case[case["other"] == against]
            if others.empty:
                continue
            behind = others[~(others["difference"] > 0)]
            if behind.empty:
                p = float(others["p"].max(skipna=False))
            else:
                p = float(np.minimum(1, len(others) * behind["p"].min()))
            yield (*key, against, p, behind.empty)
