"""A toy task, tiny word vectors, and a tiny two-layer transformer with random weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from take.learners import Texts, TrainingRows

GOOD = ["good", "warm", "funny", "charming"]
BAD = ["bad", "dull", "cold", "boring"]
FILL = ["the", "film", "is", "plot", "a", "very", "with", "and", "long", "story", "cast", "it"]


def sentences(n_rows: int, seed: int) -> tuple[list[str], np.ndarray]:
    """Sentences of 4 to 12 words, one of which tells the class."""
    random = np.random.default_rng(seed)
    labels = np.arange(n_rows) % 2
    texts = []
    for label in labels:
        words = list(random.choice(FILL, random.integers(3, 12)))
        words.insert(random.integers(len(words)), random.choice(GOOD if label else BAD))
        texts.append(" ".join(words))
    return texts, labels


def single(n_rows: int = 24, seed: int = 0) -> TrainingRows:
    texts, labels = sentences(n_rows, seed)
    return TrainingRows(Texts.of(texts), labels, 2)


def pairs(n_rows: int = 48, seed: int = 0) -> TrainingRows:
    """Label 1 if both texts are of one class."""
    left, of_left = sentences(n_rows, seed)
    right, of_right = sentences(n_rows, seed + 1)
    order = np.random.default_rng(seed).permutation(n_rows)
    right, of_right = [right[row] for row in order], of_right[order]
    return TrainingRows(Texts.of(left, right), (of_left == of_right).astype(np.int64), 2)


def glove(folder: Path, width: int = 16) -> Path:
    """Random vectors in GloVe's text format; words of a class lie near each other."""
    random = np.random.default_rng(0)
    lines = []
    for words, shift in ((GOOD, 5.0), (BAD, -5.0), (FILL, 0.0)):
        for word in words:
            vector = random.normal(size=width)
            vector[0] += shift
            lines.append(" ".join([word, *(f"{value:.4f}" for value in vector)]))
    file = folder / "glove.txt"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def bert(folder: Path) -> Path:
    """Model and tokenizer in a folder, as a user's own transformer."""
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *GOOD, *BAD, *FILL]
    raw = Tokenizer(models.WordLevel({n: i for i, n in enumerate(names)}, unk_token="[UNK]"))
    raw.normalizer = normalizers.Lowercase()
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    raw.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    PreTrainedTokenizerFast(tokenizer_object=raw, pad_token="[PAD]").save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(names),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=64,
    )
    transformers.BertModel(config).save_pretrained(folder)
    return folder


def accuracy(model: object, rows: TrainingRows) -> float:
    return float((model.predict(rows.texts) == rows.labels).mean())  # type: ignore[attr-defined]
