"""Numbers, durations, sizes and texts for people: one module for reports, tables and logs.

Missing values (None, NaN, infinities) are shown as "–", minus signs as "−".
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from math import floor, isfinite, log10

from take.text.characters import Translation, is_misleading

MISSING = "–"
_MINUS = "\N{MINUS SIGN}"
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=[%×‰]|(?:s|min|h|B|kB|MB|GB)\b)")


def visible(text: object) -> str:
    r"""A text of the corpus with every control character made visible.

    Tabs and line ends stay. Characters without width and marks that change the direction of writing
    are named, because they can make a text look like another one; letters written from right to
    left, and the joiners that words and emoji need, stay as they are.

    >>> visible("a\x00b\r\nc\u202ed")
    'a␀b\nc⟨U+202E⟩d'
    """
    return str(text).replace("\r\n", "\n").translate(_VISIBLE)


def _named(character: str) -> str:
    code = ord(character)
    if character in "\t\n" or not is_misleading(character):
        return character
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    return f"⟨U+{code:04X}⟩"


_VISIBLE = Translation(_named)


def escaped(text: str) -> str:
    r"""A message on one line, with every character that a terminal may act upon escaped.

    >>> print(escaped("a\x1b[31mred\nb\u202e"))
    a\x1b[31mred b\u202e
    """
    line = re.sub(r"[\t\r\n]+", " ", text)
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)


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
    return _written(value, ",.0f")


def number(value: object, digits: int = 3) -> str:
    """A figure with some significant digits; larger numbers are shown whole.

    >>> number(1.06899), number(12345.6), number(0.00042), number(-2), number(None)
    ('1.07', '12,346', '0.00042', '−2.00', '–')
    """
    found = _finite(value)
    if not found:
        return MISSING if found is None else "0"
    places = max(0, digits - 1 - floor(log10(abs(found))))
    text = _written(found, f",.{places}f")
    return text.rstrip("0") if abs(found) < 0.01 else text


def share(value: object) -> str:
    """A share of 1 in percent, with as many digits as its size needs.

    >>> [share(part) for part in (0.4769, 0.0178, 0.00004, 0, 1, 0.9999)]
    ['48 %', '1.8 %', 'under 0.01 %', '0 %', '100 %', '99.99 %']
    """
    found = _finite(value)
    if found is None:
        return MISSING
    size_ = abs(found)
    if 0 < size_ < 1e-4:
        return "under 0.01 %"
    if 0.995 <= size_ < 1:  # rounded down: 99.99 % is not all
        return f"{floor(1e4 * size_) / 100:.{1 if size_ < 0.9995 else 2}f} %"
    places = 0 if size_ >= 0.1 or size_ == 0 else 1 if size_ >= 0.01 else 2
    return _written(100 * found, f".{places}f", " %")


def percent(value: object, places: int = 1) -> str:
    """A share of 1 in percent with fixed decimals: for figures that are compared with each other.

    >>> percent(0.7147), percent(float("nan"))
    ('71.5 %', '–')
    """
    found = _finite(value)
    return _written(None if found is None else 100 * found, f".{places}f", " %")


def points(value: object) -> str:
    """A difference of two shares, in percentage points with its sign.

    >>> points(0.0554), points(-0.01), points(0)
    ('+5.5', '−1.0', '0.0')
    """
    found = _finite(value)
    shown = _written(None if found is None else 100 * found, "+.1f")
    return "0.0" if shown in ("+0.0", f"{_MINUS}0.0") else shown


def duration(seconds: object) -> str:
    """A time.

    >>> [duration(s) for s in (0.02, 4.26, 35.4, 319.8, 7300)]
    ['0.02 s', '4.3 s', '35 s', '5 min 20 s', '2 h 2 min']
    """
    found = _finite(seconds)
    if found is None:
        return MISSING
    if found < 59.5:
        return f"{found:.{2 if found < 1 else 1 if found < 10 else 0}f} s"
    minutes, rest = divmod(round(found), 60)
    if minutes < 60:
        return f"{minutes} min" + (f" {rest} s" if rest else "")
    hours, minutes = divmod(round(found / 60), 60)
    return f"{hours} h" + (f" {minutes} min" if minutes else "")


def size(n_bytes: object) -> str:
    """A number of bytes, in powers of 1,000.

    >>> [size(n) for n in (0, 900, 71286, 3.2e9)]
    ['0 B', '900 B', '71 kB', '3.2 GB']
    """
    found = _finite(n_bytes)
    if found is None:
        return MISSING
    for unit in ("B", "kB", "MB", "GB"):
        if abs(found) < 999.5 or unit == "GB":
            break
        found /= 1000
    return f"{found:.{1 if unit != 'B' and found < 9.95 else 0}f} {unit}"


def moment(written: str) -> str:
    """An ISO time to the minute, in UTC; anything else is returned as it is.

    >>> moment("2026-11-16T17:13:13+00:00"), moment("today")
    ('2026-11-16 17:13 UTC', 'today')
    """
    try:
        return datetime.fromisoformat(written).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    except ValueError:
        return written


def plural(number_: int, one: str, many: str | None = None) -> str:
    """A number with its noun.

    >>> plural(1, "row"), plural(2500, "row"), plural(2, "copy", "copies")
    ('1 row', '2,500 rows', '2 copies')
    """
    return f"{number_:,} {one if number_ == 1 else many or one + 's'}"


def as_words(name: str) -> str:
    """An identifier as words.

    >>> as_words("near_copy_of_train")
    'near copy of train'
    """
    return name.replace("_", " ")


def unbroken(sentence: str) -> str:
    r"""A sentence that is never wrapped between a number and its unit. Not for texts of a corpus.

    >>> unbroken("95 % of 40 rows in 5 min 20 s")
    '95\xa0% of 40 rows in 5\xa0min 20\xa0s'
    """
    return _BEFORE_UNIT.sub("\N{NO-BREAK SPACE}", sentence)


def _written(value: object, spec: str, unit: str = "") -> str:
    found = _finite(value)
    return MISSING if found is None else format(found, spec).replace("-", _MINUS) + unit


def _finite(value: object) -> float | None:
    if value is None or isinstance(value, str):
        return None
    found = float(value)  # type: ignore[arg-type]
    return found if isfinite(found) else None
