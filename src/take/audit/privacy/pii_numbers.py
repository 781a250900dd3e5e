"""Account numbers, cards and national identifiers: forms in `pii_numbers.yml`, checks by stdnum.

Each kind yields the spans that begin between two places of a folded text (`take.text.normalise`).
All patterns are bounded, so that any text is read in linear time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any

from yaml import safe_load

Span = tuple[int, int]

# Not part of a longer number, a decimal or a word; not a phone number's country code.
_BEGIN = r"(?<![0-9A-Za-z+])(?<![0-9][-.,/])"
_END = r"(?![0-9A-Za-z])(?![-.,/][0-9])"
_ENDS = re.compile(_END)
_GROUP = re.compile("[0-9A-Za-z]+")
_CUE_BEFORE, _CUE_AFTER = 40, 20
NO_CUE = 1000


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


class NumberKind:
    """Numbers of one kind: the form they have anywhere, the form that needs a cue, their check.

    >>> text = "her BSN is 111222333"
    >>> list(NUMBERS["nl_bsn"].find(text, 0, len(text)))
    [(11, 20)]
    """

    def __init__(
        self,
        kind: str,
        form: str = "",
        cued: str = "",
        cue: str = "",
        stdnum: Sequence[str] = (),
        any_groups: bool = False,
    ) -> None:
        self._kind, self._modules = kind, stdnum
        end = "" if any_groups else _END
        self._form, self._cued = (
            re.compile(f"{_BEGIN}(?:{part}){end}", re.VERBOSE) if part else None
            for part in (form, cued)
        )
        self._cue = re.compile(cue, re.IGNORECASE) if cue else None
        self._validated = self._longest_valid if any_groups else self._valid

    def find(self, text: str, start: int, end: int) -> Iterator[Span]:
        """All valid numbers that begin between two places."""
        if self._form:
            yield from valid_spans(self._form, text, (start, end), self._validated)
        if self._cued:
            yield from valid_spans(self._cued, text, (start, end), self._valid_near_cue)

    def cue_distance(self, text: str, span: Span) -> int:
        """How many characters separate a number from a word for its kind; `NO_CUE` if none is near.

        A word that follows counts less than any before.

        >>> text = "her BSN is 111222333"
        >>> [NUMBERS[kind].cue_distance(text, (11, 20)) for kind in ("nl_bsn", "us_ssn")]
        [4, 1000]
        """
        if self._cue is None:
            return NO_CUE
        start, end = span
        before = text[max(0, start - _CUE_BEFORE) : start]
        if found := [cue.end() for cue in self._cue.finditer(before)]:
            return len(before) - found[-1]
        cue = self._cue.search(text[end : end + _CUE_AFTER])
        return _CUE_BEFORE + cue.start() if cue else NO_CUE

    def _is_valid(self, number: str) -> bool:
        if self._kind in _CHECKS and not _CHECKS[self._kind](number):
            return False
        return not self._modules or any(_stdnum(name).is_valid(number) for name in self._modules)

    def _valid(self, match: re.Match[str]) -> Span | None:
        return match.span() if self._is_valid(_bare(match[0])) else None

    def _valid_near_cue(self, match: re.Match[str]) -> Span | None:
        span = self._valid(match)
        return span if span and self.cue_distance(match.string, span) < NO_CUE else None

    def _longest_valid(self, match: re.Match[str]) -> Span | None:
        """The longest run of the match's groups that is valid: other words or digits may follow."""
        for group in reversed(list(_GROUP.finditer(match[0]))):
            stop = match.start() + group.end()
            number = _bare(match[0][: group.end()])
            if self._is_valid(number) and _ENDS.match(match.string, stop):
                return match.start(), stop
        return None


def _bare(text: str) -> str:
    return "".join(filter(str.isalnum, text)).upper()


@cache
def _stdnum(name: str) -> Any:
    return import_module(f"stdnum.{name}")


@cache
def _iban_length(country: str) -> int:
    form = _stdnum("numdb").get("iban").info(country)[0][1].get("bban", "")
    return 4 + sum(map(int, re.findall("[0-9]+", form)))


def _is_iban(number: str) -> bool:
    # The national check digits within it are not checked: banks do not all use them.
    has_its_length = len(number) == _iban_length(number[:2])
    return has_its_length and bool(_stdnum("iban").is_valid(number, check_country=False))


# Prefixes and lengths by issuer: python-stdnum has Luhn's check digit alone.
_CARD_ISSUERS = re.compile(
    r"""
    4(?:.{12}|.{15}|.{18})                                           # Visa
    | (?:5[1-5]|222[1-9]|22[3-9].|2[3-6]..|27[01].|2720).*(?<=^.{16})  # Mastercard
    | 3[47].{13}                                                     # American Express
    | (?:30[0-5]|309|36|3[89]).*(?:(?<=^.{14})|(?<=^.{16}))          # Diners Club
    | 35(?:2[89]|[3-8].).{12,15}                                     # JCB
    | (?:6011|64[4-9].|65..).{12,15}                                 # Discover
    | 62.{14,17}                                                     # UnionPay
    | 220[0-4].{12,15}                                               # Mir
    | (?:60|81|82|508).*(?<=^.{16})                                  # RuPay
    | (?:5018|5020|5038|5893|6304|6759|676[1-3]).{9,15}              # Maestro
    """,
    re.VERBOSE,
)


def _is_card(number: str) -> bool:
    return _CARD_ISSUERS.fullmatch(number) is not None and bool(_stdnum("luhn").is_valid(number))


# Where no module of python-stdnum is the whole check.
_CHECKS: dict[str, Callable[[str], bool]] = {
    "iban": _is_iban,
    "card": _is_card,
    "it_codice_fiscale": lambda code: bool(
        _stdnum("it.codicefiscale").calc_check_digit(code[:-1]) == code[-1]
    ),
    "br_cpf": lambda number: len(set(number)) > 1,
}
_TABLE = files(__package__).joinpath("pii_numbers.yml").read_text(encoding="utf-8")
NUMBERS = {kind: NumberKind(kind, **settings) for kind, settings in safe_load(_TABLE).items()}
"""By kind; where two kinds claim the same digits, the one that comes first counts."""
