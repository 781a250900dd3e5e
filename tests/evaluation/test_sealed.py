"""The evaluation split is asked of models that have been taught, and read by nothing before."""

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
LEARNERS = "lr lr_rows lr_phi textcnn textrnn transformer"


def opened(bench: Experiment, **parts: object) -> Experiment:
    return Experiment(**{**vars(bench), **parts})


def test_the_split_is_read_by_nobody_but_who_asks_a_taught_model(
    world: World, tmp_path: Path, spy: Spy
) -> None:
    bench = world.bench(METHODS, LEARNERS)
    with watched_split(bench.split, spy) as split:
        spy.clear()  # making it has counted its rows
        cells = world.grid(tmp_path, sets=1).run([opened(bench, split=split)])
    assert [cell.error for cell in cells if cell.error] == []
    reads = [event for event in spy.events if "read by" in event]
    assert {event.rpartition(" ")[2] for event in reads} == {"identity", "evaluate"}
    # The digest is taken once; from then on labels and texts are read between a lesson and
    # the next thing that is done, never while rows are made or a learner is taught.
    told = [event for event in spy.events if "identity" not in event]
    assert spy.events.count("labels read by identity") == 1
    for before, event in pairwise(told):
        if "read by evaluate" in event:
            assert before == "trained" or "read by evaluate" in before
        if before == "trained":  # every model is asked: no score is from anywhere else
            assert "read by evaluate" in event
    assert told.count("trained") == len(spy.trainings) > 30


def test_who_reads_the_split_too_early_would_be_seen(
    world: World, tmp_path: Path, spy: Spy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test of the test above: a learner that peeks."""
    bench = world.bench("random", "lr")
    with watched_split(bench.split, spy) as split:
        spy.clear()
        spy.before_training = lambda: (split._texts.columns, split._labels[0])
        world.grid(tmp_path, sets=1).run([opened(bench, split=split)])
    assert "texts read by a stranger" in spy.events
    assert "labels read by a stranger" in spy.events


def taught_on(world: World, folder: Path, spy: Spy, **parts: object) -> tuple[list, list, list]:
    """The sets, the models' logits on probe texts, and the cells of a whole evaluation."""
    spy.clear()
    cells = world.grid(folder, sets=1).run([world.bench(METHODS, LEARNERS, **parts)])
    assert [cell.error for cell in cells if cell.error] == []
    probe = Texts.of([*toy.sentences(20, 99)[0], "words of asked rows: excellent, dreadful"])
    lessons = [
        (training.learner, training.seed, training.updates, training.model.logits(probe))
        for training in spy.trainings
    ]
    return list(spy.sets), lessons, cells


def test_another_split_changes_neither_rows_nor_models(
    world: World, tmp_path: Path, spy: Spy
) -> None:
    sets, lessons, cells = taught_on(world, tmp_path / "one", spy)
    # Other rows, other words, other shares of the classes, another number of them.
    other = table(45, 77, "asked").iloc[5:]
    other = other.assign(text=[f"words of asked rows: {'dreadful' * i}" for i in range(40)])
    other = other.assign(label=1, label_name="good").reset_index(drop=True)
    other.loc[:3, ["label", "label_name"]] = 0, "bad"
    other_sets, other_lessons, other_cells = taught_on(
        world, tmp_path / "two", spy, evaluation_split=other
    )
    assert sets == other_sets
    assert len({digest for _, _, digest in sets}) == len(METHODS.split())
    assert len(lessons) == len(other_lessons) > 30
    for one, another in zip(lessons, other_lessons, strict=True):
        assert one[:3] == another[:3]
        np.testing.assert_array_equal(one[3], another[3])
    assert {cell.set_digest for cell in cells} == {cell.set_digest for cell in other_cells}
    # It is not that nothing is asked: the scores are others.
    assert [cell.accuracy for cell in cells] != [cell.accuracy for cell in other_cells]
    assert not {c.fingerprint for c in cells} & {c.fingerprint for c in other_cells}
