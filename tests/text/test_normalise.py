from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from take.text.normalise import text_key, words


@pytest.mark.parametrize(
    "variant",
    [
        "It's a well-made film .",
        "IT'S A WELL-MADE FILM",
        "  it’s\ta well‑made\nfilm!!!",
        "its a well made film",
        "“It's” a (well-made) film…",
        "Ｉｔ's a well-made ﬁlm",
        "it's a well-made fi\u00adlm\u200b",
        "it's a we\ufe0fll-máde fi\u0301lm",
        "іt's а wеll-mаdе fіlm",  # Cyrillic
        "ιt's α well-mαde film",  # Greek
        "ɪᴛ's ᴀ ᴡᴇʟʟ-ᴍᴀᴅᴇ ꜰɪʟᴍ",
    ],
)
def test_variants_share_a_key(variant: str) -> None:
    assert text_key(variant) == text_key("It's a well-made film")


@pytest.mark.parametrize(
    ("text", "other"),
    [("a good film", "a god film"), ("की", "का"), ("part 1", "part 2"), ("кот", "кит")],
)
def test_what_differs_in_a_letter_a_vowel_sign_or_a_digit_differs(text: str, other: str) -> None:
    assert text_key(text) != text_key(other)


def test_vowel_signs_do_not_divide_words_and_chinese_characters_do() -> None:
    assert words("बहुत अच्छी फिल्म") == ["बहुत", "अच्छी", "फिल्म"]
    assert words("很好 film") == ["很", "好", "film"]


@given(st.text())
def test_normalising_twice_changes_nothing(text: str) -> None:
    """Normalising twice changes nothing, and no word holds a blank or a capital."""
    found = words(text)
    assert words(" ".join(found)) == found


@given(st.text(st.characters(codec="ascii")))
def test_case_and_blanks_never_matter(text: str) -> None:
    assert text_key(text.upper()) == text_key(text.lower()) == text_key(f" {text}\n")
