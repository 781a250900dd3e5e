"""Membership inference, with a tiny model that learns its rows by heart, and one that does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from take.audit.privacy.membership import Losses, MembershipSettings, attack, drawn_rows, extracted
from take.generation.finetuning.adapter import load_tuned
from take.generation.finetuning.canaries import plant, read_canaries, rows_by_role
from take.generation.finetuning.fine_tuning_settings import FineTuningSettings
from take.generation.finetuning.training import fine_tune
from take.generation.finetuning.updates import row_losses
from take.generation.language_models import LanguageModel, LanguageModelSettings
from take.generation.template import Template
from tests.generation import tiny

WORDS = ["old", "new", "warm", "cold", "dull", "grand", "film", "plot", "joke", "scene", "war"]


def corpus(n_rows: int) -> pd.DataFrame:
    """Rows of random words: nothing but memorisation distinguishes them."""
    rng = np.random.default_rng(1)
    texts = [" ".join(rng.choice(WORDS, 6)) for _ in range(n_rows)]
    labels = np.arange(n_rows) % 2
    return pd.DataFrame(
        {
            "id": [f"r{i}" for i in range(n_rows)],
            "text": texts,
            "label": labels,
            "label_name": np.array(["bad", "good"])[labels],
        }
    )


@pytest.fixture(scope="module")
def language_model(tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    folder = tmp_path_factory.mktemp("lm")
    tiny.saved("llama", folder)
    return LanguageModel(LanguageModelSettings(model=str(folder / "llama")), folder / "cache")


def attacked(
    language_model: LanguageModel, folder: Path, **settings: Any
) -> tuple[dict[str, Any], pd.DataFrame]:
    rows = corpus(400)
    usual = {"method": "full", "max_text_tokens": 64, "validation_rows": 80, "evaluations": 1}
    chosen = FineTuningSettings(**{**usual, **settings})
    template = Template(language_model.load_tokenizer(), ["bad", "good"], "single", 64)
    planting = plant(rows, template, chosen)
    tuned = fine_tune(language_model, template, planting.rows, chosen, folder)
    canaries = read_canaries(planting, chosen, tuned.report)
    used = rows_by_role(rows, planting, chosen, tuned.report)

    def losses(model: Any) -> Losses:
        def mean(batch: Any) -> Any:
            found = row_losses(model, batch, 16, template.end_id)
            return found.total / found.tokens

        return mean

    members, others = drawn_rows(rows, used, template, MembershipSettings(rows=80))
    base, after = language_model.load_model(), load_tuned(language_model, tuned.folder)
    return attack(canaries, members, others, template, losses(base), losses(after))


def test_a_model_that_repeats_its_rows_is_detected(
    language_model: LanguageModel, tmp_path: Path
) -> None:
    found, scores = attacked(
        language_model,
        tmp_path,
        learning_rate=0.003,
        token_budget=2_000_000,
        max_epochs=20,
        seed=4,  # the interval of a rate among 32 is wide; with some seeds it reaches below
        canaries={"planted": 32, "repeats": 3, "most_share": 0.5},
    )
    assert found["canaries"].members == 32
    assert found["canaries"].auc.low > 0.8
    assert found["canaries"].tpr.low > 0.25
    assert found["rows"].auc.low > 0.6
    assert set(scores["group"]) == {"canaries", "rows"}
    assert scores["member"].sum() == 32 + 80


def test_a_model_trained_on_each_row_once_is_not(
    language_model: LanguageModel, tmp_path: Path
) -> None:
    found, _ = attacked(
        language_model,
        tmp_path,
        learning_rate=0.001,
        token_budget=10_000,
        max_epochs=1,
        canaries={"planted": 32, "most_share": 0.5},
    )
    for name in ("canaries", "rows"):
        assert found[name].auc.low < 0.55
        assert found[name].tpr.low < 0.05


def test_both_sides_have_as_many_rows_of_each_class(language_model: LanguageModel) -> None:
    rows = corpus(60)
    template = Template(language_model.load_tokenizer(), ["bad", "good"], "single", 64)
    role = ["trained"] * 40 + ["validation"] * 6 + ["unread"] * 14
    used = pd.DataFrame({"id": rows["id"], "role": role, "read": [1] * 40 + [0] * 20})
    members, others = drawn_rows(rows, used, template, MembershipSettings(rows=20))
    for side, allowed in ((members, range(40)), (others, range(40, 46))):
        assert np.bincount(rows["label"].to_numpy()[side.positions]).tolist() == [3, 3]
        assert set(side.positions) <= set(allowed)
    # Trained on only after the weights that were kept: on neither side.
    used.loc[:37, "read"] = 0
    late, _ = drawn_rows(rows, used, template, MembershipSettings(rows=20))
    assert sorted(late.positions) == [38, 39]
    # Trained on for their weights: others are no reference.
    weighed = used.assign(role=used["role"].replace("unread", "excluded"), read=1)
    assert len(drawn_rows(rows, weighed, template, MembershipSettings(rows=20))[0]) == 0


def test_nothing_to_compare_is_no_attack(language_model: LanguageModel) -> None:
    rows = corpus(20)
    template = Template(language_model.load_tokenizer(), ["bad", "good"], "single", 64)
    used = pd.DataFrame({"id": rows["id"], "role": "trained", "read": 1})
    members, others = drawn_rows(rows, used, template, MembershipSettings())
    assert len(members) == len(others) == 0
    none = rows.iloc[:0].assign(planted=0, read=0)
    found, scores = attack(none, members, others, template, len, len)  # type: ignore[arg-type]
    assert found == {"canaries": None, "rows": None}
    assert scores.empty


def test_secrets_in_what_was_generated_are_counted() -> None:
    canaries = pd.DataFrame(
        {"text": [f"the code is {n}" for n in (123456789, 222333444, 987654321)]}
    ).assign(planted=[2, 2, 0])
    generated = pd.Series(
        [
            "The code is 123456789",
            "the code is 555",
            "The CODE is 987654321!",
            "call 222333444",
            "a dull film",
        ]
    )
    # The third is a control; the fourth is no canary by its words, and reveals a secret.
    assert extracted(generated, canaries) == (3, 2, 1)
    grouped = pd.Series(["ref. 123 456-789", "id 0123456789"])
    assert extracted(grouped, canaries) == (0, 1, 0)
    assert extracted(generated, canaries.iloc[:0]) == (0, 0, 0)
