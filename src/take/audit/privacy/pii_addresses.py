"""E-mail and IP addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, IPv6Network

Span = tuple[int, int]

# Bounded throughout: a run of a hundred thousand letters, dots or @ is read in linear time.
_BRACKETED_AT = r"[\[(] ?at ?[\])]"
_DOT = r"(?:\.| ?[\[(] ?dot ?[\])] ?)"
_AT_HOST = re.compile(
    rf"(?:@| @ | ?{_BRACKETED_AT} ?)(?:[^\W_](?:[\w-]{{0,61}}[^\W_])?{_DOT}){{1,8}}"
    r"(?P<top>xn--[a-z0-9-]{2,59}|[^\W\d_]{2,24})(?![^\W_])",
    re.IGNORECASE,
)
_ANY_BRACKETED_AT = re.compile(_BRACKETED_AT, re.IGNORECASE)
_EMAN = re.compile(r"[\w.+%'-]+")
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


def emails(text: str) -> Iterator[Span]:
    """E-mail addresses, among them those written as name (at) host (dot) org.

    >>> list(emails("write to jo@example.org, or jo [at] example [dot] org"))
    [(9, 23), (28, 53)]
    """
    if "@" not in text and not _ANY_BRACKETED_AT.search(text):
        return
    for match in _AT_HOST.finditer(text):
        # The name is read backwards from the @, for it has no beginning of its own.
        backwards = text[max(0, match.start() - _LONGEST_NAME) : match.start()][::-1]
        name = _EMAN.match(backwards)
        if name and match["top"].lower() not in _FILES:
            yield match.start() - len(name[0].rstrip(".'-%")), match.end()


def ipv4(text: str, start: int, end: int) -> Iterator[Span]:
    """Four numbers that are the address of a machine, and not the number of a version or section.

    Out: what names no single machine (0.…, 127.…, multicast, netmasks); numbers after a word such
    as "version" or "section"; four single digits, unless a word such as "server" stands near.

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
