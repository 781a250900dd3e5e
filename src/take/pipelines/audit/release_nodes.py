"""Nodes of `audit` that write for people: the report, the card, and what may be given away."""

from __future__ import annotations

import logging
from typing import NamedTuple

import pandas as pd

from take.audit.balance.report import BalanceReport
from take.audit.privacy.report import PrivacyReport
from take.audit.release.card import dataset_card
from take.audit.release.evidence import Evidence, ReportEvidence
from take.audit.release.folder import Release, formula_cells, refuse_blocked
from take.audit.release.manifest import Reproduction
from take.audit.release.render import ReportSettings, render_page
from take.corpus.ingest import CorpusReport
from take.generation.finetuning.fine_tuning_report import FineTuningReport
from take.generation.pool import LedgerReport
from take.generation.quality.report import PoolQuality
from take.reuse.provenance import Provenance, stage_costs
from take.rows.labelled import class_names
from take.scoring.report import ScoringReport
from take.selection.describe.distillation_report import DistillationReport
from take.selection.selection_report import SelectionReport

_logger = logging.getLogger(__name__)


class Pages(NamedTuple):
    """The outputs of `render_report`."""

    audit_page: str
    release_page: str
    """Without any training row."""


def render_report(
    distilled: pd.DataFrame,
    lineage: pd.DataFrame,
    lineage_totals: pd.DataFrame,
    corpus: pd.DataFrame,
    corpus_report: CorpusReport,
    fine_tuning_report: FineTuningReport,
    pool_quality: PoolQuality,
    selection_report: SelectionReport,
    distillation_report: DistillationReport,
    privacy: PrivacyReport,
    balance: BalanceReport,
    scoring_report: ScoringReport,
    ledger_report: LedgerReport,
    budget_curve: pd.DataFrame,
    map_coordinates: pd.DataFrame,
    least_covered: pd.DataFrame,
    privacy_findings: pd.DataFrame,
    membership_scores: pd.DataFrame,
    balance_terms: pd.DataFrame,
    slices: pd.DataFrame,
    summary: pd.DataFrame,
    made: Provenance,
    settings: ReportSettings,
) -> Pages:
    """The report for those who may see the corpus, and the one that goes with the rows."""
    evidence = ReportEvidence.of(
        made,
        corpus_report,
        selection_report,
        summary,
        distilled=distilled,
        lineage_totals=lineage_totals,
        distillation_report=distillation_report,
        scoring_report=scoring_report,
        budget_curve=budget_curve,
        pool_quality=pool_quality,
        fine_tuning_report=fine_tuning_report,
        ledger_report=ledger_report,
        privacy=privacy,
        privacy_findings=privacy_findings,
        balance=balance,
        lineage=lineage,
        corpus=corpus,
        map_coordinates=map_coordinates,
        least_covered=least_covered,
        membership_scores=membership_scores,
        balance_terms=balance_terms,
        slice_accuracy=slices,
        costs=pd.DataFrame(stage_costs(made.steps)),
    )
    released = render_page(evidence, release=True)
    return Pages(released if settings.release else render_page(evidence, release=False), released)


def write_card(
    distilled: pd.DataFrame,
    corpus: pd.DataFrame,
    corpus_report: CorpusReport,
    fine_tuning_report: FineTuningReport,
    pool_quality: PoolQuality,
    selection_report: SelectionReport,
    distillation_report: DistillationReport,
    privacy: PrivacyReport,
    balance: BalanceReport,
    summary: pd.DataFrame,
    made: Provenance,
) -> str:
    """The dataset card."""
    return dataset_card(
        Evidence.of(
            made,
            corpus_report,
            selection_report,
            summary,
            distilled=distilled,
            distillation_report=distillation_report,
            pool_quality=pool_quality,
            fine_tuning_report=fine_tuning_report,
            privacy=privacy,
            balance=balance,
        )
    )


def export_release(
    distilled: pd.DataFrame,
    corpus: pd.DataFrame,
    lineage_totals: pd.DataFrame,
    corpus_report: CorpusReport,
    selection_report: SelectionReport,
    privacy: PrivacyReport,
    balance: BalanceReport,
    dataset_card: str,
    release_page: str,
    made: Provenance,
) -> Release:
    """What may be given away, unless the privacy gate is shut."""
    refuse_blocked(privacy)
    formulas = formula_cells(distilled)
    if formulas:
        _logger.info("%s cells of the CSV could be read as formulas: neutralised.", formulas)
    return Release(
        distilled=distilled,
        class_names=class_names(corpus),
        card=dataset_card,
        page=release_page,
        lineage_totals=lineage_totals,
        privacy=privacy,
        balance=balance,
        corpus=corpus_report.corpus,
        budget=selection_report.budget,
        reproduction=Reproduction.of(made, corpus_report.corpus, selection_report.budget),
    )
