"""Measuring with the real code on a tiny language model; the encoder is the real one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from take.encoder.encode import EmbeddingSettings, Encoder, embed_corpus
from take.encoder.models import EncoderSettings
from take.estimate import _Reader
from take.estimate.rates import GenerationPlan, Rates, rows_on_disk
from take.generation.finetuning.canaries import plant
from take.generation.finetuning.fine_tuning_settings import FineTuningSettings
from take.generation.finetuning.training import fine_tune, training_key
from take.generation.finetuning.updates import plan_updates
from take.generation.language_models import LanguageModel
from take.generation.sampling.rows import SamplingSettings
from take.generation.sampling.writer import RowStore
from tests.generation import tiny
from tests.recording import write_record

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


def test_all_planned_tokens_are_counted_and_the_model_is_not_changed(
    corpus: pd.DataFrame, language_model: LanguageModel, monkeypatch: pytest.MonkeyPatch
):
    model = language_model.load_model()
    monkeypatch.setattr(language_model, "load_model", lambda: model)
    before = {name: p.clone() for name, p in model.named_parameters()}
    plan = GenerationPlan.of(corpus, language_model, TUNING, SAMPLING)
    rates = Rates()
    rates.measure_language_model(plan, trains=True, writes=False)
    lengths = plant(corpus, plan.template, TUNING).rows.train.lengths
    updates = plan_updates(lengths, TUNING)
    assert rates.trained_tokens == sum(int(lengths[b].sum()) for update in updates for b in update)
    assert min(rates.trained_token, rates.read_token, rates.trained_bytes) > 0
    after = dict(model.named_parameters())
    assert all((after[name] == value).all() for name, value in before.items())


@pytest.mark.parametrize("decoder", ["torch", "openvino_int8"])
def test_the_decoder_is_measured(corpus: pd.DataFrame, language_model: LanguageModel, decoder: str):
    settings = SamplingSettings(rows=40, batch_rows=512, decoder=decoder)
    plan = GenerationPlan.of(corpus, language_model, TUNING, settings)
    rates = Rates()
    rates.measure_language_model(plan, trains=False, writes=True)
    assert (rates.trained_tokens, rates.trained_token) == (0, 0)
    assert rates.written_token > 0
    assert min(rates.read_token, rates.model_load, rates.decoder_load) > 0
    assert set(rates.peaks) == {"reading", "decoder"}


def test_a_finished_fine_tuning_is_found(corpus: pd.DataFrame, language_model: LanguageModel):
    plan = GenerationPlan.of(corpus, language_model, TUNING, SAMPLING)
    assert plan.rows is not None
    folder = language_model.work_folder(training_key(language_model, plan.rows, TUNING))
    fine_tune(language_model, plan.template, plan.rows, TUNING, folder)
    assert GenerationPlan.of(corpus, language_model, TUNING, SAMPLING).rows is None
    again = GenerationPlan.of(corpus, language_model, TUNING, SAMPLING, from_scratch=True)
    assert again.rows is not None
    more = TUNING.model_copy(update={"token_budget": 2500})
    assert GenerationPlan.of(corpus, language_model, more, SAMPLING).rows is not None


def test_rows_on_disk_are_those_of_completed_files(tmp_path: Path):
    store = RowStore(tmp_path)
    for start, stop in ((0, 5), (5, 9)):
        store.add(pd.DataFrame({"label": 1, "index": np.arange(start, stop), "raw": "a"}))
    unrecorded = tmp_path / "class-0-rows-00000000-00000003.parquet"
    unrecorded.write_bytes(b"")
    assert rows_on_disk(tmp_path) == 9
    write_record(unrecorded)
    assert rows_on_disk(tmp_path) == 12


@pytest.mark.encoder
def test_measuring_the_encoder_leaves_nothing_in_its_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("take.estimate.rates._ENCODED_TOKENS", 64)
    monkeypatch.setattr("take.encoder.backends.TorchBackend.batch_tokens", 64)
    encoder = Encoder(EncoderSettings(backend="torch"), tmp_path)
    rates = Rates()
    rates.measure_encoder(encoder, np.array([4, 9, 12]))
    assert rates.string > 0
    assert list(tmp_path.rglob("*.safetensors")) == []


class Given(dict[str, Any]):
    """A catalog as far as an estimate reads it."""

    def load(self, name: str) -> Any:
        return self[name]

    def exists(self, name: str) -> bool:
        return name in self


@pytest.mark.encoder
def test_only_what_runs_is_measured_and_cached_strings_are_not_encoded(
    corpus: pd.DataFrame,
    language_model: LanguageModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    encoder = Encoder(EncoderSettings(backend="torch"), tmp_path / "cache")
    catalog = Given(
        {
            "corpus": corpus,
            "evaluation_split": corpus[:20],
            "encoder": encoder,
            "language_model": language_model,
            "params:distillation.budget": "5/class",
            "params:distillation.selection": {},
            "params:generation.sampling": SAMPLING.model_dump(),
            "params:generation.fine_tuning": TUNING.model_dump(),
            "params:generation.quality": {},
            "params:generation.verifier": {},
        }
    )
    measured: list[str] = []
    monkeypatch.setattr(Rates, "measure_machine", lambda _: measured.append("machine"))
    monkeypatch.setattr(Rates, "measure_encoder", lambda *_: measured.append("encoder"))

    def measure_language_model(_: Rates, plan: GenerationPlan, *, trains: bool, writes: bool):
        measured.extend(["updates"] * trains + ["decoder"] * writes)

    monkeypatch.setattr(Rates, "measure_language_model", measure_language_model)

    def measured_for(*running: str) -> list[str]:
        measured.clear()
        reader = _Reader(catalog, frozenset(running), from_scratch=False)  # type: ignore[arg-type]
        reader.job()
        return list(measured)

    assert measured_for() == []
    assert measured_for("select_rows") == ["machine"]
    assert measured_for("sample_and_screen") == ["encoder", "decoder", "machine"]
    assert measured_for("embed_corpus", "fine_tune") == ["encoder", "updates", "machine"]

    def missing(*, from_scratch: bool) -> int:
        running = frozenset({"embed_corpus"})
        return _Reader(catalog, running, from_scratch=from_scratch).job().missing  # type: ignore[arg-type]

    assert missing(from_scratch=False) == 120
    embed_corpus([corpus["text"].tolist()[:100]], encoder, EmbeddingSettings())
    assert missing(from_scratch=False) == 20
    embed_corpus([corpus["text"].tolist()], encoder, EmbeddingSettings())
    assert measured_for("embed_corpus") == ["machine"]
    assert missing(from_scratch=True) == 120
