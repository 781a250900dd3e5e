"""Settings do not read truth values as numbers."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from take.corpus.ingest import IngestionSettings
from take.corpus.spec import About, CorpusSpec, EvaluationShare
from take.frozen import Frozen
from take.generation.sampling.rows import SamplingSettings
from tests.conftest import CSV_CORPUS


@pytest.mark.parametrize(
    ("settings", "name", "values"),
    [
        (IngestionSettings, "budget", {"budget": True}),
        (IngestionSettings, "max_text_chars", {"budget": "2", "max_text_chars": True}),
        (EvaluationShare, "seed", {"seed": False}),
        (SamplingSettings, "rows", {"rows": True}),
        (SamplingSettings, "length_quantiles", {"length_quantiles": [False, 0.9]}),
        (CorpusSpec, "seed", {**CSV_CORPUS, "evaluation": {"seed": True}}),
    ],
)
def test_a_truth_value_is_no_number(
    settings: type[Frozen], name: str, values: dict[str, Any]
) -> None:
    with pytest.raises(ValidationError, match=rf"{name} is .*(true|false).*, not a number"):
        settings.model_validate(values)


def test_truth_values_are_read_where_they_are_meant() -> None:
    class Switch(Frozen):
        on: bool
        by_name: dict[str, bool]
        rows: int = 1

    switch = Switch.model_validate({"on": True, "by_name": {"a": False}, "rows": 2})
    assert (switch.on, switch.by_name, switch.rows) == (True, {"a": False}, 2)
    assert About.model_validate({"contains_personal_data": True}).contains_personal_data == "yes"
