"""The code of a card, run in a release with the real MiniLM: it learns what TAKE's learner does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from take.audit.release.folder import write_release
from take.encoder.models import EncoderModel, EncoderSettings
from take.learners import DEFAULTS, Shared, Texts, TrainingRows, make_learner
from take.selection.selection_report import SelectionReport
from tests.audit.release.playoffs import decided
from tests.audit.release.released import corpus_report, facts, filled, released

pytestmark = pytest.mark.encoder

TOPICS = {
    "sport": ["the match", "a goal", "the striker", "our team", "the league", "a penalty"],
    "food": ["the soup", "a pie", "the oven", "our cook", "the sauce", "a salad"],
    "space": ["the rocket", "a comet", "the orbit", "our moon", "the telescope", "a galaxy"],
}
SEEN = ["everybody talked about {}", "{} was really good today"]
OTHERS = ["yesterday {} surprised me", "{} and {} in one evening", "nothing to say about {}"]


def sentences(patterns: list[str], n_classes: int) -> tuple[list[str], np.ndarray]:
    """By topic; where a sentence names two things, the second is of the next topic."""
    topics = list(TOPICS.values())[:n_classes]
    found = [
        (pattern.format(thing, topics[label - 1][place]), label)
        for pattern in patterns
        for label, things in enumerate(topics)
        for place, thing in enumerate(things)
    ]
    return [text for text, _ in found], np.array([label for _, label in found])


def columns(texts: list[str], pair: bool) -> list[list[str]]:
    return [[f"note {len(text) % 5}" for text in texts], texts] if pair else [texts]


def release(folder: Path, recipe: str, texts: list[list[str]], labels: np.ndarray) -> None:
    names = list(TOPICS)[: labels.max() + 1]
    text_names = ["text_a", "text_b"] if len(texts) == 2 else ["text"]
    distilled = pd.DataFrame(
        {
            "id": [f"d{place:04x}" for place in range(len(labels))],
            **dict(zip(text_names, texts, strict=True)),
            "label": labels,
            "label_name": [names[label] for label in labels],
            "weight": 1.0,
        }
    )
    made = facts(
        names,
        distilled=distilled,
        corpus_report=corpus_report(names, task="pair" if len(texts) == 2 else "single"),
        selection_report=filled(SelectionReport, selector="exam", playoff=decided(recipe)),
    )
    write_release(released(made), folder)


def run(card: str, updates: int) -> dict[str, Any]:
    """The names that the code has at its end; a few updates will do."""
    import torch

    [code] = re.findall(r"^```python\n(import torch\n.*?)^```$", card, re.MULTILINE | re.DOTALL)
    folder = EncoderModel(EncoderSettings()).folder
    code, changes = re.subn(
        r'^FOLDER, MODEL, UPDATES = "\.", "sentence-transformers/all-MiniLM-L6-v2", \d+$',
        f'FOLDER, MODEL, UPDATES = ".", {str(folder)!r}, {updates}',
        code,
        flags=re.MULTILINE,
    )
    assert changes == 1
    names: dict[str, Any] = {}
    with torch.random.fork_rng(devices=[]):
        exec(compile(code, "README.md", "exec"), names)
    return names


@pytest.mark.parametrize(
    ("recipe", "pair", "n_classes", "updates"),
    [
        ("transformer_lpft", False, 2, 12),
        ("transformer_lpft", True, 3, 12),
        ("transformer_contrastive", False, 3, 12),
        ("transformer_contrastive", True, 2, 12),
        ("transformer", False, 2, 20),
        ("transformer", True, 3, 20),
    ],
)
def test_the_code_does_what_the_learner_does(
    recipe: str,
    pair: bool,
    n_classes: int,
    updates: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    import datasets

    texts, labels = sentences(SEEN, n_classes)
    release(tmp_path / "release", recipe, columns(texts, pair), labels)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.chdir(tmp_path / "release")
    code = run((tmp_path / "release/README.md").read_text(encoding="utf-8"), updates)
    assert capsys.readouterr().out.strip() in [f"['{name}']" for name in TOPICS]
    names = list(TOPICS)
    assert code["predict"](*columns(texts, pair)) == [names[label] for label in labels]

    rows = TrainingRows(Texts.of(*columns(texts, pair)), labels, n_classes)
    model = make_learner(DEFAULTS[recipe], Shared()).fit(rows, seed=0, updates=updates)
    others = columns(sentences(OTHERS, n_classes)[0], pair)
    ours = model.logits(Texts.of(*others))
    theirs = code["head"](code["all_states"](*others)).detach().numpy()
    assert (ours.argmax(axis=1) == theirs.argmax(axis=1)).mean() >= 0.9
    centred = [each - each.mean(axis=1, keepdims=True) for each in (ours, theirs)]
    assert np.corrcoef(*map(np.ravel, centred))[0, 1] > 0.99
