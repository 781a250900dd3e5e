"""The searches against their definitions, computed pair by pair."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from take.encoder.embeddings import Embeddings, MappedVectors
from take.rows import pairs as row_pairs
from take.rows.pairs import nearest_by_cosine, pairs_by_cosine
from take.text import overlap
from take.text.normalise import bare_words
from take.text.overlap import OverlapIndex

# Few letters: overlaps, repeats and ties abound.
texts = st.lists(st.text("abcde  ", max_size=24), max_size=12)


def shingles(text: str, n: int) -> Counter:
    found = bare_words(text)
    padded = [""] * (n - 1) + found + [""] * (n - 1)
    return Counter(tuple(padded[i : i + n]) for i in range(len(padded) - n + 1) if found or n == 1)


def jaccard(one: str, other: str, n: int) -> float:
    x, y = shingles(one, n), shingles(other, n)
    return (x & y).total() / max(1, (x | y).total())


@given(texts, texts, st.sampled_from([0.3, 0.5, 0.65, 0.7, 1.0]), st.integers(1, 3))
def test_pairs_are_all_those_the_definition_gives(
    reference: list[str], queries: list[str], floor: float, n: int
) -> None:
    index = OverlapIndex(reference, floor, n)
    expected = {
        (i, j): jaccard(query, text, n)
        for i, query in enumerate(queries)
        for j, text in enumerate(reference)
        if jaccard(query, text, n) >= floor
    }
    found = index.pairs(queries)
    pairs = list(zip(found.query.tolist(), found.row.tolist(), strict=True))
    assert pairs == sorted(expected)
    np.testing.assert_allclose(found.value, [expected[pair] for pair in pairs])

    best = index.best(queries)
    for i in range(len(queries)):
        of_query = {j: value for (query, j), value in expected.items() if query == i}
        first_best = max(of_query, key=lambda j: (of_query[j], -j)) if of_query else -1
        assert best.row[i] == first_best
        assert best.value[i] == pytest.approx(of_query.get(first_best, 0.0))


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    lines = [" ".join(rng.choice(list("abcdefghijkl"), size=8)) for _ in range(300)]
    vectors = rng.standard_normal((300, 8)).astype(np.float32)
    embedded = Embeddings(MappedVectors(vectors), np.arange(300)[:, None])

    def search() -> list[list[float]]:
        shared = OverlapIndex(lines, 0.5).pairs(lines[::3])
        best = nearest_by_cosine(embedded, embedded)
        near = pairs_by_cosine(embedded, embedded, 2.0)
        return [
            array.tolist()
            for found in (shared, near)
            for array in (found.query, found.row, found.value)
        ] + [best.row.tolist()]

    whole = search()
    monkeypatch.setattr(overlap, "_PRODUCT_ENTRIES", 700)
    monkeypatch.setattr(row_pairs, "_BLOCK_ENTRIES", 700)
    monkeypatch.setattr(row_pairs, "DEFAULT_BLOCK_ROWS", 7)
    for one, other in zip(whole, search(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_words_out_of_order_and_unknown_words_are_weighed() -> None:
    index = OverlapIndex(["one two three four five six"], floor=0.3)
    queries = ["six five four three two one", "one two three four five new", "new new one"]
    best = index.best(queries)
    np.testing.assert_allclose(best.value, [1.0, 5 / 7, 0.0])
    assert best.row.tolist() == [0, 0, -1]


def test_order_counts_where_n_is_more_than_1() -> None:
    index = OverlapIndex(["one two three four five six"], floor=0.1, n=2)
    best = index.best(["one two three four five six", "four five six one two three"])
    # Of 7 pairs each, boundaries included, the swap loses 3: both ends and the joint.
    np.testing.assert_allclose(best.value, [1.0, 4 / 10])


@pytest.mark.parametrize(("floor", "n"), [(0.0, 1), (1.1, 1), (0.5, 0)])
def test_an_index_of_nothing_or_everything_is_refused(floor: float, n: int) -> None:
    with pytest.raises(ValueError, match="floor must be in"):
        OverlapIndex(["a"], floor, n)


def unit(rows: int, seed: int) -> np.ndarray:
    vectors = np.random.default_rng(seed).standard_normal((rows, 6)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize("n_texts", [1, 2])
def test_cosines_are_those_of_all_texts_of_a_row(n_texts: int) -> None:
    ours, theirs = unit(20, 1), unit(30, 2)
    rng = np.random.default_rng(3)
    queries = Embeddings(MappedVectors(ours), rng.integers(0, 20, (9, n_texts)))
    reference = Embeddings(MappedVectors(theirs), rng.integers(0, 30, (40, n_texts)))
    cosines = np.min(
        [ours[queries.rows[:, c]] @ theirs[reference.rows[:, c]].T for c in range(n_texts)], axis=0
    )
    best = nearest_by_cosine(queries, reference)
    np.testing.assert_allclose(best.value, np.maximum(cosines.max(axis=1), 0), rtol=1e-5)
    assert best.row.tolist() == cosines.argmax(axis=1).tolist()
    found = pairs_by_cosine(queries, reference, 0.3)
    expected = np.argwhere(cosines >= 0.3)
    assert np.column_stack([found.query, found.row]).tolist() == expected.tolist()


def test_texts_with_a_word_are_counted_once_each() -> None:
    texts = ["a dull, dull film", "a film", "", "dull!"]
    index = OverlapIndex(texts, floor=0.5)

    counts = index.texts_with()
    assert {word: counts[index.number(word)] for word in ("a", "dull", "film")} == {
        "a": 2,
        "dull": 2,
        "film": 2,
    }
    assert OverlapIndex([], floor=0.5).texts_with().tolist() == [0]


def test_blocks_of_texts_do_not_change_the_index(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    texts = [
        " ".join(f"w{word}" for word in rng.integers(0, 30, rng.integers(0, 9))) for _ in range(200)
    ]
    whole = OverlapIndex(texts, floor=0.5).pairs(texts)
    monkeypatch.setattr("take.text.overlap._BLOCK_TEXTS", 7)
    parts = OverlapIndex(texts, floor=0.5).pairs(texts)

    for name in ("query", "row", "value"):
        assert np.array_equal(getattr(whole, name), getattr(parts, name))
