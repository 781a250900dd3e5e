"""Real rows set apart from a corpus, and the rest of it that they are searched for in.

How often real rows nearly copy other rows of their corpus is the measure of near copies: it says
what chance, and a corpus that repeats itself, give. It is taken from train rows alone. The
evaluation split sets no threshold.

Rows that contain one another have one origin: in sst2 a sentence and its phrases, in mnli a premise
with three hypotheses. Nobody copied the one from the other, and such rows say nothing about how
often unrelated rows resemble each other. So a row is set apart only if no other row contains it,
and what it contains, or equals, is left out of the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from take.rows.arrays import Int64
from take.rows.strings import is_among
from take.text.nested import nested_texts
from take.text.normalise import TextRow

MOST_ROWS = 1000
"""Rows that are set apart: a share of 1 % is known within half a point."""
_HELD_OUT = ("validation", "unread")


class SetApart(NamedTuple):
    """Places of rows: those set apart, in random order, and those that they are searched for in."""

    rows: Int64
    rest: Int64


def held_out_rows(corpus: pd.DataFrame, generator_rows: pd.DataFrame) -> Int64:
    """Train rows that were left out at random when the language model was trained.

    >>> corpus = pd.DataFrame({"id": ["a", "b", "c", "d"]})
    >>> roles = pd.DataFrame({"id": ["a", "b", "c"], "role": ["trained", "unread", "excluded"]})
    >>> held_out_rows(corpus, roles).tolist()
    [1]
    """
    ids = generator_rows.loc[generator_rows["role"].isin(_HELD_OUT), "id"]
    return np.flatnonzero(is_among(corpus["id"], ids))


def set_apart(
    rows: Sequence[TextRow], candidates: Int64, most: int, random: np.random.Generator
) -> SetApart:
    """At most `most` of the candidates that no other row contains, and the rows unrelated to them.

    A row contains another if one of its texts contains one of the other's (`nested_texts`).

    >>> rows = [("a dull film",), ("film",), ("what a dull film it is",), ("bliss",)]
    >>> found = set_apart(rows, np.arange(3), 9, np.random.default_rng(0))
    >>> found.rows.tolist(), found.rest.tolist()
    ([2], [3])
    """
    found = nested_texts(rows)
    row, container = found.row_of[found.inner], found.row_of[found.outer]
    is_inside = np.zeros(len(rows), dtype=np.bool_)
    is_inside[row[~found.is_equal]] = True
    drawn = random.permutation(candidates)
    apart = drawn[~is_inside[drawn]][:most]
    in_rest = np.ones(len(rows), dtype=np.bool_)
    in_rest[apart] = False
    in_rest[row[np.isin(container, apart)]] = False
    return SetApart(apart.astype(np.int64), np.flatnonzero(in_rest))
