"""What temperature and guidance do to unscreened rows, on train rows only.

    kedro run --pipeline=distill --params=corpus=sst2,raw_root=<folder> \
      --to-nodes=generation.fine_tune,generation.train_verifier
    python benchmarks/sampling_settings.py sst2 --temperature 0.85 1 --guidance 0 0.5 1 --rows 2000

The fine-tuned model and the verifier of a run under data/ are read. Rows are drawn with each
combination of settings and measured as they come: how many have the right form, whether the
verifier agrees with their labels (next to its accuracy on held-out train rows), how many differ
from all others, distinct-2 over equally many words, MAUVE against train rows, r̄ of train rows by
them over r̄ by as many other train rows, and seconds for 1,000 rows.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
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
from take.generation.verifier.verifier import load_verifier, predicted_labels
from take.generation.verifier.verifier_settings import VerifierReport
from take.generation.vocabulary import vocabulary_of
from take.learners.base import Texts
from take.rows.arrays import Bools, Float32, Int64
from take.rows.labelled import class_names, text_columns
from take.rows.nearest import nearest
from take.text.normalise import text_key

DATA = Path("data")
MEASURED_ROWS = 8000
MAUVE_ROWS = 2000
HEADER = (
    "temperature",
    "γ",
    "rivals",
    "right form",
    "verifier agrees",
    "unique",
    "distinct-2",
    "MAUVE",
    "r̄ ×",
    "tokens",
    "s/1,000 rows",
)


@dataclass
class Measures:
    """What is compared with: train rows, and as many others."""

    queries: Float32
    real_distance: float

    def line(self, columns: list[list[str]], vectors: Float32) -> list[str]:
        """Unique, distinct-2, MAUVE, r̄ × of rows."""
        rows = list(zip(*columns, strict=True))
        unique = len({tuple(map(text_key, row)) for row in rows}) / len(rows)
        words = [tokens(" ".join(row)) for row in rows]
        ratio = nearest(self.queries, vectors).distance.mean() / self.real_distance
        like = mauve(vectors[:MAUVE_ROWS], self.queries[: min(MAUVE_ROWS, len(vectors))], 0)
        return [
            f"{unique:.1%}",
            f"{distinct(first(words, 15_000), 2):.3f}",
            f"{like:.3f}",
            f"{ratio:.3f}",
        ]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus")
    parser.add_argument("--temperature", type=float, nargs="+", default=[1.0])
    parser.add_argument("--guidance", type=float, nargs="+", default=[0.5])
    parser.add_argument("--rivals", type=int, nargs="+", default=[3])
    parser.add_argument("--rows", type=int, default=1600, help="drawn with each combination")
    parser.add_argument("--model", default="embedded")
    parser.add_argument("--examples", type=int, default=0, help="rows of each class to print")
    return parser.parse_args()


def main() -> None:
    options = _options()
    corpus = pd.read_parquet(newest(f"02_intermediate/{options.corpus}/corpus.parquet"))
    verifier = load_verifier(DATA / f"06_models/{options.corpus}/verifier")
    file = newest(f"08_reporting/{options.corpus}/verifier_report.json")
    report = VerifierReport.model_validate_json(file.read_bytes())
    features = Embeddings.load(DATA / f"04_feature/{options.corpus}/embeddings.safetensors")
    encoder = Encoder(EncoderSettings(), DATA / "04_feature/embedding_cache")
    language_model = LanguageModel(
        LanguageModelSettings(model=options.model), DATA / "06_models/language_models"
    )
    template = Template.of(language_model, corpus, FineTuningSettings().max_text_tokens)
    vocabulary = vocabulary_of(corpus, template, FineTuningSettings())
    model = load_tuned(language_model, DATA / f"06_models/{options.corpus}/adapter")
    vocabulary.cut(model)

    order = np.random.default_rng(0).permutation(len(corpus))
    n_measured = min(MEASURED_ROWS, len(corpus) // 2)
    real_rows = order[n_measured:][: options.rows]
    if len(real_rows) < options.rows:
        sys.exit(f"--rows may be {len(real_rows)} at most: as many real rows are left")
    queries, real = _vectors(features, order[:n_measured]), _vectors(features, real_rows)
    measures = Measures(queries, float(nearest(queries, real).distance.mean()))
    names = class_names(corpus)
    held_out = f"{report.scores.accuracy:.1%}" if report.scores else "not measured"
    print(f"{verifier.kind}, {held_out} of held-out train rows\n")
    print(f"| {' | '.join(HEADER)} |\n|{'---|' * len(HEADER)}")
    columns = [list(column) for column in text_columns(corpus.iloc[real_rows])]
    _show(["train rows", "–", "–", "–", held_out, *measures.line(columns, real), "", ""])
    for temperature, guidance, rivals in product(
        options.temperature, options.guidance, options.rivals
    ):
        settings = SamplingSettings(temperature=temperature, guidance=guidance, rivals=rivals)
        bounds = LengthBounds.of(corpus_lengths(corpus, template), settings.length_quantiles)
        store = RowStore(DATA / "temporary" / f"{options.corpus}-{time.time_ns()}")
        writer = RowWriter(lambda: model, template, bounds, settings, store, vocabulary)
        per_class = options.rows // len(names)
        parts = [writer.read(label, 0, per_class) for label in range(len(names))]
        rows = pd.concat(parts, ignore_index=True).sample(frac=1.0, random_state=0)
        parsed = [template.parse(raw) for raw in rows["raw"]]
        well_formed = rows["finished"].to_numpy() & [texts is not None for texts in parsed]
        good = [parsed[i] or () for i in np.flatnonzero(well_formed)]
        columns = [list(column) for column in zip(*good, strict=True)]
        labels = rows["label"].to_numpy()[well_formed]
        phi = embed_corpus(columns, encoder, EmbeddingSettings()).embeddings
        agrees = predicted_labels(verifier, Texts.of(*columns), phi) == labels
        cells = [f"{temperature:g}", f"{guidance:g}"]
        cells += [str(min(rivals, len(names) - 1) if guidance else 0)]
        cells += [f"{well_formed.mean():.1%}", f"{agrees.mean():.1%}"]
        cells += measures.line(columns, _vectors(phi, np.arange(len(labels))))
        cells += [f"{rows['tokens'].mean():.1f}", f"{1000 * writer.seconds / len(rows):.1f}"]
        _show(cells)
        _show_rows(columns, labels, agrees, names, options.examples)


def _show_rows(
    columns: list[list[str]], labels: Int64, agrees: Bools, names: list[str], examples: int
) -> None:
    """The agreement of each class, and some of its rows."""
    for label, name in enumerate(names):
        mine = np.flatnonzero(labels == label)
        if len(names) <= 8 or examples:
            print(f"    {name}: verifier agrees with {agrees[mine].mean():.1%}", flush=True)
        for i in mine[:examples]:
            mark = " " if agrees[i] else "×"
            print(f"      {mark} {' ⏎ '.join(column[i] for column in columns)}")


def _show(cells: list[str]) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)


def _vectors(features: Embeddings, rows: Int64) -> Float32:
    """φ of rows, one text after the other."""
    parts = [features.strings.take(features.rows[rows, c]) for c in range(features.rows.shape[1])]
    return np.concatenate(parts, axis=1)


def newest(path: str) -> Path:
    """A file of the newest version under data/."""
    whole = DATA / path
    return whole if whole.is_file() else sorted(whole.glob(f"*/{whole.name}"))[-1]


if __name__ == "__main__":
    main()
