"""bfloat16 is used only where another process has shown that it runs and is faster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from take import precision as precision_module
from take.learners import Shared, TransformerSettings, make_learner
from tests.learners import toy


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    precision_module._best.cache_clear()
    yield
    precision_module._best.cache_clear()


@pytest.mark.parametrize(
    ("probe", "expected"),
    [
        ("print(3.1)", "bfloat16"),
        ("print(1.4)", "float32"),  # too little to be told from a busy machine
        ("print(0.3)", "float32"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGILL)", "float32"),
        ("print('no number')", "float32"),
        ("import time; time.sleep(60)", "float32"),
    ],
)
def test_a_probe_decides(probe: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision_module, "_PROBE", probe)
    monkeypatch.setattr(precision_module, "_SECONDS", 2)
    assert precision_module.resolved("auto") == expected
    monkeypatch.setattr(precision_module, "_PROBE", "print(3.1)")
    assert precision_module.resolved("auto") == expected, "probed twice"


def test_what_is_set_is_not_probed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision_module, "_best", None)
    assert precision_module.resolved("bfloat16") == "bfloat16"
    assert precision_module.resolved("float32") == "float32"


@pytest.mark.tiny_lm
def test_the_real_probe_ends_with_an_answer() -> None:
    assert precision_module.resolved("auto") in ("float32", "bfloat16")


@pytest.mark.tiny_lm
@pytest.mark.parametrize("gain", [0.3, 3.0])
def test_identity_and_title_say_what_was_used(
    gain: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(precision_module, "_PROBE", f"print({gain})")
    shared, folder = Shared(), str(toy.bert(tmp_path))
    learners = {
        precision: make_learner(TransformerSettings(model=folder, precision=precision), shared)
        for precision in ("auto", "float32", "bfloat16")
    }
    same, other = ("bfloat16", "float32") if gain > 1 else ("float32", "bfloat16")
    assert learners["auto"].identity == learners[same].identity != learners[other].identity
    assert ("bfloat16" in learners["auto"].title) is (gain > 1)
