"""Cells of a grid against the obvious way to compute them, in one run.

    python benchmarks/learners.py [--cells 10] [--updates 20]

Learners are trained on forty rows of the built-in corpus and predict a thousand others. `lr` is
compared with scikit-learn's TfidfVectorizer (fitted on the whole corpus, as in the protocol) and
LogisticRegression, fitted again for each cell; `transformer` with `transformers.Trainer` on the
same weights, rows, batches and number of updates. The ways alternate, so that noise affects all.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
from finetuning import built_in_corpus

from take.learners import (
    LinearSettings,
    Shared,
    Texts,
    TrainingRows,
    TransformerSettings,
    Vocabulary,
    WordCounts,
    make_learner,
)
from take.learners.training import UpdateSettings

ROWS, PREDICTED = 40, 1000
Way = Callable[[np.ndarray], np.ndarray]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=10)
    parser.add_argument("--updates", type=int, default=20)
    options = parser.parse_args()
    rows = built_in_corpus()
    order = np.random.default_rng(0).permutation(len(rows))
    predicted, rest = order[:PREDICTED], order[PREDICTED:]
    draws = [rest[i * ROWS : (i + 1) * ROWS] for i in range(options.cells)]
    linear = {
        "take, lr": our_lr(rows, predicted),
        "scikit-learn, again": sklearn_lr(rows, predicted),
    }
    show(f"lr, {options.cells} cells", linear, draws, rows["label"].to_numpy()[predicted])
    updates = options.updates
    transformers = {
        "take, bfloat16": our_transformer(rows, predicted, updates, "bfloat16"),
        "take, float32": our_transformer(rows, predicted, updates, "float32"),
        "transformers.Trainer": trainer(rows, predicted, updates),
    }
    title = f"transformer, {updates} updates of {ROWS} rows, 3 cells"
    show(title, transformers, draws[:3], rows["label"].to_numpy()[predicted])


def show(title: str, ways: dict[str, Way], draws: list[np.ndarray], truth: np.ndarray) -> None:
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    right: dict[str, list[float]] = {name: [] for name in ways}
    for draw in draws:
        for name, way in ways.items():
            begun = time.perf_counter()
            predicted = way(draw)
            seconds[name].append(time.perf_counter() - begun)
            right[name].append(float((predicted == truth).mean()))
    first = next(iter(ways))
    print(f"\n| {title} | s a cell | × {first} | right |\n|---|---|---|---|")
    for name in ways:
        # Cell by cell: what one way had to wait for, the others had, too.
        ratio = median(mine / its for mine, its in zip(seconds[name], seconds[first], strict=True))
        mean = np.mean(right[name])
        print(f"| {name} | {median(seconds[name]):.3f} | {ratio:.2f} | {mean:.1%} |")


def texts_at(rows: pd.DataFrame, places: np.ndarray) -> list[str]:
    return rows["text"].iloc[places].tolist()


def training_rows(rows: pd.DataFrame, draw: np.ndarray) -> TrainingRows:
    return TrainingRows(Texts.of(texts_at(rows, draw)), rows["label"].to_numpy(np.int64)[draw], 2)


def our_lr(rows: pd.DataFrame, predicted: np.ndarray) -> Way:
    counts = WordCounts()
    shared = Shared(counts=counts, corpus=Vocabulary(counts, Texts.of(rows["text"].tolist())))
    learner, texts = make_learner(LinearSettings(), shared), Texts.of(texts_at(rows, predicted))
    return lambda draw: learner.fit(training_rows(rows, draw), 0).predict(texts)


def sklearn_lr(rows: pd.DataFrame, predicted: np.ndarray) -> Way:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    def way(draw: np.ndarray) -> np.ndarray:
        vectorizer = TfidfVectorizer().fit(rows["text"])
        model = LogisticRegression(max_iter=2000)
        model.fit(vectorizer.transform(rows["text"].iloc[draw]), rows["label"].iloc[draw])
        return np.asarray(model.predict(vectorizer.transform(rows["text"].iloc[predicted])))

    return way


def our_transformer(rows: pd.DataFrame, predicted: np.ndarray, updates: int, precision: str) -> Way:
    training = UpdateSettings(learning_rate=1e-4, warmup_share=0.5, updates=updates)
    settings = TransformerSettings.model_validate({"precision": precision, "training": training})
    learner, texts = make_learner(settings, Shared()), Texts.of(texts_at(rows, predicted))
    return lambda draw: learner.fit(training_rows(rows, draw), 0).predict(texts)


def trainer(rows: pd.DataFrame, predicted: np.ndarray, updates: int) -> Way:
    import transformers

    from take.encoder.models import EncoderModel, EncoderSettings

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    folder = EncoderModel(EncoderSettings()).folder
    file = str(folder / "tokenizer.json")
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=file, pad_token="[PAD]")

    def encoded(places: np.ndarray) -> list[dict[str, Any]]:
        labels = rows["label"].to_numpy()[places]
        found = tokenizer(texts_at(rows, places), truncation=True, max_length=256)["input_ids"]
        return [
            {"input_ids": ids, "labels": int(label)}
            for ids, label in zip(found, labels, strict=True)
        ]

    def way(draw: np.ndarray) -> np.ndarray:
        model = transformers.AutoModelForSequenceClassification.from_pretrained(
            folder, num_labels=2, local_files_only=True
        )
        with tempfile.TemporaryDirectory() as place:
            options = transformers.TrainingArguments(
                output_dir=place,
                max_steps=updates,
                per_device_train_batch_size=ROWS,
                learning_rate=1e-4,
                lr_scheduler_type="cosine",
                warmup_steps=updates // 2,
                weight_decay=0.01,
                use_cpu=True,
                report_to=[],
                save_strategy="no",
                logging_strategy="no",
                disable_tqdm=True,
            )
            run = transformers.Trainer(
                model,
                options,
                train_dataset=encoded(draw),
                data_collator=transformers.DataCollatorWithPadding(tokenizer),
            )
            run.train()
            return np.asarray(run.predict(encoded(predicted)).predictions.argmax(axis=1))

    return way


if __name__ == "__main__":
    main()
