"""Tiny models of four families with random weights; the real SmolLM2 where a test says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest
import torch

from take.generation.finetuning.examples import choose_rows
from take.generation.finetuning.fine_tuning_settings import FineTuningSettings
from take.generation.finetuning.token_rows import TrainingRows
from take.generation.language_models import LanguageModel
from take.generation.template import Template
from tests.generation import tiny


def films(n_rows: int) -> pd.DataFrame:
    """Two classes of texts of many lengths, none of them alike."""
    moods = ("dull", "grand")
    sounds = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
    words = [sounds[7 * i % 60] + sounds[i // 60 % 60 + 1] for i in range(3 * n_rows)]
    names = [" ".join(words[3 * i : 3 * i + 3]) for i in range(n_rows)]
    texts = [f"{names[i]} a {moods[i % 2]} film {'very ' * (i % 5)}old" for i in range(n_rows)]
    return pd.DataFrame(
        {"id": range(n_rows), "text": texts, "label": [i % 2 for i in range(n_rows)]}
    )


def quick(**changes: Any) -> FineTuningSettings:
    """Settings that suit the tiny models."""
    usual = {
        "token_budget": 4000,
        "max_text_tokens": 48,
        "learning_rate": 5e-3,
        "lora_rank": 4,
        "lora_alpha": 8,
        "checkpoint_seconds": 3600,
        "precision": "float32",  # the same on every machine
    }
    return FineTuningSettings(**{**usual, **changes})


def private(**changes: Any) -> FineTuningSettings:
    """The same under differential privacy; noise is seeded, so that tests do not differ by luck."""
    privacy = {"target_epsilon": 8, "accountant": "rdp", "noise_seed": 1}
    privacy |= changes.pop("privacy", {})
    return quick(evaluations=0, privacy=privacy, **changes)


class Bench(NamedTuple):
    """A language model with what fine-tuning needs besides."""

    language_model: LanguageModel
    template: Template

    def rows(self, settings: FineTuningSettings, n_rows: int = 60) -> TrainingRows:
        return choose_rows(films(n_rows), self.template, settings)


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Tiny matrices: more threads only wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Bench]:
    made: dict[str, Bench] = {}
    folder = tmp_path_factory.mktemp("models")

    def make(family: str) -> Bench:
        if family not in made:
            language_model = tiny.saved(family, folder)
            words = language_model.load_tokenizer()
            made[family] = Bench(language_model, Template(words, ["bad", "good"], "single", 48))
        return made[family]

    return make


def contents(folder: Path) -> dict[str, bytes]:
    """Every file under a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
