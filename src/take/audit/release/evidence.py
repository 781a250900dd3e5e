"""All that the page is made of: reports and tables of one run, gathered in one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from take.audit.balance.report import BalanceReport
    from take.audit.privacy.report import PrivacyReport
    from take.audit.release.manifest import Reproduction
    from take.corpus.ingest import CorpusReport
    from take.generation.finetuning.report import FineTuningReport
    from take.generation.quality.report import PoolQuality
    from take.generation.screening.ledger import LedgerReport
    from take.scoring.report import ScoringReport
    from take.selection.describe.report import DistillationReport
    from take.selection.report import SelectionReport


@dataclass(frozen=True, eq=False)
class PageEvidence:
    """One run. Where something may be None, the page says that it is missing and goes on."""

    corpus_report: CorpusReport
    distilled: pd.DataFrame
    """id, text (or text_a and text_b), label, label_name, weight."""
    lineage_totals: pd.DataFrame
    """id, assigned_mass, rows, mean_distance, … (`take.selection.describe.lineage`)."""
    distillation_report: DistillationReport
    selection_report: SelectionReport
    scoring_report: ScoringReport
    budget_curve: pd.DataFrame
    pool_quality: PoolQuality
    fine_tuning_report: FineTuningReport
    ledger_report: LedgerReport
    privacy: PrivacyReport
    privacy_findings: pd.DataFrame
    """where, row, kind, reference, reference_row, value, span."""
    balance: BalanceReport
    reproduce: Reproduction
    lineage: pd.DataFrame | None = None
    """The training rows behind each distilled row, with their texts; never shown for release."""
    corpus: pd.DataFrame | None = None
    """Source texts by id, to show what a finding refers to; never shown for release."""
    transport_map: Any = None
    """A Plotly figure (`take.selection.describe.figures.transport_figure`), or its dict."""
    least_covered: pd.DataFrame | None = None
    membership_scores: pd.DataFrame | None = None
    """group, member, score."""
    term_table: pd.DataFrame | None = None
    """Words over- and under-represented; words of the corpus, so never shown for release."""
    evaluation_summary: pd.DataFrame | None = None
    slices: pd.DataFrame | None = None
    costs: pd.DataFrame | None = None
    """stage, node, seconds, peak_megabytes, bytes."""
