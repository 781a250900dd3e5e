"""A user's own labelled rows, evaluated like any other method's."""

from __future__ import annotations

from pathlib import Path

from take.errors import InputError
from take.evaluation.methods.labelled import (
    checked_labels,
    checked_texts,
    checked_weights,
    read_labelled,
    warn_of_repeats,
)
from take.evaluation.methods.material import Material, TrainingSet
from take.evaluation.methods.settings import BaselineSettings

_NAMED_ROWS = 5


def file(material: Material, settings: BaselineSettings, seed: int) -> TrainingSet:
    """The rows of `settings.file`, as many as there are: the budget is not held against them.

    Refused, with file and row: another task, blank texts, labels the corpus does not have, classes
    without rows, rows copied from the evaluation split. Rows that repeat others are only warned of.
    """
    if settings.file is None:
        raise InputError(
            "no file is named",
            where="method 'file'",
            remedy="set evaluation.baselines.file to a .parquet, .csv or .jsonl of labelled rows",
        )
    split = read_labelled(Path(settings.file.replace("{seed}", str(seed))), material.task)
    texts = checked_texts(split, material.task)
    labels = checked_labels(split, material.class_names)
    weights = checked_weights(split)
    _refuse_copies(texts, material, split.origin)
    warn_of_repeats(texts, labels, split.origin)
    return TrainingSet(texts, labels, weights)


def _refuse_copies(texts: list[list[str]], material: Material, origin: str) -> None:
    if material.evaluation is None:
        raise InputError(
            "there is nothing to tell copies of the evaluation split by",
            where=origin,
            remedy="give the material the evaluation split's `EvaluationCopies`",
        )
    copies = material.evaluation.of(texts)
    if copies:
        first = [f"row {row + 1} (evaluation row {known})" for row, known in copies[:_NAMED_ROWS]]
        more = f" and {len(copies) - _NAMED_ROWS} more" if len(copies) > _NAMED_ROWS else ""
        raise InputError(
            f"{len(copies)} of {len(texts[0])} rows are copied from the evaluation split: "
            f"{', '.join(first)}{more}",
            where=origin,
            remedy="take them out: who has learnt an evaluation row is not tested by it",
        )
