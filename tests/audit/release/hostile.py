"""Distilled sets with rows made to break their files."""

from __future__ import annotations

import pandas as pd
from hypothesis import settings
from hypothesis import strategies as st

NAMES = ["bad", "good"]

HOSTILE = [
    'she said "fine", twice""',
    "one\ntwo\r\nthree\rfour",
    '=HYPERLINK("http://example.com","x")',
    " \t@SUM(1)",
    "\ufeff＝1+1",
    "\u200b\u202e-2+3\u202c \u05d0\u200f",
    "fine;=cmd|' /C calc'!A0",
    'fine\n"=1',
    "nul \0 and \x01\x1b[31m\x7f\x85\u2028\u2029",
    "emoji 👩‍👩‍👧 🎬",
    "\\u0041 \\n </script>",
    "x" * 10_240,
    ",",
    "'already",
    "NA",
]

# Any text that UTF-8 can hold, and texts made of nothing but what matters here.
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
    st.text("a=＠;,'\"\t\r\n\0 \ufeff\u200b\u2028\x85", min_size=1),
).filter(str.strip)
WEIGHTS = st.floats(min_value=0, allow_nan=False, allow_infinity=False)

# The first example of a run waits for imports.
patiently = settings(deadline=None, max_examples=50)


def distilled(texts: list[str], weights: list[float] | None = None) -> pd.DataFrame:
    labels = [row % 2 for row in range(len(texts))]
    return pd.DataFrame(
        {
            "id": [f"{row:04x}" for row in range(len(texts))],
            "text": texts,
            "label": labels,
            "label_name": [NAMES[label] for label in labels],
            "weight": weights or [0.1 * row for row in range(len(texts))],
        }
    )


def distilled_pairs(texts: list[str]) -> pd.DataFrame:
    table = distilled(texts).rename(columns={"text": "text_a"})
    table.insert(2, "text_b", texts[::-1])
    return table


HOSTILE_TABLES = [distilled(HOSTILE), distilled_pairs(HOSTILE)]
