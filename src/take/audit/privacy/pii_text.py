"""Texts as the PII patterns see them: plain digits, blanks and hyphens, and nothing invisible."""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

_MINUS = "\u2212"
# Marks that show on the character before them, or nowhere: emoji variants, keycaps, a joiner.
_UNSEEN_MARKS = frozenset(range(0xFE00, 0xFE10)) | {0x20E3, 0x034F}


class _Folding(dict[int, str]):
    """What each character is folded to, found when first met: one character, or none."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        folded = character
        if category == "Cf" or code in _UNSEEN_MARKS:
            folded = ""
        elif category == "Zs":
            folded = " "
        elif category == "Pd" or character == _MINUS:
            folded = "-"
        elif category == "Nd":
            folded = str(unicodedata.decimal(character))
        elif category[0] in "LPS":
            plain = unicodedata.normalize("NFKC", character)
            folded = plain if len(plain) == 1 and plain.isascii() else character
        self[code] = folded
        return folded


_FOLDING = _Folding()


class PlainText(NamedTuple):
    """A folded text, and where its characters stood; nothing if they all stayed in place."""

    text: str
    places: list[int] | None

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Where a span of the folded text stands in the text it was made from."""
        if self.places is None:
            return start, end
        return self.places[start], self.places[end - 1] + 1


def plain(text: str) -> PlainText:
    """Other digits, blanks, dashes and full-width letters made ASCII, invisible characters dropped.

    >>> folded = plain("tel\u00a0０20‑79\u200b46")
    >>> folded.text, folded.original(8, 12)
    ('tel 020-7946', (8, 13))
    """
    if text.isascii():
        return PlainText(text, None)
    folded = text.translate(_FOLDING)
    if len(folded) == len(text):
        return PlainText(folded, None)
    return PlainText(folded, [i for i, character in enumerate(text) if _FOLDING[ord(character)]])
