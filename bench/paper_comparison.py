"""Our figures by the paper's names, and how our protocol differs from the paper's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd
from pydantic import Field

from bench.published import Published, PublishedFigure
from take.corpus.budget import Budget
from take.errors import InputError
from take.evaluation.cells import Metric
from take.evaluation.names import CONSTANT, FULL
from take.evaluation.outcomes import Outcomes
from take.evaluation.summary import compared_in, summary_table
from take.frozen import Frozen

# Our names for the paper's learners; others are the same.
LEARNERS = {"bert": "transformer"}
_KERNELS = ("last", "constant", "linear", "cosine")
_METHODS = {f"take_{kernel}": f"take_kernel_{kernel}" for kernel in _KERNELS}

Row = dict[Any, Any]


class Provenance(Frozen):
    """How the cells were made, as far as they do not say so themselves (run.yml)."""

    command: str
    date: str
    machine: str = ""
    training_rows: dict[str, int] = Field(default={}, description="of each corpus, after ingestion")
    evaluation_rows: dict[str, int] = Field(default={}, description="of each evaluation split")


class Comparison:
    """Published and measured figures, cell by cell; corpora and backbones as printed."""

    def __init__(
        self,
        cells: pd.DataFrame,
        outcomes: Outcomes,
        published: Published,
        provenance: Provenance,
        compared: str,
    ) -> None:
        self.published, self.provenance, self.compared = published, provenance, compared
        self._cells, self._outcomes = cells, outcomes
        self._corpora = set(cells["corpus"])
        self._figures = {(r.corpus, r.method, r.backbone, r.table): r for r in published.rows()}
        self._summaries: dict[tuple[str, Metric], list[Row]] = {}

    def budget(self, corpus: str, budget: str) -> str | None:
        """Our budget for the paper's: the same, or the most frequent one."""
        own = self._cells.loc[self._cells["corpus"] == corpus, "budget"]
        if own.empty:
            return None
        same = [str(name) for name in own.unique() if normal_budget(name) == normal_budget(budget)]
        return same[0] if same else str(own.mode().iloc[0])

    def corpus_note(self, corpus: str) -> str:
        """How many rows ours has, if the published corpus has more."""
        ours = self.provenance.training_rows.get(corpus)
        theirs = self.published.training_rows.get(corpus)
        if corpus not in self._corpora or ours is None or theirs is None or ours >= theirs:
            return ""
        return f"{ours:,} of its {theirs:,} training rows"

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

    def budget_rows(self, corpus: str, budget: str) -> int | None:
        """The number of rows of our budget: the median over methods."""
        counts = [
            float(row["rows"])
            for row in self._rows(corpus, budget, "accuracy")
            if row["method"] not in (FULL, CONSTANT)
        ]
        return round(float(pd.Series(counts).median())) if counts else None

    def whole_split(self, corpus: str) -> int:
        """The rows of the whole evaluation split."""
        rows = self._cells.loc[self._cells["corpus"] == corpus, "evaluation_rows"]
        return self.provenance.evaluation_rows.get(corpus, int(rows.max()))

    def learner_titles(self, backbone: str, corpora: Iterable[str]) -> list[str]:
        """The titles of our learner on these corpora; empty if it was not run."""
        mine = self._cells[self._cells["learner"] == LEARNERS.get(backbone, backbone)]
        titles = mine.loc[mine["corpus"].isin(list(corpora)), "learner_title"]
        return [str(title) for title in titles.unique() if title]

    def _rows(self, corpus: str, budget: str, metric: Metric) -> list[Row]:
        if corpus not in self._corpora:
            return []
        if (corpus, metric) not in self._summaries:
            mine = self._cells[self._cells["corpus"] == corpus]
            mine = mine[mine[metric].notna()]  # failed cells, and metrics of other tasks
            found = summary_table(mine.assign(metric=metric), self._outcomes, self.compared)
            self._summaries[corpus, metric] = found.to_dict("records")
        ours = self.budget(corpus, budget)
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
