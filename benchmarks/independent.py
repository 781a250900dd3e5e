"""Ways to select rows, by learners that are trained on them, on train rows only.

    python benchmarks/independent.py sst2 --ways exam words long --seeds 4 --words 8 \
      --learners textcnn textrnn transformer transformer_lpft e5_lpft --vectors <file>

Reads what `kedro run` made of the corpus (weights, pool, embeddings). Test rows are train rows of
at least `--words` words that the language model did not read; they and their relatives are neither
exam nor validation rows. The evaluation split is never read. For each seed four fifths of the pool
are drawn, and every way chooses from the same candidates. A line is the mean over seeds ± their
standard deviation, which is what one set differs from another by.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from selection import POOL_SHARE, Made, load

from take.corpus.budget import Budget
from take.encoder.encode import Encoder
from take.encoder.models import EncoderSettings
from take.learners import (
    DEFAULTS,
    LearnerSettings,
    NetworkSettings,
    SentenceVectors,
    Shared,
    Texts,
    TrainingRows,
    Vocabulary,
    make_learner,
)
from take.learners.word_vectors import WordVectorSettings
from take.rows.arrays import Int64
from take.rows.blocks import rows_at
from take.rows.labelled import LabelledRows, class_ids, class_sizes, text_columns
from take.selection.problem import SelectionProblem, selection_weights
from take.selection.selection_settings import SelectionSettings
from take.selection.selectors import selector
from take.text.related import RelatedRows

DATA = Path("data")
LONG = {"length_quantiles": [0.5, 1.0]}
CNN = {"sets": 8, "learners": ["textcnn"], "rounds": 1, "recipes": []}
BOTH = {"sets": 5, "recipes": []}
WAYS: dict[str, dict[str, Any]] = {
    "random": {"selector": "random"},
    "kmeans": {"selector": "kmeans"},
    "facility": {"selector": "facility"},
    "exam": {},
    "exam, equal weights": {"tempering": 0.0},
    "exam, φ": {"exam": {"surrogates": ["phi"]}},
    "exam, words": {"exam": {"surrogates": ["phi", "tfidf", "words"]}},
    "exam, long": {"exam": LONG},
    "exam, long, words": {"exam": {**LONG, "surrogates": ["phi", "tfidf", "words"]}},
    "playoff, cnn": {"exam": {"playoff": CNN}},
    "playoff, long, cnn": {"exam": {**LONG, "playoff": CNN}},
    "playoff, both": {"exam": {"playoff": BOTH}},
    "playoff, long, both": {"exam": {**LONG, "playoff": BOTH}},
}


class Trial:
    """The corpus without test rows, candidates, and trained learners."""

    def __init__(self, made: Made, options: argparse.Namespace) -> None:
        self.made, self.budgets = made, Budget.parse(options.budget).split(class_sizes(made.corpus))
        texts = text_columns(made.corpus)
        related = RelatedRows(list(zip(*texts, strict=True)))
        words = np.array([len(" ".join(row).split()) for row in zip(*texts, strict=True)])
        labels, random = class_ids(made.corpus), np.random.default_rng(0)
        unseen = made.unseen[~related.common[made.unseen]]
        drawn = random.permutation(unseen[words[unseen] >= options.words])
        per_class = options.rows // len(self.budgets)
        self.test = np.concatenate(
            [drawn[labels[drawn] == label][:per_class] for label in range(len(self.budgets))]
        )
        self.kept = np.flatnonzero(~np.isin(np.arange(len(labels)), self.test))
        barred = related.to(self.test)
        self.unseen = np.flatnonzero(np.isin(self.kept, np.setdiff1d(unseen, barred.nonzero()[0])))
        self.corpus = made.corpus.iloc[self.kept]
        self.texts = Texts.of(*text_columns(made.corpus.iloc[self.test]))
        self.labels = labels[self.test]
        encoder = Encoder(EncoderSettings(), DATA / "04_feature/embedding_cache")
        self.shared = Shared(
            phi=SentenceVectors(encoder),
            language_models=DATA / "06_models/language_models",
            word_vectors=DATA / "temporary/word_vectors",
        )
        self.shared.corpus = Vocabulary(self.shared.counts, Texts.of(*text_columns(self.corpus)))
        self.learners = {name: _settings(name, options.vectors) for name in options.learners}

    def chosen(self, settings: SelectionSettings, seed: int) -> TrainingRows:
        """Rows from four fifths of the pool."""
        made, random = self.made, np.random.default_rng([seed, 99])
        size = int(POOL_SHARE * len(made.pool))
        drawn: Int64 = np.sort(random.permutation(len(made.pool))[:size])
        pool = made.pool.iloc[drawn]
        problem = SelectionProblem(
            LabelledRows.of(self.corpus, rows_at(made.embeddings, self.kept)),
            selection_weights(made.weights[self.kept], class_ids(self.corpus), settings),
            LabelledRows.of(pool, rows_at(made.pool_embeddings, drawn)),
            self.budgets,
            self.unseen,
        )
        rows = selector(settings.selector)(problem, settings).rows
        texts = text_columns(pool.iloc[rows])
        return TrainingRows(Texts.of(*texts), class_ids(pool)[rows], len(self.budgets))

    def accuracies(self, rows: TrainingRows, seed: int) -> list[float]:
        """Of each learner on the test rows."""
        found = []
        for settings in self.learners.values():
            model = make_learner(settings, self.shared).fit(rows, seed)
            found.append(100 * float(np.mean(model.predict(self.texts) == self.labels)))
        return found


def _settings(name: str, vectors: str | None) -> LearnerSettings:
    settings = DEFAULTS[name]
    if isinstance(settings, NetworkSettings) and vectors:
        words = WordVectorSettings(source=vectors)
        return settings.model_copy(update={"words": words})
    if name in ("transformer", "e5"):  # as in conf/base
        training = settings.training.model_copy(update={"batch_rows": 8})  # type: ignore[union-attr]
        return settings.model_copy(update={"training": training})
    return settings


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus")
    parser.add_argument("--ways", nargs="+", default=["exam"], choices=WAYS)
    parser.add_argument("--learners", nargs="+", default=["textcnn", "transformer"])
    parser.add_argument("--budget", default="20/class")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--rows", type=int, default=1000, help="for testing")
    parser.add_argument("--words", type=int, default=0, help="of a test row, at least")
    parser.add_argument("--vectors", help="word vectors of textcnn and textrnn")
    options = parser.parse_args()
    trial = Trial(load(options.corpus), options)
    print(
        f"| way | s | {' | '.join(options.learners)} |\n" + "|---" * (2 + len(trial.learners)) + "|"
    )
    for way in options.ways:
        found, seconds = [], []
        for seed in range(options.seeds):
            settings = SelectionSettings.model_validate({**WAYS[way], "seed": seed})
            begun = time.perf_counter()
            rows = trial.chosen(settings, seed)
            seconds.append(time.perf_counter() - begun)
            found.append(trial.accuracies(rows, seed))
        means, spread = np.mean(found, axis=0), np.std(found, axis=0, ddof=min(1, len(found) - 1))
        cells = [f"{m:.1f} ± {s:.1f}" for m, s in zip(means, spread, strict=True)]
        print(f"| {way} | {np.mean(seconds):.0f} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
