"""Nodes of `audit` that ask the language model."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pandas as pd

from take.audit.privacy.membership import (
    Losses,
    Membership,
    MembershipSettings,
    attack,
    drawn_rows,
    extracted,
)
from take.audit.privacy.report import MembershipReport
from take.generation.finetuning.adapter import load_tuned
from take.generation.finetuning.fine_tuning_settings import FineTuningSettings
from take.generation.finetuning.updates import row_losses
from take.generation.language_models import LanguageModel
from take.generation.pool import all_rows
from take.generation.template import Template

_logger = logging.getLogger(__name__)

_BATCH_ROWS = 64
_MOST_LOGITS = 100_000_000  # in memory at a time, in three copies: about a gigabyte


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
    """Whether it can be told from the language model what it was trained on."""
    template = Template.of(language_model, corpus, fine_tuning.max_text_tokens)
    members, others = drawn_rows(corpus, generator_rows, template, settings)
    base = _losses(language_model.load_model(), template, settings)
    tuned = _losses(load_tuned(language_model, adapter), template, settings)
    attacks, scores = attack(canaries, members, others, template, base, tuned)
    shaped, secrets, by_chance = extracted(all_rows(pool, ledger)["raw"], canaries)
    report = MembershipReport(
        **attacks,
        repeats=fine_tuning.canaries.repeats,
        generated_canaries=shaped,
        extracted_secrets=secrets,
        control_secrets=by_chance,
    )
    _logger.info("Membership inference: %s.", report.summary())
    return Membership(report, scores)


def _losses(model: Any, template: Template, settings: MembershipSettings) -> Losses:
    import torch

    is_narrow = settings.precision == "bfloat16"
    most_tokens = _MOST_LOGITS // model.get_output_embeddings().weight.shape[0]

    def mean_losses(rows: Any) -> Any:
        longest = int(rows.lengths.max())
        batch_rows = max(1, min(_BATCH_ROWS, most_tokens // longest))
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=is_narrow):
            losses = row_losses(model, rows, batch_rows, template.end_id)
        return losses.total / losses.tokens

    return mean_losses
