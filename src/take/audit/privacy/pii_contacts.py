"""E-mail and IP addresses, and phone numbers.

A phone number has a country code, the form of some country, or comes after a word like "call".
Country codes and lengths are checked by `phonenumbers`. National numbers are found by their form
(`pii_contacts.yml`): they have no check digit, and most ten digits are a valid number somewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from ipaddress import IPv4Address, IPv6Address, IPv6Network
from itertools import chain

from yaml import safe_load

from take.audit.privacy.pii_numbers import Span, valid_spans

_LONGEST_NAME = 64
_FILES = frozenset({"png", "jpg", "jpeg", "gif", "svg", "webp", "bmp", "ico", "css", "js"})
"""What ends a file's name, as in icon@2x.png."""
_HOSTS_V6 = tuple(map(IPv6Network, ("2000::/3", "fc00::/7", "fe80::/10", "::ffff:0:0/96")))
# How many characters next to a number are searched for words.
_CUE_REACH, _NUMBERED_REACH, _WORD_REACH, _OTHER_REACH = 40, 12, 50, 22


def _compiled() -> dict[str, re.Pattern[str]]:
    text = files(__package__).joinpath("pii_contacts.yml").read_text(encoding="utf-8")
    forms: dict[str, str] = {}
    for name, form in safe_load(text).items():
        forms[name] = re.sub("<<(.+?)>>", lambda part: forms[part[1]], form)
    return {name: re.compile(form, re.VERBOSE) for name, form in forms.items()}


_FORMS = _compiled()


def emails(text: str) -> Iterator[Span]:
    """E-mail addresses, among them those written as name (at) host (dot) org.

    >>> list(emails("write to jo@example.org, or jo [at] example [dot] org, jo at host dot org"))
    [(9, 23), (28, 53), (55, 73)]
    """
    forms = []
    if "@" in text or _FORMS["bracketed_at"].search(text):
        forms.append(_FORMS["at_host"])
    if " dot " in text.lower():
        forms.append(_FORMS["spelt_at"])
    for match in chain.from_iterable(form.finditer(text) for form in forms):
        # The name is read backwards from the @: nothing marks its beginning.
        backwards = text[max(0, match.start() - _LONGEST_NAME) : match.start()][::-1]
        name = _FORMS["name_backwards"].match(backwards)
        if name and match["top"].lower() not in _FILES:
            yield match.start() - len(name[0].rstrip(".'-%")), match.end()


def ipv4(text: str, start: int, end: int) -> Iterator[Span]:
    """Four numbers that are the address of a machine, not the number of a version or section.

    Excluded: what names no single machine (0.…, 127.…, multicast, netmasks); numbers after a word
    such as "version" or "section"; four single digits, unless a word such as "server" is near.

    >>> text = "203.0.113.7 runs version 10.4.11.2, or 1.2.3.4, behind 255.255.255.0"
    >>> list(ipv4(text, 0, len(text)))
    [(0, 11)]
    """
    for match in _FORMS["ipv4"].finditer(text, start, end):
        try:
            network = IPv4Address(match[0]).packed[0]
        except ValueError:
            continue
        before = text[max(0, match.start() - _CUE_REACH) : match.start()]
        if (
            network in {0, 127}
            or network >= 224
            or _FORMS["numbered"].search(before[-_NUMBERED_REACH:])
        ):
            continue
        after = text[match.end() : match.end() + _CUE_REACH]
        if len(match[0]) > len("1.2.3.4") or _FORMS["network_words"].search(f"{before}\n{after}"):
            yield match.span()


def ipv6(text: str) -> Iterator[Span]:
    """Addresses a machine can have: global, unique local, link local, or an IPv4 address in IPv6.

    That leaves out times, MAC addresses and the :: of programming languages.

    >>> list(ipv6("from 2001:db8::8a2e:370:7334 at 10:20:30, by Foo::Bar and face::1"))
    [(5, 28)]
    """
    if text.count(":") < 2:
        return
    for match in _FORMS["ipv6"].finditer(text):
        # A colon that ends a clause belongs to the sentence.
        found = match[0] if match[0].endswith("::") else match[0].rstrip(":")
        try:
            address = IPv6Address(found)
        except ValueError:
            continue
        if any(address in network for network in _HOSTS_V6):
            yield match.start(), match.start() + len(found)


def phones(text: str, start: int, end: int) -> Iterator[Span]:
    """Phone numbers that begin between two places of a folded text.

    Dates, years, sums, scores and ISBNs are none. Seven digits, or ten without separators, count
    only after a word like "call".

    >>> text = "+44 20 7946 0018, (212) 555-0100, 2004-2005, call 555-0100, won 6-4 6-3, 10/10"
    >>> [text[slice(*span)] for span in phones(text, 0, len(text))]
    ['+44 20 7946 0018', '(212) 555-0100', '555-0100']
    """
    within = start, end
    yield from valid_spans(_FORMS["international"], text, within, _international)
    yield from valid_spans(_FORMS["national"], text, within, _national)
    yield from valid_spans(_FORMS["unprefixed"], text, within, _after_a_word)


def follows_a_word(text: str, start: int) -> bool:
    """Whether a word such as "call" or "fax" comes right before a place.

    >>> follows_a_word("Tel. no.: 0", 10), follows_a_word("a call for 2", 11)
    (True, False)
    """
    return _FORMS["word_before"].search(text[max(0, start - _WORD_REACH) : start]) is not None


def _international(match: re.Match[str]) -> Span | None:
    import phonenumbers

    if _FORMS["decimal"].search(match["number"]):
        return None
    try:
        number = phonenumbers.parse("+" + re.sub(r"\( ?0 ?\)|[^0-9]", "", match["number"]))
    except phonenumbers.NumberParseException:
        return None
    reason = phonenumbers.is_possible_number_with_reason(number)
    return match.span() if reason == phonenumbers.ValidationResult.IS_POSSIBLE else None


def _national(match: re.Match[str]) -> Span | None:
    digits = "".join(filter(str.isdigit, match[0]))
    fewest = 8 if match[0].startswith("(") else 9
    has_its_length = digits[0] != "0" or fewest <= len(digits) <= 12
    is_number = has_its_length and not set(digits) <= {"0", "1"}
    return match.span() if is_number and not _is_other(match) else None


def _after_a_word(match: re.Match[str]) -> Span | None:
    is_number = follows_a_word(match.string, match.start()) and not _FORMS["thousands"].fullmatch(
        match[0]
    )
    return match.span() if is_number and not _is_other(match) else None


def _is_other(match: re.Match[str]) -> bool:
    """A date, or a number that the word before names, such as an ISBN."""
    start, end = match.span()
    before = match.string[max(0, start - _OTHER_REACH) : start]
    is_date = _FORMS["date"].match(match.string, start, end) is not None
    return is_date or _FORMS["other_number"].search(before) is not None
