"""Methods whose rows exist already: distilled rows, a user's file, DiLM's published sets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from take.corpus.reading import read_table
from take.corpus.sources import RawSplit
from take.errors import InputError
from take.evaluation.methods.labelled_file import (
    checked_labels,
    checked_texts,
    checked_weights,
    read_labelled,
    warn_of_repeats,
)
from take.evaluation.methods.material import (
    BaselineSettings,
    Material,
    NotApplicableError,
    TrainingSet,
)
from take.rows.labelled import TEXT_COLUMNS

_NAMED_ROWS = 5


def distilled(material: Material, settings: BaselineSettings, seed: int) -> TrainingSet:
    """The rows that a run distilled; the same for every seed, and only at the run's budget."""
    if material.distilled is None:
        raise NotApplicableError(
            "there are no distilled rows",
            where=f"corpus {material.name}",
            remedy="run the pipeline 'distillation' first, or leave 'distilled' out",
        )
    found, budget = len(material.distilled), sum(material.budgets)
    if found != budget:
        raise InputError(
            f"the run distilled {found} rows",
            where=f"corpus {material.name}, method 'distilled'",
            allowed=f"{budget}, the budget of this evaluation",
            remedy="distil at this budget, or evaluate at the run's",
        )
    return material.distilled


def file(material: Material, settings: BaselineSettings, seed: int) -> TrainingSet:
    """The rows of `settings.file`, however many: the budget does not apply.

    Refused, with file and row: another task, blank texts, labels the corpus does not have, classes
    without rows, copies of evaluation rows. Repeated rows only give a warning.
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
            "copies of the evaluation split cannot be found without it",
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
            remedy="remove them: a learner trained on evaluation rows is not tested by them",
        )


def dilm(material: Material, settings: BaselineSettings, seed: int) -> TrainingSet:
    """DiLM's published set (Maekawa et al. 2024) whose number is the seed, at the budget's size.

    `<dilm_root>/<corpus>.parquet` has the columns per_class, set, label (an id) and text, or text_a
    and text_b: sets 0 … 19 of 5, 10 and 20 rows per class.
    """
    if settings.dilm_root is None:
        raise NotApplicableError(
            "dilm_root is not set",
            where="method 'dilm'",
            remedy="set it to the folder with DiLM's published sets, or leave 'dilm' out",
        )
    path = _published(Path(settings.dilm_root), material.name)
    columns = TEXT_COLUMNS[material.task]
    table = read_table(path, ["per_class", "set", "label", *columns])
    size = _size(material, path)
    rows = _rows_of(table, size, seed, path)
    split = RawSplit(rows, f"{path}, per_class {size}, set {seed}")
    texts = checked_texts(split, material.task)
    labels = checked_labels(split, material.class_names)
    counts = np.bincount(labels, minlength=len(material.class_names))
    if not (counts == size).all():
        raise InputError(
            f"the classes have {counts.tolist()} rows",
            where=split.origin,
            allowed=f"{size} of each",
            remedy="fetch the file again",
        )
    return TrainingSet(texts, labels, np.ones(len(labels)))


def _published(root: Path, corpus: str) -> Path:
    if not root.is_dir():
        raise InputError(
            "there is no such folder",
            where=str(root),
            remedy="check the path in evaluation.baselines.dilm_root",
        )
    path = root / f"{corpus}.parquet"
    if not path.is_file():
        found = ", ".join(sorted(other.stem for other in root.glob("*.parquet")))
        raise NotApplicableError(
            "there is no such file",
            where=str(path),
            allowed=f"the folder has sets of {found or 'no corpus'}",
            remedy="leave 'dilm' out for this corpus",
        )
    return path


def _size(material: Material, path: Path) -> int:
    sizes = set(material.budgets)
    if len(sizes) > 1:
        raise NotApplicableError(
            f"the budgets are {list(material.budgets)}",
            where=str(path),
            allowed="the same number for each class, as in DiLM's sets",
            remedy="set the budget to 5/class, 10/class or 20/class",
        )
    return sizes.pop()


def _rows_of(table: pd.DataFrame, size: int, seed: int, path: Path) -> pd.DataFrame:
    """Rows of one set, in the file's order. No set is used under two seeds."""
    of_size = table[table["per_class"] == size]
    rows = of_size[of_size["set"] == seed]
    if len(rows):
        return rows.reset_index(drop=True)
    if len(of_size):
        found, what, setting = sorted(set(of_size["set"])), f"set {seed}", "seeds"
    else:
        found, what, setting = sorted(set(table["per_class"])), f"set of {size} per class", "budget"
    raise NotApplicableError(
        f"there is no {what}",
        where=str(path),
        allowed=", ".join(map(str, found)) or "nothing, the file has no rows",
        remedy=f"choose the {setting} among them",
    )
