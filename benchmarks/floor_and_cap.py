"""How the defaults of scoring's floor and cap were chosen (docs/decisions/0004-floor-and-cap.md).

    kedro run --pipeline=embedding --params=corpus=sst2,raw_root=<folder>
    python benchmarks/floor_and_cap.py sst2 [--draws 20]

Train-internal: a part of the corpus is left out of scoring altogether; the rest is scored with each
floor and cap, 20 rows a class are drawn with probability ∝ w, and a logistic regression on them is
tested on the part left out. Once on clean labels, once with 10 % of them flipped.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from take.encoder.embeddings import Embeddings
from take.rows.blocks import ArrayBlocks
from take.scoring.influence import influence_matrix
from take.scoring.noise import flip_labels, memorisation_onset
from take.scoring.scoring_inputs import ScoringSettings
from take.scoring.trajectory import train_probe
from take.scoring.weights import kernel_values, knowledge_scores, weigh

FLOORS = (0.01, 0.05, 0.1, 0.2, 0.5)
CAPS = (2.0, 5.0, 1e6)
PER_CLASS = 20


@dataclass(frozen=True)
class Part:
    """Rows with their labels."""

    features: np.ndarray
    labels: np.ndarray


def load(corpus: str) -> Part:
    newest = sorted(Path("data/02_intermediate", corpus, "corpus.parquet").glob("*/*.parquet"))[-1]
    labels = pd.read_parquet(newest, columns=["label"])["label"].to_numpy(dtype=np.int64)
    embeddings = Embeddings.load(Path("data/04_feature", corpus, "embeddings.safetensors"))
    return Part(embeddings.read(0, len(labels)), labels)


def influence(part: Part, labels: np.ndarray, seed: int) -> np.ndarray:
    settings = ScoringSettings(seed=seed)
    rows = ArrayBlocks(part.features)
    probe = train_probe(rows, labels, int(labels.max()) + 1, settings)
    return influence_matrix(rows, labels, probe.weights, probe.biases, settings.block_rows)


def accuracy(train: Part, labels: np.ndarray, weights: np.ndarray, test: Part, draws: int) -> str:
    """Mean and standard error over draws of 20 rows per class, each with probability ∝ w."""
    from sklearn.linear_model import LogisticRegression

    scores = []
    for draw in range(draws):
        # The largest of log w + Gumbel noise are a draw without replacement ∝ w.
        keys = np.log(weights) + np.random.default_rng(draw).gumbel(size=len(weights))
        chosen = np.concatenate(
            [
                rows[np.argsort(-keys[rows])[:PER_CLASS]]
                for rows in (np.flatnonzero(labels == label) for label in np.unique(labels))
            ]
        )
        learner = LogisticRegression(C=10, max_iter=200)
        learner.fit(train.features[chosen], labels[chosen])
        scores.append(100 * learner.score(test.features, test.labels))
    return f"{np.mean(scores):.1f} ± {np.std(scores) / np.sqrt(draws):.1f}"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("corpus")
    arguments.add_argument("--draws", type=int, default=20)
    options = arguments.parse_args()
    warnings.simplefilter("ignore")

    corpus = load(options.corpus)
    order = np.random.default_rng(99).permutation(len(corpus.labels))
    n_left_out = min(5000, len(order) // 5)
    test = Part(corpus.features[order[:n_left_out]], corpus.labels[order[:n_left_out]])
    train = Part(corpus.features[order[n_left_out:]], corpus.labels[order[n_left_out:]])
    n_classes = int(train.labels.max()) + 1
    flipped, is_flipped = flip_labels(train.labels, n_classes, share=0.1, seed=0)
    clean_influence = [influence(train, train.labels, seed) for seed in (0, 1)]
    noisy_influence = influence(train, flipped, seed=0)
    n_checkpoints = noisy_influence.shape[1]
    onset = memorisation_onset(noisy_influence[is_flipped].mean(axis=0, dtype=np.float64))
    kernel = kernel_values("exponential", n_checkpoints, n_checkpoints / onset)

    print(f"{options.corpus}: {len(train.labels):,} rows scored, {n_left_out:,} left out")
    print("| floor / cap | ESS/N | seeds | clean | flipped |\n|---|---:|---:|---:|---:|")

    def show(name: str, weights: list[np.ndarray]) -> None:
        clean, other_seed, noisy = weights
        print(
            f"| {name} | {1 / (clean @ clean) / len(clean):.2f} "
            f"| {np.abs(clean - other_seed).sum() / 2:.3f} "
            f"| {accuracy(train, train.labels, clean, test, options.draws)} "
            f"| {accuracy(train, flipped, noisy, test, options.draws)} |",
            flush=True,
        )

    show("uniform", [np.full(len(train.labels), 1 / len(train.labels))] * 3)
    for floor in FLOORS:
        scores = [
            knowledge_scores(matrix, kernel, floor)
            for matrix in (*clean_influence, noisy_influence)
        ]
        for cap in CAPS:
            name = f"{floor} / {'none' if cap == CAPS[-1] else f'{cap:g}'}"
            show(name, [weigh(score, cap)[0] for score in scores])


if __name__ == "__main__":
    main()
