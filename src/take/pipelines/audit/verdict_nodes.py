"""Nodes of `audit` that judge."""

from __future__ import annotations

import logging

from take.audit.privacy.report import (
    DistancesReport,
    MembershipReport,
    PrivacyReport,
    ScreeningCounts,
)
from take.audit.privacy.verdict import GateSettings, judge
from take.generation.finetuning.fine_tuning_report import FineTuningReport

_logger = logging.getLogger(__name__)


def judge_privacy(
    counts: ScreeningCounts,
    distances: DistancesReport,
    membership: MembershipReport,
    fine_tuning: FineTuningReport,
    settings: GateSettings,
) -> PrivacyReport:
    """Pass, review or block, with reasons."""
    report = judge(counts, distances.tables, membership, fine_tuning.privacy, settings)
    against = " ".join(report.reasons()) or "No check is beyond its limits."
    _logger.info("Privacy gate: %s. %s", report.verdict, against)
    for check in report.checks:
        if check.overridden:
            _logger.warning("Check '%s' is overridden: %s.", check.name, check.overridden)
    return report
