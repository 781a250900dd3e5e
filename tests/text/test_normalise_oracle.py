"""Normalisation, on which screening and the privacy gate both rely, against another implementation.

The other one is written from the definition with other libraries: normal forms by the Rust code of
Hugging Face's tokenizers, properties of characters by the `regex` module. Python's `unicodedata`,
which the module uses, has no part in it.
"""

from __future__ import annotations

import unicodedata

import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers.normalizers import NFKC, NFKD

from take.text.normalise import bare_words, text_key, words
from tests.text.test_copies_planted import built_in_corpus

UNSPACED = r"\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u3040-\u30FF\u3400-\u9FFF\U00020000-\U0003FFFF"
WORD = regex.compile(
    rf"[[{UNSPACED}]&&[\p{{L}}\p{{N}}\p{{M}}]]|[[\p{{L}}\p{{N}}\p{{M}}]--[{UNSPACED}]]+", regex.V1
)
DROPPED = regex.compile(r"[\p{Cf}\p{Default_Ignorable_Code_Point}\u20E3'’ʼ`´]")
DROPPED_TOO = regex.compile(r"[\p{Cf}\p{Default_Ignorable_Code_Point}\u20E3\u0300-\u036F'’ʼ`´]")
LOOK_ALIKES = {
    "a": "аαɑᴀ", "b": "вβʙ", "c": "сᴄ", "d": "ԁđᴅ", "e": "еεᴇ", "f": "ꜰ", "g": "ɡɢ", "h": "нһħʜ",
    "i": "іιıɪ", "j": "јᴊ", "k": "кκᴋ", "l": "ӏłʟ", "m": "мμᴍ", "n": "ηɴ", "o": "оοøᴏ", "p": "рρᴘ",
    "q": "ԛ", "r": "ʀ", "s": "ѕꜱ", "t": "тτᴛ", "u": "υᴜ", "v": "νᴠ", "w": "ԝωᴡ", "x": "хχ",
    "y": "уγʏ", "z": "ζᴢ",
}  # fmt: skip
LATIN = {other: latin for latin, others in LOOK_ALIKES.items() for other in others}


def folded(text: str) -> str:
    text = NFKC().normalize_str(text).casefold()
    return NFKC().normalize_str(text).casefold()


def oracle_words(text: str) -> list[str]:
    return WORD.findall(DROPPED.sub("", folded(text)))


def oracle_bare_words(text: str) -> list[str]:
    seen = DROPPED_TOO.sub("", NFKD().normalize_str(DROPPED_TOO.sub("", text)))
    return WORD.findall("".join(LATIN.get(c, c) for c in DROPPED.sub("", folded(seen))))


# Assigned in Unicode 3.2, so that all the libraries know them, whichever version each has.
KNOWN = st.characters(exclude_categories=["Cs", "Cn", "Co"]).filter(
    lambda character: unicodedata.ucd_3_2_0.category(character) != "Cn"
)
TRICKY = "aAéÉe\u0301ıİßſçñøŁ'’ʼ-–. \t\n\u00a0\u00ad\u200b\u200d\ufeff\ufe0f\u034f"
TRICKY += "½²№ﬁＧ１٣७аАоОѕІНВαΑοΣςΐ好电कीกา한글ᄀ가か\u3099"
TEXTS = st.one_of(st.text(KNOWN), st.text(TRICKY, max_size=40))


@given(TEXTS)
@settings(max_examples=600)
@example("İstanbul ΐΰ ŉ ǰ ẞ ᾳ ﬃ")
def test_words_are_those_of_the_definition(text: str) -> None:
    assert words(text) == oracle_words(text)


@given(TEXTS)
@settings(max_examples=600)
@example("ᄀ\u200bᅡ")
@example("Mоvіе ɴɪɢʜᴛ, ñandú; ё й")
def test_bare_words_are_those_of_the_definition(text: str) -> None:
    assert bare_words(text) == oracle_bare_words(text)
    assert text_key(text) == "".join(oracle_bare_words(text))


@given(TEXTS)
def test_bare_words_of_bare_words_are_the_same(text: str) -> None:
    found = bare_words(text)
    assert bare_words(" ".join(found)) == found


def test_real_texts_have_the_words_of_the_definition() -> None:
    for text in [*built_in_corpus().corpus["text"], *built_in_corpus().evaluation_split["text"]]:
        assert words(text) == oracle_words(text)
        assert bare_words(text) == oracle_bare_words(text)


@pytest.mark.parametrize("plain", ["naive", "zoe", "resume"])
def test_the_other_implementation_folds_accents(plain: str) -> None:
    """The oracle itself is right about something known."""
    accented = {"naive": "naïve", "zoe": "Zoë", "resume": "résumé"}[plain]
    assert oracle_bare_words(accented) == [plain]
    assert oracle_words(accented) != [plain]
