"""Personal data in texts: e-mail and IP addresses, phone numbers, accounts, cards, national ids.

A span counts if it has the form and, where there is one, a valid check digit. A number without a
form of its own (nine digits of a Dutch BSN) counts only with a word near that names it. Names of
people and street addresses are not searched for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Literal, NamedTuple

from pydantic import Field, field_validator

from take.audit.privacy.pii_contacts import emails, follows_a_word, ipv4, ipv6, phones
from take.audit.privacy.pii_numbers import NO_CUE, NUMBERS, Span
from take.errors import InputError, closest
from take.frozen import Frozen
from take.text.normalise import fold_to_ascii

Engine = Literal["patterns", "presidio"]

_BY_DIGITS: dict[str, Callable[[str, int, int], Iterator[Span]]] = {
    **{kind: number.find for kind, number in NUMBERS.items()},
    "ipv4": ipv4,
    "phone": phones,
}
# Kinds that are certain by their form or check alone come first, whatever words are near.
_CERTAIN = ("email", "iban", "it_codice_fiscale", "fr_nir", "card", "ipv6", "ipv4")
_PRECEDENCE = tuple(dict.fromkeys((*_CERTAIN, *NUMBERS, "phone")))
ALL_KINDS = tuple(sorted(_PRECEDENCE))
"""What `find_pii` searches for."""

_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_NUMBER = rf"(?:{'|'.join(_NUMBERS)})"
_ANY_SIGN = re.compile(rf"[\d@:\[(＠﹫：［（]| dot |{_NUMBER}[^\w]{{1,2}}{_NUMBER}", re.IGNORECASE)
# Seven or more digits one by one, spelt out or not: the least that a phone number has.
_ONE_BY_ONE = re.compile(
    rf"(?<!\w)(?:{_NUMBER}|[0-9])(?:[ ,.-]{{1,2}}(?:{_NUMBER}|[0-9])){{6,40}}+(?!\w)", re.IGNORECASE
)
# Four or more digits near each other: the least that any kind has. Only these are searched.
_DIGITS = re.compile(r"[0-9](?:[^0-9]{0,8}+[0-9]){3,}+")
# Letters may surround them: those of an account number, mostly.
_MARGIN = 40
# Fewer than six digits, as in years and prices, can only be an address or an Italian code.
_MANY_DIGITS = 6
_FEW_DIGITS = re.compile(r"[A-Za-z]|(?:\.[0-9]+){3}")
_WITH_FEW_DIGITS = ("ipv4", "it_codice_fiscale")


class PiiSettings(Frozen):
    """`params:audit.pii`."""

    engine: Engine = Field(default="patterns", description="'presidio' needs take[pii]")
    kinds: tuple[str, ...] | None = Field(
        default=None, description="what is searched for; none: every kind there is"
    )

    @field_validator("kinds")
    @classmethod
    def _are_known(cls, kinds: tuple[str, ...] | None) -> tuple[str, ...] | None:
        check_kinds(kinds or ())
        return kinds


class PiiFinding(NamedTuple):
    """What looks like personal data: its row, its kind, and where it starts and ends."""

    row: int
    kind: str
    start: int
    end: int


def find_pii(
    texts: Sequence[str], kinds: Collection[str] = ALL_KINDS, engine: Engine = "patterns"
) -> list[PiiFinding]:
    """All findings of these kinds, by row and place; none overlaps another.

    Of kinds that claim the same characters, the one whose form is certain counts, then the one that
    a word near names, then the one with the stronger check. Non-breaking blanks, other dashes,
    full-width digits and invisible characters hide nothing; places are those in the given text.

    >>> for finding in find_pii(["two stars", "jo@example.org", "DE89 3704 0044 0532 0130 00"]):
    ...     print(*finding)
    1 email 0 14
    2 iban 0 27
    """
    check_kinds(kinds)
    if engine == "presidio":
        from take.audit.privacy.pii_presidio import find_pii_presidio

        return find_pii_presidio(texts, kinds)
    wanted = frozenset(kinds)
    return [
        finding
        for row, text in enumerate(texts)
        if _ANY_SIGN.search(text)
        for finding in _find(row, text)
        if finding.kind in wanted
    ]


def check_kinds(kinds: Collection[str]) -> None:
    """Refuse kinds that nothing searches for."""
    for kind in kinds:
        if kind not in ALL_KINDS:
            raise InputError(f"there is no kind of PII {kind!r}", remedy=closest(kind, ALL_KINDS))


def _find(row: int, text: str) -> list[PiiFinding]:
    folded = fold_to_ascii(text)
    # All kinds, whichever are wanted: an account number is no phone number either way.
    found = [
        PiiFinding(row, kind, *span)
        for search in (_candidates, _one_by_one)
        for kind, span in search(folded.text)
    ]
    return [
        PiiFinding(row, one.kind, *folded.original(one.start, one.end))
        for one in without_overlap(folded.text, found)
    ]


def _candidates(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    yield from (("email", span) for span in emails(text))
    yield from (("ipv6", span) for span in ipv6(text))
    for window in _DIGITS.finditer(text):
        kinds: Collection[str] = _BY_DIGITS
        if sum(map(str.isdigit, window[0])) < _MANY_DIGITS:
            kinds = _WITH_FEW_DIGITS if _FEW_DIGITS.search(window[0]) else ()
        start, end = max(0, window.start() - _MARGIN), window.end() + _MARGIN
        for kind in kinds:
            yield from ((kind, span) for span in _BY_DIGITS[kind](text, start, end))


def _one_by_one(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """What a run of single digits is once they are written together; the run is its place."""
    for run in _ONE_BY_ONE.finditer(text):
        digits, before = digits_together(run[0]), text[max(0, run.start() - _MARGIN) : run.start()]
        start, end = len(before), len(before) + len(digits)
        after = text[run.end() : run.end() + _MARGIN]
        for kind, span in _candidates(f"{before}{digits}{after}"):
            if span[0] < end and span[1] > start:
                yield kind, (run.start() - max(0, start - span[0]), run.end())


def digits_together(text: str) -> str:
    """Digits that are written one by one, spelt out or not, as a number.

    >>> digits_together("call five five five, 0 1 0 zero"), digits_together("one of 2")
    ('call 5550100', 'one of 2')
    """

    def number(run: re.Match[str]) -> str:
        parts = re.findall(rf"{_NUMBER}|[0-9]", run[0].lower())
        return "".join(part if part.isdigit() else str(_NUMBERS.index(part)) for part in parts)

    return _ONE_BY_ONE.sub(number, text)


def without_overlap(text: str, found: Sequence[PiiFinding]) -> list[PiiFinding]:
    """The findings in one text that count where several claim the same characters, by place."""

    def precedence(one: PiiFinding) -> tuple[int, ...]:
        if one.kind in _CERTAIN:
            nearness = -1
        elif one.kind == "phone":
            nearness = 0 if follows_a_word(text, one.start) else NO_CUE
        else:
            nearness = NUMBERS[one.kind].cue_distance(text, (one.start, one.end))
        return nearness, _PRECEDENCE.index(one.kind), one.start, -one.end

    taken = bytearray(len(text) if found else 0)
    kept = []
    for one in sorted(found, key=precedence):
        if not any(taken[one.start : one.end]):
            taken[one.start : one.end] = b"\1" * (one.end - one.start)
            kept.append(one)
    return sorted(kept, key=lambda one: one.start)


def masked(text: str, start: int, end: int) -> str:
    """A finding as it may be shown: what it is, not whose.

    >>> masked("ask jo@example.org", 4, 18), masked("4111 1111 1111 1111", 0, 19)
    ('j…@e….org', '…1111')
    >>> masked("+44 20 7946 0018", 0, 16), masked("DE89370400440532013000", 0, 22)
    ('+…018', 'DE…3000')
    >>> masked("203.0.113.7", 0, 11), masked("2001:db8::7334", 0, 14)
    ('203.…', '2001:…')
    """
    shown = fold_to_ascii(text[start:end]).text
    parts = re.split(r" ?(?:@|[\[(] ?at ?[\])]) ?", shown, maxsplit=1, flags=re.IGNORECASE)
    if len(parts) == 2:
        name, host = parts
        host, _, top = host.replace("]", ".").replace(")", ".").rpartition(".")
        return f"{_first(name)}…@{_first(host)}….{top.strip()}"
    if re.fullmatch(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}", shown):
        return f"{shown.partition('.')[0]}.…"
    if ":" in shown:
        return f"{shown.partition(':')[0]}:…"
    characters = "".join(filter(str.isalnum, shown))
    # A quarter of it at most: the last four of nine digits would reveal too much.
    tail = characters[len(characters) - min(4, len(characters) // 4) :]
    is_account = re.match(r"[A-Za-z]{2}[0-9]{2}", characters) and len(characters) >= 15
    head = characters[:2] if is_account else "+" if shown.startswith("+") else ""
    return f"{head}…{tail}"


def _first(word: str) -> str:
    return word[0] if len(word) > 1 else ""
