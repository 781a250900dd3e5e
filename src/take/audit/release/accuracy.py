"""What learners trained on the distilled rows score, as report and card show it.

The headline is a median over learners with their range, never the best one. Independent learners
come first: the others see texts through the features that rows are selected by, which favours them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from take.corpus.budget import Budget
from take.evaluation.headlines import over_learners
from take.evaluation.names import DISTILLED, FULL, KINDS
from take.evaluation.tables import METRICS
from take.text.format import MISSING, percent, plural, share

if TYPE_CHECKING:
    from take.audit.release.evidence import CardEvidence

_ONE = {True: "independent learner", False: "learner in the selector's feature spaces"}


class Spread(NamedTuple):
    """The scores of several learners; shares of 1."""

    learners: int
    median: float
    low: float
    high: float
    kept: float | None
    """Median share kept above chance; None where full data or the constant was not evaluated."""


class Headline(NamedTuple):
    """The scores of the distilled rows in the corpus's headline metric."""

    metric: str
    first: Spread
    """Of the independent learners, or of the others if none of those was run."""
    is_independent: bool
    others: Spread | None = None

    @property
    def title(self) -> str:
        """What the headline is.

        >>> Headline("macro F1", Spread(3, 0.7, 0.6, 0.8, 0.5), True).title
        'macro F1, the median of 3 independent learners'
        """
        kind = self.is_independent
        return (
            f"{self.metric}, the median of {plural(self.first.learners, _ONE[kind], KINDS[kind])}"
        )

    @property
    def details(self) -> str:
        """The range, the share kept, and the same of the other learners.

        >>> print(Headline("macro F1", Spread(3, 0.7, 0.6, 0.8, 0.5), True).details)
        60.0 % to 80.0 %; of what all rows gain over a constant answer, 50 % is kept (median)
        """
        text = f"{percent(self.first.low)} to {percent(self.first.high)}"
        if self.first.kept is not None:
            kept = share(self.first.kept)
            text += f"; of what all rows gain over a constant answer, {kept} is kept (median)"
        if not self.is_independent:
            return f"{text}; no independent learner was run"
        if self.others is not None:
            found = self.others
            text += (
                f"; {plural(found.learners, _ONE[False], KINDS[False])}: {percent(found.median)} "
                f"({percent(found.low)} to {percent(found.high)})"
            )
        return text


def scores(evidence: CardEvidence) -> pd.DataFrame | None:
    """The summary of this corpus at this budget, as far as it has scores; None without any."""
    summary, report = evidence.accuracy_summary, evidence.corpus_report
    if summary is None:
        return None
    budgets = summary["budget"].map(lambda written: str(Budget.parse(written)))
    is_ours = (summary["corpus"] == report.corpus) & (budgets == report.budget)
    found = summary[is_ours & summary["mean"].notna()]
    return None if found.empty else found


def headline(summary: pd.DataFrame | None) -> Headline | None:
    """Median and range over the learners trained on the distilled rows; None without any."""
    if summary is None:
        return None
    groups = over_learners(summary)
    mine = groups[groups["method"] == DISTILLED].to_dict("records")
    if not mine:
        return None
    found = {bool(row["independent"]): _spread(row) for row in mine}
    kind = True in found
    return Headline(metric_name(summary), found[kind], kind, found.get(False) if kind else None)


def metric_name(summary: pd.DataFrame) -> str:
    """The headline metric in words."""
    metric = str(summary["metric"].iloc[0])
    return METRICS.get(metric, metric)


def kind_of(row: Mapping[Any, Any]) -> str:
    """What kind of learner a row of the summary is about.

    >>> kind_of({"independent": True})
    'independent'
    """
    return "independent" if row["independent"] else "in the selector's feature spaces"


def score_table(summary: pd.DataFrame) -> list[dict[str, str]]:
    """By learner, independent ones first, and method: scores and the share kept above chance."""
    return [
        {
            "learner": str(row["learner"]),
            "kind": kind_of(row),
            "method": str(row["method"]),
            "accuracy": percent(row["accuracy"]),
            "macro_f1": percent(row["macro_f1"]),
            "kept": MISSING if row["method"] == FULL else share(row["share_kept"]),
        }
        for row in summary.to_dict("records")
    ]


def _spread(row: Mapping[Any, Any]) -> Spread:
    kept = row["share_median"]
    return Spread(
        learners=int(row["learners"]),
        median=float(row["median"]),
        low=float(row["lowest"]),
        high=float(row["highest"]),
        kept=None if pd.isna(kept) else float(kept),
    )
