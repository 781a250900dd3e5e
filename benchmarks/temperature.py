"""What the temperature does to a pool, on train rows only: agreement, uniqueness, coverage.

    kedro run --pipeline=generation --params=corpus=sst2,raw_root=<folder>
    python benchmarks/temperature.py sst2 0.8 0.85 0.9 1.0

Rows of the fine-tuned model of a run under data/ are drawn at each temperature and measured as they
come, unscreened: whether the probe agrees with their labels, how many differ from all others, and
r̄ of train rows by them over r̄ by as many other train rows.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd

from take.encoder.embeddings import Embeddings
from take.encoder.encode import EmbeddingSettings, Encoder, embed_corpus
from take.encoder.models import EncoderSettings
from take.generation.finetuning.adapter import load_tuned
from take.generation.language_models import LanguageModel, LanguageModelSettings
from take.generation.sampling.decoders import load_decoder
from take.generation.sampling.rows import LengthBounds, SamplingSettings, corpus_lengths, write_rows
from take.generation.template import Template
from take.reuse.tensors import map_tensors
from take.rows.blocks import block_bounds
from take.rows.labelled import class_names, task_of
from take.rows.nearest import nearest
from take.text.normalise import text_key

DATA = Path("data")
MEASURED_ROWS = 12_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus")
    parser.add_argument("temperatures", type=float, nargs="+")
    parser.add_argument("--rows", type=int, default=5000, help="drawn at each temperature")
    options = parser.parse_args()
    corpus = pd.read_parquet(_newest(f"02_intermediate/{options.corpus}/corpus.parquet"))
    if task_of(corpus) != "single":
        parser.error("measures single texts only")
    probe = map_tensors(_newest(f"06_models/{options.corpus}/trajectory.safetensors"))
    features = Embeddings.load(DATA / f"04_feature/{options.corpus}/embeddings.safetensors")
    encoder = Encoder(EncoderSettings(), DATA / "04_feature/embedding_cache")
    language_model = LanguageModel(LanguageModelSettings(), DATA / "06_models/language_models")
    template = Template(language_model.load_tokenizer(), class_names(corpus), "single", 256)
    tuned = load_tuned(language_model, DATA / f"06_models/{options.corpus}/adapter")
    decoder = load_decoder("openvino_int8", tuned)

    order = np.random.default_rng(0).permutation(len(corpus))
    n_measured = min(MEASURED_ROWS, len(corpus) // 2)
    real_rows = order[n_measured:][: options.rows]
    if len(real_rows) < options.rows:
        parser.error(f"--rows may be {len(real_rows)} at most: as many real rows are left")
    queries = features.strings.take(features.rows[order[:n_measured], 0])
    real = nearest(queries, features.strings.take(features.rows[real_rows, 0])).distance.mean()
    print("| temperature | probe agrees | unique | r̄ × real | tokens each | tokens/s |")
    print("|---|---|---|---|---|---|")
    for temperature in options.temperatures:
        settings = SamplingSettings(temperature=temperature)
        bounds = LengthBounds.of(corpus_lengths(corpus, template), settings.length_quantiles)
        began = time.perf_counter()
        per_class = options.rows // len(class_names(corpus))
        parts = [
            write_rows(decoder, template, label, range(low, high), bounds, settings)
            for label in range(len(class_names(corpus)))
            for low, high in block_bounds(per_class, settings.batch_rows)
        ]
        rows = pd.concat(parts, ignore_index=True)
        rate = rows["tokens"].sum() / (time.perf_counter() - began)
        drawn = embed_corpus([rows["raw"].tolist()], encoder, EmbeddingSettings()).embeddings
        vectors = drawn.read(0, len(rows))
        believed = (vectors @ probe["weights"][-1].T + probe["biases"][-1]).argmax(axis=1)
        ratio = nearest(queries, vectors).distance.mean() / real
        unique = rows["raw"].map(text_key).nunique() / len(rows)
        print(
            f"| {temperature} | {(believed == rows['label']).mean():.1%} | {unique:.1%} "
            f"| {ratio:.3f} | {rows['tokens'].mean():.1f} | {rate:.0f} |",
            flush=True,
        )


def _newest(artifact: str) -> Path:
    name = artifact.rpartition("/")[2]
    return sorted((DATA / artifact).glob(f"*/{name}"))[-1]


if __name__ == "__main__":
    main()
