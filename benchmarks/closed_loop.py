"""A closed loop: more rows where models trained on the selected rows fail.

    python benchmarks/internal_split.py sst2 --raw <folder> --out <own folder> --words 12
    kedro run --pipeline=distill --params=corpus=sst2,raw_root=<own folder> \
      --to-nodes=generation.fine_tune,generation.train_verifier
    python benchmarks/closed_loop.py sst2 --rows 3000 --more 1500

A first pool is generated and rows are selected from it. The loss of logistic regressions trained on
them is the weight of every train row in a second fine-tuning (exam and validation rows of the
selection have none). Its rows join the pool. The control is as many more rows of the first model.
Selections from both pools, with several seeds, train learners that are evaluated on the evaluation
split: use a corpus whose split is of train rows.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from sampling_settings import DATA, newest

from take.encoder.embeddings import Embeddings
from take.encoder.encode import EmbeddingSettings, Encoder, embed_corpus
from take.encoder.models import EncoderSettings
from take.generation.finetuning.examples import choose_rows
from take.generation.finetuning.fine_tuning_settings import FineTuningSettings
from take.generation.finetuning.training import fine_tune, training_key
from take.generation.language_models import LanguageModel, LanguageModelSettings
from take.generation.sampling.rows import LengthBounds, SamplingSettings, corpus_lengths
from take.generation.sampling.writer import RowWriter
from take.generation.template import Template
from take.generation.verifier.verifier import load_verifier
from take.generation.vocabulary import vocabulary_of
from take.learners.base import Texts
from take.rows.arrays import Float64, Int64
from take.rows.blocks import ArrayBlocks
from take.rows.labelled import LabelledRows, class_names
from take.selection.exam.selector import exam
from take.selection.problem import SelectionProblem
from take.selection.selection_settings import SelectionSettings
from take.text.normalise import text_key
from take.text.related import RelatedRows

CONTRADICTED = 0.95
LEAST_WEIGHT = 1e-3


class Loop:
    """The corpus of a run, and what generates, embeds and judges rows."""

    def __init__(self, name: str) -> None:
        self.corpus = pd.read_parquet(newest(f"02_intermediate/{name}/corpus.parquet"))
        split = newest(f"02_intermediate/{name}/evaluation_split.parquet")
        self.evaluation = pd.read_parquet(split)
        self.adapter = DATA / f"06_models/{name}/adapter"
        self.roles = pd.read_parquet(newest(f"06_models/{name}/generator_rows.parquet"))["role"]
        self.verifier = load_verifier(DATA / f"06_models/{name}/verifier")
        features = Embeddings.load(DATA / f"04_feature/{name}/embeddings.safetensors")
        self.phi = features.read(0, len(self.corpus))
        self.encoder = Encoder(EncoderSettings(), DATA / "04_feature/embedding_cache")
        folder = DATA / "06_models/language_models"
        self.language_model = LanguageModel(LanguageModelSettings(), folder)
        self.settings = FineTuningSettings(row_sampling="knowledge", seed=1)
        self.template = Template.of(self.language_model, self.corpus, 256)
        self.vocabulary = vocabulary_of(self.corpus, self.template, self.settings)
        self.seen = {
            text_key(text) for part in (self.corpus, self.evaluation) for text in part.text
        }

    def embed(self, texts: list[str]) -> np.ndarray:
        """φ."""
        done = embed_corpus([texts], self.encoder, EmbeddingSettings()).embeddings
        return done.read(0, len(texts))

    def tuned_on(self, weights: Float64) -> Path:
        """Another adapter, of rows drawn by weight."""
        rows = choose_rows(self.corpus, self.template, self.settings, weights)
        key = training_key(self.language_model, rows, self.settings, self.vocabulary)
        work = self.language_model.work_folder(key)
        args = (self.language_model, self.template, rows, self.settings, work, self.vocabulary)
        return fine_tune(*args).folder

    def generated(self, adapter: Path, start: int, stop: int) -> pd.DataFrame:
        """Rows start … stop−1 of each class that a simple screening keeps."""
        sampling = SamplingSettings()
        lengths = corpus_lengths(self.corpus, self.template)
        bounds = LengthBounds.of(lengths, sampling.length_quantiles)
        writer = RowWriter.of(
            self.language_model, adapter, self.template, bounds, sampling, self.vocabulary
        )
        names = class_names(self.corpus)
        rows = pd.concat(
            [writer.read(label, start, stop) for label in range(len(names))], ignore_index=True
        )
        rows["text"] = rows["raw"].str.strip()
        keys = rows["text"].map(text_key)
        fine = rows["finished"] & (keys != "") & ~rows["raw"].str.contains("\n")
        rows = rows[fine & ~keys.isin(self.seen) & ~keys.duplicated()]
        phi = self.embed(rows["text"].tolist())
        chances = self.verifier.probabilities(Texts.of(rows["text"].tolist()), ArrayBlocks(phi))
        wrong = (chances.argmax(axis=1) != rows["label"]) & (chances.max(axis=1) >= CONTRADICTED)
        good = ~np.asarray(wrong)
        texts = rows["text"].to_numpy()[good]
        return pd.DataFrame(
            {"text": texts, "label": rows["label"].to_numpy()[good], "phi": list(phi[good])}
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus")
    parser.add_argument("--rows", type=int, default=3000, help="of the first pool")
    parser.add_argument("--more", type=int, default=1500)
    parser.add_argument("--per-class", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    loop = Loop(options.corpus)
    n_classes = len(class_names(loop.corpus))
    related = RelatedRows([(text,) for text in loop.corpus["text"]])
    random = np.random.default_rng(0)
    unread = np.flatnonzero(loop.roles.isin(["unread", "validation"]))
    unseen = np.sort(random.permutation(unread)[:12_000])
    first, more = options.rows // n_classes, options.more // n_classes
    pool = loop.generated(loop.adapter, 0, first)
    same = loop.generated(loop.adapter, first, first + more)
    print(f"{len(pool):,} rows in the first pool, {len(same):,} more of the same")
    rows = _selected(loop, pool, unseen, related, options.per_class, 0)
    weights = _losses(loop, pool.iloc[rows])
    weights[related.to(unseen)] = 0
    hard = loop.generated(loop.tuned_on(weights + LEAST_WEIGHT * (weights > 0)), 0, more)
    print(f"{len(hard):,} rows of the model of failures")
    evaluated = loop.embed(loop.evaluation["text"].tolist())
    print("\n| pool | " + " | ".join(["lr", "char_lr", "lr_phi"]) + " |\n|---|---|---|---|")
    for name, added in {"first": pool[:0], "more of the same": same, "failures": hard}.items():
        both = pd.concat([pool, added]).drop_duplicates("text", ignore_index=True)
        found = [
            _accuracies(loop, both.iloc[chosen], evaluated)
            for seed in range(options.seeds)
            for chosen in [_selected(loop, both, unseen, related, options.per_class, seed)]
        ]
        cells = [f"{m:.1%} ± {s:.1%}" for m, s in zip(np.mean(found, 0), np.std(found, 0))]  # noqa: B905
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def _selected(
    loop: Loop, pool: pd.DataFrame, unseen: Int64, related: RelatedRows, per_class: int, seed: int
) -> Int64:
    corpus = LabelledRows.of(loop.corpus, ArrayBlocks(loop.phi))
    labels = pool["label"].to_numpy()
    phi = ArrayBlocks(np.stack(pool["phi"].tolist()))
    candidates = LabelledRows(phi, [pool["text"].tolist()], labels)
    mass = 1 / np.bincount(corpus.labels)[corpus.labels]
    problem = SelectionProblem(
        corpus,
        mass / mass.sum(),
        candidates,
        (per_class,) * (labels.max() + 1),
        unseen,
        related=related,
    )
    return exam(problem, SelectionSettings(seed=seed)).rows


def _losses(loop: Loop, rows: pd.DataFrame) -> Float64:
    """Of every train row: the mean loss of models on φ and on words."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    words = TfidfVectorizer().fit(loop.corpus["text"])
    views = [
        (np.stack(rows["phi"].tolist()), loop.phi),
        (words.transform(rows["text"]), words.transform(loop.corpus["text"])),
    ]
    losses = np.zeros(len(loop.corpus))
    for train, everything in views:
        model = LogisticRegression(C=10, max_iter=1000).fit(train, rows["label"])
        chances = model.predict_proba(everything)
        losses -= np.log(chances[np.arange(len(losses)), loop.corpus["label"]]) / len(views)
    return losses


def _accuracies(loop: Loop, rows: pd.DataFrame, evaluated: np.ndarray) -> list[float]:
    """Of logistic regression on words, characters and φ."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    texts, labels = rows["text"].tolist(), rows["label"]
    found = []
    for vectorizer in (TfidfVectorizer(), TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5))):
        vectorizer.fit(loop.corpus["text"].iloc[:20_000])
        model = make_pipeline(vectorizer, LogisticRegression(C=10, max_iter=1000))
        model.steps[-1][1].fit(vectorizer.transform(texts), labels)
        found.append(model.score(loop.evaluation["text"], loop.evaluation["label"]))
    model = LogisticRegression(C=10, max_iter=1000).fit(np.stack(rows["phi"].tolist()), labels)
    found.append(model.score(evaluated, loop.evaluation["label"]))
    return found


if __name__ == "__main__":
    main()
