"""What a pool is judged by: its rows, everything that was generated, and the corpus behind it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from take.encoder.embeddings import Embeddings
from take.errors import InputError
from take.rows.arrays import Bools, Float32, Int64
from take.rows.labelled import TEXT_COLUMNS


@dataclass(frozen=True)
class PoolEvidence:
    """A pool, its ledger and its corpus; refused if they do not fit together."""

    pool: pd.DataFrame
    """The rows kept: id, text or text_a and text_b, label, label_name, probe_label, …"""
    judged: pd.DataFrame
    """Every generated row: label, reason ("" if kept), probe_label (NA if not embedded), texts."""
    pool_embeddings: Embeddings
    corpus: pd.DataFrame
    """id, text or text_a and text_b, label, label_name."""
    embeddings: Embeddings
    seen: Bools
    """The corpus rows the language model was fine-tuned on."""
    probe_weights: Float32 | None = None
    """(C, d) of the probe that judged the labels; without it, real rows have no agreement."""
    probe_biases: Float32 | None = None
    """(C,)."""

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
        return TEXT_COLUMNS["single" if "text" in self.corpus else "pair"]

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
        """φ of the pool: some thousands of rows, small enough to hold."""
        return self.pool_embeddings.read(0, len(self.pool))

    def corpus_rows(self, rows: Int64) -> Embeddings:
        """Some rows of the corpus, to be read in blocks."""
        return Embeddings(self.embeddings.strings, self.embeddings.rows[rows])

    def corpus_features(self, rows: Int64) -> Float32:
        """φ of some rows of the corpus, at once."""
        return self.corpus_rows(rows).read(0, len(rows))

    def texts(self, frame: pd.DataFrame) -> list[str]:
        """One text per row; those of a pair on two lines."""
        columns = [frame[name].tolist() for name in self.text_columns]
        return ["\n".join(texts) for texts in zip(*columns, strict=True)]


def _refuse(bad: bool, where: str, problem: str, allowed: str) -> None:
    if bad:
        remedy = "give pool, ledger and embeddings of one run of generation"
        raise InputError(problem, where=where, allowed=allowed, remedy=remedy)
