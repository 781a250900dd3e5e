"""A corpus of three classes, a pool, and a WordNet of six synsets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from take.evaluation.methods.material import EvaluationCopies, Material
from take.rows.blocks import ArrayBlocks
from take.rows.labelled import LabelledRows
from take.text.copies import CopySettings
from take.text.related import RelatedRows

CLASSES = ("bad", "fair", "good")


def labelled(count: int, seed: int, pairs: bool = False, n_classes: int = 3) -> LabelledRows:
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(count) % n_classes)
    points = rng.standard_normal((count, 6)) + 2 * np.eye(6)[labels]
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    phi = ArrayBlocks(points.astype(np.float32))
    texts = [f"row {i} of {seed}: a {CLASSES[label]} film" for i, label in enumerate(labels)]
    columns = [texts, [f"so the film is {CLASSES[label]}" for label in labels]]
    return LabelledRows(phi, columns if pairs else columns[:1], labels)


def kernel_weights(name: str) -> np.ndarray:
    weights = np.random.default_rng(len(name)).gamma(1.0, 1.0, 90)
    return weights / weights.sum()


def make_material(pairs: bool = False, **changes) -> Material:
    columns = (
        {"text_a": ["Held out!"], "text_b": ["And so on."]} if pairs else {"text": ["Held out!"]}
    )
    split = pd.DataFrame({"id": ["e0"], **columns, "label": [0]})
    weights = np.random.default_rng(5).gamma(1.0, 1.0, 90)
    corpus = changes.get("corpus", labelled(90, 1, pairs))
    given = {
        "name": "films",
        "corpus": corpus,
        "weights": weights / weights.sum(),
        "class_names": CLASSES,
        "budgets": (4, 4, 4),
        "pool": labelled(60, 2, pairs),
        "unseen": np.arange(90),
        # The rows are near copies of each other.
        "related": RelatedRows(
            list(zip(*corpus.texts, strict=True)), CopySettings(near_copy_overlap=1.0)
        ),
        "evaluation": EvaluationCopies(split),
        "kernel_weights": kernel_weights,
        "unfiltered": lambda: labelled(75, 3, pairs),
    }
    return Material(**{**given, **changes})


@pytest.fixture
def material() -> Material:
    return make_material()


DATA = {
    "data.noun1": "  1 a licence  \n"
    '00001 10 n 03 film 0 movie 0 motion_picture 0 001 @ 00002 n 0000 | a story; "x | y"  \n'
    "00002 03 n 01 entity 0 000 | what is  ",  # as in the package, the first half ends without \n
    "data.noun2": "00003 03 n 02 war 0 warfare 0 000 | strife  \n",
    "data.verb": "00004 29 v 02 film 0 shoot 1 000 | make a film  \n",
    "data.adj": "00005 00 a 02 dull(p) 0 boring 0 000 | not interesting  \n",
    "data.adv": "00006 02 r 01 Dully 0 000 | in a dull manner  \n",
}


@pytest.fixture
def wordnet(tmp_path: Path) -> str:
    folder = tmp_path / "wordnet"
    folder.mkdir()
    for name, content in DATA.items():
        (folder / name).write_text(content, encoding="utf-8")
    return str(folder)
