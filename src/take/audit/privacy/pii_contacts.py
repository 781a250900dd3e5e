"""E-mail and IP addresses, and phone numbers.

A phone number has a country code, the form of some country, or comes after a word like "call".
Country codes and lengths are checked by `phonenumbers`. National numbers are found by their form:
they have no check digit, and most ten digits are a valid number of some country.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, IPv6Network

from take.audit.privacy.pii_numbers import Span, valid_spans

# Bounded throughout: a run of a hundred thousand letters, dots or @ is read in linear time.
_BRACKETED_AT = r"[\[(] ?at ?[\])]"
_DOT = r"(?:\.| ?[\[(] ?dot ?[\])] ?)"
_AT_HOST = re.compile(
    rf"(?:@| @ | ?{_BRACKETED_AT} ?)(?:[^\W_](?:[\w-]{{0,61}}[^\W_])?{_DOT}){{1,8}}"
    r"(?P<top>xn--[a-z0-9-]{2,59}|[^\W\d_]{2,24})(?![^\W_])",
    re.IGNORECASE,
)
_ANY_BRACKETED_AT = re.compile(_BRACKETED_AT, re.IGNORECASE)
_NAME_BACKWARDS = re.compile(r"[\w.+%'-]+")
_LONGEST_NAME = 64
# icon@2x.png
_FILES = frozenset({"png", "jpg", "jpeg", "gif", "svg", "webp", "bmp", "ico", "css", "js"})

_IPV4 = re.compile(
    r"(?<![0-9A-Za-z])(?<![0-9]\.)[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?![0-9A-Za-z])(?!\.[0-9])"
)
_NUMBERED = re.compile(
    r"(?:\bv|\bver|versions?|releases?|build|firmware|driver|update|patch|section|sections|chapter"
    r"|clause|article|paragraph|figure|table|rule|step|§)[.:#]? ?$",
    re.IGNORECASE,
)
_NETWORK_WORDS = re.compile(
    r"\bips?\b|\bipv4\b|\baddress|\bserver|\bhost|\bping|\bdns\b|\bgateway|\brouter|\blog", re.I
)
_CUE_REACH = 40
_NUMBERED_REACH = 12

_IPV6 = re.compile(
    r"(?<![0-9A-Za-z:])[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:]{1,40}(?:\.[0-9]{1,3}){0,3}(?![0-9A-Za-z])"
)
_HOSTS_V6 = tuple(map(IPv6Network, ("2000::/3", "fc00::/7", "fe80::/10", "::ffff:0:0/96")))

_BEGIN = r"(?<![0-9A-Za-z+/=_#&])(?<![0-9][-.,:])(?<![$€£¥₹])(?<![$€£¥₹][ ])"
# An extension may follow: 555 0100x12.
_END = r"(?![0-9A-WYZa-wyz])(?![-.,:/][0-9])(?!%|[ ]?(?:[$€£¥₹%]|percent\b|(?:m|b|tr)illion\b))"
_SEPARATOR = r"(?:[ ]?[-.][ ]?|[ ]{1,2})"
_LOOSE = r"[ ]?[-./()]{0,2}[ ]?"

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


def emails(text: str) -> Iterator[Span]:
    """E-mail addresses, among them those written as name (at) host (dot) org.

    >>> list(emails("write to jo@example.org, or jo [at] example [dot] org"))
    [(9, 23), (28, 53)]
    """
    if "@" not in text and not _ANY_BRACKETED_AT.search(text):
        return
    for match in _AT_HOST.finditer(text):
        # The name is read backwards from the @: nothing marks its beginning.
        backwards = text[max(0, match.start() - _LONGEST_NAME) : match.start()][::-1]
        name = _NAME_BACKWARDS.match(backwards)
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
    for match in _IPV4.finditer(text, start, end):
        try:
            network = IPv4Address(match[0]).packed[0]
        except ValueError:
            continue
        before = text[max(0, match.start() - _CUE_REACH) : match.start()]
        if network in {0, 127} or network >= 224 or _NUMBERED.search(before[-_NUMBERED_REACH:]):
            continue
        after = text[match.end() : match.end() + _CUE_REACH]
        if len(match[0]) > len("1.2.3.4") or _NETWORK_WORDS.search(f"{before}\n{after}"):
            yield match.span()


def ipv6(text: str) -> Iterator[Span]:
    """Addresses a machine can have: global, unique local, link local, or an IPv4 address in IPv6.

    That leaves out times, MAC addresses and the :: of programming languages.

    >>> list(ipv6("from 2001:db8::8a2e:370:7334 at 10:20:30, by Foo::Bar and face::1"))
    [(5, 28)]
    """
    if text.count(":") < 2:
        return
    for match in _IPV6.finditer(text):
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
    yield from valid_spans(_INTERNATIONAL, text, within, _international)
    yield from valid_spans(_NATIONAL, text, within, _national)
    yield from valid_spans(_UNPREFIXED, text, within, _after_a_word)


def follows_a_word(text: str, start: int) -> bool:
    """Whether a word such as "call" or "fax" comes right before a place.

    >>> follows_a_word("Tel. no.: 0", 10), follows_a_word("a call for 2", 11)
    (True, False)
    """
    return _WORD_BEFORE.search(text[max(0, start - _WORD_REACH) : start]) is not None


def _international(match: re.Match[str]) -> Span | None:
    import phonenumbers

    if _DECIMAL.search(match["number"]):
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
    is_number = follows_a_word(match.string, match.start()) and not _THOUSANDS.fullmatch(match[0])
    return match.span() if is_number and not _is_other(match) else None


def _is_other(match: re.Match[str]) -> bool:
    """A date, or a number that the word before names, such as an ISBN."""
    start, end = match.span()
    before = match.string[max(0, start - _OTHER_REACH) : start]
    is_date = _DATE.match(match.string, start, end) is not None
    return is_date or _OTHER_NUMBER.search(before) is not None
