from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from take.generation.language_models import LanguageModel, LanguageModelSettings
from take.generation.sampling import batches
from take.generation.sampling.decoders import load_decoder
from take.generation.sampling.guidance import GuidedDecoder
from take.generation.sampling.rows import LengthBounds, SamplingSettings, corpus_lengths, write_rows
from take.generation.sampling.writer import RowStore, RowWriter, row_key
from take.generation.template import Template
from take.generation.vocabulary import WHOLE, Vocabulary
from tests.generation.tiny import model, saved, tokenizer

LABELS = ["negative", "positive"]
BOUNDS = LengthBounds(shortest=2, longest=12)
SETTINGS = SamplingSettings(batch_rows=8, seed=3)


@pytest.fixture(scope="module")
def template() -> Template:
    return Template(tokenizer("llama"), LABELS, "single", 50)


@pytest.fixture(scope="module")
def decoder(template: Template):
    return load_decoder("openvino_int8", model("llama", len(tokenizer("llama"))))


def rows_of(decoder, template: Template, numbers, **changes) -> pd.DataFrame:
    settings = SETTINGS.model_copy(update=changes)
    return write_rows(GuidedDecoder(decoder, template, [0]), numbers, BOUNDS, settings)


@pytest.mark.parametrize("width", [1, 3, 8, 11, 40])
def test_rows_do_not_depend_on_the_batch(decoder, template: Template, width: int) -> None:
    whole = rows_of(decoder, template, range(64))
    parts = [rows_of(decoder, template, range(i, min(i + width, 64))) for i in range(0, 64, width)]
    pd.testing.assert_frame_equal(pd.concat(parts, ignore_index=True), whole)


def test_rows_depend_on_seed_and_class(decoder, template: Template) -> None:
    rows = rows_of(decoder, template, range(32))
    assert rows["raw"].tolist() != rows_of(decoder, template, range(32), seed=4)["raw"].tolist()
    other = write_rows(GuidedDecoder(decoder, template, [1]), range(32), BOUNDS, SETTINGS)
    assert rows["raw"].tolist() != other["raw"].tolist()


def test_lengths_keep_to_the_bounds(decoder, template: Template) -> None:
    rows = rows_of(decoder, template, range(200), temperature=2.0)
    assert rows["tokens"].between(BOUNDS.shortest, BOUNDS.longest + 1).all()
    assert (rows.loc[~rows["finished"], "tokens"] == BOUNDS.longest + 1).all()
    assert rows["finished"].any()


def test_no_special_token_is_written(decoder, template: Template) -> None:
    class Tempting:
        """Finds special tokens by far the likeliest."""

        def tempt(self, logits: np.ndarray) -> np.ndarray:
            logits = logits.copy()
            logits[:, sorted(template.special_ids - {template.end_id})] += 1000
            return logits

        def begin(self, prompt):
            return self.tempt(decoder.begin(prompt))

        def step(self, tokens, parents):
            assert not set(tokens.tolist()) & template.special_ids
            return self.tempt(decoder.step(tokens, parents))

    assert (rows_of(Tempting(), template, range(16))["tokens"] >= BOUNDS.shortest).all()


def test_a_special_token_beyond_the_head_is_allowed() -> None:
    """Gemma 3's tokenizer ends with a token for images that its text models' heads lack."""
    words = tokenizer("gemma")
    head = len(words)
    words.add_special_tokens({"additional_special_tokens": ["<image_soft_token>"]})
    made = Template(words, LABELS, "single", 50)
    assert max(made.special_ids) >= head
    decoder = load_decoder("torch", model("gemma", head))
    guided = GuidedDecoder(decoder, made, [0])
    assert len(write_rows(guided, range(8), BOUNDS, SETTINGS)) == 8


def test_greedy_decoding_equals_that_of_transformers(template: Template) -> None:
    """One candidate token leaves no chance: then `generate` must write the same."""
    import torch

    lm = model("llama", len(tokenizer("llama")))
    decoder = GuidedDecoder(load_decoder("torch", lm), template, [1])
    rows = write_rows(decoder, [0], BOUNDS, SamplingSettings(top_k=1))
    prompt = torch.tensor([template.prompt(1)])
    banned = [[i] for i in template.special_ids - {template.end_id}]
    ids = lm.generate(
        prompt,
        do_sample=False,
        min_new_tokens=BOUNDS.shortest,
        max_new_tokens=BOUNDS.longest + 1,
        eos_token_id=template.end_id,
        pad_token_id=template.end_id,
        bad_words_ids=banned,
    )
    assert rows["raw"][0] == template.decode(ids[0, prompt.shape[1] :].tolist())


@pytest.mark.parametrize("quantiles", [(0.9, 0.1), (-0.1, 1.0), (0.0, 2.0), (0.5, 0.5)])
def test_invalid_quantiles_are_refused(quantiles: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="lower < upper"):
        SamplingSettings(length_quantiles=quantiles)


def test_bounds_are_learned_from_the_corpus(template: Template) -> None:
    texts = ["a warm film"] * 50 + ["a " * 30]
    corpus = pd.DataFrame({"text": texts})
    lengths = corpus_lengths(corpus, template)
    bounds = LengthBounds.of(lengths, (0.0, 0.95))
    assert bounds.shortest == bounds.longest == len(template.encode(texts[:1])) - 1


class TestWriter:
    @pytest.fixture(autouse=True)
    def _compile_once(self, monkeypatch: pytest.MonkeyPatch, decoder) -> None:
        """`saved` has the same weights: compiling them for each test takes seconds."""
        compiled = {"openvino_int8": decoder}
        monkeypatch.setattr(batches, "load_decoder", lambda name, model: compiled[name])

    def writer(self, language_model: LanguageModel, folder: Path, **changes) -> RowWriter:
        settings = SETTINGS.model_copy(update=changes)
        template = Template(language_model.load_tokenizer(), LABELS, "single", 50)
        return RowWriter(language_model.load_model, template, BOUNDS, settings, RowStore(folder))

    def test_rows_on_disk_are_not_written_again(self, tmp_path: Path) -> None:
        lm = saved("llama", tmp_path)
        first = self.writer(lm, tmp_path / "rows")
        rows = first.read(0, 0, 20)
        assert first.tokens > 0
        again = self.writer(lm, tmp_path / "rows")
        pd.testing.assert_frame_equal(again.read(0, 0, 20), rows)
        assert again.tokens == 0
        more = again.read(0, 0, 30)
        pd.testing.assert_frame_equal(more.head(20), rows)
        assert more["index"].tolist() == list(range(30))

    def test_an_interrupted_run_continues_to_the_same_rows(self, tmp_path: Path) -> None:
        lm = saved("llama", tmp_path)
        whole = self.writer(lm, tmp_path / "whole").read(1, 0, 40)

        class KilledError(Exception):
            pass

        class DyingStore(RowStore):
            def add(self, rows: pd.DataFrame) -> None:
                if rows["index"].iloc[0] >= 16:
                    raise KilledError
                super().add(rows)

        writer = self.writer(lm, tmp_path / "parts")
        writer._store = DyingStore(tmp_path / "parts")
        with pytest.raises(KilledError):
            writer.read(1, 0, 40)
        assert len(RowStore(tmp_path / "parts").read(1, 0, 40)) == 16
        resumed = self.writer(lm, tmp_path / "parts", batch_rows=16)
        pd.testing.assert_frame_equal(resumed.read(1, 0, 40), whole)

    def test_a_damaged_part_is_written_again(self, tmp_path: Path) -> None:
        lm = saved("llama", tmp_path)
        rows = self.writer(lm, tmp_path / "rows").read(0, 0, 24)
        part = sorted((tmp_path / "rows").glob("*.parquet"))[1]
        part.write_bytes(part.read_bytes()[:-8] + b"xxxxxxxx")
        pd.testing.assert_frame_equal(self.writer(lm, tmp_path / "rows").read(0, 0, 24), rows)

    def test_the_key_knows_what_decides_a_row(self, tmp_path: Path) -> None:
        lm = saved("llama", tmp_path)
        tuned = tmp_path / "tuned"
        tuned.mkdir()
        (tuned / "weights").write_bytes(b"1")

        def key(prompts=((1, 2),), bounds=BOUNDS, vocabulary=WHOLE, **changes) -> str:
            settings = SETTINGS.model_copy(update=changes)
            return row_key(lm, tuned, prompts, bounds, settings, vocabulary)

        same = key()
        assert same == key(rows=7, tries=9.0, batch_rows=64)
        assert same != key(temperature=0.5)
        assert same != key(seed=5)
        assert same != key(guidance=1.0)
        assert same != key(rivals=1)
        assert key(guidance=0.0) == key(guidance=0.0, rivals=1)
        assert same != key(vocabulary=Vocabulary(np.array([1, 2])))
        assert same != key(prompts=((1, 3),))
        assert same != key(bounds=LengthBounds(shortest=1, longest=12))
        assert key(decoder="torch") != key(decoder="torch", batch_rows=64)
        (tuned / "weights").write_bytes(b"2")
        assert same != key()


@pytest.mark.lm
def test_the_embedded_model_writes_the_same_rows_in_any_batch(tmp_path: Path) -> None:
    """The real SmolLM2 through its whole path: package, conversion, OpenVINO int8, sampling."""
    lm = LanguageModel(LanguageModelSettings(), tmp_path)
    template = Template(lm.load_tokenizer(), LABELS, "single", 50)
    decoder = load_decoder("openvino_int8", lm.load_model())
    whole = rows_of(decoder, template, range(24))
    parts = [rows_of(decoder, template, range(i, i + 3)) for i in range(0, 24, 3)]
    pd.testing.assert_frame_equal(pd.concat(parts, ignore_index=True), whole)
    assert (whole["raw"].str.len() > 0).all()
    assert np.unique(whole["raw"]).size > 12
