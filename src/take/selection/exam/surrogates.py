"""The surrogate models: kernel ridge, each defined by a feature space, and their calibration.

A surrogate compares two rows by k(x, y). `phi` and `tfidf` represent linear models on sentence
vectors and on words, `joint` one that uses both; `centred` subtracts the corpus mean from φ, as the
first steps of fine-tuning do; `words` represents models that begin with pretrained word vectors.
Every kernel has the constant 1 added, which is the bias. No M × M matrix is computed: a search
computes the columns of its own rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from take.engine import Job, current
from take.engine.threads import one_thread
from take.rows.arrays import Float32, Float64, Int64
from take.rows.blocks import block_bounds
from take.selection.exam.objective import cross_entropy, label_codes, predicted, target_codes
from take.selection.exam.views import Views

GRAM_ROWS = 512  # rows of a Gram matrix computed at a time: its temporaries stay small
_LARGE_ENTRIES = 2**22  # of a Gram matrix that is worth more than one core
TEMPERATURES = np.geomspace(0.005, 5.0, 31)


@dataclass(frozen=True)
class ScoredRows:
    """Labelled rows that models are scored on."""

    views: Views
    labels: Int64
    weights: Float64  # ≥ 0, sum 1

    def take(self, rows: Int64) -> ScoredRows:
        """Some of the rows, with weights that sum to 1 again."""
        weights = self.weights[rows]
        if not weights.any():  # rows without weight count equally
            weights = np.ones(len(rows))
        return ScoredRows(self.views.take(rows), self.labels[rows], weights / weights.sum())


@dataclass(frozen=True)
class Pool:
    """Candidates in order of their class, so that each class is a slice."""

    views: Views
    labels: Int64
    n_classes: int

    def candidates(self, label: int) -> slice:
        """The candidates of a class."""
        start, stop = np.searchsorted(self.labels, [label, label + 1])
        return slice(int(start), int(stop))


Kernel = tuple[tuple[str, float], ...]
"""k(x, y) = 1 + Σ_view share · ⟨x, y⟩ in that view: the views and their shares."""

KERNELS: dict[str, Kernel] = {
    "phi": (("phi", 1.0),),
    "tfidf": (("lexical", 1.0),),
    "joint": (("phi", 0.5), ("lexical", 0.5)),
    "centred": (("centred", 1.0),),
    "words": (("words", 1.0),),
}


def views_of(surrogates: Sequence[str]) -> list[str]:
    """The views of some surrogates, and those of `independent_accuracies`.

    >>> views_of(["joint", "words"])
    ['lexical', 'phi', 'words']
    """
    return sorted({view for name in surrogates for view, _ in KERNELS[name]} | {"phi", "lexical"})


@dataclass(frozen=True)
class _GramRows(Job[Views, Float32]):
    """Rows of a Gram matrix."""

    kernel: Kernel
    others: Views

    def __call__(self, item: Views) -> Float32:
        total = np.ones((len(item), len(self.others)), dtype=np.float32)
        for name, share in self.kernel:
            product = item[name] @ self.others[name].T
            dense = product if isinstance(product, np.ndarray) else product.toarray()
            total += share * dense
        return total


@dataclass(frozen=True)
class Surrogate:
    """A kernel-ridge model with its hyperparameters."""

    name: str  # of KERNELS
    ridge: float = 1.0  # λ
    temperature: float = 1.0  # τ: its logits are scores / τ

    def gram(self, rows: Views, others: Views) -> Float32:
        """K of some rows against others, (n, m).

        >>> views = Views({"phi": np.eye(2, dtype=np.float32)})
        >>> Surrogate("phi").gram(views, views).tolist()
        [[2.0, 1.0], [1.0, 2.0]]
        """
        total = np.empty((len(rows), len(others)), dtype=np.float32)
        names = [name for name, _ in KERNELS[self.name]]
        job = _GramRows(KERNELS[self.name], Views({name: others[name] for name in names}))
        bounds = list(block_bounds(len(rows), GRAM_ROWS))
        items = (Views({name: rows[name][start:stop] for name in names}) for start, stop in bounds)
        if total.size > _LARGE_ENTRIES and len(bounds) > 1:
            blocks = current().map(job, items)
        else:
            blocks = map(job, items)
        with one_thread():
            for (start, stop), block in zip(bounds, blocks, strict=True):
                total[start:stop] = block
        return total

    def diagonal(self, rows: Views) -> Float64:
        """k(x, x) of each row."""
        total = np.ones(len(rows))
        for name, share in KERNELS[self.name]:
            view = rows[name]
            squares = view * view if isinstance(view, np.ndarray) else view.multiply(view)
            total += share * np.asarray(squares.sum(axis=1), dtype=np.float64).ravel()
        return total

    def logits(self, pool: Views, rows: Int64, targets: Float64, scored: Views) -> Float64:
        """The logits of the `scored` rows after training on the pool's `rows`."""
        training = pool.take(rows)
        _, duals = solve(self.gram(training, training).astype(np.float64), targets, self.ridge)
        return self.gram(scored, training) @ duals / self.temperature


def solve(gram: Float64, targets: Float64, ridge: float) -> tuple[Float64, Float64]:
    """A = (K_SS + λI)⁻¹ and α = A Y.

    >>> inverse, duals = solve(np.eye(2), np.array([[1.0], [-1.0]]), ridge=1.0)
    >>> inverse.tolist(), duals.tolist()
    ([[0.5, 0.0], [0.0, 0.5]], [[0.5], [-0.5]])
    """
    inverse = np.linalg.inv(gram + ridge * np.eye(len(gram)))
    inverse = (inverse + inverse.T) / 2  # else updates keep rounding's asymmetry
    return inverse, inverse @ targets


def calibrate(
    name: str, ridges: Sequence[float], training: Views, labels: Int64, rows: ScoredRows, C: int
) -> Surrogate:
    """The surrogate whose λ and τ give the lowest loss on `rows`, over a small grid; C classes.

    Without τ the scores of a ridge model of 40 rows are too small for cross-entropy to be useful.
    """
    targets, codes = target_codes(C)[labels], label_codes(rows.labels, C)
    best, best_loss = Surrogate(name, ridges[0]), np.inf
    gram = best.gram(training, training).astype(np.float64)
    cross = best.gram(rows.views, training).astype(np.float64)
    for ridge in ridges:
        scores = cross @ solve(gram, targets, ridge)[1]
        for temperature in TEMPERATURES:
            loss = cross_entropy(scores / temperature, codes, rows.weights)
            if loss < best_loss:
                best, best_loss = Surrogate(name, ridge, float(temperature)), loss
    return best


@dataclass(frozen=True)
class Score:
    """Weighted loss, and plain accuracy (rows count equally), mean over the surrogates."""

    loss: float
    accuracy: float


def score(surrogates: Sequence[Surrogate], pool: Pool, rows: Int64, scored: ScoredRows) -> Score:
    """Train each surrogate on the pool's `rows` and score it on the `scored` rows."""
    codes = label_codes(scored.labels, pool.n_classes)
    targets = target_codes(pool.n_classes)[pool.labels[rows]]
    losses, accuracies = [], []
    for surrogate in surrogates:
        logits = surrogate.logits(pool.views, rows, targets, scored.views)
        losses.append(cross_entropy(logits, codes, scored.weights))
        accuracies.append(float(np.mean(predicted(logits) == scored.labels)))
    return Score(float(np.mean(losses)), float(np.mean(accuracies)))


def independent_accuracies(pool: Pool, rows: Int64, scored: ScoredRows) -> dict[str, float]:
    """Plain accuracy of models that the search does not use, by model and features.

    They show whether the rows are good training rows in general, or only for the surrogates. None
    is kernel ridge; two use the same features with another loss. Needs two classes or more.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC, LinearSVC

    models = [
        ("logistic regression", "phi", LogisticRegression(max_iter=1000)),
        ("logistic regression", "lexical", LogisticRegression(max_iter=1000)),
        ("linear SVM", "lexical", LinearSVC(random_state=0)),
        ("naive Bayes", "lexical", MultinomialNB()),
        ("RBF SVM", "phi", SVC(C=3.0, gamma=2.0)),
        ("nearest neighbours", "phi", KNeighborsClassifier(min(5, len(rows)))),
    ]
    accuracies = {}
    for name, view, model in models:
        model.fit(pool.views[view][rows], pool.labels[rows])
        right = model.predict(scored.views[view]) == scored.labels
        accuracies[f"{name}, {view}"] = float(np.mean(right))
    return accuracies
