"""Sentence pairs made from a few templates: a corpus that repeats itself."""

from __future__ import annotations

import random

import pandas as pd

LABELS = ("follows", "contradicts")
_WHO = (
    *("a man", "a young woman", "an old lady", "the boy", "a tall waiter", "my sister", "the cook"),
    *("a nurse", "the mayor", "a blind sailor", "the twins", "a farmer", "her uncle", "a student"),
)
_DOES = ("plays", "sells", "carries", "paints", "repairs", "drops", "hides", "finds", "cleans")
_WHAT = (
    *("a guitar", "a red lamp", "old books", "the drum", "a broken clock", "some bread", "a kite"),
    *("two chairs", "a small boat", "the mirror", "a wooden box", "her bicycle", "seven apples"),
)
_WHERE = (
    *("in the park", "at the station", "near the old bridge", "on the pier", "by the river"),
    *("behind the church", "in an empty street", "outside the museum", "under a tree"),
)
_CLAIMS = (
    ("someone is {where}", "somebody {does} {what}", "there is {what} {where}"),
    ("nobody is {where}", "no one moves", "{who} sleeps at home"),
)


def templated_pairs(n_rows: int, seed: int) -> pd.DataFrame:
    """Rows with ids, two classes in turn; none twice."""
    chance, found = random.Random(seed), dict[tuple[str, str], int]()
    while len(found) < n_rows:
        parts = {"who": _WHO, "does": _DOES, "what": _WHAT, "where": _WHERE}
        filled = {name: chance.choice(values) for name, values in parts.items()}
        label = len(found) % 2
        claim = chance.choice(_CLAIMS[label]).format(**filled)
        found.setdefault(("{who} {does} {what} {where}".format(**filled), claim), label)
    table = pd.DataFrame(list(found), columns=["text_a", "text_b"])
    table.insert(0, "id", [f"s{seed}-{i}" for i in range(n_rows)])
    labels = pd.Series(list(found.values()), dtype="int64")
    return table.assign(label=labels, label_name=[LABELS[label] for label in labels])
