"""Numbers with a check digit or a form of their own: accounts, cards, national ids.

Each finder yields the spans of one kind that begin between two places of a plain text
(`pii_text.plain`). All patterns are bounded, so that any text is read in linear time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from take.audit.privacy import pii_checks as checks

Span = tuple[int, int]
Finder = Callable[[str, int, int], Iterator[Span]]

# No part of a longer number, of a decimal, of a word; and no phone number's country code.
BEGIN = r"(?<![0-9A-Za-z+])(?<![0-9][-.,/])"
END = r"(?![0-9A-Za-z])(?![-.,/][0-9])"
_NO_GROUP_BEFORE = r"(?<![0-9][ ])(?<![$€£¥₹])(?<![$€£¥₹][ ])"
_NO_GROUP_AFTER = r"(?![ ][0-9])"

CUES = {
    kind: re.compile(words, re.IGNORECASE)
    for kind, words in {
        "us_ssn": r"\bssn\b|\bsocial security",
        "de_tax_id": r"\bidnr\b|steuer|\btax id|\btin\b",
        "es_dni": r"\bdni\b|\bnie\b|\bnif\b",
        "nl_bsn": r"\bbsn\b|burgerservice|sofi-?nummer|\bcitizen service number",
        "ca_sin": r"\b(?-i:SIN|S\.I\.N|NAS)\b|\bsocial insurance|\bassurance sociale",
        "in_aadhaar": r"\baadh?aar?\b|\buidai\b|\buid\b|आधार",
        "br_cpf": r"\bcpf\b|cadastro de pessoas",
    }.items()
}
"""Words that tell of which kind a number is, where its form alone does not."""
_CUE_BEFORE, _CUE_AFTER = 40, 20
NO_CUE = 1000


def cue_distance(kind: str, text: str, span: Span) -> int:
    """How many characters lie between a number and a word for its kind; `NO_CUE` if none is near.

    A word that follows counts less than any before.

    >>> text = "her BSN is 111222333"
    >>> cue_distance("nl_bsn", text, (11, 20)), cue_distance("us_ssn", text, (11, 20))
    (4, 1000)
    """
    if kind not in CUES:
        return NO_CUE
    start, end = span
    before = text[max(0, start - _CUE_BEFORE) : start]
    if found := [cue.end() for cue in CUES[kind].finditer(before)]:
        return len(before) - found[-1]
    cue = CUES[kind].search(text[end : end + _CUE_AFTER])
    return _CUE_BEFORE + cue.start() if cue else NO_CUE


def valid_spans(
    pattern: re.Pattern[str],
    text: str,
    within: Span,
    validated: Callable[[re.Match[str]], Span | None],
) -> Iterator[Span]:
    """The spans a check makes of matches; one that it refuses does not hide what overlaps it."""
    start, end = within
    while match := pattern.search(text, start, end):
        span = validated(match)
        start = match.start() + 1
        if span:
            yield span
            start = span[1]


def _bare(text: str) -> str:
    return "".join(filter(str.isalnum, text)).upper()


def _checked(
    pattern: str, is_valid: Callable[[str], bool], cued: str = "", kind: str = ""
) -> Finder:
    """Finds what the pattern matches and the check allows; `cued` counts near a cue alone."""
    compiled = re.compile(pattern, re.VERBOSE) if pattern else None
    compiled_cued = re.compile(cued, re.VERBOSE) if cued else None

    def checked(match: re.Match[str]) -> Span | None:
        return match.span() if is_valid(_bare(match[0])) else None

    def checked_near_cue(match: re.Match[str]) -> Span | None:
        span = checked(match)
        is_named = span and cue_distance(kind, match.string, span) < NO_CUE
        return span if is_named else None

    def find(text: str, start: int, end: int) -> Iterator[Span]:
        if compiled:
            yield from valid_spans(compiled, text, (start, end), checked)
        if compiled_cued:
            yield from valid_spans(compiled_cued, text, (start, end), checked_near_cue)

    return find


_IBAN = re.compile(rf"{BEGIN}[A-Za-z]{{2}}[ -]?[0-9]{{2}}(?:[ -]?[0-9A-Za-z]){{11,29}}")


def ibans(text: str, start: int, end: int) -> Iterator[Span]:
    """International account numbers, in groups or not; a word that follows does not count.

    >>> text = "pay to GB29 NWBK 6016 1331 9268 19 now"
    >>> list(ibans(text, 0, len(text)))
    [(7, 34)]
    """
    return valid_spans(_IBAN, text, (start, end), _iban)


def _iban(match: re.Match[str]) -> Span | None:
    length = checks.IBAN_LENGTHS.get(match[0][:2].upper(), 0)
    places = [i for i, character in enumerate(match[0]) if character not in " -"][:length]
    if not length or len(places) < length:
        return None
    stop = match.start() + places[-1] + 1
    is_whole = not match.string[stop : stop + 1].isalnum()
    number = _bare(match.string[match.start() : stop])
    return (match.start(), stop) if is_whole and checks.is_iban(number) else None


_CARD = re.compile(rf"{BEGIN}[2-8][0-9]{{2,18}}(?:(?:[ ]-[ ]|[ -])[0-9]{{3,16}}){{0,5}}")
_GROUP = re.compile("[0-9]+")
_ENDS = re.compile(END)


def cards(text: str, start: int, end: int) -> Iterator[Span]:
    """Card numbers: whole, or in groups of three or more digits; the longest that is valid.

    >>> text = "2 cards: 4111 1111 1111 1111 2027"
    >>> list(cards(text, 0, len(text)))
    [(9, 28)]
    """
    return valid_spans(_CARD, text, (start, end), _card)


def _card(match: re.Match[str]) -> Span | None:
    digits, valid = "", None
    for group in _GROUP.finditer(match[0]):
        digits += group[0]
        stop = match.start() + group.end()
        if 13 <= len(digits) <= 19 and checks.is_card(digits) and _ENDS.match(match.string, stop):
            valid = match.start(), stop
    return valid


def _is_no_date(digits: str) -> bool:
    """Twelve digits that are not the year, month, day, hour and minute of our time."""
    return (
        re.match(r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])[0-2]\d[0-5]\d", digits) is None
    )


_NINO_LETTERS = r"(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]"
_OMOCODE = "[0-9L-NP-Vl-np-v]"

FINDERS: dict[str, Finder] = {
    "iban": ibans,
    "it_codice_fiscale": _checked(
        rf"""{BEGIN}[A-Za-z]{{3}}[ -]?[A-Za-z]{{3}}[ -]?{_OMOCODE}{{2}}[A-EHLMPR-Ta-ehlmpr-t]
        {_OMOCODE}{{2}}[ -]?[A-Za-z]{_OMOCODE}{{3}}[ -]?[A-Za-z]{END}""",
        checks.is_codice_fiscale,
    ),
    "fr_nir": _checked(
        rf"""{BEGIN}[1278](?P<s>[ .-]?)[0-9]{{2}}(?P=s)(?:0[1-9]|1[0-2]|[2-9][0-9])(?P=s)
        (?:[0-9]{{2}}|2[ABab])[ .-]?[0-9][ .-]?[0-9]{{2}}(?P=s)[0-9]{{3}}[ .-]?[0-9]{{2}}{END}""",
        checks.is_nir,
    ),
    "card": cards,
    "br_cpf": _checked(
        rf"{BEGIN}[0-9]{{3}}(?P<s>[. ]?)[0-9]{{3}}(?P=s)[0-9]{{3}}[-./ ]?[0-9]{{2}}{END}",
        checks.is_cpf,
    ),
    "de_tax_id": _checked(
        rf"{BEGIN}[1-9][0-9](?P<s>[ /-]?)[0-9]{{3}}(?P=s)[0-9]{{3}}(?P=s)[0-9]{{3}}{END}",
        checks.is_german_tax_id,
    ),
    "in_aadhaar": _checked(
        rf"""(?<![0-9]{{4}}[ ]){BEGIN}[2-9][0-9]{{3}}(?P<s>[ -]?)[0-9]{{4}}(?P=s)[0-9]{{4}}{END}
        (?![ ][0-9]{{4}})""",
        lambda digits: _is_no_date(digits) and checks.is_aadhaar(digits),
    ),
    "es_dni": _checked(
        rf"""{BEGIN}(?:[0-9]{{8}}-?[A-Za-z]|[0-9]{{2}}\.[0-9]{{3}}\.[0-9]{{3}}[ -]?[A-Za-z]
        |[X-Zx-z][ -]?[0-9]{{7}}-?[A-Za-z]){END}""",
        checks.is_dni,
        rf"{BEGIN}(?:[0-9]{{8}}|[X-Zx-z][ -]?[0-9]{{7}})[ ][A-Za-z]{END}",
        "es_dni",
    ),
    "uk_nino": _checked(
        rf"""{BEGIN}(?:{_NINO_LETTERS}[ -]?[0-9]{{2}}[ -]?[0-9]{{2}}[ -]?[0-9]{{2}}[ -]?[A-D]
        |(?i:{_NINO_LETTERS}[0-9]{{6}}[A-D])){END}""",
        lambda number: True,
    ),
    "nl_bsn": _checked(
        "",
        checks.is_bsn,
        rf"""{BEGIN}(?:[0-9]{{9}}|[0-9]{{3}}([ .-])[0-9]{{3}}\1[0-9]{{3}}
        |[0-9]{{4}}([ .-])[0-9]{{2}}\2[0-9]{{3}}){END}""",
        "nl_bsn",
    ),
    "us_ssn": _checked(
        rf"""{_NO_GROUP_BEFORE}{BEGIN}[0-9]{{3}}(?P<s>[ ]?-[ ]?|[ ])[0-9]{{2}}(?P=s)[0-9]{{4}}
        {END}""",
        checks.is_ssn,
        rf"{BEGIN}(?:[0-9]{{9}}|[0-9]{{3}}\.[0-9]{{2}}\.[0-9]{{4}}){END}",
        "us_ssn",
    ),
    "ca_sin": _checked(
        rf"""{_NO_GROUP_BEFORE}{BEGIN}[0-9]{{3}}(?P<s>[ -])[0-9]{{3}}(?P=s)
        (?<![ ](?=000))[0-9]{{3}}{END}{_NO_GROUP_AFTER}""",
        checks.is_sin,
        rf"{BEGIN}[0-9]{{3}}(?P<s>[ .-]?)[0-9]{{3}}(?P=s)[0-9]{{3}}{END}",
        "ca_sin",
    ),
}
"""A finder by kind; where two find the same digits, the one that comes first counts."""
