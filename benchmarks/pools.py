"""What ways to make a pool do to learners: contradicted rows, length, a closed trial.

    python benchmarks/internal_split.py sst2 --raw <folder> --out <own folder> --words 12
    kedro run --pipeline=distill --params=corpus=sst2,raw_root=<own folder> \
      --to-nodes=generation.fine_tune,generation.train_verifier
    python benchmarks/pools.py sst2 --ways drop relabel keep longer more failures

Every way makes a pool; rows are selected from it with several seeds and train learners that are
evaluated on the evaluation split: use a corpus whose split is of train rows.

- `drop`, `relabel`, `keep`: what becomes of rows to which the verifier confidently gives another
  label. All other ways drop them.
- `longer`: a language model fine-tuned on the longer half of the rows.
- `more`: `--more` further rows of the same model join the pool. It is the control of `failures`:
  as many rows of a second fine-tuning, in which a train row's weight is the loss of logistic
  regressions trained on the first selection (exam and validation rows of the selection have none).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

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
WAYS = ("drop", "relabel", "keep", "longer", "more", "failures")
LEARNERS = ("lr", "char_lr", "lr_phi")


class Trial:
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
        self.settings = FineTuningSettings(seed=1)
        self.template = Template.of(self.language_model, self.corpus, 256)
        self.vocabulary = vocabulary_of(self.corpus, self.template, self.settings)
        self.seen = {
            text_key(text) for part in (self.corpus, self.evaluation) for text in part.text
        }

    def embed(self, texts: list[str]) -> np.ndarray:
        """φ."""
        done = embed_corpus([texts], self.encoder, EmbeddingSettings()).embeddings
        return done.read(0, len(texts))

    def tuned(self, weights: Float64 | None = None, **changes: Any) -> Path:
        """Another adapter: of rows drawn by weight, or with changed settings."""
        settings = self.settings.model_copy(update=changes)
        rows = choose_rows(self.corpus, self.template, settings, weights)
        key = training_key(self.language_model, rows, settings, self.vocabulary)
        work = self.language_model.work_folder(key)
        args = (self.language_model, self.template, rows, settings, work, self.vocabulary)
        return fine_tune(*args).folder

    def generated(
        self, adapter: Path, start: int, stop: int, contradicted: str = "drop"
    ) -> pd.DataFrame:
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
        wrong = np.asarray(wrong)
        labels = rows["label"].to_numpy()
        if contradicted == "relabel":
            labels = np.where(wrong, chances.argmax(axis=1), labels)
        good = ~wrong if contradicted == "drop" else np.ones(len(rows), dtype=bool)
        frame = {"text": rows["text"].to_numpy()[good], "label": labels[good]}
        print(f"{contradicted}: {wrong.sum():,} of {len(rows):,} rows are contradicted")
        return pd.DataFrame({**frame, "phi": list(phi[good])})


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus")
    parser.add_argument("--ways", nargs="+", default=["drop", "relabel", "keep"], choices=WAYS)
    parser.add_argument("--rows", type=int, default=3000, help="of the first pool")
    parser.add_argument("--more", type=int, default=1500)
    parser.add_argument("--per-class", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    trial = Trial(options.corpus)
    n_classes = len(class_names(trial.corpus))
    related = RelatedRows([(text,) for text in trial.corpus["text"]])
    random = np.random.default_rng(0)
    unread = np.flatnonzero(trial.roles.isin(["unread", "validation"]))
    unseen = np.sort(random.permutation(unread)[:12_000])
    first, more = options.rows // n_classes, options.more // n_classes
    evaluated = trial.embed(trial.evaluation["text"].tolist())
    pools = {}
    for way in options.ways:
        if way in ("drop", "relabel", "keep"):
            pools[way] = trial.generated(trial.adapter, 0, first, way)
        elif way == "longer":
            adapter = trial.tuned(length_quantiles=(0.5, 1.0))
            pools[way] = trial.generated(adapter, 0, first)
        else:
            pool = trial.generated(trial.adapter, 0, first)
            if way == "more":
                added = trial.generated(trial.adapter, first, first + more)
            else:
                rows = _selected(trial, pool, unseen, related, options.per_class, 0)
                weights = _losses(trial, pool.iloc[rows])
                weights[related.to(unseen)] = 0
                weights += LEAST_WEIGHT * (weights > 0)
                adapter = trial.tuned(weights, row_sampling="knowledge")
                added = trial.generated(adapter, 0, more)
            pools[way] = pd.concat([pool, added]).drop_duplicates("text", ignore_index=True)
    head = ["pool", "rows", "words", "words chosen", *LEARNERS]
    print("\n| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for way, pool in pools.items():
        chosen = [
            pool.iloc[_selected(trial, pool, unseen, related, options.per_class, seed)]
            for seed in range(options.seeds)
        ]
        found = [_accuracies(trial, rows, evaluated) for rows in chosen]
        words = [f"{_words(rows):.1f}" for rows in (pool, pd.concat(chosen))]
        spread = zip(np.mean(found, 0), np.std(found, 0), strict=True)
        cells = [way, f"{len(pool):,}", *words, *(f"{m:.1%} ± {s:.1%}" for m, s in spread)]
        print(f"| {' | '.join(cells)} |", flush=True)


def _words(rows: pd.DataFrame) -> float:
    return float(np.mean([len(text.split()) for text in rows["text"]]))


def _selected(
    trial: Trial, pool: pd.DataFrame, unseen: Int64, related: RelatedRows, per_class: int, seed: int
) -> Int64:
    corpus = LabelledRows.of(trial.corpus, ArrayBlocks(trial.phi))
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


def _losses(trial: Trial, rows: pd.DataFrame) -> Float64:
    """Of every train row: the mean loss of models on φ and on words."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    words = TfidfVectorizer().fit(trial.corpus["text"])
    views = [
        (np.stack(rows["phi"].tolist()), trial.phi),
        (words.transform(rows["text"]), words.transform(trial.corpus["text"])),
    ]
    losses = np.zeros(len(trial.corpus))
    for train, everything in views:
        model = LogisticRegression(C=10, max_iter=1000).fit(train, rows["label"])
        chances = model.predict_proba(everything)
        losses -= np.log(chances[np.arange(len(losses)), trial.corpus["label"]]) / len(views)
    return losses


def _accuracies(trial: Trial, rows: pd.DataFrame, evaluated: np.ndarray) -> list[float]:
    """Of logistic regression on words, characters and φ."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    texts, labels = rows["text"].tolist(), rows["label"]
    found = []
    for vectorizer in (TfidfVectorizer(), TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5))):
        vectorizer.fit(trial.corpus["text"].iloc[:20_000])
        model = make_pipeline(vectorizer, LogisticRegression(C=10, max_iter=1000))
        model.steps[-1][1].fit(vectorizer.transform(texts), labels)
        found.append(model.score(trial.evaluation["text"], trial.evaluation["label"]))
    model = LogisticRegression(C=10, max_iter=1000).fit(np.stack(rows["phi"].tolist()), labels)
    found.append(model.score(evaluated, trial.evaluation["label"]))
    return found


if __name__ == "__main__":
    main()
