"""The same work in this process and on 1 and 2 workers of Ray: time, and whether bytes are equal.

    PYTHONPATH=src python benchmarks/engine.py [--strings 50000] [--rows 120000 --candidates 5000]

Encoding: distinct strings of `corpora.py`, the default encoder, an empty cache each time. Sinkhorn:
4 classes of unit vectors (d = 384) in a mapped file, ε = 0.05, to a marginal error of 1e-5. Each
engine is warm: models are loaded and processes have done a little before the clock starts. The
order is turned round in every other repeat, and the best of the repeats counts: other work on the
machine only adds time. `workers start` is what a run pays once.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from corpora import Options, shards
from transport import unit_rows

from take.encoder.embeddings import Embeddings, MappedVectors
from take.encoder.encode import EmbeddingSettings, Encoder, embed_corpus
from take.encoder.models import EncoderSettings
from take.engine import Engine, engine_of_run
from take.engine.cluster import RayEngine
from take.engine.connection import connected
from take.engine.engine_settings import EngineSettings
from take.engine.local import LocalEngine
from take.rows.blocks import rows_at
from take.transport.sinkhorn import entropic_plan

CLASSES = 4
WARM_UP = 256


class Timed(NamedTuple):
    """One piece of work."""

    seconds: float
    digest: str


def distinct_strings(count: int) -> list[str]:
    found: dict[str, None] = {}
    for shard in shards(2 * count, 0, Options()):
        found |= dict.fromkeys(shard["text"].to_pylist())
    return list(found)[:count]


def encoding(strings: list[str], encoder: Encoder) -> Timed:
    shutil.rmtree(encoder.cache_folder, ignore_errors=True)
    start = time.perf_counter()
    vectors = embed_corpus([strings], encoder, EmbeddingSettings()).embeddings.strings
    seconds = time.perf_counter() - start
    digest = hashlib.sha256()
    for begin in range(0, len(strings), 8192):
        digest.update(vectors.read(begin, min(begin + 8192, len(strings))).tobytes())
    return Timed(seconds, digest.hexdigest())


def sinkhorn(corpus: Embeddings, candidates: int) -> Timed:
    n_rows, digest, seconds = corpus.shape[0], hashlib.sha256(), 0.0
    for label in range(CLASSES):
        rows = rows_at(corpus, np.arange(label, n_rows, CLASSES))
        targets = unit_rows(candidates // CLASSES, 10 + label)
        weights = np.full(rows.shape[0], 1 / rows.shape[0])
        start = time.perf_counter()
        plan = entropic_plan(rows, weights, targets)
        seconds += time.perf_counter() - start
        digest.update(plan.theta.tobytes() + plan.f.tobytes())
    return Timed(seconds, digest.hexdigest())


@contextmanager
def engines(folder: Path) -> Iterator[dict[str, Engine]]:
    start = time.perf_counter()
    with connected(EngineSettings(kind="ray", workers=2), folder) as ray:
        print(f"Workers start in {time.perf_counter() - start:.1f} s.\n")
        yield {
            "local": LocalEngine(),
            "Ray, 1 worker": RayEngine(ray.workers[:1]),
            "Ray, 2 workers": RayEngine(ray.workers),
        }


def compare(name: str, work: Callable[[], Timed], known: dict[str, Engine], repeats: int) -> None:
    found: dict[str, list[Timed]] = {engine: [] for engine in known}
    for repeat in range(repeats):
        for engine in list(known)[:: -1 if repeat % 2 else 1]:
            with engine_of_run(known[engine]):
                found[engine].append(work())
    best = {engine: min(timed.seconds for timed in all_of) for engine, all_of in found.items()}
    local = found["local"][0].digest
    for engine, all_of in found.items():
        same = "yes" if {timed.digest for timed in all_of} == {local} else "no"
        ratio = best[engine] / best["local"]
        times = ", ".join(f"{timed.seconds:.1f}" for timed in all_of)
        print(
            f"| {name} | {engine} | {best[engine]:.1f} | {times} | {ratio:.2f} | {same} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--strings", type=int, default=50_000)
    parser.add_argument("--rows", type=int, default=120_000)
    parser.add_argument("--candidates", type=int, default=5_000)
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        strings = distinct_strings(options.strings)
        encoder = Encoder(EncoderSettings(), folder / "cache")
        file = folder / "phi.safetensors"
        vectors = MappedVectors(unit_rows(options.rows, 1))
        Embeddings(vectors, np.arange(options.rows)[:, None]).save(file)
        corpus = Embeddings.load(file)
        known = stack.enter_context(engines(folder))
        for engine in known.values():
            with engine_of_run(engine):
                encoding(strings[:WARM_UP], encoder)
        print("| work | engine | s | all | × local | same bytes |\n|---|---|---:|---|---:|---|")
        n, m = f"{len(strings):,}", f"{options.rows:,} × {options.candidates:,}"
        compare(f"encode {n} strings", lambda: encoding(strings, encoder), known, options.repeats)
        compare(
            f"Sinkhorn, {m}", lambda: sinkhorn(corpus, options.candidates), known, options.repeats
        )


if __name__ == "__main__":
    main()
