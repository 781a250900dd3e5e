"""Shared runs of words against their definition, computed pair by pair."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from take.text import spans
from take.text.normalise import bare_words
from take.text.spans import SpanIndex, span_text

# Few letters: runs, repeats and overlaps abound.
single = st.lists(st.tuples(st.text("abc ", max_size=30)), max_size=8)
pairs = st.lists(st.tuples(st.text("abc ", max_size=20), st.text("abc ", max_size=20)), max_size=6)
Run = tuple[int, int, int, int, int]


def maximal_runs(query: list[str], other: list[str], least: int) -> set[tuple[int, int]]:
    """Start in the query and length of every run that cannot be made longer."""
    found = set()
    for i in range(len(query)):
        for j in range(len(other)):
            if query[i] != other[j] or (i and j and query[i - 1] == other[j - 1]):
                continue
            length = 1
            while (
                i + length < len(query)
                and j + length < len(other)
                and query[i + length] == other[j + length]
            ):
                length += 1
            if length >= least:
                found.add((i, length))
    return found


def defined_runs(queries, reference, seed: int, common_rows: int, span_words: int) -> set[Run]:
    """All runs that count, by the definition in `SpanIndex`."""

    def phrases(row: tuple[str, ...]) -> set[tuple[str, ...]]:
        return {
            tuple(bare_words(text)[i : i + seed])
            for text in row
            for i in range(len(bare_words(text)) - seed + 1)
        }

    held = [phrases(row) for row in reference]
    found = set()
    for q, query in enumerate(queries):
        for t, text in enumerate(query):
            own = bare_words(text)
            outside = [True] * len(own)
            for i in range(len(own) - seed + 1):
                if sum(tuple(own[i : i + seed]) in row for row in held) > common_rows:
                    outside[i : i + seed] = [False] * seed
            for r, row in enumerate(reference):
                for other in row:
                    for start, length in maximal_runs(own, bare_words(other), seed):
                        if 2 * sum(outside[start : start + length]) >= min(length, span_words):
                            found.add((q, r, t, start, length))
    return found


def found_runs(queries, reference, seed: int, common_rows: int, span_words: int) -> list[Run]:
    runs = SpanIndex(reference, seed, common_rows, span_words).runs(queries)
    columns = (runs.query, runs.row, runs.text, runs.start, runs.n_words)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@given(single, single, st.integers(1, 3), st.integers(1, 4), st.integers(3, 6))
def test_runs_are_all_those_the_definition_gives(
    queries, reference, seed: int, common_rows: int, span_words: int
) -> None:
    found = found_runs(queries, reference, seed, common_rows, span_words)
    assert set(found) == defined_runs(queries, reference, seed, common_rows, span_words)


@given(pairs, pairs, st.integers(1, 3))
def test_runs_of_pairs_stay_within_a_text(queries, reference, seed: int) -> None:
    found = found_runs(queries, reference, seed, 3, 3)
    assert set(found) == defined_runs(queries, reference, seed, 3, 3)


@given(pairs, pairs)
def test_words_in_several_runs_are_counted_once(queries, reference) -> None:
    runs = SpanIndex(reference, 2, 100, 2).runs(queries)
    places: dict[tuple[int, int], set[tuple[int, int]]] = {}
    columns = (runs.query, runs.row, runs.text, runs.start, runs.n_words)
    for query, row, text, start, length in zip(*(c.tolist() for c in columns), strict=True):
        places.setdefault((query, row), set()).update((text, start + i) for i in range(length))
    covered = runs.covered()
    assert {
        (query, row): n
        for query, row, n in zip(covered.query, covered.row, covered.value, strict=True)
    } == {pair: len(held) for pair, held in places.items()}

    longest = runs.longest()
    for query in range(len(queries)):
        of_query = [n for q, n in zip(runs.query, runs.n_words, strict=True) if q == query]
        assert (longest[query] >= 0) == bool(of_query)
        if of_query:
            assert runs.n_words[longest[query]] == max(of_query)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    reference = [(f"row {i} has the words {i % 7} and {i % 5} and no more",) for i in range(90)]
    queries = [*reference[::9], ("nothing of that has the words 3 and 4 and so on",)]
    whole = found_runs(queries, reference, 4, 20, 6)
    monkeypatch.setattr(spans, "_BLOCK_WORDS", 7)
    assert found_runs(queries, reference, 4, 20, 6) == whole
    assert len(whole) > 90


def test_boilerplate_is_no_run_even_with_a_word_more() -> None:
    notice = "all rights reserved no part may be copied in any form"
    reference = [(f"text {i} {notice} thing{i}",) for i in range(30)]
    query = [(f"my own words {notice} thing7",)]
    assert found_runs(query, reference, 5, 20, 10) == []
    assert len(found_runs(query, reference, 5, 30, 10)) == 30


def test_a_common_phrase_within_a_copy_does_not_divide_it() -> None:
    cliche = "one of the best films of the year"
    copied = f"kowalski and her sister made {cliche} about lighthouses off the coast"
    reference = [(f"{i} is {cliche} they say",) for i in range(30)] + [(copied,)]
    found = found_runs([(f"we think {copied} again",)], reference, 5, 20, 10)
    assert found == [(0, 30, 0, 2, len(bare_words(copied)))]


def test_unknown_words_match_nothing() -> None:
    assert found_runs([("x y z x y z",)], [("a b c a b c",)], 2, 20, 4) == []


@pytest.mark.parametrize(("seed", "common", "span"), [(0, 1, 1), (1, 0, 1), (5, 20, 4)])
def test_impossible_lengths_are_refused(seed: int, common: int, span: int) -> None:
    with pytest.raises(ValueError, match="no shorter than its seed"):
        SpanIndex([("a",)], seed, common, span)


@given(st.text("ab'’-, .!好电½Ｇé\u0301\u00ad", max_size=30), st.data())
def test_a_span_is_shown_as_written(text: str, data: st.DataObject) -> None:
    own = bare_words(text)
    if not own:
        return
    start = data.draw(st.integers(0, len(own) - 1))
    length = data.draw(st.integers(1, len(own) - start))
    shown = span_text(text, start, length)
    assert shown in text
    if "½" not in text:  # one character, two words: it is shown whole
        assert bare_words(shown) == own[start : start + length]


def test_a_span_of_a_script_without_blanks_is_not_the_whole_text() -> None:
    assert span_text("这是一部非常好的电影。", 2, 3) == "一部非"
