"""Training sets as a grid makes them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from take.evaluation.methods import METHODS
from take.evaluation.methods.corpus_rows import random
from take.evaluation.methods.material import BaselineSettings, Material, TrainingSet
from take.evaluation.training_sets import make_set
from tests.evaluation.methods.conftest import make_material


def test_a_finished_search_leaves_other_searches_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`exam` clears its folder when it is done, whoever else's searches are in it."""
    other = tmp_path / "another/exam-0.safetensors"
    other.parent.mkdir()
    other.touch()

    def searching(material: Material, settings: BaselineSettings, seed: int) -> TrainingSet:
        assert material.work is not None
        material.work.mkdir()
        (material.work / "exam-1.safetensors").touch()
        for file in material.work.glob("exam-*"):
            file.unlink()
        return random(material, settings, seed)

    monkeypatch.setitem(METHODS, "searching", searching)
    material = replace(make_material(), work=tmp_path)
    make_set("searching", material, BaselineSettings(), 0, search="mine")
    assert other.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["another"]
