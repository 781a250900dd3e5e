"""Which rows of a corpus are trained on and which are held out, as token ids.

Classes take turns, a row each, until the token budget is spent. A class that runs out of rows is
not repeated: the others go on taking turns, and the report names it. Only rows that are chosen are
tokenised, so a corpus may be far larger than the budget.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from take.errors import InputError
from take.generation.finetuning.report import RowCounts
from take.generation.finetuning.settings import FineTuningSettings
from take.generation.template import Template, fold
from take.rows.arrays import Int64
from take.rows.random import rng

_logger = logging.getLogger(__name__)

_LARGEST_HELD_OUT_SHARE = 0.2  # of a class: a small corpus is for training first


@dataclass(frozen=True)
class Rows:
    """Tokenised rows."""

    token_ids: tuple[tuple[int, ...], ...]
    """Prompt, text and end token of each row."""
    prompt_lengths: NDArray[np.int64]
    """How many of a row's tokens are the prompt: given, not learned."""
    positions: Int64
    """Where each row stands in the corpus."""

    def __len__(self) -> int:
        return len(self.token_ids)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each row."""
        return np.array([len(ids) for ids in self.token_ids], dtype=np.int64)


@dataclass(frozen=True)
class TrainingRows:
    """The rows to train on and the rows to measure on."""

    train: Rows
    held_out: Rows
    counts: RowCounts


def choose_rows(
    corpus: pd.DataFrame,
    template: Template,
    settings: FineTuningSettings,
    weights: NDArray[np.float64] | None = None,
    reserved_tokens: int = 0,
) -> TrainingRows:
    """Choose and tokenise rows: evenly over classes, the same ones for the same seed.

    `reserved_tokens` of the budget are left for rows that are no corpus rows.

    `weights` has one number per row and is used (and needed) for row_sampling 'knowledge' alone:
    rows of a class are then drawn without replacement, each in proportion to its weight.
    """
    if template.max_text_tokens != settings.max_text_tokens:
        raise ValueError(
            f"the template cuts at {template.max_text_tokens} tokens, the settings say "
            f"{settings.max_text_tokens}"
        )
    labels = corpus["label"].to_numpy()
    checked = _checked_weights(weights, len(labels), settings)
    classes = {int(label): np.flatnonzero(labels == label) for label in np.unique(labels)}
    encoder = _RowEncoder(corpus, template)
    held_out = _held_out(classes, encoder, settings)
    budget = max(1, settings.token_budget - reserved_tokens)
    train = _train(classes, held_out, encoder, checked, settings.seed, budget)
    if not train.chosen:
        raise InputError(
            "no row is left to train on",
            where=f"fine-tuning on {len(labels):,} rows",
            remedy="raise max_text_tokens, or lower held_out_rows",
        )
    counts = RowCounts(
        corpus_rows=len(labels),
        train_rows=len(train.chosen),
        held_out_rows=len(held_out),
        train_tokens=train.tokens,
        train_rows_by_class=np.bincount(labels[train.chosen], minlength=max(classes) + 1).tolist(),
        short_classes=train.short_classes,
        cut_texts=sum(encoder.is_cut(row) for row in (*train.chosen, *held_out)),
        left_out_pairs=len(encoder.left_out),
    )
    _log(counts, settings)
    return TrainingRows(encoder.rows(train.chosen), encoder.rows(held_out), counts)


class _RowEncoder:
    """Tokens of rows, by position, made when asked for."""

    def __init__(self, corpus: pd.DataFrame, template: Template) -> None:
        self._template = template
        self._texts = [corpus[column].to_numpy() for column in template.columns]
        self._labels = corpus["label"].to_numpy()
        self._encoded: dict[int, list[int]] = {}
        self.left_out: set[int] = set()

    def length(self, row: int) -> int:
        """Tokens of the row, or 0 if it is too long to be used."""
        if row in self.left_out:
            return 0
        if row not in self._encoded:
            ids = self._template.encode([column[row] for column in self._texts])
            if ids is None:
                self.left_out.add(row)
                return 0
            self._encoded[row] = ids
        return len(self._prompt(row)) + len(self._encoded[row])

    def is_cut(self, row: int) -> bool:
        """Whether a text was too long: what its tokens spell is shorter than the text itself."""
        if len(self._texts) > 1:
            return False
        text = fold(self._texts[0][row])
        # No tokenizer makes more tokens than bytes and a few: most texts need no closer look.
        if len(text.encode()) + 8 < self._template.max_text_tokens:
            return False
        return len(self._template.decode(self._encoded[row])) < len(text)

    def rows(self, chosen: Sequence[int]) -> Rows:
        """The chosen rows, prompts before them."""
        return Rows(
            tuple((*self._prompt(row), *self._encoded[row]) for row in chosen),
            np.array([len(self._prompt(row)) for row in chosen], dtype=np.int64),
            np.array(chosen, dtype=np.int64),
        )

    def _prompt(self, row: int) -> list[int]:
        return self._template.prompt(int(self._labels[row]))


def _held_out(
    classes: Mapping[int, Int64], encoder: _RowEncoder, settings: FineTuningSettings
) -> list[int]:
    if not settings.evaluations:
        return []
    chosen: list[int] = []
    for label, rows in classes.items():
        share = int(_LARGEST_HELD_OUT_SHARE * len(rows))
        count = min(settings.held_out_rows // len(classes), share)
        random = rng(settings.seed, "generator held-out rows", label)
        usable = (int(row) for row in random.permutation(rows) if encoder.length(int(row)))
        chosen += islice(usable, count)
    return chosen


@dataclass
class _Taken:
    chosen: list[int] = field(default_factory=list)
    tokens: int = 0
    short_classes: list[int] = field(default_factory=list)


def _train(
    classes: Mapping[int, Int64],
    held_out: list[int],
    encoder: _RowEncoder,
    weights: NDArray[np.float64] | None,
    seed: int,
    token_budget: int,
) -> _Taken:
    """Rows in turns over classes, until the budget is spent or no class has any left."""
    waiting: dict[int, Iterator[int]] = {}
    for label, rows in classes.items():
        random = rng(seed, "generator training rows", label)
        free = np.setdiff1d(rows, held_out)
        order = (
            random.permutation(free) if weights is None else _weighted(free, weights[free], random)
        )
        waiting[label] = (int(row) for row in order)
    taken, ran_out = _Taken(), []
    while waiting and taken.tokens < token_budget:
        for label in list(waiting):
            row = next((row for row in waiting[label] if encoder.length(row)), None)
            if row is None:
                del waiting[label]
                ran_out.append(label)
                continue
            taken.chosen.append(row)
            taken.tokens += encoder.length(row)
            if taken.tokens >= token_budget:
                break
    # Where every class ran out, the whole corpus is trained on, and none was short for the others.
    taken.short_classes = ran_out if waiting else []
    return taken


def _weighted(rows: Int64, weights: NDArray[np.float64], random: np.random.Generator) -> Int64:
    """Rows drawn one after the other without replacement, in proportion to their weights.

    Efraimidis and Spirakis (2006): sorting by Exponential(1) / w gives that very order. Rows of
    weight 0 are never drawn.
    """
    positive = weights > 0
    keys = random.exponential(size=int(positive.sum())) / weights[positive]
    drawn: Int64 = rows[positive][np.argsort(keys, kind="stable")]
    return drawn


def _checked_weights(
    weights: NDArray[np.float64] | None, n_rows: int, settings: FineTuningSettings
) -> NDArray[np.float64] | None:
    if settings.row_sampling == "balanced":
        return None
    if weights is None or len(weights) != n_rows:
        raise InputError(
            f"row_sampling 'knowledge' needs {n_rows:,} weights, one per row, but has "
            f"{0 if weights is None else len(weights):,}",
            remedy="run the scoring pipeline first, or set row_sampling to 'balanced'",
        )
    checked = np.asarray(weights, dtype=np.float64)
    wrong = np.flatnonzero(~np.isfinite(checked) | (checked < 0))
    if len(wrong):
        raise InputError(
            f"weight of row {wrong[0]} is {checked[wrong[0]]}",
            allowed="numbers from 0",
            remedy="run the scoring pipeline again",
        )
    return checked


def _log(counts: RowCounts, settings: FineTuningSettings) -> None:
    _logger.info(
        "Fine-tuning on %s of %s rows (%s tokens), %s held out.",
        f"{counts.train_rows:,}",
        f"{counts.corpus_rows:,}",
        f"{counts.train_tokens:,}",
        f"{counts.held_out_rows:,}",
    )
    if counts.short_classes:
        _logger.warning(
            "Classes %s have too few rows for an even share; the others took the rest.",
            counts.short_classes,
        )
    if counts.left_out_pairs:
        _logger.warning(
            "%s pairs are longer than %s tokens and were left out.",
            f"{counts.left_out_pairs:,}",
            settings.max_text_tokens,
        )
    if counts.cut_texts:
        _logger.warning(
            "%s texts are longer than %s tokens and were cut.",
            f"{counts.cut_texts:,}",
            settings.max_text_tokens,
        )
    all_rows = counts.train_rows + counts.held_out_rows + counts.left_out_pairs
    if settings.row_sampling == "knowledge" and all_rows == counts.corpus_rows:
        _logger.warning("The token budget reaches every row: row_sampling changes nothing.")
