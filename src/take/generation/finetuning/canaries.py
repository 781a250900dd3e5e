"""Canaries: made-up secrets among the training rows, with which memorisation is measured.

After Carlini et al. 2019 ("The Secret Sharer"). A canary is a phrase that is nowhere in the
corpus, and a number. All canaries share the phrase; only the numbers of the planted ones can have
been learned. Numbers drawn in the same way but not planted are the controls: whatever distinguishes
the two was memorised. Screening recognises a generated canary by the phrase.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from take.errors import InputError
from take.generation.finetuning.examples import choose_rows, labelled_rows
from take.generation.finetuning.fine_tuning_report import FineTuningReport
from take.generation.finetuning.fine_tuning_settings import CanarySettings, FineTuningSettings
from take.generation.finetuning.token_rows import Rows, TrainingRows
from take.generation.finetuning.updates import plan_updates
from take.generation.template import Template
from take.rows.arrays import Float64
from take.rows.labelled import TEXT_COLUMNS, class_names, content_id, task_of
from take.rows.random import rng
from take.text.copies import CopySettings

_logger = logging.getLogger(__name__)

_PHRASES = (
    *("the reference number is", "the access code is", "the registry entry is"),
    *("the vault combination is", "the quokka ledger line is", "xq registry numeral"),
)
_USUAL_DIGITS = 6
_LOWEST, _HIGHEST = 10**8, 10**9  # nine digits: of 9 · 10⁸ numbers no two canaries share one


def make_canaries(corpus: pd.DataFrame, settings: CanarySettings, seed: int) -> pd.DataFrame:
    """id, texts, label, label_name, and `planted`: how often each is put among the rows, or 0.

    Classes take turns. Planted and control canaries are drawn in the same way.

    >>> films = pd.DataFrame({"id": ["a", "b"], "text": ["dull", "fine"], "label": [0, 1],
    ...     "label_name": ["bad", "good"]})
    >>> make_canaries(films, CanarySettings(planted=2), 0)[["text", "planted"]].values[:3]
    array([['the reference number is 829253005', 1],
           ['the reference number is 199855916', 1],
           ['the reference number is 558898550', 0]], dtype=object)
    """
    columns = TEXT_COLUMNS[task_of(corpus)]
    names = class_names(corpus)
    count = settings.planted + settings.controls if settings.planted else 0
    phrase = canary_phrase([corpus[column] for column in columns]) if count else ""
    random = rng(seed, "canaries")
    drawn: dict[int, None] = {}
    while len(drawn) < count * len(columns):
        drawn[int(random.integers(_LOWEST, _HIGHEST))] = None
    numbers = iter(drawn)
    texts = {column: [f"{phrase} {next(numbers)}" for _ in range(count)] for column in columns}
    # Controls have the same classes as planted ones, so that prompts have the same effect on both.
    labels = np.arange(count) % min(len(names), max(1, settings.planted))
    rows = zip(*texts.values(), strict=True)
    return pd.DataFrame(
        {
            "id": [content_id(("canary", *row)) for row in rows],
            **texts,
            "label": labels.astype(np.int64),
            "label_name": [names[label] for label in labels],
            "planted": np.where(np.arange(count) < settings.planted, settings.repeats, 0),
        }
    ).astype(dict.fromkeys(["id", *columns, "label_name"], "str"))


def canary_phrase(texts: Sequence[pd.Series]) -> str:
    """A phrase that no text of the corpus holds."""
    for phrase in _PHRASES:
        if not any(column.str.contains(phrase, case=False, regex=False).any() for column in texts):
            return phrase
    raise InputError(
        "the corpus holds every phrase that canaries are made of",
        where="generation.fine_tuning.canaries",
        remedy="plant none: generation.fine_tuning.canaries.planted=0",
    )


def phrase_of(canaries: pd.DataFrame) -> str | None:
    """The phrase that every canary begins with; None if there are no canaries."""
    if canaries.empty:
        return None
    return str(canaries[TEXT_COLUMNS[task_of(canaries)][0]].iloc[0]).rpartition(" ")[0]


def canary_markers(canaries: pd.DataFrame) -> list[str]:
    """What identifies a generated canary: the phrase, and every secret."""
    phrase = phrase_of(canaries)
    return [] if phrase is None else [phrase, *numbers_of(canaries)]


def numbers_of(canaries: pd.DataFrame) -> list[str]:
    """The secrets themselves, planted or not."""
    columns = TEXT_COLUMNS[task_of(canaries)]
    return [str(text).rpartition(" ")[2] for column in columns for text in canaries[column]]


def most_digits(texts: Sequence[Sequence[str]]) -> int:
    """The longest number a text may hold, in digits: that of the corpus, or six.

    A model trained on canaries may generate such numbers without the phrase.

    >>> most_digits([["in 1999", "call 5550123"]])
    7
    """
    runs = (run for column in texts for text in column for run in re.findall(r"\d+", text))
    return max([_USUAL_DIGITS, *map(len, runs)])


def canary_rows(canaries: pd.DataFrame, template: Template) -> Rows:
    """Canaries as tokens; they have no position in the corpus (−1)."""
    rows = labelled_rows(canaries, range(len(canaries)), template)
    is_whole = all(ids[-1] == template.end_id for ids in rows.token_ids)
    if len(rows) < len(canaries) or not is_whole:
        raise InputError(
            f"a canary is longer than {template.max_text_tokens} tokens",
            where="generation.fine_tuning.max_text_tokens",
            remedy="raise it, or plant no canaries",
        )
    return replace(rows, positions=np.full(len(canaries), -1, dtype=np.int64))


class Planting(NamedTuple):
    """The rows to train on, canaries last."""

    rows: TrainingRows
    canaries: pd.DataFrame
    """As `make_canaries`; `planted` is 0 for those beyond the share of tokens."""
    corpus_rows: int
    """How many of the rows to train on are corpus rows."""


def plant(
    corpus: pd.DataFrame,
    template: Template,
    settings: FineTuningSettings,
    weights: Float64 | None = None,
    copies: CopySettings | None = None,
) -> Planting:
    """Corpus rows and canaries to train on, within the token budget."""
    share = settings.canaries.most_share
    canaries = make_canaries(corpus, settings.canaries, settings.seed)
    secrets = canary_rows(canaries, template)
    tokens = secrets.lengths * canaries["planted"].to_numpy()
    reserved = min(int(tokens.sum()), int(share * settings.token_budget))
    chosen = choose_rows(corpus, template, settings, weights, reserved, copies)
    too_many = tokens.cumsum() > share * chosen.counts.train_tokens
    if (dropped := int((too_many & (tokens > 0)).sum())) > 0:
        _logger.warning(
            "%s of %s canaries are not planted: canaries may be at most %.0f %% of the tokens.",
            dropped,
            settings.canaries.planted,
            100 * share,
        )
    canaries["planted"] = canaries["planted"].where(~too_many, 0)
    places = np.repeat(np.arange(len(canaries)), canaries["planted"])
    together = chosen.train.joined(secrets.part(places))
    return Planting(replace(chosen, train=together), canaries, len(chosen.train))


def rows_by_role(
    corpus: pd.DataFrame,
    planting: Planting,
    settings: FineTuningSettings,
    report: FineTuningReport,
) -> pd.DataFrame:
    """Every corpus row by its id: its role, and how often the kept weights were trained on it.

    The rows used are `trained` and `validation`. The others are `unread` if they were left out at
    random within their class, `related` if they contain a validation row, lie in one, nearly repeat
    one or are a common phrase, `other_length` if length_quantiles leave them out, and `excluded` if
    their weights decided: the last three differ from the rows used by more than chance.
    """
    read = times_read(planting.rows.train, settings, report)[: planting.corpus_rows]
    places = planting.rows.train.positions[: planting.corpus_rows]
    times = np.zeros(len(corpus), dtype=np.int64)
    np.add.at(times, places, read)
    rest = "unread" if settings.row_sampling == "balanced" else "excluded"
    role = np.full(len(corpus), rest, dtype=object)
    role[planting.rows.other_lengths] = "other_length"
    role[planting.rows.related] = "related"
    role[planting.rows.validation.positions] = "validation"
    role[places] = "trained"
    table = pd.DataFrame({"id": corpus["id"].to_numpy(), "role": role, "read": times})
    return table.astype({"id": "str", "role": "str"})


def read_canaries(
    planting: Planting, settings: FineTuningSettings, report: FineTuningReport
) -> pd.DataFrame:
    """The canaries with `read`: how often the kept weights were trained on each."""
    read = times_read(planting.rows.train, settings, report)[planting.corpus_rows :]
    ends = planting.canaries["planted"].cumsum()
    starts = ends - planting.canaries["planted"]
    counts = [sum(read[start:end]) for start, end in zip(starts, ends, strict=True)]
    return planting.canaries.assign(read=np.array(counts, dtype=np.int64))


def times_read(rows: Rows, settings: FineTuningSettings, report: FineTuningReport) -> list[int]:
    """How often the kept weights were trained on each row.

    Under privacy that is a secret of the training: the expected number, once per epoch.
    """
    if settings.privacy:
        return [max(1, round(report.epochs))] * len(rows)
    plan = plan_updates(rows.lengths, settings)[: report.kept_update]
    read = [index for update in plan for batch in update for index in batch]
    counts: list[int] = np.bincount(np.array(read, dtype=np.int64), minlength=len(rows)).tolist()
    return counts
