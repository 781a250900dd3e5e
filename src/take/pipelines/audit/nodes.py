"""Nodes of `audit`: privacy, balance, report, dataset card, release."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from take.audit.audited import AuditedRows, check_same_rows, pool_sha256
from take.audit.balance.measure import Balance
from take.audit.balance.measure import measure_balance as measure
from take.audit.balance.report import BalanceReport
from take.audit.balance.slices import KnownAccuracy, known_accuracy
from take.audit.balance.terms import BalanceSettings
from take.audit.privacy.distances import DistanceSettings, measure_tables
from take.audit.privacy.membership import (
    Membership,
    MembershipSettings,
    attack,
    drawn_rows,
    extracted,
    model_losses,
)
from take.audit.privacy.pii import PiiSettings
from take.audit.privacy.report import (
    DistancesReport,
    MembershipReport,
    PrivacyReport,
    ScreeningCounts,
    Table,
)
from take.audit.privacy.screening import Screened, screened
from take.audit.privacy.verdict import GateSettings, judge
from take.audit.release.card import dataset_card
from take.audit.release.evidence import CardEvidence, ReportEvidence
from take.audit.release.folder import Release, formula_cells, refuse_blocked
from take.audit.release.manifest import Reproduction
from take.audit.release.render import ReportSettings, render_page
from take.corpus.budget import Budget
from take.corpus.ingest import CorpusReport
from take.encoder.embeddings import Embeddings
from take.generation.finetuning.adapter import load_tuned
from take.generation.finetuning.fine_tuning_report import FineTuningReport
from take.generation.finetuning.fine_tuning_settings import FineTuningSettings
from take.generation.language_models import LanguageModel
from take.generation.pool import all_rows
from take.generation.template import Template
from take.reuse.provenance import Provenance, stage_costs
from take.rows.arrays import Int64
from take.rows.labelled import class_sizes
from take.selection.selection_report import SelectionReport
from take.text.copies import CopySettings

_logger = logging.getLogger(__name__)


def screen_rows(
    distilled: pd.DataFrame,
    pool: pd.DataFrame,
    corpus: pd.DataFrame,
    evaluation_split: pd.DataFrame,
    generator_rows: pd.DataFrame,
    copies: CopySettings,
    pii: PiiSettings,
) -> Screened:
    """Copies of rows of either split, and personal data."""
    tables: dict[Table, pd.DataFrame] = {"distilled": distilled, "pool": pool}
    found = screened(tables, corpus, evaluation_split, generator_rows, copies, pii)
    _logger.info("Screened: %s.", found.counts.summary())
    audited = AuditedRows.of(distilled, pool)
    return found._replace(counts=found.counts.model_copy(update={"audited": audited}))


def measure_distances(
    distilled: pd.DataFrame,
    pool: pd.DataFrame,
    pool_embeddings: Embeddings,
    corpus: pd.DataFrame,
    embeddings: Embeddings,
    generator_rows: pd.DataFrame,
    settings: DistanceSettings,
) -> DistancesReport:
    """Whether rows are nearer to what the language model was trained on than to what it was not."""
    chosen = pd.Index(pool["id"]).get_indexer(distilled["id"])
    tables: dict[Table, Int64] = {"distilled": chosen, "pool": np.arange(len(pool))}
    report = measure_tables(tables, pool_embeddings, corpus, embeddings, generator_rows, settings)
    return report.model_copy(update={"audited": AuditedRows.of(distilled, pool)})


def attack_generator(
    corpus: pd.DataFrame,
    generator_rows: pd.DataFrame,
    canaries: pd.DataFrame,
    pool: pd.DataFrame,
    ledger: pd.DataFrame,
    language_model: LanguageModel,
    adapter: Path,
    fine_tuning: FineTuningSettings,
    settings: MembershipSettings,
) -> Membership:
    """Whether the language model reveals what it was trained on."""
    template = Template.of(language_model, corpus, fine_tuning.max_text_tokens)
    members, others = drawn_rows(corpus, generator_rows, template, settings)
    base = model_losses(language_model.load_model(), template, settings)
    tuned = model_losses(load_tuned(language_model, adapter), template, settings)
    attacks, scores = attack(canaries, members, others, template, base, tuned)
    shaped, secrets, by_chance = extracted(all_rows(pool, ledger)["raw"], canaries)
    report = MembershipReport(
        **attacks,
        repeats=fine_tuning.canaries.repeats,
        generated_canaries=shaped,
        extracted_secrets=secrets,
        control_secrets=by_chance,
        pool_sha256=pool_sha256(pool),
    )
    _logger.info("Membership inference: %s.", report.summary())
    return Membership(report, scores)


def judge_privacy(
    counts: ScreeningCounts,
    distances: DistancesReport,
    membership: MembershipReport,
    fine_tuning: FineTuningReport,
    settings: GateSettings,
) -> PrivacyReport:
    """Pass, review or block, with reasons."""
    check_same_rows(counts.audited, distances.audited, membership.pool_sha256)
    report = judge(counts, distances.tables, membership, fine_tuning.privacy, settings)
    against = " ".join(report.reasons()) or "No check is beyond its limits."
    _logger.info("Privacy gate: %s. %s", report.verdict, against)
    for check in report.checks:
        if check.overridden:
            _logger.warning("Check '%s' is overridden: %s.", check.name, check.overridden)
    return report


def measure_balance(
    distilled: pd.DataFrame,
    pool: pd.DataFrame,
    corpus: pd.DataFrame,
    budget: str | int,
    settings: BalanceSettings,
) -> Balance:
    """Shifts of classes, lengths, words and identity terms."""
    shares = Budget.parse(budget).split(class_sizes(corpus))
    expected = [share / sum(shares) for share in shares]
    measured = measure(distilled, pool, corpus, expected, settings)
    _logger.info("Balance: %s", measured.report.summary())
    audited = AuditedRows.of(distilled, pool)
    return measured._replace(report=measured.report.model_copy(update={"audited": audited}))


def gather_accuracy(
    cells: pd.DataFrame | None,
    outcomes: pd.DataFrame | None,
    distilled: pd.DataFrame,
    evaluation_split: pd.DataFrame,
    settings: BalanceSettings,
) -> KnownAccuracy:
    """The accuracy of learners trained on these rows, overall and by slice, if it was evaluated."""
    return known_accuracy(cells, outcomes, distilled, evaluation_split, settings)


class Pages(NamedTuple):
    """The outputs of `render_report`."""

    audit_page: str
    release_page: str
    """Without any training row."""


def render_report(settings: ReportSettings, provenance: Provenance, **reports: Any) -> Pages:
    """The internal report, and the one that is released; `reports` are fields of the evidence."""
    costs = pd.DataFrame(stage_costs(provenance.steps))
    evidence = ReportEvidence.of(provenance, costs=costs, **reports)
    released = render_page(evidence, release=True)
    return Pages(released if settings.release else render_page(evidence, release=False), released)


def write_card(provenance: Provenance, **reports: Any) -> str:
    """The dataset card; `reports` are fields of the evidence."""
    return dataset_card(CardEvidence.of(provenance, **reports))


def export_release(
    distilled: pd.DataFrame,
    lineage_totals: pd.DataFrame,
    corpus_report: CorpusReport,
    selection_report: SelectionReport,
    fine_tuning: FineTuningReport,
    privacy: PrivacyReport,
    balance: BalanceReport,
    card: str,
    page: str,
    provenance: Provenance,
) -> Release:
    """What may be released, unless a privacy check blocks it."""
    refuse_blocked(privacy)
    formulas = formula_cells(distilled)
    if formulas:
        _logger.info("%s cells of the CSV could be read as formulas: neutralised.", formulas)
    return Release(
        distilled=distilled,
        class_names=corpus_report.labels,
        card=card,
        page=page,
        lineage_totals=lineage_totals,
        fine_tuning=fine_tuning,
        privacy=privacy,
        balance=balance,
        corpus=corpus_report.corpus,
        budget=selection_report.budget,
        reproduction=Reproduction.of(provenance, corpus_report.corpus, selection_report.budget),
    )
