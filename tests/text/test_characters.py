"""Characters that nobody sees, against the properties that another library knows."""

from __future__ import annotations

import sys
import unicodedata

import pytest
import regex

from take.text.characters import has_no_width, is_blank, is_invisible, is_misleading
from take.text.format import visible
from take.text.normalise import words

# Assigned in Unicode 3.2, so that both libraries know them, whichever version each has.
KNOWN = [
    character
    for character in map(chr, range(sys.maxunicode + 1))
    if unicodedata.ucd_3_2_0.category(character) not in ("Cn", "Co", "Cs")
]
IGNORABLE = regex.compile(r"[\p{Cf}\p{Default_Ignorable_Code_Point}]")
CONTROL = regex.compile(r"[\p{Cc}\p{Zl}\p{Zp}]")


def test_characters_without_width_are_those_that_unicode_ignores() -> None:
    assert list(filter(has_no_width, KNOWN)) == list(filter(IGNORABLE.match, KNOWN))


def test_others_that_are_invisible_control_the_text() -> None:
    found = [c for c in KNOWN if is_invisible(c) and not has_no_width(c)]
    assert found == list(filter(CONTROL.match, KNOWN))


@pytest.mark.parametrize("text", ["👩‍🚀", "❤️", "می‌خواهم", "क्‍ष", "آية ۝", "שלום", "café", "한글"])
def test_what_words_and_emoji_need_is_not_misleading(text: str) -> None:
    assert not any(map(is_misleading, text))
    assert visible(text) == text
    assert not is_blank(text)


@pytest.mark.parametrize(
    "character", list("\u200b\u202e\u2066\ufeff\u00ad\u3164\x1b\x85\u2028\ud800")
)
def test_what_can_disguise_a_text_is_named(character: str) -> None:
    assert is_misleading(character)
    assert visible(f"a{character}b") not in (f"a{character}b", "ab")


def test_a_variant_of_a_character_is_no_word() -> None:
    assert words("so good ❤\ufe0f❤\ufe0f, 1\ufe0f\u20e3") == ["so", "good", "1"]
