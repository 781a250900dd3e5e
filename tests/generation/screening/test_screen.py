"""The checks that compare words: nothing is embedded here."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from take.generation.screening.reasons import Reason, ScreeningSettings
from take.generation.screening.screen import Reference
from take.generation.verifier.verifier import Probe
from take.text.copies import CopySettings

from .conftest import EVALUATION, PAIR_EVALUATION, PAIRS, TRAIN, MakeScreen, Row, candidates

NEW = "a clever little thriller with a twist i did not see coming"
NEW_PAIR = ("a boy jumps into the cold lake from a wooden pier", "the boy swims")


def reasons(screen, rows: list[Row | None], **options: int) -> list[str]:
    return screen.judge(candidates(rows, **options))["reason"].tolist()


def test_a_row_that_fails_nothing_is_kept(word_screen: MakeScreen) -> None:
    judged = word_screen().judge(candidates([NEW]))
    assert judged.iloc[0]["reason"] == judged.iloc[0]["detail"] == ""


@pytest.mark.parametrize(
    ("row", "reason", "detail"),
    [
        (None, "parse_failure", "not in the template's form"),
        ("?! … --", "empty", "no letter or digit"),
        (f"{NEW} <|END|>", "leaked_marker", "holds '<|end|>'"),
        (f"{NEW} ### label: good", "leaked_marker", "holds '### Label:'"),
        ("no no no no no no", "repetition_loop", "a phrase 6 times in a row"),
        (f"{NEW}!!!!!!!!", "repetition_loop", "a character 8 times in a row"),
        ("это очень хороший фильм", "wrong_language", "100% of the letters are Cyrillic"),
        ("A DULL mess!", "copy_of_train", "train row train3"),
        (f"  {TRAIN[1][0]} .", "copy_of_train", "train row train1"),
        (str(EVALUATION[0][0]).title(), "copy_of_evaluation", "evaluation row evaluation0"),
        (
            "every scene is a small surprise and the ending is perfect",
            "near_copy_of_train",
            "train row train6, overlap 0.91",
        ),
        (
            "humming the songs you will leave the cinema smiling and",
            "near_copy_of_evaluation",
            "evaluation row evaluation1, overlap 1.00",
        ),
        ("a dull bore", "", ""),  # too short to be a near copy
    ],
)
def test_each_check(word_screen: MakeScreen, row: Row | None, reason: str, detail: str) -> None:
    judged = word_screen().judge(candidates([row])).iloc[0]
    assert (judged["reason"], judged["detail"]) == (reason, detail)
    assert pd.isna(judged["verifier_label"])
    assert np.isnan(judged["verifier_confidence"])


def test_unknown_words_are_another_language(word_screen: MakeScreen) -> None:
    text = "ein wunderbarer streifen mit tollen schauspielern"
    # A corpus of eight rows knows few words of its own language; repeated, it knows them all.
    screen = word_screen(train=TRAIN * 3, unknown_word_share=0.4)
    assert reasons(screen, [text, "the ending is a joke"]) == ["wrong_language", ""]


def test_length_counts_tokens_and_both_bounds_are_allowed(word_screen: MakeScreen) -> None:
    made = candidates([NEW] * 4)
    made["tokens"] = [2, 41, 3, 40]
    judged = word_screen().judge(made)
    assert judged["reason"].tolist() == ["too_short", "too_long", "", "duplicate"]
    assert judged["detail"].tolist()[:2] == ["2 tokens, at least 3", "41 tokens, at most 40"]


def test_an_unfinished_row_is_dropped(word_screen: MakeScreen) -> None:
    made = candidates([NEW])
    made["finished"] = False
    judged = word_screen().judge(made).iloc[0]
    assert (judged["reason"], judged["detail"]) == (
        "too_long",
        "no end within 40 tokens",
    )


def test_rows_beyond_the_room_are_surplus_and_not_counted(
    word_screen: MakeScreen,
) -> None:
    screen = word_screen()
    texts = ["a quiet hour on the old river", "two loud men fight in a bar", NEW]
    judged = screen.judge(candidates(texts), room={0: 1, 1: 1})
    assert judged["reason"].tolist()[0] == ""
    assert Reason.SURPLUS in judged["reason"].tolist()
    surplus = [t for t, r in zip(texts, judged["reason"], strict=True) if r == Reason.SURPLUS]
    # not in the pool, so no duplicate when it comes again and there is room
    assert screen.judge(candidates(surplus))["reason"].tolist() == [""] * len(surplus)


def test_the_first_check_that_fails_is_the_reason(word_screen: MakeScreen) -> None:
    text = "no no no no <|end|> это фильм"
    assert reasons(word_screen(), [text], tokens=99) == ["leaked_marker"]
    assert reasons(word_screen(markers=()), [text], tokens=99) == ["too_long"]
    assert reasons(word_screen(markers=()), [text]) == ["repetition_loop"]


def test_a_repeated_row_is_a_duplicate_under_any_label(word_screen: MakeScreen) -> None:
    screen = word_screen()
    assert reasons(screen, [NEW, NEW.upper()], label=0) == ["", "duplicate"]
    judged = screen.judge(candidates([f"{NEW} ?"], label=1)).iloc[0]
    assert (judged["reason"], judged["detail"]) == ("duplicate", "kept bad 0")


def test_a_near_duplicate_names_the_kept_row(word_screen: MakeScreen) -> None:
    screen = word_screen()
    screen.judge(candidates(["the end", NEW]))
    judged = screen.judge(candidates([NEW.replace("clever", "silly")])).iloc[0]
    assert (judged["reason"], judged["detail"]) == ("near_duplicate", "kept good 1, Jaccard 0.85")


def test_short_rows_are_duplicates_only_if_equal(word_screen: MakeScreen) -> None:
    rows: list[Row | None] = ["not a good film", "a good film not", "Not a good film."]
    assert reasons(word_screen(), rows) == ["", "", "duplicate"]


def test_only_kept_rows_have_duplicates(word_screen: MakeScreen) -> None:
    """b is near a and c, a and c are far apart: with b dropped, c stays."""
    a = "one two three four five six seven eight"
    b = "one two three four five six seven ten"
    c = "one two three four five six nine ten"
    screen = word_screen(copies=CopySettings(near_copy_overlap=0.7))
    assert reasons(screen, [a, b, c]) == ["", "near_duplicate", ""]
    assert reasons(word_screen(copies=CopySettings(near_copy_overlap=0.7)), [b, c]) == [
        "",
        "near_duplicate",
    ]
    copied = str(TRAIN[0][0])
    assert reasons(screen, [copied, copied]) == ["copy_of_train"] * 2


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (NEW_PAIR, ""),
        ((NEW_PAIR[0], "!"), "empty"),
        ((NEW_PAIR[0], "<|end|>b"), "leaked_marker"),
        (("CATS run.", "dogs  bark"), "copy_of_train"),
        (("cats run", "dogs sleep"), ""),
        (("dogs bark", "cats run"), "near_copy_of_train"),
        # One long text is enough, in either place; a short one is not.
        ((PAIRS[0][0][0], "something entirely different"), "copy_of_train"),
        (("something else", PAIRS[0][0][0].upper()), "copy_of_train"),
        ((PAIR_EVALUATION[0][0][0], "a train"), "copy_of_evaluation"),
        ((NEW_PAIR[0], "he is outdoors"), ""),
        (
            ("a man in a blue coat is walking his dog along the river", "nothing of the kind here"),
            "near_copy_of_train",
        ),
        (
            ("they wait", "the last train of the night a group of students waits for"),
            "near_copy_of_evaluation",
        ),
    ],
)
def test_pairs(word_screen: MakeScreen, row: tuple[str, str], reason: str) -> None:
    assert reasons(word_screen(PAIRS, PAIR_EVALUATION), [row]) == [reason]


def test_pairs_are_duplicates_as_wholes(word_screen: MakeScreen) -> None:
    screen = word_screen(PAIRS, PAIR_EVALUATION)
    other = (NEW_PAIR[0], "nobody else dares to follow him because the water is freezing")
    near = (NEW_PAIR[0], "the girl swims")
    rows: list[Row | None] = [NEW_PAIR, NEW_PAIR, other, near, None]
    expected = ["", "duplicate", "", "near_duplicate", "parse_failure"]
    assert reasons(screen, rows) == expected


def planted(text: str, rng: random.Random) -> dict[str, str]:
    found = text.split()
    half = len(found) // 2
    changed = list(found)
    changed[rng.randrange(len(found))] = "zeppelin"
    shuffled = rng.sample(found, len(found))
    return {
        "case": text.upper(),
        "blanks": "  ".join(found),
        "punctuation": ", ".join(found) + "!",
        "one word": " ".join(changed),
        "halves": " ".join(found[half:] + found[:half]),
        "shuffled": " ".join(shuffled),
    }


@given(st.sampled_from([row for row, _ in TRAIN if len(str(row).split()) >= 6]), st.integers(0, 99))
@hypothesis_settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_planted_copies_are_caught(word_screen: MakeScreen, text: str, seed: int) -> None:
    copies = planted(text, random.Random(seed))
    for kind, reason in zip(copies, reasons(word_screen(), [*copies.values()]), strict=True):
        assert "copy_of_train" in reason, kind


words_of_few = st.lists(
    st.sampled_from(["one", "two", "three", "four", "five", "six", "seven"]), max_size=9
)


@given(st.lists(words_of_few.map(" ".join), max_size=20), st.lists(st.integers(0, 20), max_size=3))
@hypothesis_settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_rows_judged_in_parts_are_judged_as_in_whole(
    word_screen: MakeScreen, rows: list[str], cuts: list[int]
) -> None:
    made = candidates(rows or ["one"])
    whole = word_screen(loop_repeats=9).judge(made)
    screen = word_screen(loop_repeats=9)
    bounds = sorted({0, len(made), *(min(cut, len(made)) for cut in cuts)})
    parts = [screen.judge(made.iloc[i:j]) for i, j in pairwise(bounds)]
    pd.testing.assert_frame_equal(pd.concat(parts), whole)


def test_no_rows_are_judged_as_no_rows(word_screen: MakeScreen) -> None:
    judged = word_screen().judge(candidates([NEW]).iloc[:0])
    assert list(judged.columns) == [
        *("label", "reason", "detail", "verifier_label", "verifier_confidence")
    ]
    assert judged.empty


def test_the_verdicts_keep_the_candidates_index(word_screen: MakeScreen) -> None:
    made = candidates([NEW, None]).set_axis([7, 3])
    assert word_screen().judge(made)["reason"].to_dict() == {7: "", 3: "parse_failure"}


def test_details_never_quote_the_reference(word_screen: MakeScreen) -> None:
    rows: list[Row | None] = [row for row, _ in (*TRAIN, *EVALUATION)]
    judged = word_screen().judge(candidates(rows))
    assert (judged["reason"] != "").all()
    assert not any(str(row)[:12] in detail for row in rows for detail in judged["detail"])


def test_missing_columns_are_named(word_screen: MakeScreen) -> None:
    with pytest.raises(ValueError, match="no column 'tokens', 'text'"):
        word_screen().judge(candidates([NEW]).drop(columns=["tokens", "text"]))


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("verifier", Probe(("good", "bad"), np.zeros((2, 4)), np.zeros(2)), "'good', 'bad'.*, not"),
        ("min_tokens", 41, "min_tokens is 41, max_tokens is 40"),
        ("markers", ("<|end|>", ""), "a marker is empty"),
        ("corpus", pd.DataFrame({"id": ["a"]}), "embeddings have 8 rows, the corpus has 1"),
    ],
)
def test_a_reference_that_does_not_fit_is_refused(
    word_screen: MakeScreen, tmp_path: Path, field: str, value: object, message: str
) -> None:
    good = word_screen()._reference
    with pytest.raises(ValueError, match=message):
        Reference(**{**vars(good), field: value})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("near_copy_cosine", 1.1),
        ("contradiction_threshold", 0),
        ("loop_repeats", 1),
        ("corpus_tail", -0.1),
        ("near_copy_cosin", 0.9),
    ],
)
def test_bad_settings_are_refused(field: str, value: float) -> None:
    with pytest.raises(ValueError, match=field):
        ScreeningSettings.model_validate({field: value})
