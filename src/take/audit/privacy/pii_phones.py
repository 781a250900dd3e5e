"""Phone numbers: there is no check digit, so it is their form that tells them, or a word before."""

from __future__ import annotations

import re
from collections.abc import Iterator

from take.audit.privacy.pii_numbers import valid_spans

Span = tuple[int, int]

_BEGIN = r"(?<![0-9A-Za-z+/=_#&])(?<![0-9][-.,:])(?<![$€£¥₹])(?<![$€£¥₹][ ])"
# An extension may follow: 555 0100x12.
_END = r"(?![0-9A-WYZa-wyz])(?![-.,:/][0-9])(?!%|[ ]?(?:[$€£¥₹%]|percent\b|(?:m|b|tr)illion\b))"
_SEPARATOR = r"(?:[ ]?[-.][ ]?|[ ]{1,2})"
_LOOSE = r"[ ]?[-./()]{0,2}[ ]?"

# Country codes of the ITU.
_COUNTRY = re.compile(
    r"""1[2-9]\d\d[2-9]\d{6} | 7[3-9]\d{9}
    | (?:2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]) \d{6,13}
    | (?:21[1-368]|2[2346]\d|25[0-8]|29[017-9]|35\d|37\d|38[0-35-79]|42[013]|50\d|59\d|67[02-9]|68\d
      |69[0-2]|80[08]|850|852|853|855|856|870|878|88[0-368]|96[0-8]|97[0-79]|99[2-68]) \d{5,12}""",
    re.VERBOSE,
)
_INTERNATIONAL = re.compile(
    r"(?<![0-9A-Za-z+])(?<![0-9][-.,])(?:\+|00)[ ]?\(?"
    rf"(?P<number>[1-9](?:{_LOOSE}[0-9]){{7,14}}){_END}"
)
_NATIONAL = re.compile(
    rf"""{_BEGIN}(?:
    # The Americas: 212-555-0100, (212) 555 0100, 1.212.555.0100
    (?:1{_SEPARATOR}?)?
        (?:[\[(][ ]?[2-9][0-9]{{2}}[ ]?[)\]]{_SEPARATOR}?|[2-9][0-9]{{2}}(?:{_SEPARATOR}|/))
        [0-9]{{3}}{_SEPARATOR}[0-9]{{4}}
    # A trunk prefix 0: 020 7946 0018, 030/1234567, 01 23 45 67 89, (089) 1234-567
    |\([ ]?0[1-9][0-9]{{0,4}}[ ]?\)(?:{_SEPARATOR}?[0-9]{{2,9}}){{1,4}}
    |0[1-9][0-9]{{0,3}}/[ ]?[0-9]{{2,9}}(?:{_SEPARATOR}[0-9]{{2,9}}){{0,3}}
    |0[1-9][0-9]{{0,4}}(?:{_SEPARATOR}[0-9]{{2,9}}){{1,4}}
    |0[1-9][0-9]{{8,9}}
    # Brazil: (11) 91234-5678; India: 98765 43210; China: 138 0013 8000; Russia: 8 (495) 123-45-67
    |\([ ]?[1-9][0-9][ ]?\)[ ]?[0-9]{{4,5}}[ -][0-9]{{4}}
    |[6-9][0-9]{{4}}[ -][0-9]{{5}}
    |1[3-9][0-9](?P<china>[ -])[0-9]{{4}}(?P=china)[0-9]{{4}}
    # Spain: 612 34 56 78; Poland: 12 345 67 89
    |[6-9][0-9]{{2}}(?:[ ][0-9]{{2}}){{3}}|[1-9][0-9][ ][0-9]{{3}}(?:[ ][0-9]{{2}}){{2}}
    |8[ -]?\(?[0-9]{{3}}\)?[ -]?[0-9]{{3}}-[0-9]{{2}}-[0-9]{{2}}
    ){_END}""",
    re.VERBOSE,
)
_UNPREFIXED = re.compile(rf"(?<![0-9][ (]){_BEGIN}\(?[0-9](?:{_LOOSE}[0-9]){{6,14}}{_END}")
_WORD_BEFORE = re.compile(
    r"""(?<![a-z])(?:phones?|telephones?|tel|fax|mobile|cell|cellphone|cellular|call|calling|dial
    |ring|reach|reached|contact|hotline|whatsapp|viber|telegram|telefon|telefono|teléfono|téléphone
    |telefax|handy|mobil|móvil|celular|rufnummer)
    (?:[ ]?(?:numbers?|num|nr|no|me|us|him|her|them|now|today|toll|free|toll-free|at|on|is|was|line
    |direct|or|[-:.,;\#=(\[])(?![a-z])){0,5}[ ]?$""",
    re.VERBOSE | re.IGNORECASE,
)
_WORD_REACH = 50
_OTHER_NUMBER = re.compile(
    r"(?:isbn|issn|ean|upc|doi|asin|rfc|iso|patent|docket|invoice|flight)\b[^0-9]{0,12}$", re.I
)
_OTHER_REACH = 22
_YEAR = r"(?:19|20)[0-9]{2}"
_DATE = re.compile(
    rf"""[0-9]{{1,2}}[ ]?[-./ ][ ]?[0-9]{{1,2}}[ ]?[-./ ][ ]?{_YEAR}(?![0-9])
    |{_YEAR}[ ]?[-./][ ]?(?:0[1-9]|1[0-2])[ ]?[-./][ ]?[0-3][0-9](?![0-9])
    |{_YEAR}[ ]?[-/. ][ ]?{_YEAR}(?![0-9])""",
    re.VERBOSE,
)
_DECIMAL = re.compile(r"\.[0-9]+[ ]")
_THOUSANDS = re.compile(r"[1-9][0-9]{0,2}(?:[ .][0-9]{3})+(?<=00)")
_FEWEST_WITH_TRUNK, _MOST_WITH_TRUNK = 9, 12


def _digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))


def phones(text: str, start: int, end: int) -> Iterator[Span]:
    """Phone numbers: with a country code, in the form of some country, or after a word like "call".

    No phone numbers: dates, years, sums, scores, ISBNs. Seven digits, or ten without separators,
    count after such a word alone.

    >>> text = "+44 20 7946 0018, (212) 555-0100, 2004-2005, call 555-0100, won 6-4 6-3, 10/10"
    >>> [text[slice(*span)] for span in phones(text, 0, len(text))]
    ['+44 20 7946 0018', '(212) 555-0100', '555-0100']
    """
    within = start, end
    yield from valid_spans(_INTERNATIONAL, text, within, _international)
    yield from valid_spans(_NATIONAL, text, within, _national)
    yield from valid_spans(_UNPREFIXED, text, within, _after_a_word)


def _international(match: re.Match[str]) -> Span | None:
    found = match["number"]
    number = _digits(re.sub(r"\( ?0 ?\)", "", found))
    is_number = _COUNTRY.fullmatch(number) and not _DECIMAL.search(found)
    return match.span() if is_number else None


def _national(match: re.Match[str]) -> Span | None:
    digits = _digits(match[0])
    fewest = _FEWEST_WITH_TRUNK - match[0].startswith("(")
    is_number = digits[0] != "0" or fewest <= len(digits) <= _MOST_WITH_TRUNK
    is_number = is_number and not set(digits) <= {"0", "1"}
    return match.span() if is_number and not _is_other(match) else None


def follows_a_word(text: str, start: int) -> bool:
    """Whether a word such as "call" or "fax" stands right before a place.

    >>> follows_a_word("Tel. no.: 0", 10), follows_a_word("a call for 2", 11)
    (True, False)
    """
    return _WORD_BEFORE.search(text[max(0, start - _WORD_REACH) : start]) is not None


def _after_a_word(match: re.Match[str]) -> Span | None:
    is_number = follows_a_word(match.string, match.start()) and not _THOUSANDS.fullmatch(match[0])
    return match.span() if is_number and not _is_other(match) else None


def _is_other(match: re.Match[str]) -> bool:
    start, end = match.span()
    before = match.string[max(0, start - _OTHER_REACH) : start]
    is_date = _DATE.match(match.string, start, end) is not None
    return is_date or _OTHER_NUMBER.search(before) is not None
