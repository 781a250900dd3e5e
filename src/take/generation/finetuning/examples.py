"""Which rows of a corpus are trained on and which are for validation, as token ids.

Classes take turns, one row each, until the token budget is spent. The rows of a class that runs out
are not repeated: the others continue, and the report names it. Only chosen rows are kept as tokens,
so a corpus may be far larger than the budget. No row that is trained on contains a validation row,
lies in one or nearly repeats one (`RelatedRows`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
import pandas as pd

from take.errors import InputError
from take.generation.finetuning.fine_tuning_report import RowCounts
from take.generation.finetuning.fine_tuning_settings import FineTuningSettings
from take.generation.finetuning.token_rows import Rows, TrainingRows
from take.generation.template import Template, fold
from take.rows.arrays import Float64, Int64
from take.rows.random import rng
from take.text.copies import CopySettings
from take.text.normalise import text_rows
from take.text.related import Mask, RelatedRows

_logger = logging.getLogger(__name__)

_LARGEST_VALIDATION_SHARE = 0.2  # of a class: most of a small corpus is trained on
_LARGEST_BARRED_SHARE = 0.5  # validation rows and their relatives


def choose_rows(
    corpus: pd.DataFrame,
    template: Template,
    settings: FineTuningSettings,
    weights: Float64 | None = None,
    reserved_tokens: int = 0,
    copies: CopySettings | None = None,
) -> TrainingRows:
    """Choose and tokenise rows: evenly over classes, the same ones for the same seed.

    `reserved_tokens` of the budget are left for rows that are not from the corpus.

    `weights`, one number per row, are needed for row_sampling 'knowledge' only: rows of a class are
    then drawn without replacement, each in proportion to its weight. `copies` says what a near copy
    of a validation row is.
    """
    if template.max_text_tokens != settings.max_text_tokens:
        raise ValueError(
            f"the template cuts at {template.max_text_tokens} tokens, the settings say "
            f"{settings.max_text_tokens}"
        )
    labels = corpus["label"].to_numpy()
    checked = _checked_weights(weights, len(labels), settings)
    related = RelatedRows(text_rows(corpus, template.columns), copies)
    within = _within_lengths(corpus, template, settings)
    usable = ~related.common & within
    classes = {
        int(label): np.flatnonzero((labels == label) & usable) for label in np.unique(labels)
    }
    encoder = _RowEncoder(corpus, template)
    validation, barred = _validation(classes, encoder, related, settings)
    free = {label: rows[~barred[rows]] for label, rows in classes.items()}
    budget = max(1, settings.token_budget - reserved_tokens)
    train = _train(free, encoder, checked, settings.seed, budget)
    if not train.chosen:
        raise InputError(
            "no row is left to train on",
            where=f"fine-tuning on {len(labels):,} rows",
            remedy="raise max_text_tokens, or lower validation_rows",
        )
    counts = RowCounts(
        corpus_rows=len(labels),
        train_rows=len(train.chosen),
        validation_rows=len(validation),
        train_tokens=train.tokens,
        train_rows_by_class=np.bincount(labels[train.chosen], minlength=max(classes) + 1).tolist(),
        short_classes=train.short_classes,
        cut_texts=sum(encoder.is_cut(row) for row in (*train.chosen, *validation)),
        left_out_pairs=len(encoder.left_out),
    )
    _log(counts, settings)
    barred[validation] = False  # they have a role of their own
    return TrainingRows(
        encoder.rows(train.chosen),
        encoder.rows(validation),
        counts,
        related=np.flatnonzero(barred),
        other_lengths=np.flatnonzero(~within),
    )


class _RowEncoder:
    """Tokens of rows by position, computed when first used."""

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
        return self._template.given_tokens(self._label(row)) + len(self._encoded[row])

    def is_cut(self, row: int) -> bool:
        """Whether the text was cut: its tokens spell less than the text."""
        if len(self._texts) > 1:
            return False
        text = fold(self._texts[0][row])
        # No tokenizer makes many more tokens than bytes, so most texts need not be decoded.
        if len(text.encode()) + 8 < self._template.max_text_tokens:
            return False
        return len(self._template.decode(self._encoded[row])) < len(text)

    def rows(self, chosen: Sequence[int]) -> Rows:
        """The chosen rows, prompts before them."""
        whole = [self._template.whole(self._label(row), self._encoded[row]) for row in chosen]
        return Rows(
            tuple(row.token_ids for row in whole),
            np.array([row.prompt_length for row in whole], dtype=np.int64),
            np.array(chosen, dtype=np.int64),
            np.array([row.given for row in whole], dtype=np.int64).reshape(-1, 2),
        )

    def _label(self, row: int) -> int:
        return int(self._labels[row])


def labelled_rows(table: pd.DataFrame, places: Sequence[int], template: Template) -> Rows:
    """Rows of a table as tokens, without those that are too long."""
    encoder = _RowEncoder(table, template)
    return encoder.rows([place for place in places if encoder.length(int(place))])


def _within_lengths(corpus: pd.DataFrame, template: Template, settings: FineTuningSettings) -> Mask:
    """Rows whose number of words is within the quantiles of the corpus."""
    texts = zip(*(corpus[column] for column in template.columns), strict=True)
    words = np.array([len(" ".join(row).split()) for row in texts])
    low, high = np.quantile(words, settings.length_quantiles, method="inverted_cdf")
    within: Mask = (low <= words) & (words <= high)
    return within


def _validation(
    classes: Mapping[int, Int64],
    encoder: _RowEncoder,
    related: RelatedRows,
    settings: FineTuningSettings,
) -> tuple[list[int], Mask]:
    """Validation rows, and the rows that cannot be trained on because of them.

    Where rows are much alike, few validation rows, or none, leave half of the corpus to train on.
    """
    if not settings.evaluations:
        return [], related.common
    drawn: list[list[int]] = []
    for label, rows in classes.items():
        share = int(_LARGEST_VALIDATION_SHARE * len(rows))
        count = min(settings.validation_rows // len(classes), share)
        random = rng(settings.seed, "fine-tuning validation rows", label)
        usable = (int(row) for row in random.permutation(rows) if encoder.length(int(row)))
        drawn.append(list(islice(usable, count)))
    count = wanted = max(map(len, drawn))
    while True:
        chosen = [row for rows in drawn for row in rows[:count]]
        relatives = related.to(np.array(chosen, dtype=np.int64))
        if not count or relatives.mean() <= _LARGEST_BARRED_SHARE:
            break
        count //= 2
    if count < wanted:
        _logger.warning(
            "Rows are much alike: %s are for validation, so that unlike rows are left to train on.",
            len(chosen) or "none",
        )
    return chosen, relatives | related.common


class _Taken(NamedTuple):
    chosen: list[int]
    tokens: int
    short_classes: list[int]


def _train(
    classes: Mapping[int, Int64],
    encoder: _RowEncoder,
    weights: Float64 | None,
    seed: int,
    token_budget: int,
) -> _Taken:
    """Rows in turns over classes, until the budget is spent or no class has any left."""
    waiting: dict[int, Iterator[int]] = {}
    for label, rows in classes.items():
        random = rng(seed, "fine-tuning rows", label)
        order = (
            random.permutation(rows) if weights is None else _weighted(rows, weights[rows], random)
        )
        waiting[label] = (int(row) for row in order)
    chosen: list[int] = []
    tokens, ran_out = 0, []
    while waiting and tokens < token_budget:
        for label in list(waiting):
            row = next((row for row in waiting[label] if encoder.length(row)), None)
            if row is None:
                del waiting[label]
                ran_out.append(label)
                continue
            chosen.append(row)
            tokens += encoder.length(row)
            if tokens >= token_budget:
                break
    # If every class ran out, the whole corpus is trained on, and no class was too short.
    return _Taken(chosen, tokens, ran_out if waiting else [])


def _weighted(rows: Int64, weights: Float64, random: np.random.Generator) -> Int64:
    """Rows drawn one by one without replacement, in proportion to their weights.

    Efraimidis and Spirakis (2006): sorting by Exponential(1) / w gives that order. Rows of weight 0
    are never drawn.
    """
    positive = weights > 0
    keys = random.exponential(size=int(positive.sum())) / weights[positive]
    drawn: Int64 = rows[positive][np.argsort(keys, kind="stable")]
    return drawn


def _checked_weights(
    weights: Float64 | None, n_rows: int, settings: FineTuningSettings
) -> Float64 | None:
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
        f"Fine-tuning on {counts.train_rows:,} of {counts.corpus_rows:,} rows "
        f"({counts.train_tokens:,} tokens), {counts.validation_rows:,} for validation."
    )
    limit = f"longer than {settings.max_text_tokens} tokens"
    used = counts.train_rows + counts.validation_rows + counts.left_out_pairs
    warnings = {
        f"Classes {counts.short_classes} have too few rows for an even share; the others took "
        "the rest.": bool(counts.short_classes),
        f"{counts.left_out_pairs:,} pairs are {limit} and were left out.": counts.left_out_pairs
        > 0,
        f"{counts.cut_texts:,} texts are {limit} and were cut.": counts.cut_texts > 0,
        "The token budget reaches every row: row_sampling changes nothing.": (
            settings.row_sampling == "knowledge" and used == counts.corpus_rows
        ),
    }
    for text, applies in warnings.items():
        if applies:
            _logger.warning(text)
