"""What a pool is measured on: its rows, all generated rows, the corpus, and matched samples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from pydantic import Field

from take.encoder.embeddings import Embeddings
from take.errors import InputError
from take.frozen import Frozen
from take.generation.verifier.verifier_settings import VerifierReport
from take.rows.arrays import Bools, Float32, Int64
from take.rows.labelled import TEXT_COLUMNS, task_of


class QualitySettings(Frozen):
    """`quality` within `params:generation`.

    >>> QualitySettings(mauve_rows=500).mauve_rows
    500
    """

    seed: int = Field(default=0, ge=0, lt=2**32)
    block_rows: int = Field(default=2048, ge=1, le=1_000_000)
    """Corpus rows in memory at a time."""
    bleu_hypotheses: int = Field(default=200, ge=1, le=100_000)
    """Rows self-BLEU is the mean of."""
    bleu_references: int = Field(default=500, ge=1, le=100_000)
    """Other rows that each of them is compared with."""
    perplexity_rows: int = Field(default=128, ge=1, le=100_000)
    """Rows of pool and of corpus the base LM reads."""
    mauve_rows: int = Field(default=2000, ge=20, le=50_000)
    """Rows of pool and of corpus MAUVE compares."""
    worst_regions: int = Field(default=5, ge=1, le=100)
    """Regions that the worst covered rows are grouped into."""


@dataclass(frozen=True)
class PoolEvidence:
    """A pool, all generated rows and the corpus; refused if they do not fit together."""

    pool: pd.DataFrame
    """The kept rows: id, text or text_a and text_b, label, label_name, verifier_label, …"""
    judged: pd.DataFrame
    """Every generated row: label, prompt_label, reason ("" if kept), texts, verifier_label (NA if
    labels were not checked any more)."""
    pool_embeddings: Embeddings
    corpus: pd.DataFrame
    """id, text or text_a and text_b, label, label_name."""
    embeddings: Embeddings
    seen: Bools
    """The corpus rows the language model was fine-tuned on."""
    verifier: VerifierReport | None = None
    """What predicted labels, and how often it is right; without it, real rows have no agreement."""

    def __post_init__(self) -> None:
        _refuse(len(self.pool) == 0, "pool", "it has no rows", "at least one row")
        for name, frame, rows in (
            ("pool_embeddings", self.pool, self.pool_embeddings.shape[0]),
            ("embeddings", self.corpus, self.embeddings.shape[0]),
            ("seen", self.corpus, len(self.seen)),
        ):
            _refuse(rows != len(frame), name, f"{rows} rows", f"{len(frame)} rows, as in its table")
        width, expected = self.pool_embeddings.shape[1], self.embeddings.shape[1]
        _refuse(width != expected, "pool_embeddings", f"{width} columns", f"{expected} columns")
        unknown = sorted({*self.pool_labels.tolist()} - {*self.label_names})
        _refuse(
            bool(unknown), "pool, column 'label'", f"label {unknown[:1]}", "the corpus's labels"
        )
        for name, frame in (("pool", self.pool), ("judged", self.judged), ("corpus", self.corpus)):
            missing = [column for column in self.text_columns if column not in frame]
            _refuse(bool(missing), name, f"no column {missing[:1]}", "the corpus's text columns")

    @cached_property
    def text_columns(self) -> tuple[str, ...]:
        """`text`, or `text_a` and `text_b`."""
        return TEXT_COLUMNS[task_of(self.corpus)]

    @cached_property
    def pool_labels(self) -> Int64:
        """Label ids of the pool."""
        return self.pool["label"].to_numpy(dtype=np.int64)

    @cached_property
    def corpus_labels(self) -> Int64:
        """Label ids of the corpus."""
        return self.corpus["label"].to_numpy(dtype=np.int64)

    @cached_property
    def label_names(self) -> dict[int, str]:
        """Names of the corpus's classes by id."""
        names = self.corpus.drop_duplicates("label").sort_values("label")
        return {int(i): str(n) for i, n in zip(names["label"], names["label_name"], strict=True)}

    @cached_property
    def pool_features(self) -> Float32:
        """φ of the pool, which fits in memory."""
        return self.pool_embeddings.read(0, len(self.pool))

    def corpus_rows(self, rows: Int64) -> Embeddings:
        """Some rows of the corpus, read in blocks."""
        return Embeddings(self.embeddings.strings, self.embeddings.rows[rows])

    def corpus_features(self, rows: Int64) -> Float32:
        """φ of some rows of the corpus, in memory."""
        return self.corpus_rows(rows).read(0, len(rows))

    def texts(self, frame: pd.DataFrame) -> list[str]:
        """One text per row; those of a pair on two lines."""
        columns = [frame[name].tolist() for name in self.text_columns]
        return ["\n".join(texts) for texts in zip(*columns, strict=True)]


def _refuse(bad: bool, where: str, problem: str, allowed: str) -> None:
    if bad:
        remedy = "give pool, ledger and embeddings of one run of generation"
        raise InputError(problem, where=where, allowed=allowed, remedy=remedy)


@dataclass(frozen=True)
class Matched:
    """Equally many rows of pool and corpus with the same mix of classes, in random order."""

    pool: Int64
    real: Int64
    """Corpus rows, as far as possible rows that the language model was not trained on."""
    other: Int64
    """As many other corpus rows: they compare the corpus with itself."""

    def __len__(self) -> int:
        return len(self.pool)


def match(
    pool_labels: Int64, corpus_labels: Int64, seen: Bools, random: np.random.Generator
) -> Matched:
    """Draw as many rows of each class as the pool has, at most half of the corpus's.

    Half, so that a second, disjoint sample can be drawn and corpus rows are left to measure
    coverage on. Where half is less than the pool has, rows of the pool are drawn, too.

    >>> matched = match(np.array([0, 0, 1]), np.array([0, 0, 1, 1]), np.zeros(4, dtype=np.bool_),
    ...                 np.random.default_rng(0))
    >>> len(matched), sorted(matched.real.tolist() + matched.other.tolist())
    (2, [0, 1, 2, 3])
    """
    pool, real, other = [], [], []
    for label in np.unique(pool_labels):
        generated = random.permutation(np.flatnonzero(pool_labels == label))
        rows = random.permutation(np.flatnonzero(corpus_labels == label))
        rows = rows[np.argsort(seen[rows], kind="stable")]  # unseen rows first
        count = min(len(generated), len(rows) // 2)
        pool.append(generated[:count])
        real.append(rows[:count])
        other.append(random.permutation(rows[count:])[:count])
    if not sum(map(len, real)):
        raise InputError(
            "no class of the pool has two rows of the corpus to be compared with",
            where="corpus",
            allowed="two rows of a class or more",
            remedy="check that pool and corpus have the same labels",
        )
    return Matched(*(random.permutation(np.concatenate(parts)) for parts in (pool, real, other)))
