"""Characters that nobody sees: one definition for reading, comparing and showing texts."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

# Letters and marks that show nothing: joiners of graphemes, fillers, vowels that are not written.
_FILLERS = frozenset({0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0})
# They choose how the character before them looks: as an emoji, for example.
_VARIANTS = frozenset(
    {0x180B, 0x180C, 0x180D, 0x180F} | set(range(0xFE00, 0xFE10)) | set(range(0xE0100, 0xE01F0))
)
_JOINERS = frozenset({0x200C, 0x200D})
"""Emoji, Persian and Indic scripts need them."""
_SHOWN = frozenset(
    {*range(0x0600, 0x0606), 0x06DD, 0x070F, 0x0890, 0x0891, 0x08E2, 0x110BD, 0x110CD}
)
"""Signs around Arabic, Syriac and Kaithi numbers: formatting characters by category, but seen."""
_BLANK_BRAILLE = "\u2800"


def has_no_width(character: str) -> bool:
    r"""Formatting characters (joiners, soft hyphens, marks of direction), fillers, variants.

    Texts that differ in them alone are compared as equal.

    >>> [has_no_width(character) for character in "\u200b\ufeff\ufe0fa \n"]
    [True, True, True, False, False, False]
    """
    code = ord(character)
    return unicodedata.category(character) == "Cf" or code in _FILLERS or code in _VARIANTS


def is_invisible(character: str) -> bool:
    """Whether it has no width, or is a control character or a line break. Blanks are seen."""
    return has_no_width(character) or unicodedata.category(character) in ("Cc", "Zl", "Zp")


def is_misleading(character: str) -> bool:
    r"""Whether it is invisible or reorders the text around it, and no word or emoji needs it.

    With it a text can look like another one. Unpaired surrogates count too.

    >>> [is_misleading(character) for character in "\u202e\u200b\u200d\ufe0f"]
    [True, True, False, False]
    """
    code = ord(character)
    if code in _JOINERS or code in _VARIANTS or code in _SHOWN:
        return False
    return is_invisible(character) or unicodedata.category(character) == "Cs"


def is_blank(text: str) -> bool:
    r"""Whether no character of the text can be seen.

    >>> is_blank(" \t"), is_blank("\u200b\u200d\ufeff"), is_blank(" .")
    (True, True, False)
    """
    return all(
        c.isspace() or c == _BLANK_BRAILLE or is_invisible(c) or unicodedata.category(c) == "Mn"
        for c in text
    )


class Translation(dict[int, str]):
    """What each character becomes, computed once; for `str.translate`.

    >>> "a-b".translate(Translation(lambda character: "" if character == "-" else character))
    'ab'
    """

    def __init__(self, translate: Callable[[str], str]) -> None:
        self._translate = translate

    def __missing__(self, code: int) -> str:
        """The translation of a character that was not met before."""
        found = self[code] = self._translate(chr(code))
        return found
