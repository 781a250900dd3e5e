from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from take.errors import InputError
from take.generation.quality.distances import equivalent_rows
from take.generation.quality.evidence import match


@given(
    pool=st.lists(st.integers(0, 3), min_size=1, max_size=30),
    corpus=st.lists(st.integers(0, 3), min_size=8, max_size=60),
    seed=st.integers(0, 100),
)
def test_both_sides_have_one_mix_of_classes(pool, corpus, seed):
    pool_labels, corpus_labels = np.array(pool), np.array([0, 0, 1, 1, 2, 2, 3, 3, *corpus])
    rng = np.random.default_rng(seed)
    seen = rng.random(len(corpus_labels)) < 0.5
    matched = match(pool_labels, corpus_labels, seen, rng)
    counts = [
        np.bincount(labels[rows], minlength=4).tolist()
        for labels, rows in (
            (pool_labels, matched.pool),
            (corpus_labels, matched.real),
            (corpus_labels, matched.other),
        )
    ]
    assert counts[0] == counts[1] == counts[2]
    drawn = [*matched.real.tolist(), *matched.other.tolist()]
    assert len(set(drawn)) == len(drawn)
    assert len(set(matched.pool.tolist())) == len(matched)
    for label in range(4):  # a seen row is drawn only when no unseen row of its class is left
        real = [row for row in matched.real if corpus_labels[row] == label]
        unseen = int(((corpus_labels == label) & ~seen).sum())
        assert sum(~seen[real]) == min(unseen, len(real))


def test_nothing_to_compare_with_is_refused():
    with pytest.raises(InputError, match="no class of the pool"):
        match(np.array([0]), np.array([0, 1, 1]), np.zeros(3, bool), np.random.default_rng(0))


def test_equivalent_rows_finds_the_size_of_a_sample():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((3000, 32))
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    queries, references = rows[:1000], rows[1000:2000]
    for size in (10, 60, 400):
        sample = rows[2000 : 2000 + size]
        mean = np.sqrt(2 - 2 * (queries @ sample.T).max(axis=1)).mean()
        assert equivalent_rows(float(mean), queries, references) == pytest.approx(size, rel=0.25)
    assert equivalent_rows(0.0, queries, references) == pytest.approx(1000)
    assert equivalent_rows(2.0, queries, references) == pytest.approx(1)
