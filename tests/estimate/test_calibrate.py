"""Calibration with the real code on a tiny language model; the encoder is the real one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from take.encoder.encode import EmbeddingSettings, Encoder, embed_corpus
from take.encoder.models import EncoderSettings
from take.estimate.calibrate import LanguageModelCalibration, measure_encoder
from take.estimate.counts import RunSettings, Strings
from take.estimate.generation import plan_generation, rows_on_disk
from take.estimate.measure import Given, calibrated
from take.generation.finetuning.canaries import plant
from take.generation.finetuning.fine_tuning_settings import FineTuningSettings
from take.generation.finetuning.training import fine_tune, training_key
from take.generation.finetuning.updates import plan_updates
from take.generation.language_models import LanguageModel
from take.generation.sampling.rows import SamplingSettings
from take.generation.sampling.store import RowStore
from take.reuse.records import write_record
from tests.generation import tiny

TUNING = FineTuningSettings(
    method="full", token_budget=2000, max_epochs=2, validation_rows=16, evaluations=2
)
SAMPLING = SamplingSettings(rows=40, batch_rows=32, decoder="torch")


@pytest.fixture
def corpus() -> pd.DataFrame:
    labels = np.arange(120) % 2
    texts = [f"a {'warm' if i % 2 else 'dull'} film {'very ' * (i % 7)}old {i}" for i in range(120)]
    names = np.where(labels, "good", "bad").astype(object)
    ids = [f"{i:04d}" for i in range(120)]
    return pd.DataFrame({"id": ids, "text": texts, "label": labels, "label_name": names})


@pytest.fixture
def language_model(tmp_path: Path) -> LanguageModel:
    return tiny.saved("llama", tmp_path)


def test_a_plan_is_that_of_the_run(corpus: pd.DataFrame, language_model: LanguageModel):
    plan = plan_generation(corpus, language_model, TUNING, SAMPLING)
    rows = plant(corpus, plan.template, TUNING).rows
    calibration = LanguageModelCalibration(language_model, plan.template)
    rates, tokens = calibration.measure_tuning(plan.rows, TUNING)
    planned = plan_updates(rows.train.lengths, TUNING)
    expected = [sum(int(rows.train.lengths[b].sum()) for b in update) for update in planned]
    assert tokens.tolist() == expected
    assert plan.counts.held_out_tokens == int(rows.validation.lengths.sum())
    assert min(rates.update_seconds.seconds) > 0
    assert rates.evaluation_seconds_per_token > 0
    assert set(rates.update_seconds.sizes) <= set(expected)


def test_calibration_teaches_the_model_nothing(corpus: pd.DataFrame, language_model: LanguageModel):
    plan = plan_generation(corpus, language_model, TUNING, SAMPLING)
    calibration = LanguageModelCalibration(language_model, plan.template)
    before = {name: p.clone() for name, p in calibration._model.named_parameters()}
    calibration.measure_tuning(plan.rows, TUNING)
    after = dict(calibration._model.named_parameters())
    assert all((after[name] == value).all() for name, value in before.items())


@pytest.mark.parametrize("decoder", ["torch", "openvino_int8"])
def test_more_rows_take_the_decoder_longer(
    corpus: pd.DataFrame, language_model: LanguageModel, decoder: str
):
    settings = SamplingSettings(rows=40, batch_rows=512, decoder=decoder)
    plan = plan_generation(corpus, language_model, TUNING, settings)
    calibration = LanguageModelCalibration(language_model, plan.template)
    writing = calibration.measure_writing(settings, plan.counts.row_lengths)
    assert writing.step_seconds.sizes == (8, 128, 512)
    assert writing.step_seconds.seconds[-1] > writing.step_seconds.seconds[0]
    assert writing.loss_seconds_per_token > 0
    assert writing.load_seconds > writing.model_seconds


def test_a_finished_fine_tuning_is_found(corpus: pd.DataFrame, language_model: LanguageModel):
    plan = plan_generation(corpus, language_model, TUNING, SAMPLING)
    assert plan.rows is not None
    rows = plant(corpus, plan.template, TUNING).rows
    folder = language_model.work_folder(training_key(language_model, rows, TUNING))
    fine_tune(language_model, plan.template, rows, TUNING, folder)
    assert plan_generation(corpus, language_model, TUNING, SAMPLING).rows is None
    anew = plan_generation(corpus, language_model, TUNING, SAMPLING, anew=True)
    assert anew.rows is not None
    more = TUNING.model_copy(update={"token_budget": 2500})
    assert plan_generation(corpus, language_model, more, SAMPLING).rows is not None


def test_rows_on_disk_count_up_to_the_first_one_missing(tmp_path: Path):
    store = RowStore(tmp_path)
    for start, stop in ((0, 5), (5, 9), (12, 14)):
        store.add(pd.DataFrame({"label": 1, "index": np.arange(start, stop), "raw": "a"}))
    unrecorded = tmp_path / "class-1-rows-00000009-00000012.parquet"
    unrecorded.write_bytes(b"")
    assert (rows_on_disk(tmp_path, 1), rows_on_disk(tmp_path, 0)) == (9, 0)
    write_record(unrecorded)
    assert rows_on_disk(tmp_path, 1) == 14


@pytest.mark.encoder
def test_the_encoder_is_measured_past_its_cache(tmp_path: Path):
    encoder = Encoder(EncoderSettings(backend="torch"), tmp_path)
    strings = Strings.of([["a film", "a long and winding film about roads"]], encoder)
    assert (strings.unique, strings.missing) == (2, 2)
    rates = measure_encoder(encoder, strings.tokens)
    assert min(rates.seconds_per_string.seconds) > 0
    assert list(tmp_path.rglob("*.safetensors")) == []
    embed_corpus([["a film"]], encoder, EmbeddingSettings())
    columns = [["a film", "a long and winding film about roads"]]
    assert Strings.of(columns, encoder).missing == 1
    assert Strings.of(columns, encoder, anew=True).missing == 2


@pytest.mark.encoder
def test_only_what_runs_is_calibrated(
    corpus: pd.DataFrame, language_model: LanguageModel, tmp_path: Path
):
    def job_of(*running: str):
        given = Given(
            running=frozenset(running),
            settings=RunSettings("5/class", fine_tuning=TUNING, sampling=SAMPLING),
            corpus=corpus,
            evaluation_split=corpus[:20],
            encoder=Encoder(EncoderSettings(backend="torch"), tmp_path / "cache"),
            language_model=language_model,
            trained_rows=33,
        )
        return calibrated(given)[0]

    selection = job_of("select_rows")
    assert (selection.rates.encoder, selection.rates.tuning, selection.rates.writing) == (None,) * 3
    assert selection.written.trained_rows == 33
    sampling = job_of("sample_and_screen")
    assert sampling.rates.tuning is None
    assert sampling.rates.writing is not None
    assert not sampling.encoder_is_loaded
    both = job_of("embed_corpus", "fine_tune")
    assert both.rates.encoder is not None
    assert both.rates.tuning is not None
    assert both.rates.writing is None
