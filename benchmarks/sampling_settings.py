"""What temperature and guidance do to a pool, on train rows only: agreement, diversity, coverage.

    kedro run --to-nodes=generation.fine_tune --params=corpus=sst2,raw_root=<folder>
    python benchmarks/sampling_settings.py sst2 --temperature 0.85 1 --guidance 0 0.5 1 --rows 2000

Rows of the fine-tuned model of a run under data/ are drawn with each pair of settings and measured
as they come, unscreened: whether the probe agrees with their labels (next to other train rows that
are as many), how many differ from all others, distinct-2 over equally many words, MAUVE against
train rows, r̄ of train rows by them over r̄ by as many other train rows, and seconds for 1,000 rows.
"""

from __future__ import annotations

import argparse
import time
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from take.encoder.embeddings import Embeddings
from take.encoder.encode import EmbeddingSettings, Encoder, embed_corpus
from take.encoder.models import EncoderSettings
from take.generation.finetuning.adapter import load_tuned
from take.generation.finetuning.fine_tuning_settings import FineTuningSettings
from take.generation.language_models import LanguageModel, LanguageModelSettings
from take.generation.quality.mauve import mauve
from take.generation.quality.wording import distinct, first, tokens
from take.generation.sampling.rows import LengthBounds, SamplingSettings, corpus_lengths
from take.generation.sampling.writer import RowStore, RowWriter
from take.generation.template import Template
from take.generation.vocabulary import vocabulary_of
from take.reuse.tensors import map_tensors
from take.rows.labelled import class_names, task_of
from take.rows.nearest import nearest
from take.text.normalise import text_key

DATA = Path("data")
MEASURED_ROWS = 12_000
MAUVE_ROWS = 2000


def main() -> None:  # noqa: PLR0915 - one table, line by line
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus")
    parser.add_argument("--temperature", type=float, nargs="+", default=[0.85])
    parser.add_argument("--guidance", type=float, nargs="+", default=[0.0])
    parser.add_argument("--rows", type=int, default=5000, help="drawn with each pair of settings")
    parser.add_argument("--model", default="embedded")
    parser.add_argument("--examples", type=int, default=0, help="rows of each class to print")
    options = parser.parse_args()
    corpus = pd.read_parquet(_newest(f"02_intermediate/{options.corpus}/corpus.parquet"))
    if task_of(corpus) != "single":
        parser.error("measures single texts only")
    probe = map_tensors(_newest(f"06_models/{options.corpus}/trajectory.safetensors"))
    features = Embeddings.load(DATA / f"04_feature/{options.corpus}/embeddings.safetensors")
    encoder = Encoder(EncoderSettings(), DATA / "04_feature/embedding_cache")
    language_model = LanguageModel(
        LanguageModelSettings(model=options.model), DATA / "06_models/language_models"
    )
    template = Template.of(language_model, corpus, 256)
    vocabulary = vocabulary_of(corpus, template, FineTuningSettings())
    model = load_tuned(language_model, DATA / f"06_models/{options.corpus}/adapter")
    vocabulary.cut(model)

    order = np.random.default_rng(0).permutation(len(corpus))
    n_measured = min(MEASURED_ROWS, len(corpus) // 2)
    real_rows = order[n_measured:][: options.rows]
    if len(real_rows) < options.rows:
        parser.error(f"--rows may be {len(real_rows)} at most: as many real rows are left")
    queries = features.strings.take(features.rows[order[:n_measured], 0])
    real = features.strings.take(features.rows[real_rows, 0])
    real_distance = nearest(queries, real).distance.mean()
    print("| temperature | γ | probe agrees | unique | distinct-2 | MAUVE | r̄ × | s/1,000 rows |")
    print("|---|---|---|---|---|---|---|---|")

    def show(
        name: str, texts: list[str], vectors: np.ndarray, labels: np.ndarray, seconds: float
    ) -> None:
        believed = (vectors @ probe["weights"][-1].T + probe["biases"][-1]).argmax(axis=1)
        ratio = nearest(queries, vectors).distance.mean() / real_distance
        unique = len({text_key(text) for text in texts}) / len(texts)
        varied = distinct(first([tokens(text) for text in texts], 15_000), 2)
        like = mauve(vectors[:MAUVE_ROWS], queries[: min(MAUVE_ROWS, len(vectors))], 0)
        print(
            f"| {name} | {(believed == labels).mean():.1%} | {unique:.1%} | {varied:.3f} "
            f"| {like:.3f} | {ratio:.3f} | {1000 * seconds / len(texts):.1f} |",
            flush=True,
        )

    drawn = corpus.iloc[real_rows]
    show("train rows | –", drawn["text"].tolist(), real, drawn["label"].to_numpy(), 0.0)
    names = class_names(corpus)
    per_class = options.rows // len(names)
    for temperature, guidance in product(options.temperature, options.guidance):
        settings = SamplingSettings(temperature=temperature, guidance=guidance)
        bounds = LengthBounds.of(corpus_lengths(corpus, template), settings.length_quantiles)
        folder = DATA / "temporary" / f"{options.corpus}-{temperature}-{guidance}"
        store = RowStore(folder / str(time.time_ns()))
        writer = RowWriter(lambda: model, template, bounds, settings, store, vocabulary)
        parts = [writer.read(label, 0, per_class) for label in range(len(names))]
        rows = pd.concat(parts, ignore_index=True).sample(frac=1.0, random_state=0)
        texts = rows["raw"].tolist()
        embedded = embed_corpus([texts], encoder, EmbeddingSettings()).embeddings
        vectors = embedded.read(0, len(rows))
        labels = rows["label"].to_numpy()
        show(f"{temperature} | {guidance}", texts, vectors, labels, writer.seconds)
        for label, name in enumerate(names):
            for text in rows.loc[rows["label"] == label, "raw"].head(options.examples):
                print(f"    {name}: {text}")


def _newest(path: str) -> Path:
    whole = DATA / path
    return whole if whole.is_file() else sorted(whole.glob(f"*/{whole.name}"))[-1]


if __name__ == "__main__":
    main()
