from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers.generation.logits_process import (
    LogitsProcessorList,
    RepetitionPenaltyLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from take.generation.sampling.rows import SamplingSettings, chances, choose_tokens

NOTHING = np.empty((1, 0), dtype=np.int64)


def distribution(logits: np.ndarray, written: np.ndarray, settings: SamplingSettings) -> np.ndarray:
    """How often each token is chosen over evenly spread chances."""
    spread = (np.arange(4000) + 0.5) / 4000
    rows = np.repeat(logits[None], len(spread), axis=0)
    history = np.repeat(written, len(spread), axis=0)
    chosen = choose_tokens(rows, history, spread, settings)
    return np.bincount(chosen, minlength=len(logits)) / len(spread)


@pytest.mark.parametrize(
    "changes",
    [
        {"top_k": None, "top_p": 1.0},
        {"top_k": None, "top_p": 0.8},
        {"top_k": 5, "top_p": 1.0},
        {"top_k": 10, "top_p": 0.7, "temperature": 0.6},
        {"top_k": 20, "top_p": 0.9, "temperature": 1.7, "repetition_penalty": 1.5},
    ],
)
def test_the_distribution_is_transformers_own(changes: dict) -> None:
    settings = SamplingSettings(**changes)
    logits = np.random.default_rng(1).normal(size=30).astype(np.float32) * 2
    written = np.array([[3, 7, 7, 11]])
    steps = LogitsProcessorList()
    if settings.repetition_penalty != 1:
        steps.append(RepetitionPenaltyLogitsProcessor(settings.repetition_penalty))
    steps.append(TemperatureLogitsWarper(settings.temperature))
    if settings.top_k:
        steps.append(TopKLogitsWarper(settings.top_k))
    if settings.top_p < 1:
        steps.append(TopPLogitsWarper(settings.top_p))
    expected = steps(torch.from_numpy(written), torch.from_numpy(logits[None])).softmax(-1)[0]
    found = distribution(logits, written, settings)
    np.testing.assert_allclose(found, expected.numpy(), atol=2e-3)


def test_a_nucleus_wider_than_the_first_look_is_still_exact() -> None:
    settings = SamplingSettings(top_k=None, top_p=0.99)
    flat = np.zeros(1000, dtype=np.float32)
    assert (distribution(flat, NOTHING, settings) > 0).sum() == pytest.approx(990, abs=2)


def test_forbidden_tokens_are_never_chosen() -> None:
    logits = np.array([5.0, -np.inf, 4.0, -np.inf], dtype=np.float32)
    for settings in (SamplingSettings(top_k=None, top_p=1.0), SamplingSettings()):
        found = distribution(logits, NOTHING, settings)
        assert found[1] == found[3] == 0


@given(st.integers(0, 2**32 - 1), st.integers(0, 50), st.integers(0, 300))
def test_a_row_s_chance_is_its_own(seed: int, label: int, position: int) -> None:
    together = chances(seed, label, np.arange(20), position)
    alone = [chances(seed, label, np.array([row]), position)[0] for row in range(20)]
    assert together.tolist() == alone
    assert ((together >= 0) & (together < 1)).all()


def test_chances_are_even_and_do_not_repeat() -> None:
    numbers = np.concatenate(
        [chances(0, label, np.arange(500), step) for label in range(4) for step in range(25)]
    )
    assert len(np.unique(numbers)) == len(numbers)
    counts, _ = np.histogram(numbers, bins=20, range=(0, 1))
    assert np.abs(counts - len(numbers) / 20).max() < 5 * np.sqrt(len(numbers) / 20)
    assert abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) < 0.02
