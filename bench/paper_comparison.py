"""Our figures by the paper's names, and how our protocol differs from the paper's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from bench.published import Published, PublishedFigure
from take.corpus.budget import Budget
from take.errors import InputError
from take.evaluation.cells import Metric
from take.evaluation.names import FULL
from take.evaluation.summary import compared_in, summary_table

# Our names for the paper's learners; others are the same.
LEARNERS = {"bert": "transformer"}
_KERNELS = ("last", "constant", "linear", "cosine")
_METHODS = {f"take_{kernel}": f"take_kernel_{kernel}" for kernel in _KERNELS}

Row = dict[Any, Any]


@dataclass(frozen=True)
class Departures:
    """How our runs differ from the paper's protocol, as far as cells do not show it."""

    notes: Mapping[str, str] = field(default_factory=dict)
    """Such as "34,266 of its 120,000 training rows"."""
    learners: Mapping[str, str] = field(default_factory=dict)
    """How learners were trained, as far as their titles do not say: "batches of 8"."""
    budgets: Mapping[str, str] = field(default_factory=dict)
    """Our budget for the paper's; default: the same, or the most frequent one."""
    evaluation_rows: Mapping[str, int] = field(default_factory=dict)
    """Of the whole evaluation split; default: the most that any learner predicted."""
    stand_ins: Mapping[str, str] = field(default_factory=lambda: {"qqp": "mrpc"})
    """Our corpora in place of the paper's that are not available."""


class Comparison:
    """Published and measured figures, cell by cell; corpora and backbones as printed."""

    def __init__(
        self, cells: pd.DataFrame, published: Published, departures: Departures, compared: str
    ) -> None:
        self.published, self.departures, self.compared = published, departures, compared
        self._cells = cells
        self._corpora = set(cells["corpus"])
        self._figures = {(r.corpus, r.method, r.backbone, r.table): r for r in published.rows()}
        self._summaries: dict[tuple[str, Metric], list[Row]] = {}

    def corpus(self, printed: str) -> str | None:
        """Our corpus for the paper's, if we have one."""
        candidates = (printed, self.departures.stand_ins.get(printed))
        return next((name for name in candidates if name in self._corpora), None)

    def budget(self, printed: str, budget: str) -> str | None:
        """Our budget for the paper's."""
        corpus = self.corpus(printed)
        if corpus is None:
            return None
        own = self._cells.loc[self._cells["corpus"] == corpus, "budget"]
        wanted = normal_budget(self.departures.budgets.get(corpus, budget))
        same = [str(name) for name in own.unique() if normal_budget(name) == wanted]
        return same[0] if same else str(own.mode().iloc[0])

    def figure(
        self, printed: str, method: str, backbone: str, table: int | None
    ) -> PublishedFigure | None:
        """The figure that a table prints."""
        return self._figures.get((printed, method, backbone, table))

    def printed_budget(self, printed: str, table: int | None) -> str | None:
        """The budget that a table gives for a corpus, if the table has it."""
        places = self._figures.items()
        found = (row.budget for (c, *_, t), row in places if (c, t) == (printed, table))
        return next(found, None)

    def ours(
        self, printed: str, method: str, backbone: str, budget: str, metric: Metric = "accuracy"
    ) -> Row | None:
        """Our row of the summary for a cell of the paper."""
        rows = self._rows(printed, budget, metric)
        rows = [row for row in rows if row["learner"] == LEARNERS.get(backbone, backbone)]
        name = _METHODS.get(method, method)
        if method == "take":
            name = compared_in([row["method"] for row in rows], self.compared) or name
        return next((row for row in rows if row["method"] == name), None)

    def training_rows(self, printed: str, budget: str) -> int | None:
        """The number of rows of our budget: the median over methods."""
        rows = self._rows(printed, budget, "accuracy")
        counts = [float(row["rows"]) for row in rows if row["method"] != FULL]
        return round(float(pd.Series(counts).median())) if counts else None

    def whole_split(self, corpus: str) -> int:
        """The rows of the whole evaluation split."""
        rows = self._cells.loc[self._cells["corpus"] == corpus, "evaluation_rows"]
        return self.departures.evaluation_rows.get(corpus, int(rows.max()))

    def learner_titles(self, backbone: str, printed: Iterable[str]) -> list[str]:
        """The titles of our learner on these corpora; empty if it was not run."""
        corpora = [self.corpus(name) for name in printed]
        mine = self._cells[self._cells["learner"] == LEARNERS.get(backbone, backbone)]
        titles = mine.loc[mine["corpus"].isin(corpora), "learner_title"]
        return [str(title) for title in titles.unique() if title]

    def _rows(self, printed: str, budget: str, metric: Metric) -> list[Row]:
        corpus, ours = self.corpus(printed), self.budget(printed, budget)
        if corpus is None:
            return []
        if (corpus, metric) not in self._summaries:
            mine = self._cells[self._cells["corpus"] == corpus]
            mine = mine[mine[metric].notna()]  # failed cells, and metrics of other tasks
            found = summary_table(mine, {corpus: metric}, self.compared)
            self._summaries[corpus, metric] = found.to_dict("records")
        return [row for row in self._summaries[corpus, metric] if row["budget"] == ours]


def normal_budget(name: str) -> str:
    """A budget in its usual form; anything else as it is.

    >>> normal_budget("20 / class"), normal_budget("all")
    ('20/class', 'all')
    """
    try:
        return str(Budget.parse(name))
    except InputError:
        return name
