"""Grids of real learners on tiny models: what is kept, resumed and made again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from take.evaluation.methods import METHODS
from tests.evaluation.spies import Spy, spy  # noqa: F401 - a fixture
from tests.evaluation.tiny import World

# `spy` is both the fixture's name and what tests are handed.
# ruff: noqa: F811

SCORES = ("accuracy", "macro_f1", "accuracy_f1")


def files(folder: Path, kind: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / kind).glob("*")}


def test_a_second_run_computes_nothing_whatever_the_method(
    world: World, tmp_path: Path, spy: Spy
) -> None:
    methods = " ".join(name for name in METHODS if name not in ("file", "dilm"))
    experiment = world.experiment(methods, "lr textcnn")
    cells = world.grid(tmp_path).run([experiment])
    assert [cell.error for cell in cells if cell.error] == []
    assert len(spy.trainings) > 50
    before = files(tmp_path, "cells"), files(tmp_path, "sets")
    spy.clear()
    again = world.grid(tmp_path).run([world.experiment(methods, "lr textcnn")])
    timeless = {"set_seconds"}  # `full` and `distilled` are made again: quicker than read
    assert [cell.model_dump(exclude=timeless) for cell in again] == [
        cell.model_dump(exclude=timeless) for cell in cells
    ]
    assert spy.trainings == []
    assert {name for name, _, _ in spy.sets} == {"full", "distilled"}
    assert (files(tmp_path, "cells"), files(tmp_path, "sets")) == before


def test_a_killed_run_resumes(world: World, tmp_path: Path, spy: Spy) -> None:
    experiment = world.experiment("random kmeans", "lr textcnn")
    whole = world.grid(tmp_path / "whole").run([experiment])
    spy.clear()

    def interrupt() -> None:
        if len(spy.trainings) == 5:
            raise KeyboardInterrupt

    spy.before_training = interrupt
    with pytest.raises(KeyboardInterrupt):
        world.grid(tmp_path / "killed").run([experiment])
    assert len(files(tmp_path / "killed", "cells")) == 5
    spy.before_training = lambda: None
    spy.clear()
    resumed = world.grid(tmp_path / "killed").run([experiment])
    assert len(spy.trainings) == len(whole) - 5
    assert spy.sets == []
    for one, other in zip(whole, resumed, strict=True):
        assert [getattr(one, name) for name in SCORES] == [getattr(other, name) for name in SCORES]
        assert one.fingerprint == other.fingerprint


def truncated(content: bytes) -> bytes:
    return content[: len(content) // 2]


def of_another_version(content: bytes) -> bytes:
    return b'{"colour": "red",' + content.lstrip()[1:]


def of_another_kind(content: bytes) -> bytes:
    return b"[1, 2]"


def without_its_texts(content: bytes) -> bytes:
    return content.replace(b'"texts"', b'"tests"').replace(b'"corpus"', b'"corps"')


DAMAGES = [truncated, of_another_version, of_another_kind, without_its_texts]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_cell_is_computed_again(
    world: World, tmp_path: Path, spy: Spy, damage: Any, caplog: pytest.LogCaptureFixture
) -> None:
    experiment = world.experiment("random kmeans", "textcnn")
    cells = world.grid(tmp_path).run([experiment])
    path = tmp_path / "cells" / f"{cells[1].fingerprint}.json"
    path.write_bytes(damage(path.read_bytes()))
    spy.clear()
    again = world.grid(tmp_path).run([experiment])
    assert len(spy.trainings) == 1
    assert f"{path.name} is damaged" in caplog.text
    assert [cell.error for cell in again] == [None] * 4
    assert [cell.accuracy for cell in again] == [cell.accuracy for cell in cells]
    spy.clear()
    world.grid(tmp_path).run([experiment])
    assert spy.trainings == []


def with_another_word(content: bytes) -> bytes:
    assert b" film " in content
    return content.replace(b" film ", b" plum ", 1)


@pytest.mark.parametrize(
    "damage", [truncated, of_another_kind, without_its_texts, with_another_word]
)
def test_a_damaged_set_is_made_again(world: World, tmp_path: Path, spy: Spy, damage: Any) -> None:
    experiment = world.experiment("kmeans", "lr")
    cells = world.grid(tmp_path, sets=1).run([experiment])
    (path,) = (tmp_path / "sets").iterdir()
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    made = list(spy.sets)
    spy.clear()
    again = world.grid(tmp_path, sets=1).run([experiment])
    assert spy.sets == made
    assert spy.trainings == []  # the same rows: the cell still stands
    assert [cell.set_digest for cell in again] == [cell.set_digest for cell in cells]
    assert damage(path.read_bytes()) != path.read_bytes()


def test_only_what_is_stored_can_be_shown(world: World, tmp_path: Path, spy: Spy) -> None:
    experiment = world.experiment("random kmeans full", "lr textcnn")
    assert world.grid(tmp_path, stored=True).run([experiment]) == []
    some = world.grid(tmp_path).run([world.experiment("random", "textcnn")])
    spy.clear()
    before = files(tmp_path, "cells"), files(tmp_path, "sets")
    shown = world.grid(tmp_path, stored=True).run([experiment])
    assert shown == some
    assert spy.trainings == []
    assert {name for name, _, _ in spy.sets} <= {"full"}
    assert (files(tmp_path, "cells"), files(tmp_path, "sets")) == before
