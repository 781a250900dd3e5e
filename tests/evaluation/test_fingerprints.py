"""What decides a cell or a training set changes its fingerprint, and nothing else does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from take.evaluation.grid_settings import LearnerChoices
from tests.evaluation.spies import Spy, spy  # noqa: F401 - a fixture
from tests.evaluation.tiny import World

# `spy` is both the fixture's name and what tests are handed.
# ruff: noqa: F811

SCORES = ("accuracy", "macro_f1", "accuracy_f1")


def fingerprint(world: World, folder: Path, **changes: Any) -> str:
    experiment = changes.pop("experiment", None) or world.experiment("random", "textcnn")
    (cell,) = world.grid(folder, sets=1, **changes).run([experiment])
    assert cell.error is None
    return cell.fingerprint


def other_choices(world: World, **training: Any) -> LearnerChoices:
    settings = world.choices.settings["textcnn"]
    changed = settings.training.model_copy(update=training)
    known = {"textcnn": settings.model_copy(update={"training": changed})}
    return LearnerChoices(settings=known)


def test_everything_that_decides_the_scores_changes_the_fingerprint(
    world: World, tmp_path: Path
) -> None:
    split = world.prepared.evaluation_split
    relabelled = split.assign(label=1 - split["label"], label_name=split["label_name"][::-1])
    reworded = split.assign(text=[f"{text} indeed" for text in split["text"]])
    one_row_set = world.experiment("random", "textcnn", budget="3/class")
    found = {
        "as it is": fingerprint(world, tmp_path),
        "updates": fingerprint(world, tmp_path, choices=other_choices(world, updates=4)),
        "rate": fingerprint(world, tmp_path, choices=other_choices(world, learning_rate=0.02)),
        "rows": fingerprint(world, tmp_path, experiment=one_row_set),
        "method": fingerprint(world, tmp_path, experiment=world.experiment("kmeans", "textcnn")),
        "labels": fingerprint(
            world,
            tmp_path,
            experiment=world.experiment("random", "textcnn", evaluation_split=relabelled),
        ),
        "texts": fingerprint(
            world,
            tmp_path,
            experiment=world.experiment("random", "textcnn", evaluation_split=reworded),
        ),
        "evaluation rows": fingerprint(
            world,
            tmp_path,
            choices=world.choices.model_copy(update={"evaluation_rows": {"textcnn": 9}}),
        ),
    }
    assert len(set(found.values())) == len(found)
    assert fingerprint(world, tmp_path) == found["as it is"]


def test_settings_of_eda_change_its_sets(world: World, tmp_path: Path, spy: Spy) -> None:
    experiment = world.experiment("eda", "lr")
    few = {"eda": {**world.baselines["eda"], "times": 3}}
    (many,) = world.grid(tmp_path, sets=1).run([experiment])
    (less,) = world.grid(tmp_path, sets=1, baselines=few).run([experiment])
    assert (many.rows, less.rows) == (80, 24)
    assert many.fingerprint != less.fingerprint


def test_equal_rows_are_trained_on_once_whatever_the_method(
    world: World, tmp_path: Path, spy: Spy
) -> None:
    weights = {kernel: f"take_kernel_{kernel}" for kernel in ("exponential", "constant")}
    methods = " ".join(["take", *weights.values()])
    selection = {"selector": "random", "tempering": 0.0}  # draws the same rows under any weights
    cells = world.grid(tmp_path, sets=1, baselines={"selection": selection}).run(
        [world.experiment(methods, "textcnn")]
    )
    assert [cell.method for cell in cells] == methods.split()
    assert len({cell.fingerprint for cell in cells}) == 1
    assert len(spy.sets) == 3
    assert len(spy.trainings) == 1
    assert len(list((tmp_path / "cells").glob("*.json"))) == 1


def test_a_user_s_file_does_not_remake_other_sets(world: World, tmp_path: Path) -> None:
    """Nor does the place of DiLM's sets: files count by contents, for their own method."""
    world.prepared.pools[0].rows[["text", "label_name"]].to_csv(tmp_path / "rows.csv", index=False)
    for named in ({}, {"file": str(tmp_path / "rows.csv")}, {"dilm_root": str(tmp_path)}):
        world.grid(tmp_path, sets=1, baselines=named).run([world.experiment("random take", "lr")])
    assert len(list((tmp_path / "sets").glob("*.json"))) == 2
