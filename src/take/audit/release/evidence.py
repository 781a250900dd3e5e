"""What card and report are made of: reports and tables of one run, gathered in one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import pandas as pd

from take.audit.audited import ReleaseDigests
from take.audit.release.manifest import Reproduction

if TYPE_CHECKING:
    from take.audit.balance.report import BalanceReport
    from take.audit.privacy.report import PrivacyReport
    from take.corpus.ingest import CorpusReport
    from take.generation.finetuning.fine_tuning_report import FineTuningReport
    from take.generation.pool import LedgerReport
    from take.generation.quality.report import PoolQuality
    from take.reuse.provenance import Provenance
    from take.scoring.report import ScoringReport
    from take.selection.describe.distillation_report import DistillationReport
    from take.selection.selection_report import SelectionReport


@dataclass(frozen=True, eq=False, kw_only=True)
class CardEvidence:
    """What the card is made of."""

    distilled: pd.DataFrame
    """id, text (or text_a and text_b), label, label_name, weight."""
    corpus_report: CorpusReport
    fine_tuning_report: FineTuningReport
    pool_quality: PoolQuality
    selection_report: SelectionReport
    distillation_report: DistillationReport
    privacy: PrivacyReport
    balance: BalanceReport
    reproduction: Reproduction
    accuracy_summary: pd.DataFrame | None = None
    """`take.evaluation.summary.summary_table` of these rows; None where not evaluated."""

    @property
    def digests(self) -> ReleaseDigests:
        """What binds the rows to what is reported about them."""
        return ReleaseDigests.of(self.distilled, self.privacy, self.balance)

    @classmethod
    def of(
        cls,
        provenance: Provenance,
        corpus_report: CorpusReport,
        selection_report: SelectionReport,
        accuracy_summary: pd.DataFrame | None,
        **reports: Any,
    ) -> Self:
        """Evidence with the budget of the selection, which may differ from the corpus report's."""
        budget, summary = selection_report.budget, accuracy_summary
        return cls(
            corpus_report=corpus_report.model_copy(update={"budget": budget}),
            selection_report=selection_report,
            reproduction=Reproduction.of(provenance, corpus_report.corpus, budget),
            accuracy_summary=None if summary is None or summary.empty else summary,
            **reports,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class ReportEvidence(CardEvidence):
    """What the report is made of. Where something is None, the report says that it is missing."""

    lineage_totals: pd.DataFrame
    """id, assigned_mass, rows, mean_distance, … (`take.selection.describe.lineage`)."""
    scoring_report: ScoringReport
    ledger_report: LedgerReport
    budget_curve: pd.DataFrame
    privacy_findings: pd.DataFrame
    """where, row, kind, reference, reference_row, value, span."""
    lineage: pd.DataFrame | None = None
    """The training rows behind each distilled row, with their texts; never released."""
    corpus: pd.DataFrame | None = None
    """Source texts by id, to show what a finding refers to; never released."""
    map_coordinates: pd.DataFrame | None = None
    """`take.selection.describe.map`."""
    least_covered: pd.DataFrame | None = None
    membership_scores: pd.DataFrame | None = None
    """group, member, score."""
    balance_terms: pd.DataFrame | None = None
    """Words over- and under-represented; words of the corpus, so never released."""
    slice_accuracy: pd.DataFrame | None = None
    costs: pd.DataFrame | None = None
    """stage, node, seconds, peak_megabytes, bytes."""
