"""Numbers and texts as people read them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from math import floor, isfinite, log10

MISSING = "–"
_SPACE = "\N{NO-BREAK SPACE}"
_MINUS = "\N{MINUS SIGN}"

# What has no shape of its own, or reorders what stands around it. Joiners stay: words need them.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
    "\ud800-\udfff]"
)


def visible(text: object) -> str:
    r"""A text of the corpus with every control character made visible.

    Tabs and line ends stay. Marks that turn the direction of writing are named, because they can
    make a text look like another; letters that run from right to left are left alone.

    >>> visible("a\x00b\r\nc\u202ed")
    'a␀b\nc⟨U+202E⟩d'
    """
    return _UNSEEN.sub(_named, str(text).replace("\r\n", "\n"))


def _named(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    return f"⟨U+{code:04X}⟩"


def opening(text: str, most: int) -> str:
    """The beginning of a text, cut after a word.

    >>> opening("a film of many words", 12), opening("short", 12)
    ('a film of …', 'short')
    """
    if len(text) <= most:
        return text
    head = text[:most]
    cut = head.rfind(" ")
    return (head[:cut] if cut > most // 2 else head) + " …"


def count(value: object) -> str:
    """A number of things.

    >>> count(7440), count(None)
    ('7,440', '–')
    """
    number_ = _finite(value)
    return MISSING if number_ is None else f"{number_:,.0f}".replace("-", _MINUS)


def number(value: object, digits: int = 3) -> str:
    """A figure to some significant digits; whole numbers above that stay whole.

    >>> number(1.06899), number(12345.6), number(0.00042), number(-2), number(None)
    ('1.07', '12,346', '0.00042', '−2.00', '–')
    """
    found = _finite(value)
    if found is None:
        return MISSING
    if found == 0:
        return "0"
    places = max(0, digits - 1 - floor(log10(abs(found))))
    text = f"{found:,.{places}f}"
    if abs(found) < 0.01:
        text = text.rstrip("0")
    return text.replace("-", _MINUS)


def share(value: object) -> str:
    r"""A share of 1 in percent: enough digits to tell, no more.

    >>> [share(part).replace("\xa0", " ") for part in (0.4769, 0.0178, 0.00004, 0, 1, 0.9999)]
    ['48 %', '1.8 %', 'under 0.01 %', '0 %', '100 %', '99.99 %']
    """
    found = _finite(value)
    if found is None:
        return MISSING
    if 0 < abs(found) < 1e-4:
        return f"under{_SPACE}0.01{_SPACE}%"
    if 0.995 <= abs(found) < 1:
        places = 1 if abs(found) < 0.9995 else 2
        return f"{floor(1e4 * abs(found)) / 100:.{places}f}{_SPACE}%"
    places = 0 if abs(found) >= 0.1 or found == 0 else 1 if abs(found) >= 0.01 else 2
    return f"{100 * found:.{places}f}{_SPACE}%".replace("-", _MINUS)


def percent(value: object) -> str:
    r"""A share of 1 in percent to a tenth: for figures that are compared with each other.

    >>> percent(0.7147).replace("\xa0", " ")
    '71.5 %'
    """
    found = _finite(value)
    return MISSING if found is None else f"{100 * found:.1f}{_SPACE}%".replace("-", _MINUS)


def points(value: object) -> str:
    """A difference of two shares, in percentage points and with its sign.

    >>> points(0.0554), points(-0.01), points(0)
    ('+5.5', '−1.0', '0.0')
    """
    found = _finite(value)
    if found is None:
        return MISSING
    shown = f"{100 * found:+.1f}"
    return "0.0" if shown in ("+0.0", "-0.0") else shown.replace("-", _MINUS)


def duration(seconds: object) -> str:
    r"""A time for people.

    >>> [duration(s).replace("\xa0", " ") for s in (0.02, 4.26, 319.8, 7300)]
    ['0.02 s', '4.3 s', '5 min 20 s', '2 h 2 min']
    """
    found = _finite(seconds)
    if found is None:
        return MISSING
    if found < 59.5:
        return f"{found:.{2 if found < 1 else 1 if found < 10 else 0}f}{_SPACE}s"
    minutes, rest = divmod(round(found), 60)
    if minutes < 60:
        return f"{minutes}{_SPACE}min" + (f" {rest}{_SPACE}s" if rest else "")
    hours, minutes = divmod(round(found / 60), 60)
    return f"{hours}{_SPACE}h" + (f" {minutes}{_SPACE}min" if minutes else "")


def size(n_bytes: object) -> str:
    r"""A number of bytes for people.

    >>> [size(n).replace("\xa0", " ") for n in (0, 900, 71286, 3.2e9)]
    ['0 B', '900 B', '71 kB', '3.2 GB']
    """
    found = _finite(n_bytes)
    if found is None:
        return MISSING
    for unit in ("B", "kB", "MB", "GB"):
        if abs(found) < 999.5 or unit == "GB":
            break
        found /= 1000
    places = 1 if unit != "B" and found < 9.95 else 0
    return f"{found:.{places}f}{_SPACE}{unit}"


def tidy(sentence: str) -> str:
    r"""A sentence in which no line ends between a number and its sign. Never for texts.

    >>> tidy("95 % of 40 rows")
    '95\xa0% of 40 rows'
    """
    return re.sub(r"(?<=\d) (?=%|×|‰)", _SPACE, sentence)


def plural(number_: int, one: str, many: str | None = None) -> str:
    """A number with its noun.

    >>> plural(1, "row"), plural(2500, "row"), plural(2, "copy", "copies")
    ('1 row', '2,500 rows', '2 copies')
    """
    return f"{number_:,} {one if number_ == 1 else many or one + 's'}"


def spoken(name: str) -> str:
    """A name from code as words.

    >>> spoken("near_copy_of_train")
    'near copy of train'
    """
    return name.replace("_", " ")


def _finite(value: object) -> float | None:
    if value is None or isinstance(value, str):
        return None
    found = float(value)  # type: ignore[arg-type]
    return found if isfinite(found) else None


def moment(written: str) -> str:
    """A time of a record, to the minute; what is no time stays as it is.

    >>> moment("2026-11-16T17:13:13+00:00"), moment("today")
    ('2026-11-16 17:13 UTC', 'today')
    """
    try:
        return datetime.fromisoformat(written).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    except ValueError:
        return written
