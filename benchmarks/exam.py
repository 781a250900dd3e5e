"""Swaps scored each second by `exam`, against a plain solve for each swap in NumPy.

    OMP_NUM_THREADS=1 PYTHONPATH=src python benchmarks/exam.py [--pool 5000] [--exam 1000]

Synthetic rows of sst2's and ag_news's shape (φ of 384 dimensions, some ten words of 8,000), with
surrogates on φ and TF-IDF. The plain way is given both Gram matrices beforehand, which ours never
computes, and only solves, multiplies and scores. All on the same rows, in one process; the best of
three.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from scipy import sparse

from take.rows.arrays import Int64
from take.selection.exam.objective import target_codes
from take.selection.exam.surrogates import Pool, ScoredRows, Surrogate
from take.selection.exam.swap_scorer import SwapScorer
from take.selection.exam.views import Views

SURROGATES = (Surrogate("phi", 1.0, 0.25), Surrogate("tfidf", 0.3, 0.5))
D, WORDS, WORDS_IN_ROW = 384, 8000, 10
SCREENED_EXACTLY = 64
REPEATS = 3


def best_seconds(run: Callable[[], object]) -> float:
    """Shortest of several runs: other work on the machine only ever adds time."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def draw(rng: np.random.Generator, labels: Int64, centres: np.ndarray) -> Views:
    n = len(labels)
    phi = centres[labels] + rng.standard_normal((n, D)) * 0.4
    phi = (phi / np.linalg.norm(phi, axis=1, keepdims=True)).astype(np.float32)
    columns = (rng.random(n * WORDS_IN_ROW) ** 3 * WORDS).astype(np.int64)
    entries = np.full(n * WORDS_IN_ROW, WORDS_IN_ROW**-0.5, dtype=np.float32)
    rows = np.repeat(np.arange(n), WORDS_IN_ROW)
    lexical = sparse.csr_matrix((entries, (rows, columns)), shape=(n, WORDS))
    return Views({"phi": phi, "lexical": lexical})


def plain_loss(logits: np.ndarray, labels: Int64, weights: np.ndarray) -> float:
    """Weighted cross-entropy as one writes it, without the guard against overflow that ours has."""
    if logits.shape[1] == 1:
        return float(np.log(1 + np.exp((1 - 2 * labels) * logits[:, 0])) @ weights)
    chosen = logits[np.arange(len(labels)), labels]
    return float((np.log(np.exp(logits).sum(axis=1)) - chosen) @ weights)


def plain_swaps(
    pool: Pool, exam: ScoredRows, rows: Int64, slot: int
) -> Callable[[Int64], np.ndarray]:
    """A function that scores candidates for `slot` one solve each, its Gram matrices ready."""
    grams = [model.gram(pool.views, pool.views) for model in SURROGATES]
    # By pool row, so that the columns of K_ES are read in one piece.
    crossed = [model.gram(pool.views, exam.views) for model in SURROGATES]
    targets_of = target_codes(pool.n_classes).astype(np.float32)
    eye, weights = np.eye(len(rows), dtype=np.float32), exam.weights.astype(np.float32)

    def score(candidates: Int64) -> np.ndarray:
        losses = np.zeros(len(candidates))
        for i, candidate in enumerate(candidates):
            changed = rows.copy()
            changed[slot] = candidate
            targets = targets_of[pool.labels[changed]]
            for model, gram, cross in zip(SURROGATES, grams, crossed, strict=True):
                ridge = np.float32(model.ridge) * eye
                duals = np.linalg.solve(gram[np.ix_(changed, changed)] + ridge, targets)
                logits = cross[changed].T @ (duals / np.float32(model.temperature))
                losses[i] += plain_loss(logits, exam.labels, weights) / len(SURROGATES)
        return losses

    return score


def measure(n_classes: int, per_class: int, n_pool: int, n_exam: int) -> None:
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((n_classes, D)) * 0.15
    labels = np.sort(np.arange(n_pool) % n_classes)
    pool = Pool(draw(rng, labels, centres), labels, n_classes)
    labels_of = np.arange(n_exam) % n_classes
    exam = ScoredRows(draw(rng, labels_of, centres), labels_of, np.full(n_exam, 1 / n_exam))
    rows = np.concatenate(
        [pool.candidates(label).start + np.arange(per_class) for label in range(n_classes)]
    )
    scorer = SwapScorer(SURROGATES, pool, rows, exam)
    slots = list(range(0, len(rows), max(1, len(rows) // 8)))
    scored = len(slots) * (n_pool // n_classes - per_class)

    def all_slots(exactly: int) -> list[tuple[int, float]]:
        return [scorer.best_swap(slot, exactly) for slot in slots]

    screened, exact = (
        best_seconds(lambda: all_slots(SCREENED_EXACTLY)),
        best_seconds(lambda: all_slots(n_pool)),
    )
    agree = sum(
        a[0] == b[0] for a, b in zip(all_slots(SCREENED_EXACTLY), all_slots(n_pool), strict=True)
    )
    plain = plain_swaps(pool, exam, rows, slots[1])
    some = pool.candidates(0).start + per_class + np.arange(100)
    one_by_one = best_seconds(lambda: plain(some)) / len(some)
    best, loss = scorer.best_swap(slots[1], n_pool)
    np.testing.assert_allclose(plain(np.array([best])), loss, rtol=1e-4)
    swaps = best_seconds(lambda: scorer.swap(0, int(scorer.rows[0])))
    ours, all_exact = scored / screened, scored / exact
    print(
        f"| {n_classes} | {len(rows)} | {n_pool:,} | {n_exam:,} | {1 / one_by_one:,.0f} "
        f"| {all_exact:,.0f} | {all_exact * one_by_one:.0f} x | {ours:,.0f} "
        f"| {ours * one_by_one:.0f} x | {agree}/{len(slots)} | {swaps * 1000:.0f} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pool", type=int, default=5000)
    parser.add_argument("--exam", type=int, default=1000)
    options = parser.parse_args()
    print(
        "| classes | K | pool | exam | plain swaps/s | all exact | ratio "
        f"| screened, best {SCREENED_EXACTLY} exact | ratio | same choice | a swap taken, ms |"
    )
    print("|---:" * 11 + "|")
    measure(2, 20, options.pool, options.exam)
    measure(4, 30, options.pool, options.exam)


if __name__ == "__main__":
    main()
