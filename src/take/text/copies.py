"""Which rows copy a reference row: word for word, nearly, or in a long run of words.

The one rule for copies by words: screening drops candidates by it, selection excludes them by it,
and the privacy gate checks the finished rows by it, all three with `params:audit.copies`. The same
search with real rows, set apart from train, says how much of it is chance. How the thresholds were
derived: docs/audit.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from pydantic import Field

from take.errors import InputError
from take.frozen import Frozen
from take.rows.arrays import Int64
from take.rows.pairs import Matches, Pairs
from take.text.normalise import TextRow, bare_words, joined, n_words, row_key, text_key
from take.text.overlap import NearTexts
from take.text.spans import SpanIndex, longest_shared_run, span_text

CopyKind = Literal["verbatim", "near_copy", "shared_span"]


_COVERED_SHARE = 0.8
"""Share of a row's words in runs of one reference row that makes it a near copy."""
LONG_TEXT_WORDS = 8
"""From so many words on, one copied text makes a pair a copy, and runs of one row an excerpt."""
_SEED_WORDS = 5
"""Shorter runs of words are not searched for."""
COMMON_ROWS = 20
"""A phrase that more reference rows contain says nothing about one of them."""


class CopySettings(Frozen):
    """`params:audit.copies`.

    >>> CopySettings(span_words=12).near_copy_overlap
    0.65
    """

    near_copy_overlap: float = Field(
        default=0.65,
        ge=0.3,
        le=1,
        description="Jaccard index of words that makes a near copy: one changed word in 5",
    )
    chance_rows: float = Field(
        default=0.05,
        gt=0,
        description="two rows are no near copies if this many reference rows are expected to "
        "contain the words they share by chance",
    )
    span_words: int = Field(
        default=8,
        ge=_SEED_WORDS,
        le=1000,
        description="consecutive words that make a shared span",
    )


class CopyFinding(NamedTuple):
    """One row and the reference row that it copies most."""

    query: int
    reference: int
    kind: CopyKind
    overlap: float
    """Jaccard index of the words, or the share of the query's words in shared runs if higher."""
    span_words: int
    """Words of the longest run that the two share."""
    span: str
    """That run, as written in the query. It is corpus text: for tables, never for logs."""


@dataclass(frozen=True)
class CopyFindings:
    """The worst that was found of each query, if anything, in the order of queries."""

    findings: tuple[CopyFinding, ...]
    longest_spans: Int64
    """Of each query, the longest run shared with any reference row; 0 if shorter than a seed."""

    @property
    def n_queries(self) -> int:
        """How many rows were checked."""
        return len(self.longest_spans)


class CopyIndex:
    """Reference rows, ready to be searched for what other rows copy.

    >>> index = CopyIndex([("a dull film about a long war",)], CopySettings())
    >>> for finding in index.find([("A dull film about the long war",), ("a long war",)]).findings:
    ...     print(finding)
    CopyFinding(query=0, reference=0, kind='near_copy', overlap=0.75, span_words=4, \
span='A dull film about')
    """

    def __init__(
        self,
        reference: Sequence[TextRow],
        settings: CopySettings,
        others: Sequence[TextRow] = (),
    ) -> None:
        """`others` are rows like those of the reference: what is common among them is no copy."""
        self._settings = settings
        self._rows = list(reference)
        self._n_texts = _texts_per_row(self._rows, "reference")
        self._by_key: dict[str, int] = {}
        long_texts: dict[str, int] = {}
        for index, row in enumerate(self._rows):
            if text_key(joined(row)):
                self._by_key.setdefault(row_key(row), index)
            for text in self._long_texts(row):
                long_texts.setdefault(text, index)
        self._by_long_text: dict[str, int] = {}
        for text, index in long_texts.items():
            self._by_long_text.setdefault(text_key(text), index)
        rule = settings.near_copy_overlap, settings.chance_rows
        self._whole = NearTexts([joined(row) for row in self._rows], *rule)
        self._long_text_rows = np.array(list(long_texts.values()), dtype=np.int64)
        self._single = NearTexts(list(long_texts), *rule)
        limits = (_SEED_WORDS, COMMON_ROWS, settings.span_words)
        self._spans = SpanIndex(self._rows, *limits, others)

    def find(self, queries: Sequence[TextRow]) -> CopyFindings:
        """The worst copy that each query is; of copies of one kind, the closest."""
        if queries and self._rows and _texts_per_row(queries, "queries") != self._n_texts:
            raise InputError(
                f"rows of {len(queries[0])} texts are compared with rows of {self._n_texts}",
                where="copy search",
                allowed="as many texts in a row on either side",
            )
        runs = self._spans.runs(queries)
        longest = runs.longest()
        sizes = np.array([n_words(row) for row in queries], np.int64)
        in_runs = runs.covered()
        share = in_runs.value / sizes[in_runs.query]
        shares = dict(zip(zip(in_runs.query, in_runs.row, strict=True), share, strict=True))
        is_excerpt = share >= _COVERED_SHARE
        is_excerpt &= in_runs.value >= LONG_TEXT_WORDS
        excerpts = Pairs(in_runs.query[is_excerpt], in_runs.row[is_excerpt], share[is_excerpt])
        near = self._near(queries, excerpts)
        findings = []
        for index, row in enumerate(queries):
            copied = self._verbatim(row)
            place = longest[index]
            if copied >= 0:
                findings.append(self._finding(index, row, copied, "verbatim", 1.0))
            elif near.row[index] >= 0:
                theirs, value = int(near.row[index]), float(near.value[index])
                findings.append(self._finding(index, row, theirs, "near_copy", value))
            elif place >= 0 and runs.n_words[place] >= self._settings.span_words:
                theirs = int(runs.row[place])
                value = float(shares[index, theirs])
                findings.append(self._finding(index, row, theirs, "shared_span", value))
        spans = np.zeros(len(queries), dtype=np.int64)
        spans[longest >= 0] = runs.n_words[longest[longest >= 0]]
        return CopyFindings(tuple(findings), spans)

    def _verbatim(self, row: TextRow) -> int:
        if (index := self._by_key.get(row_key(row))) is not None:
            return index
        found = (self._by_long_text.get(text_key(text), -1) for text in self._long_texts(row))
        return next((index for index in found if index >= 0), -1)

    def _near(self, queries: Sequence[TextRow], excerpts: Pairs) -> Matches:
        texts = [text for row in queries for text in row] if self._n_texts > 1 else []
        whole = self._whole.pairs([joined(row) for row in queries])
        single = self._single.pairs(texts)
        found = Pairs(
            np.concatenate([whole.query, single.query // self._n_texts, excerpts.query]),
            np.concatenate([whole.row, self._long_text_rows[single.row], excerpts.row]),
            np.concatenate([whole.value, single.value, excerpts.value]),
        )
        return found.best(len(queries))

    def _finding(
        self, query: int, row: TextRow, reference: int, kind: CopyKind, overlap: float
    ) -> CopyFinding:
        text, start, length = longest_shared_run(row, self._rows[reference])
        span = span_text(row[text], start, length) if length else ""
        return CopyFinding(query, reference, kind, overlap, length, span)

    def _long_texts(self, row: TextRow) -> list[str]:
        if len(row) == 1:
            return []  # the whole row
        return [text for text in row if len(bare_words(text)) >= LONG_TEXT_WORDS]


def _texts_per_row(rows: Sequence[TextRow], name: str) -> int:
    counts = sorted({len(row) for row in rows})
    if len(counts) > 1 or counts == [0]:
        raise InputError(
            f"rows of the {name} have {' and '.join(map(str, counts))} texts",
            where="copy search",
            allowed="one text in every row, or two in every row",
        )
    return counts[0] if counts else 1
