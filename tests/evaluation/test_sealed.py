"""The evaluation split is read only to evaluate trained models."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from take.evaluation.grid import Experiment
from take.learners import Texts
from tests.evaluation.spies import Spy, spy, watched_split  # noqa: F401 - a fixture
from tests.evaluation.tiny import World, table
from tests.learners import toy

# ruff: noqa: F811

METHODS = "random eda kmeans take_facility take distilled full"
LEARNERS = "lr lr_rows lr_phi textcnn textrnn transformer transformer_lpft transformer_contrastive"


def opened(experiment: Experiment, **parts: object) -> Experiment:
    return Experiment(**{**vars(experiment), **parts})


def test_the_split_is_read_only_to_evaluate_a_trained_model(
    world: World, tmp_path: Path, spy: Spy
) -> None:
    experiment = world.experiment(METHODS, LEARNERS)
    with watched_split(experiment.split, spy) as split:
        spy.clear()  # making it has counted its rows
        cells = world.grid(tmp_path, sets=1).run([opened(experiment, split=split)])
    assert [cell.error for cell in cells if cell.error] == []
    reads = [event for event in spy.events if "read by" in event]
    assert {event.rpartition(" ")[2] for event in reads} == {"identity", "evaluate"}
    # The digest is taken once; from then on labels and texts are read between a training and
    # the next thing that is done, never while rows are made or a learner is trained.
    events = [event for event in spy.events if "identity" not in event]
    assert spy.events.count("labels read by identity") == 1
    for before, event in pairwise(events):
        if "read by evaluate" in event:
            assert before == "trained" or "read by evaluate" in before
        if before == "trained":  # every model is evaluated: no score comes from anywhere else
            assert "read by evaluate" in event
    assert events.count("trained") == len(spy.trainings) + len(spy.ceilings) > 30
    assert len(spy.ceilings) == len(LEARNERS.split())


def test_an_early_read_of_the_split_would_be_noticed(
    world: World, tmp_path: Path, spy: Spy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test of the test above: a learner that peeks."""
    experiment = world.experiment("random", "lr")
    with watched_split(experiment.split, spy) as split:
        spy.clear()
        spy.before_training = lambda: (split._texts.columns, split._labels[0])
        world.grid(tmp_path, sets=1).run([opened(experiment, split=split)])
    assert "texts read by a stranger" in spy.events
    assert "labels read by a stranger" in spy.events


def trained_on(world: World, folder: Path, spy: Spy, **parts: object) -> tuple[list, list, list]:
    """The sets, the models' logits on probe texts, and the cells of a whole evaluation."""
    spy.clear()
    cells = world.grid(folder, sets=1).run([world.experiment(METHODS, LEARNERS, **parts)])
    assert [cell.error for cell in cells if cell.error] == []
    probe = Texts.of([*toy.sentences(20, 99)[0], "words of evaluation rows: excellent, dreadful"])
    trainings = [
        (training.learner, training.seed, training.updates, training.model.logits(probe))
        for training in spy.trainings
    ]
    return list(spy.sets), trainings, cells


def test_another_split_changes_neither_rows_nor_models(
    world: World, tmp_path: Path, spy: Spy
) -> None:
    sets, trainings, cells = trained_on(world, tmp_path / "one", spy)
    # Other rows, other words, other shares of the classes, another number of them.
    other = table(45, 77, "eval").iloc[5:]
    other = other.assign(text=[f"words of evaluation rows: {'dreadful' * i}" for i in range(40)])
    other = other.assign(label=1, label_name="good").reset_index(drop=True)
    other.loc[:3, ["label", "label_name"]] = 0, "bad"
    other_sets, other_trainings, other_cells = trained_on(
        world, tmp_path / "two", spy, evaluation_split=other
    )
    assert sets == other_sets
    assert len({digest for _, _, digest in sets}) == len(METHODS.split())
    assert len(trainings) == len(other_trainings) > 30
    for one, another in zip(trainings, other_trainings, strict=True):
        assert one[:3] == another[:3]
        np.testing.assert_array_equal(one[3], another[3])
    assert {cell.set_digest for cell in cells} == {cell.set_digest for cell in other_cells}
    # The split is really used: the scores differ.
    assert [cell.accuracy for cell in cells] != [cell.accuracy for cell in other_cells]
    assert not {c.fingerprint for c in cells} & {c.fingerprint for c in other_cells}
