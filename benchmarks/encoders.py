"""The same distillation with another φ: how many rows it shares, and what learners gain or lose.

    python benchmarks/encoders.py --raw <folder> [--seeds 5] [--surrogates phi tfidf]

`exam` chooses 20 rows of each class from real train rows, once with φ of each encoder, with the
same candidates, exam rows, validation rows and κ (uniform). Learners trained on the chosen rows
are tested on other train rows; the evaluation split is never read. A seed draws all four kinds of
rows again from one sample of the corpus, so that every text is encoded once; no row is related to a
row of another kind. Two rows are for comparison: candidates drawn at random, and the first
encoder with exam rows drawn again, which shows what the choice of exam rows does by itself.
"""

from __future__ import annotations

import argparse
import logging
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from sampling_settings import DATA

from take.encoder.encode import EmbeddingSettings, Encoder, embed_corpus
from take.encoder.models import EMBEDDED, EMBEDDED_E5, EncoderSettings
from take.evaluation.progress import quiet
from take.learners import (
    DEFAULTS,
    SentenceVectors,
    Shared,
    Texts,
    TrainingRows,
    Vocabulary,
    make_learner,
)
from take.rows.arrays import Float32, Int64
from take.rows.blocks import ArrayBlocks
from take.rows.labelled import LabelledRows
from take.rows.random import rng
from take.selection.exam.selector import exam
from take.selection.problem import SelectionProblem
from take.selection.selection_settings import ExamSettings, SelectionSettings
from take.text.related import RelatedRows

ENCODERS = {EMBEDDED: "MiniLM", EMBEDDED_E5: "e5"}
SAMPLE, TEST, CANDIDATES, EXAM, VALIDATION = 16_000, 1500, 2000, 4000, 1000
OTHER_EXAM_ROWS = 1000  # added to the seed of the exam


class Draw(NamedTuple):
    """Rows of the sample by what they are for."""

    test: Int64
    candidates: Int64
    unseen: Int64  # for exam and validation rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--raw", type=Path, required=True)
    parser.add_argument("--corpus", default="sst2", help="of single texts")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--per-class", type=int, default=20)
    parser.add_argument("--surrogates", nargs="+", default=["phi", "tfidf"])
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    rows = pd.read_parquet(options.raw / options.corpus / "train.parquet")
    rows = rows.drop_duplicates("text", ignore_index=True)
    sample = rng(0, "encoders sample").permutation(len(rows))[:SAMPLE]
    rows = rows.iloc[np.sort(sample)].reset_index(drop=True)
    related = RelatedRows([(text,) for text in rows["text"]])
    phis = {name: Phi(model, rows) for model, name in ENCODERS.items()}
    settings = ExamSettings(
        exam_rows=EXAM, validation_rows=VALIDATION, surrogates=tuple(options.surrogates)
    )
    scores: dict[str, list[list[float]]] = {}
    shared: dict[str, list[int]] = {}
    with quiet("take.encoder.encode"), quiet("take.selection"):
        for seed in range(options.seeds):
            draw = drawn(related, seed)
            first = next(iter(phis))
            problems = {
                name: problem(rows, phi.vectors, draw, related, options.per_class)
                for name, phi in phis.items()
            }
            chosen = {"random": _at_random(problems[first], seed)}
            for name in phis:
                chosen[f"exam, φ = {name}"] = _by_exam(problems[name], settings, seed)
            other_seed = seed + OTHER_EXAM_ROWS
            again = _by_exam(problems[first], settings, other_seed)
            chosen[f"exam, φ = {first}, other exam rows"] = again
            for way, found in chosen.items():
                same = np.isin(found, chosen[f"exam, φ = {first}"]).sum()
                shared.setdefault(way, []).append(int(same))
                accuracies = tested(rows, draw, draw.candidates[found], phis)
                scores.setdefault(way, []).append(accuracies)
            print(f"seed {seed}: {len(draw.unseen):,} rows for the exam", flush=True)
    _print(scores, shared, [*("lr", "char_lr"), *(f"lr_phi, {name}" for name in phis)])


class Phi:
    """One encoder and its vectors of the sample."""

    def __init__(self, model: str, rows: pd.DataFrame) -> None:
        self.encoder = Encoder(EncoderSettings(model=model), DATA / "04_feature/embedding_cache")
        started = time.process_time()
        done = embed_corpus([rows["text"].tolist()], self.encoder, EmbeddingSettings())
        self.vectors: Float32 = done.embeddings.read(0, len(rows))
        seconds = time.process_time() - started
        print(f"{model}: {done.report.encoded_strings:,} strings, {seconds:.0f} s of processor")


def drawn(related: RelatedRows, seed: int) -> Draw:
    """Test rows, candidates, and what is unlike both."""
    free = np.flatnonzero(~related.common)
    order = rng(seed, "encoders rows").permutation(free)
    test, order = order[:TEST], order[TEST:]
    order = order[~related.to(test)[order]]
    candidates, order = order[:CANDIDATES], order[CANDIDATES:]
    unseen = order[~related.to(candidates)[order]]
    if len(unseen) < EXAM + VALIDATION:
        raise SystemExit(f"{len(unseen)} rows are left for the exam: raise SAMPLE")
    return Draw(np.sort(test), np.sort(candidates), np.sort(unseen))


def problem(
    rows: pd.DataFrame, phi: Float32, draw: Draw, related: RelatedRows, per_class: int
) -> SelectionProblem:
    """Candidates for the sample, with even mass of rows in a class and of classes."""

    def labelled(index: Int64) -> LabelledRows:
        some = rows.iloc[index]
        return LabelledRows(
            ArrayBlocks(phi[index]), [some["text"].tolist()], some["label"].to_numpy()
        )

    corpus = labelled(np.arange(len(rows)))
    # Only rows for the exam have mass: no test row may decide what is chosen.
    counted = np.isin(np.arange(len(rows)), draw.unseen)
    mass = counted / np.bincount(corpus.labels[counted])[corpus.labels]
    return SelectionProblem(
        corpus,
        mass / mass.sum(),
        labelled(draw.candidates),
        (per_class,) * (int(corpus.labels.max()) + 1),
        draw.unseen,
        related=related,
    )


def _by_exam(task: SelectionProblem, settings: ExamSettings, seed: int) -> Int64:
    return exam(task, SelectionSettings(seed=seed, exam=settings)).rows


def _at_random(task: SelectionProblem, seed: int) -> Int64:
    random = rng(seed, "encoders random")
    return np.concatenate(
        [
            random.permutation(np.flatnonzero(task.pool.labels == label))[:count]
            for label, count in enumerate(task.budgets)
        ]
    )


def tested(rows: pd.DataFrame, draw: Draw, chosen: Int64, phis: dict[str, Phi]) -> list[float]:
    """Accuracy on test rows of logistic regression on words, on characters and on each φ."""
    n_classes = int(rows["label"].max()) + 1
    some, test = rows.iloc[chosen], rows.iloc[draw.test]
    training = TrainingRows(
        Texts.of(some["text"].tolist()), some["label"].to_numpy().copy(), n_classes
    )
    queries, corpus = Texts.of(test["text"].tolist()), Texts.of(rows["text"][draw.unseen].tolist())
    words = Shared()
    words.corpus = Vocabulary(words.counts, corpus)
    learners = [make_learner(DEFAULTS[name], words) for name in ("lr", "char_lr")]
    for phi in phis.values():
        vectors = Shared(phi=SentenceVectors(phi.encoder))
        learners.append(make_learner(DEFAULTS["lr_phi"], vectors))
    labels = test["label"].to_numpy()
    models = (learner.fit(training, seed=0) for learner in learners)
    return [float((model.predict(queries) == labels).mean()) for model in models]


def _print(
    scores: dict[str, list[list[float]]], shared: dict[str, list[int]], learners: list[str]
) -> None:
    first = next(way for way in scores if way.startswith("exam"))
    head = ["rows chosen by", f"of them in '{first}'", *learners]
    print("\n| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for way, found in scores.items():
        cells = [f"{np.mean(shared[way]):.1f}", *_spread(np.array(found), "")]
        print(f"| {way} | {' | '.join(cells)} |")
    for way, found in scores.items():
        if way.startswith("exam") and way != first:
            difference = np.array(found) - np.array(scores[first])
            print(f"| {way} less '{first}' | – | {' | '.join(_spread(difference, '+'))} |")


def _spread(values: np.ndarray, sign: str) -> list[str]:
    spread = zip(values.mean(0), values.std(0, ddof=1), strict=True)
    return [f"{100 * mean:{sign}.1f} ± {100 * sd:.1f}" for mean, sd in spread]


if __name__ == "__main__":
    main()
