"""The panel: kernel-ridge learners, each given by a feature space, and their calibration.

A member sees two rows through k(x, y). `phi` and `tfidf` stand for linear learners on sentence
vectors and on words, `joint` for one that reads both; `centred` takes the corpus mean out of φ,
which is what the first steps of fine-tuning do to the common direction of sentence vectors;
`gaussian` bends φ, for learners that are not linear in it. Every kernel has the constant 1 added:
that is the bias. No M × M matrix is made: a search asks for the columns of its own rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from take.encoder.embeddings import sparse_pairs
from take.rows.arrays import Float32, Float64, Int64
from take.rows.blocks import block_bounds
from take.selection.exam.objective import cross_entropy, teaching_codes
from take.selection.exam.updates import solve

GAUSSIAN_WIDTH = 1.0  # k = e^{−‖x−y‖²/2σ²} of unit vectors; at σ = 1 neighbours still share much
GRAM_ROWS = 512  # rows of a Gram matrix made at a time: its temporaries stay small
TEMPERATURES = np.geomspace(0.005, 5.0, 31)


@dataclass(frozen=True)
class Views:
    """Rows as the members see them."""

    phi: Float32  # (n, d) unit vectors
    centred: Float32  # (n, d) φ less the corpus mean, unit vectors again
    lexical: Any  # (n, V) scipy CSR of TF-IDF, rows of norm 1 or 0; scipy is not typed

    def __len__(self) -> int:
        return len(self.phi)

    def take(self, rows: Int64) -> Views:
        """Some of the rows."""
        return Views(self.phi[rows], self.centred[rows], self.lexical[rows])


@dataclass(frozen=True)
class Kernel:
    """k(x, y) = 1 + Σ_view share · curve(⟨x, y⟩ in that view)."""

    shares: tuple[tuple[str, float], ...]
    bent: bool = False

    def gram(self, rows: Views, others: Views) -> Float32:
        """K of some rows against others, (n, m).

        >>> views = Views(np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32), None)
        >>> KERNELS["phi"].gram(views, views).tolist()
        [[2.0, 1.0], [1.0, 2.0]]
        """
        total = np.ones((len(rows), len(others)), dtype=np.float32)
        for name, share in self.shares:
            left, right = getattr(rows, name), getattr(others, name).T
            for start, stop in block_bounds(len(rows), GRAM_ROWS):
                product = left[start:stop] @ right
                dense = product if isinstance(product, np.ndarray) else product.toarray()
                total[start:stop] += share * self._curve(dense)
        return total

    def diagonal(self, rows: Views) -> Float64:
        """k(x, x) of each row."""
        total = np.ones(len(rows))
        for name, share in self.shares:
            view = getattr(rows, name)
            squares = view * view if isinstance(view, np.ndarray) else view.multiply(view)
            total += share * self._curve(np.asarray(squares.sum(axis=1), dtype=np.float64).ravel())
        return total

    def _curve(self, product: Any) -> Any:
        return np.exp((product - 1) / GAUSSIAN_WIDTH**2) if self.bent else product


KERNELS: dict[str, Kernel] = {
    "phi": Kernel((("phi", 1.0),)),
    "tfidf": Kernel((("lexical", 1.0),)),
    "joint": Kernel((("phi", 0.5), ("lexical", 0.5))),
    "centred": Kernel((("centred", 1.0),)),
    "gaussian": Kernel((("phi", 1.0),), bent=True),
}


Viewer = Callable[[Float32, Sequence[Sequence[str]]], Views]
"""φ and the text columns of some rows, to their views."""


def make_viewer(texts: Sequence[Sequence[str]], mean: Float32) -> Viewer:
    """What turns φ and texts into views, with vocabulary and idf of `texts` and φ's `mean`.

    A pair is seen as φ sees it, [u ; v ; |u−v| ; u·v] with quarters of equal norm, on TF-IDF.

    >>> view = make_viewer([["a good film", "a bad film"]], np.zeros(2, dtype=np.float32))
    >>> rows = view(np.eye(2, dtype=np.float32), [["good film", "unheard"]])
    >>> rows.lexical.shape, float(rows.lexical[1].sum())
    ((2, 3), 0.0)
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(dtype=np.float32).fit(chain.from_iterable(texts))

    def view(phi: Float32, of_texts: Sequence[Sequence[str]]) -> Views:
        moved = phi - mean
        lengths = np.linalg.norm(moved, axis=1, keepdims=True)
        centred = moved / np.where(lengths > 0, lengths, 1)
        columns = [vectorizer.transform(column) for column in of_texts]
        lexical = columns[0] if len(columns) == 1 else sparse_pairs(*columns)
        return Views(phi, centred.astype(np.float32), lexical)

    return view


@dataclass(frozen=True)
class Member:
    """A learner of the panel with its hyperparameters."""

    name: str
    ridge: float  # λ
    temperature: float  # τ: its logits are scores / τ

    @property
    def kernel(self) -> Kernel:
        """Its view of the rows."""
        return KERNELS[self.name]

    def logits(self, pool: Views, rows: Int64, targets: Float64, asked: Views) -> Float64:
        """The logits of rows `asked` after being taught with the pool's `rows`."""
        taught = pool.take(rows)
        gram = self.kernel.gram(taught, taught).astype(np.float64)
        _, duals = solve(gram, targets, self.ridge)
        return self.kernel.gram(asked, taught) @ duals / self.temperature


def calibrate(
    name: str,
    ridges: Sequence[float],
    taught: Views,
    labels: Int64,
    asked: Views,
    codes: Float64,
    weights: Float64,
) -> Member:
    """The member whose λ and τ give the lowest loss on the rows `asked`, over a small grid.

    Without τ a ridge learner of 40 rows is far too timid for cross-entropy to mean anything.
    """
    n_classes = 2 if codes.shape[1] == 1 else codes.shape[1]
    targets = teaching_codes(n_classes)[labels]
    kernel = KERNELS[name]
    gram = kernel.gram(taught, taught).astype(np.float64)
    cross = kernel.gram(asked, taught).astype(np.float64)
    best, best_loss = Member(name, ridges[0], 1.0), np.inf
    for ridge in ridges:
        scores = cross @ solve(gram, targets, ridge)[1]
        for temperature in TEMPERATURES:
            loss = cross_entropy(scores / temperature, codes, weights)
            if loss < best_loss:
                best, best_loss = Member(name, ridge, float(temperature)), loss
    return best
