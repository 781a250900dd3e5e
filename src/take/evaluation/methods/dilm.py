"""DiLM's own distilled sets, as published with its code (Maekawa et al. 2024)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from take.corpus.reading import read_table
from take.corpus.sources import RawSplit
from take.errors import InputError
from take.evaluation.methods.errors import NotApplicableError
from take.evaluation.methods.labelled import checked_labels, checked_texts
from take.evaluation.methods.material import Material, TrainingSet
from take.evaluation.methods.settings import BaselineSettings
from take.rows.labelled import TEXT_COLUMNS


def dilm(material: Material, settings: BaselineSettings, seed: int) -> TrainingSet:
    """The set whose number is the seed, of the size that the budget asks for.

    `<dilm_root>/<corpus>.parquet` has the columns per_class, set, label (an id) and text, or text_a
    and text_b: twenty sets, 0 … 19, of 5, 10 and 20 rows per class.
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
            allowed="the same number for each class, as DiLM's sets have it",
            remedy="ask for 5/class, 10/class or 20/class",
        )
    return sizes.pop()


def _rows_of(table: pd.DataFrame, size: int, seed: int, path: Path) -> pd.DataFrame:
    """Rows of one set, in the file's order. A set is never used twice under two seeds."""
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
