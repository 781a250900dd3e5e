"""Which rows copy a reference row: word for word, nearly, or in a long run of words.

It trusts nothing that generation did about copies: it looks at the finished rows, by rules and
thresholds of its own, and it also finds what stands within a longer row. The same search with real
rows that nothing was learned from says how much of it is chance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from take.audit.privacy.intervals import proportion_interval
from take.errors import InputError
from take.frozen import Frozen
from take.generation.screening.known import TextRow, joined, row_key
from take.rows.arrays import Int64
from take.text.near_texts import NearRule, NearTexts
from take.text.normalise import text_key, words
from take.text.overlap import Matches, Pairs
from take.text.spans import SpanIndex, longest_shared_run, span_text

CopyKind = Literal["verbatim", "near_copy", "shared_span"]


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
    near_copy_words: int = Field(
        default=5,
        ge=1,
        le=1000,
        description="where the longer of two rows has fewer words, `short_copy_overlap` counts",
    )
    short_copy_overlap: float = Field(
        default=0.75,
        ge=0.3,
        le=1,
        description="Jaccard index that makes a near copy of rows that short: one more word in 3",
    )
    short_copy_words: int = Field(
        default=3, ge=1, le=1000, description="shorter rows are copies only if they are equal"
    )
    chance_rows: float = Field(
        default=0.05,
        gt=0,
        description="two rows are no near copies if so many reference rows are expected to hold "
        "the words they share by chance",
    )
    covered_share: float = Field(
        default=0.75,
        gt=0,
        le=1,
        description="share of a row's words in runs of one reference row that makes a near copy",
    )
    long_text_words: int = Field(
        default=8,
        ge=1,
        le=1000,
        description="words from which on one copied text makes a pair a copy, and runs of one "
        "reference row an excerpt",
    )
    span_words: int = Field(
        default=10, ge=2, le=1000, description="words in a row that make a shared span"
    )
    seed_words: int = Field(
        default=5, ge=2, le=100, description="words in a row that are looked for; shorter runs no"
    )
    common_rows: int = Field(
        default=20,
        ge=1,
        description="a phrase that stands in more reference rows says nothing about one of them",
    )

    @model_validator(mode="after")
    def _spans_hold_a_seed(self) -> Self:
        if self.span_words < self.seed_words:
            raise ValueError(f"span_words {self.span_words} is below seed_words {self.seed_words}")
        return self


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
    """That run, as it stands in the query. It is corpus text: for tables, never for logs."""


@dataclass(frozen=True)
class CopyFindings:
    """The worst that was found of each query, if anything, in the order of queries."""

    findings: tuple[CopyFinding, ...]
    longest_spans: Int64
    """Of each query, the longest run shared with any reference row; 0 if shorter than a seed."""

    @property
    def n_queries(self) -> int:
        """How many rows were looked at."""
        return len(self.longest_spans)


class CopySummary(Frozen):
    """How many rows copy, each counted once, as the worst that it is."""

    rows: int = Field(description="Rows that were looked at.")
    verbatim: int = Field(description="Word for word, but for case, blanks and punctuation.")
    near_copies: int = Field(description="A few words changed or moved, or an excerpt.")
    shared_spans: int = Field(description="Otherwise different, with a long run of words of one.")
    longest_span: int = Field(
        description="Words of the longest run shared with any row; phrases that stand in many rows "
        "count only within a copy."
    )
    copied: float = Field(description="Share of rows with any of the three.")
    copied_low: float = Field(description="Lower end of its 95 % interval.")
    copied_high: float = Field(description="Upper end of its 95 % interval.")


def copy_summary(found: CopyFindings) -> CopySummary:
    """The figures of a report.

    Made of real rows that nothing was learned from, they are the yardstick: so many rows overlap
    with the reference by chance, or because the corpus repeats itself.

    >>> found = find_copies([("A dull film!",), ("no",)], [("a dull film",)], CopySettings())
    >>> summary = copy_summary(found)
    >>> summary.verbatim, summary.copied, round(summary.copied_low, 3)
    (1, 0.5, 0.013)
    """
    kinds = Counter(finding.kind for finding in found.findings)
    share = (0.0, 0.0, 1.0)
    if found.n_queries:
        share = proportion_interval(len(found.findings), found.n_queries)
    spans = (finding.span_words for finding in found.findings)
    return CopySummary(
        rows=found.n_queries,
        verbatim=kinds["verbatim"],
        near_copies=kinds["near_copy"],
        shared_spans=kinds["shared_span"],
        longest_span=max(int(found.longest_spans.max(initial=0)), max(spans, default=0)),
        copied=share[0],
        copied_low=share[1],
        copied_high=share[2],
    )


def find_copies(
    queries: Sequence[TextRow], reference: Sequence[TextRow], settings: CopySettings
) -> CopyFindings:
    """What each query copies; `CopyIndex` is for several searches of one reference."""
    return CopyIndex(reference, settings).find(queries)


class CopyIndex:
    """Reference rows, ready to be searched for what other rows copy.

    >>> index = CopyIndex([("a dull film about a long war",)], CopySettings())
    >>> for finding in index.find([("A dull film about the long war",), ("a long war",)]).findings:
    ...     print(finding)
    CopyFinding(query=0, reference=0, kind='near_copy', overlap=0.75, span_words=4, \
span='A dull film about')
    """

    def __init__(self, reference: Sequence[TextRow], settings: CopySettings) -> None:
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
        rule = NearRule(
            overlap=settings.near_copy_overlap,
            least_words=settings.near_copy_words,
            short_overlap=settings.short_copy_overlap,
            least_short_words=settings.short_copy_words,
            chance_rows=settings.chance_rows,
        )
        self._whole = NearTexts([joined(row) for row in self._rows], rule)
        self._long_text_rows = np.array(list(long_texts.values()), dtype=np.int64)
        self._single = NearTexts(list(long_texts), rule)
        self._spans = SpanIndex(
            self._rows, settings.seed_words, settings.common_rows, settings.span_words
        )

    def find(self, queries: Sequence[TextRow]) -> CopyFindings:
        """The worst that each query does; of copies of one kind, the closest."""
        if queries and self._rows and _texts_per_row(queries, "queries") != self._n_texts:
            raise InputError(
                f"rows of {len(queries[0])} texts are compared with rows of {self._n_texts}",
                where="copy search",
                allowed="as many texts in a row on either side",
            )
        runs = self._spans.runs(queries)
        longest = runs.longest()
        n_words = np.array([sum(len(words(text)) for text in row) for row in queries], np.int64)
        in_runs = runs.covered()
        share = in_runs.n_words / n_words[in_runs.query]
        shares = dict(zip(zip(in_runs.query, in_runs.row, strict=True), share, strict=True))
        is_excerpt = share >= self._settings.covered_share
        is_excerpt &= in_runs.n_words >= self._settings.long_text_words
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
        text, start, n_words = longest_shared_run(row, self._rows[reference])
        span = span_text(row[text], start, n_words) if n_words else ""
        return CopyFinding(query, reference, kind, overlap, n_words, span)

    def _long_texts(self, row: TextRow) -> list[str]:
        if len(row) == 1:
            return []  # the whole row
        return [text for text in row if len(words(text)) >= self._settings.long_text_words]


def _texts_per_row(rows: Sequence[TextRow], name: str) -> int:
    counts = sorted({len(row) for row in rows})
    if len(counts) > 1 or counts == [0]:
        raise InputError(
            f"rows of the {name} have {' and '.join(map(str, counts))} texts",
            where="copy search",
            allowed="one text in every row, or two in every row",
        )
    return counts[0] if counts else 1
