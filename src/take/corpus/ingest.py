"""Raw rows in, a clean corpus out: checked, identified by content, no duplicates, no leaks."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd
from pydantic import BaseModel, Field, field_validator

from take.corpus.budget import Budget, check_budget
from take.corpus.labels import check_classes, label_ids, label_names, label_warnings
from take.corpus.sources import RawCorpus, RawSplit
from take.corpus.spec import About, EvaluationShare
from take.corpus.validation import check_texts, group_names, text_warnings
from take.errors import InputError, closest
from take.frozen import Frozen
from take.rows.arrays import Bools, Int64
from take.rows.labelled import TEXT_COLUMNS, class_ids, content_ids, task_of, text_keys


class IngestionSettings(Frozen):
    """`params:ingestion`."""

    budget: str | int
    max_text_chars: Annotated[int, Field(ge=1)] = 100_000

    @field_validator("budget")
    @classmethod
    def _is_a_budget(cls, written: str | int) -> str | int:
        Budget.parse(written)
        return written


class SplitCounts(BaseModel):
    """What was read of one split, what was found in it, and what was kept."""

    rows_read: int
    exact_duplicates: int
    texts_with_two_labels: int
    rows_also_in_evaluation: int = 0
    rows_kept: int
    rows_by_class: dict[str, int]
    chars_mean: float
    chars_p95: float
    chars_max: int


class CorpusReport(BaseModel):
    """What ingestion found. Holds counts and names, never a text."""

    corpus: str
    task: str
    origin: str
    labels: list[str]
    train: SplitCounts
    evaluation: SplitCounts
    budget: str
    budget_by_class: dict[str, int]
    about: About = About()
    warnings: list[str] = []
    """What may be a mistake, though the corpus is accepted."""


class Ingested(NamedTuple):
    """The outputs of ingestion."""

    corpus: pd.DataFrame
    """Train rows: id, text or text_a and text_b, label (int64), label_name; group and label_prompt
    where the corpus has them."""
    evaluation_split: pd.DataFrame
    report: CorpusReport


def ingest(raw: RawCorpus, settings: IngestionSettings) -> Ingested:
    """Check a raw corpus whole, then drop train's duplicates and what it shares with evaluation.

    Two rows are duplicates if their texts (outer blanks aside) and labels are equal; a train row
    leaks if its texts are in the evaluation split under any label. The evaluation split itself
    is not changed, so that its figures can be compared with published ones.
    """
    columns = raw.spec.text_columns
    names = label_names(raw.train, raw.spec.labels)
    rows = _checked_rows(raw.train, columns, names, settings.max_text_chars)
    check_classes(raw.train, class_ids(rows), names)
    if raw.spec.columns.group:
        rows = rows.assign(group=pd.Series(group_names(raw.train), dtype="str"))
    keys = text_keys(rows, columns)
    is_train = np.ones(len(rows), dtype=np.bool_)
    if raw.evaluation is None:
        is_evaluation = _is_evaluation(keys, raw.spec.evaluation)
        is_train = ~is_evaluation
        evaluation = rows[is_evaluation].reset_index(drop=True)
        evaluation = evaluation.drop(columns="group", errors="ignore")
        evaluation_keys = keys[is_evaluation]
    else:
        evaluation = _checked_rows(raw.evaluation, columns, names, settings.max_text_chars)
        evaluation_keys = text_keys(evaluation, columns)
    if evaluation.empty:
        raise InputError(
            "no row is in the evaluation split",
            where=raw.train.origin,
            remedy="raise evaluation.fraction in corpora.yml, or name an evaluation file",
        )

    is_new = is_train.copy()
    is_new[is_train] = ~_repeats(rows["id"][is_train])
    is_leaking = keys.isin(evaluation_keys).to_numpy() & is_new
    corpus = rows[is_new & ~is_leaking].reset_index(drop=True)
    if raw.spec.prompts:
        corpus = corpus.assign(label_prompt=_label_prompts(corpus, raw, names))

    if corpus.empty:
        raise InputError(
            "every train row is also in the evaluation split",
            where=raw.train.origin,
            remedy="name different files in corpora.yml; without an evaluation file, a share of "
            "the train rows is held out",
        )

    budget = Budget.parse(settings.budget)
    read, sizes = (
        np.bincount(class_ids(table), minlength=len(names)).tolist() for table in (rows, corpus)
    )
    shares = check_budget(budget, sizes, names, read)
    report = CorpusReport(
        corpus=raw.name,
        task=raw.spec.task,
        origin=raw.train.origin,
        labels=list(names),
        train=_counts(
            rows[["id", "label"]][is_train], keys[is_train], corpus, names, int(is_leaking.sum())
        ),
        evaluation=_counts(evaluation, evaluation_keys, evaluation, names),
        budget=str(budget),
        budget_by_class=dict(zip(names, shares, strict=True)),
        about=raw.spec.about,
        warnings=[*label_warnings(raw.train, names), *text_warnings(corpus)],
    )
    return Ingested(corpus, evaluation, report)


def profile_figure(corpus: pd.DataFrame, evaluation_split: pd.DataFrame) -> Any:
    """Class sizes and text lengths of both splits, as a Plotly figure without any text."""
    from plotly.graph_objects import Bar, Figure
    from plotly.subplots import make_subplots

    figure: Figure = make_subplots(
        rows=1, cols=2, subplot_titles=("rows by class", "texts by length (characters)")
    )
    splits = {"train": (corpus, "#3b6ea5"), "evaluation": (evaluation_split, "#d98c3f")}
    edges = _length_edges(np.concatenate([_lengths(corpus), _lengths(evaluation_split)]))
    for split, (rows, colour) in splits.items():
        sizes = rows["label_name"].value_counts().sort_index()
        figure.add_trace(
            Bar(x=list(sizes.index), y=sizes.to_list(), name=split, marker_color=colour), 1, 1
        )
        shares = np.histogram(_lengths(rows), bins=edges)[0] / max(1, len(_lengths(rows)))
        labels = [f"{a:,}–{b:,}" for a, b in pairwise(edges)]
        figure.add_trace(
            Bar(x=labels, y=shares.tolist(), marker_color=colour, showlegend=False), 1, 2
        )
    figure.update_layout(template="plotly_white", barmode="group", legend={"orientation": "h"})
    return figure


def _checked_rows(
    split: RawSplit, columns: Sequence[str], names: Sequence[str], max_chars: int
) -> pd.DataFrame:
    check_texts(split, columns, max_chars)
    labels = label_ids(split, names)
    rows = split.rows[list(columns)].astype("str")
    rows = rows.assign(label=labels, label_name=pd.Series(names, dtype="str").take(labels).array)
    rows.insert(0, "id", content_ids(rows, [*columns, "label_name"]))
    return rows


def _label_prompts(corpus: pd.DataFrame, raw: RawCorpus, names: Sequence[str]) -> pd.Series:
    """What the language model reads as each row's label."""
    for name in raw.spec.prompts:
        if name not in names:
            raise InputError(
                f"prompts names the label {name!r:.60}, which the corpus does not have",
                where=f"corpora.yml, {raw.name}",
                remedy=closest(name, names),
            )
    prompts = {name: raw.spec.prompts.get(name, name) for name in names}
    folded = [" ".join(prompt.split()) for prompt in prompts.values()]
    if len(set(folded)) < len(folded) or not all(folded):
        raise InputError(
            "prompts and names of labels are not all different, or one is blank",
            where=f"corpora.yml, {raw.name}",
            remedy="give each label a prompt of its own",
        )
    return corpus["label_name"].map(prompts).astype("str")


def _is_evaluation(keys: pd.Series, share: EvaluationShare) -> Bools:
    """Split by a seeded hash of each row's texts.

    A row's side depends on nothing but itself and the seed: it stays where it is when the corpus
    grows or is reordered, and rows with equal texts are never on both sides.
    """
    limit = int(share.fraction * 2**64)
    seeded = (
        hashlib.blake2b(f"{share.seed}:{key}".encode(), digest_size=8).digest() for key in keys
    )
    return np.fromiter(
        (int.from_bytes(digest, "little") < limit for digest in seeded), np.bool_, len(keys)
    )


def _repeats(values: pd.Series) -> Bools:
    """Which values an earlier row has, too."""
    numbers = pd.factorize(values)[0]  # counted in the order in which values first occur
    is_repeat: Bools = np.diff(np.maximum.accumulate(numbers), prepend=-1) == 0
    return is_repeat


def _counts(
    rows: pd.DataFrame,
    keys: pd.Series,
    kept: pd.DataFrame,
    names: Sequence[str],
    leaking: int = 0,
) -> SplitCounts:
    lengths = _lengths(kept)
    with_label = pd.factorize(keys)[0].astype(np.int64) * len(names) + class_ids(rows)
    labels_per_text = np.bincount(np.unique(with_label) // len(names))
    sizes = kept["label_name"].value_counts()
    return SplitCounts(
        rows_read=len(rows),
        exact_duplicates=int(_repeats(rows["id"]).sum()),
        texts_with_two_labels=int((labels_per_text > 1).sum()),
        rows_also_in_evaluation=leaking,
        rows_kept=len(kept),
        rows_by_class={name: int(sizes.get(name, 0)) for name in names},
        chars_mean=round(float(lengths.mean()), 1) if len(lengths) else 0.0,
        chars_p95=float(np.percentile(lengths, 95)) if len(lengths) else 0.0,
        chars_max=int(lengths.max()) if len(lengths) else 0,
    )


def _lengths(rows: pd.DataFrame) -> Int64:
    columns = TEXT_COLUMNS[task_of(rows)]
    return np.concatenate([rows[column].str.len().to_numpy(np.int64) for column in columns])


def _length_edges(lengths: Int64) -> list[int]:
    """Twelve bins between the shortest and longest text, evenly spaced on a log scale."""
    edges = np.geomspace(max(1, lengths.min()), lengths.max() + 1, 13)
    return sorted({round(edge) for edge in edges} | {int(lengths.max()) + 1})
