"""Texts as the copy checks compare them: without case, punctuation, blanks or encoding variants.

Screening and the privacy gate both rely on this module, so an independent implementation is
compared with it: tests/text/test_normalise_oracle.py.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

from take.text.characters import Translation, has_no_width

TextRow = tuple[str, ...]
"""One text, or the two texts of a pair."""

# No key holds it: keys are letters and digits.
_BETWEEN_TEXTS = "\x1f"

# Scripts written without blanks between words: each character counts as a word, else one sentence
# would be one word and no two sentences could overlap.
_UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Burmese
    (0x1780, 0x17FF),  # Khmer
    (0x3040, 0x30FF),  # kana
    (0x3400, 0x9FFF),  # Chinese characters
    (0x20000, 0x3FFFF),
)
# Marks inside a word: "don't" and "dont", "re‑make" with a soft hyphen and "remake" are one word.
_WITHIN_WORDS = "'’ʼ`´"
_KEYCAP = "\u20e3"  # around the character before it
_ACCENTS = range(0x0300, 0x0370)
# Lower-case letters that are, or whose capitals are easily taken for a Latin letter.
_LOOK_ALIKES = dict(
    zip(
        "авекмнорстухіјѕһԁԛԝӏαβγεζηικμνορτυχωıøłđħɑɡᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ",
        "abekmhopctyxijshdqwlabyeznikmvoptuxwioldhagabcdefghijklmnoprstuvwyz",
        strict=True,
    )
)


def _fold(character: str) -> str:
    if character in _WITHIN_WORDS or _is_dropped(character):
        return ""
    if unicodedata.category(character)[0] not in "LNM":
        return " "
    is_word = any(first <= ord(character) <= last for first, last in _UNSPACED)
    return f" {character} " if is_word else character


def _seen(character: str) -> str:
    """Nothing for an accent, for a mark inside a word, and for what nobody sees."""
    is_mark = ord(character) in _ACCENTS or character in _WITHIN_WORDS
    return "" if _is_dropped(character) or is_mark else character


def _is_dropped(character: str) -> bool:
    return has_no_width(character) or character == _KEYCAP


_FOLDING = Translation(_fold)
_SEEN = Translation(_seen)
_LATIN_FOLDING = Translation(lambda character: _fold(_LOOK_ALIKES.get(character, character)))


def words(text: str) -> list[str]:
    """The words of a text: NFKC, casefolded, punctuation and symbols taken for blanks.

    >>> words("It's  ＧＯＯＤ -- well-made!")
    ['its', 'good', 'well', 'made']
    >>> words("好电影")
    ['好', '电', '影']
    """
    return _casefolded(text).translate(_FOLDING).split()


def bare_words(text: str) -> list[str]:
    """The words by which copies are found: also without accents, and with look-alikes undone.

    Letters are not what they seem where a copy is disguised: Cyrillic and Greek letters that look
    like Latin ones, small capitals, accents, characters that nobody sees. All texts are folded
    alike, so texts in other scripts are compared as well as before; but these words are not for
    people to read.

    >>> bare_words("Café Mоvіе")  # with three Cyrillic letters
    ['cafe', 'movie']
    """
    if not text.isascii():
        # First, so that nothing hides between two characters that make up one. Before the normal
        # form, too, which makes a blank and an accent of "´".
        text = unicodedata.normalize("NFKD", text.translate(_SEEN)).translate(_SEEN)
    return _casefolded(text).translate(_LATIN_FOLDING).split()


def _casefolded(text: str) -> str:
    if not text.isascii():
        # Folding case can undo the normal form, and composing can bring back a capital's mark.
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return text.casefold()


def text_key(text: str) -> str:
    """What two texts share if they differ in case, blanks, punctuation, accents or encoding alone.

    Blanks count for nothing, so "well-made", "well made" and "wellmade" are the same.

    >>> text_key("A well-made film!") == text_key("a WELL   made film .")
    True
    >>> text_key("?!")
    ''
    """
    return "".join(bare_words(text))


def text_rows(rows: pd.DataFrame, columns: Sequence[str]) -> list[TextRow]:
    """The texts of each row."""
    return list(zip(*(rows[column].tolist() for column in columns), strict=True))


def as_columns(rows: Sequence[TextRow]) -> list[list[str]]:
    """The texts column by column, as the encoder takes them."""
    return [list(column) for column in zip(*rows, strict=True)]


def row_key(row: TextRow) -> str:
    """What two rows share if their texts are equal but for case, blanks and punctuation."""
    return _BETWEEN_TEXTS.join(map(text_key, row))


def joined(row: TextRow) -> str:
    """All words of a row, for word overlap: the two texts of a pair may be swapped."""
    return " ".join(row)


def n_words(row: TextRow) -> int:
    """How many words a row has."""
    return sum(len(bare_words(text)) for text in row)


_MINUS = "\u2212"


def _to_ascii(character: str) -> str:
    """One character, or none."""
    if _is_dropped(character):
        return ""
    category = unicodedata.category(character)
    if category == "Zs":
        return " "
    if category == "Pd" or character == _MINUS:
        return "-"
    if category == "Nd":
        return str(unicodedata.decimal(character))
    plain = unicodedata.normalize("NFKC", character) if category[0] in "LPS" else ""
    if latin := _LOOK_ALIKES.get(plain.lower()):
        plain = latin.upper() if plain.isupper() else latin
    return plain if len(plain) == 1 and plain.isascii() else character


_ASCII_FOLDING = Translation(_to_ascii)


class FoldedText(NamedTuple):
    """A folded text, and where its characters were; None if they all stayed in place."""

    text: str
    places: list[int] | None

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Where a span of the folded text is in the original text."""
        if self.places is None:
            return start, end
        return self.places[start], self.places[end - 1] + 1


def fold_to_ascii(text: str) -> FoldedText:
    """Other digits, blanks, dashes and full-width letters made ASCII, invisible characters dropped.

    >>> folded = fold_to_ascii("tel\u00a0０20‑79\u200b46")
    >>> folded.text, folded.original(8, 12)
    ('tel 020-7946', (8, 13))
    """
    if text.isascii():
        return FoldedText(text, None)
    folded = text.translate(_ASCII_FOLDING)
    if len(folded) == len(text):
        return FoldedText(folded, None)
    return FoldedText(
        folded, [i for i, character in enumerate(text) if _ASCII_FOLDING[ord(character)]]
    )
