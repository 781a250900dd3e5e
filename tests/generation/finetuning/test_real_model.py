"""On the real SmolLM2-135M, whose pad token is its end token."""

from __future__ import annotations

import pandas as pd
import pytest

from take.generation.finetuning.adapter import load_tuned
from take.generation.finetuning.examples import choose_rows
from take.generation.finetuning.fine_tuning_settings import FineTuningSettings
from take.generation.finetuning.training import fine_tune
from take.generation.finetuning.updates import mean_loss
from take.generation.language_models import LanguageModel, LanguageModelSettings
from take.generation.template import Template
from tests.generation.finetuning.conftest import films

pytestmark = pytest.mark.lm


@pytest.fixture(scope="module")
def smollm2(tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    return LanguageModel(LanguageModelSettings(), tmp_path_factory.mktemp("smollm2"))


def tune(language_model, corpus: pd.DataFrame, settings, folder):
    words = language_model.load_tokenizer()
    template = Template(words, ["bad", "good"], "single", settings.max_text_tokens)
    rows = choose_rows(corpus, template, settings)
    tuned = fine_tune(language_model, template, rows, settings, folder)
    return tuned, rows, template


def test_learns_a_corpus_in_a_few_updates(smollm2, tmp_path):
    settings = FineTuningSettings(token_budget=1200, max_text_tokens=64, evaluations=1)
    tuned, rows, template = tune(smollm2, films(64), settings, tmp_path)
    before, after = (evaluation.loss for evaluation in tuned.report.validation_loss)
    assert after < before - 1
    loaded = load_tuned(smollm2, tuned.folder)
    # Merged weights are the trained ones.
    assert mean_loss(loaded, rows.validation, 8, template.end_id) == pytest.approx(after, rel=1e-3)
    assert "SmolLM2" in tuned.report.language_model


def test_trains_privately(smollm2, tmp_path):
    settings = FineTuningSettings(
        token_budget=1500,
        max_text_tokens=64,
        batch_rows=8,
        evaluations=0,
        privacy={"target_epsilon": 50, "noise_seed": 0},
    )
    tuned, rows, template = tune(smollm2, films(32), settings, tmp_path)
    assert 45 < tuned.report.privacy.epsilon <= 50
    before = mean_loss(smollm2.load_model(), rows.train, 8, template.end_id)
    after = mean_loss(load_tuned(smollm2, tuned.folder), rows.train, 8, template.end_id)
    assert after < before
