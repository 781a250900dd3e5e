"""How the time and memory of `exam` grow with rows, candidates, classes and the budget.

    OMP_NUM_THREADS=1 PYTHONPATH=src python benchmarks/selection_growth.py [--only "77 classes"]

Synthetic rows: φ of 384 dimensions around a centre of its class, ten words of 8,000 of which a
third are of its class. Every line is a process of its own and the whole selection, from texts and φ
to the chosen rows, with the default settings. Where other work shares the machine, CPU seconds say
more than seconds. Peak memory is that of the process, imports included.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from typing import NamedTuple

import numpy as np

from take.rows.arrays import Int64
from take.rows.blocks import ArrayBlocks
from take.rows.labelled import LabelledRows
from take.selection.problem import SelectionProblem
from take.selection.selection_settings import SelectionSettings
from take.selection.selectors import selector

D, WORDS, WORDS_IN_ROW, OWN_WORDS = 384, 8000, 10, 40


class Size(NamedTuple):
    """One line."""

    rows: int
    candidates: int
    classes: int
    per_class: int


BASE = Size(20_000, 5_000, 2, 20)
SIZES = {
    "base": BASE,
    "2 × rows": BASE._replace(rows=40_000),
    "4 × rows": BASE._replace(rows=80_000),
    "½ candidates": BASE._replace(candidates=2_500),
    "2 × candidates": BASE._replace(candidates=10_000),
    "½ budget": BASE._replace(per_class=10),
    "2 × budget": BASE._replace(per_class=40),
    "4 classes": BASE._replace(classes=4),
    "8 classes": BASE._replace(classes=8),
    "20 classes, 5 rows": BASE._replace(classes=20, per_class=5),
    "40 classes, 5 rows": BASE._replace(classes=40, per_class=5),
    "77 classes, 5 rows": BASE._replace(classes=77, per_class=5),
    "77 classes, 20 rows": BASE._replace(classes=77, per_class=20),
}


def draw(rng: np.random.Generator, count: int, size: Size) -> LabelledRows:
    labels: Int64 = np.sort(np.arange(count) % size.classes)
    centres = np.random.default_rng(0).standard_normal((size.classes, D)) / np.sqrt(D)
    phi = 0.5 * centres[labels] + rng.standard_normal((count, D)) / np.sqrt(D)
    phi = (phi / np.linalg.norm(phi, axis=1, keepdims=True)).astype(np.float32)
    words = (rng.random((count, WORDS_IN_ROW)) ** 3 * WORDS).astype(np.int64)
    own = (labels[:, None] * OWN_WORDS + rng.integers(0, OWN_WORDS, words.shape)) % WORDS
    words = np.where(rng.random(words.shape) < 1 / 3, own, words)
    texts = [" ".join(f"w{word}" for word in row) for row in words]
    return LabelledRows(ArrayBlocks(phi), [texts], labels)


def measure(size: Size) -> None:
    rng = np.random.default_rng(1)
    corpus, pool = draw(rng, size.rows, size), draw(rng, size.candidates, size)
    problem = SelectionProblem(
        corpus,
        np.full(size.rows, 1 / size.rows),
        pool,
        (size.per_class,) * size.classes,
        np.arange(size.rows),
    )
    settings = SelectionSettings()
    settings = settings.model_copy(update={"exam": settings.exam.without_playoff()})
    start, worked = time.perf_counter(), time.process_time()
    selection = selector("exam")(problem, settings)
    seconds, worked = time.perf_counter() - start, time.process_time() - worked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{seconds:.1f} | {worked:.1f} | {peak:.2f} | {len(selection.steps)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", choices=SIZES)
    parser.add_argument("--measure", choices=SIZES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(SIZES[options.measure])
        return
    print(
        "| | N | M | C | rows per class | seconds | CPU seconds | peak GB | steps |\n"
        + "|---" * 9
        + "|"
    )
    for name in [options.only] if options.only else SIZES:
        command = [sys.executable, __file__, "--measure", name]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        size = " | ".join(f"{number:,}" for number in SIZES[name])
        print(f"| {name} | {size} | {done.stdout.strip().splitlines()[-1]} |", flush=True)


if __name__ == "__main__":
    main()
