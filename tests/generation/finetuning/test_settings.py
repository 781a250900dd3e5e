import pytest
from pydantic import ValidationError

from take.generation.finetuning.fine_tuning_settings import FineTuningSettings

PRIVATE = {"evaluations": 0, "privacy": {"target_epsilon": 4}}


@pytest.mark.parametrize(
    "wrong",
    [
        {"method": "adapter"},
        {"lora_rank": 0},
        {"token_budget": 0},
        {"lora_dropout": 1.0},
        {"learning_rate": 0},
        {"patience": 0},
        {"privacy": {}},
        {"privacy": {"target_epsilon": 0}, "evaluations": 0},
        {"epochs": 3},
    ],
)
def test_invalid_settings_are_refused(wrong):
    with pytest.raises(ValidationError):
        FineTuningSettings(**wrong)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"method": "full"}, "requires method 'lora'"),
        ({"row_sampling": "knowledge"}, "requires row_sampling 'balanced'"),
        ({"evaluations": 4}, "evaluations 0, not 4"),
    ],
)
def test_refuses_privacy_with_what_epsilon_does_not_cover(change, words):
    with pytest.raises(ValidationError, match=words):
        FineTuningSettings(**{**PRIVATE, **change})


def test_privacy_goes_with_accumulation():
    assert FineTuningSettings(**PRIVATE, accumulation=4).privacy.clip_norm == 1.0
