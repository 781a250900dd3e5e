"""Grids of real learners on tiny models: what goes wrong, what is refused, and what is logged."""

from __future__ import annotations

import logging
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from take.errors import InputError
from take.evaluation.grid_settings import LearnerChoices
from take.evaluation.methods import METHODS
from tests.evaluation.spies import Spy, spy  # noqa: F401 - a fixture
from tests.evaluation.tiny import World, table

# `spy` is both the fixture's name and what tests are handed.
# ruff: noqa: F811

SCORES = ("accuracy", "macro_f1", "accuracy_f1")


def test_a_failing_method_does_not_stop_the_others(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(*given: Any) -> Any:
        raise MemoryError("no room for a million candidates")

    failing.__module__ = "take.evaluation.methods.herding"
    monkeypatch.setitem(METHODS, "herding", failing)
    experiment = world.experiment("random herding kmeans", "lr textcnn")
    cells = world.grid(tmp_path).run([experiment])
    failed = [cell for cell in cells if cell.error]
    assert {cell.method for cell in failed} == {"herding"}
    reasons = {cell.error for cell in failed}
    assert all(
        reason.startswith("MemoryError in test_grid_trouble.py, line ") for reason in reasons
    )
    assert all(cell.accuracy is None for cell in failed)
    assert len(cells) == 3 * 2 * 2
    assert "4 of 12 cells failed" in caplog.text
    monkeypatch.undo()  # failures are not stored: a cell that was fixed is computed
    assert all(cell.error is None for cell in world.grid(tmp_path).run([experiment]))


def test_a_failing_learner_does_not_stop_the_others(world: World, tmp_path: Path, spy: Spy) -> None:
    absent = world.choices.settings["transformer"].model_copy(update={"model": "no/such-model"})
    choices = LearnerChoices(settings={**world.choices.settings, "transformer": absent})
    experiment = world.experiment("random kmeans", "transformer lr")
    cells = world.grid(tmp_path, choices=choices).run([experiment])
    assert [bool(cell.error) for cell in cells] == [True] * 4 + [False] * 4
    assert all("no/such-model" in cell.error for cell in cells if cell.error)

    def fail_once() -> None:
        if len(spy.trainings) == 4 + 1:
            spy.trainings.append(spy.trainings[-1])
            raise RuntimeError("diverged")

    spy.before_training = fail_once
    errors = [
        cell.error for cell in world.grid(tmp_path).run([world.experiment("random", "textcnn")])
    ]
    # Where it happened, but not what others say of it: their messages may quote a text.
    assert errors[0] is None
    assert errors[1].startswith("RuntimeError in test_grid_trouble.py, line ")


def test_a_method_that_does_not_apply_is_skipped_and_logged_once(
    world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "take.evaluation.grid"):
        cells = world.grid(tmp_path).run([world.experiment("dilm random", "lr lr_rows")])
    assert {cell.method for cell in cells} == {"random"}
    assert [line for line in caplog.messages if "skipped" in line] == [
        "films: 'dilm' is skipped. method 'dilm': dilm_root is not set. Fix: set it to the "
        "folder with DiLM's published sets, or leave 'dilm' out."
    ]


def test_a_user_s_rows_are_refused_before_anything_is_computed(
    world: World, tmp_path: Path, spy: Spy
) -> None:
    rows = world.prepared.pools[0].rows[["text", "label_name"]].iloc[17:23]
    for seed in (0, 1):
        rows.to_csv(tmp_path / f"rows{seed}.csv", index=False)
    named = {"file": str(tmp_path / "rows{seed}.csv")}
    experiments = [
        world.experiment("random", "lr"),
        world.experiment("random file", "lr", budget="2/class"),
    ]
    cells = world.grid(tmp_path / "good", baselines=named).run(experiments)
    assert [(c.method, c.rows) for c in cells if c.budget == "2/class"] == [
        *[("random", 4)] * 2,
        *[("file", 6)] * 2,
    ]
    spy.clear()
    # The file of the second seed is bad, and the second experiment is the only one that reads it.
    rows.assign(label_name="fine").to_csv(tmp_path / "rows1.csv", index=False)
    with pytest.raises(InputError, match="rows1.csv, row 1, column 'label_name'.*'fine'"):
        world.grid(tmp_path / "bad", baselines=named).run(experiments)
    assert spy.trainings == []
    assert not (tmp_path / "bad").exists()


def test_a_user_s_file_is_read_once_and_warns_once(
    world: World, tmp_path: Path, spy: Spy, caplog: pytest.LogCaptureFixture
) -> None:
    rows = world.prepared.pools[0].rows[["text", "label_name"]].iloc[[0, 1, 2, 2, 39, 38]]
    rows.to_csv(tmp_path / "rows.csv", index=False)
    grid = world.grid(tmp_path, sets=4, baselines={"file": str(tmp_path / "rows.csv")})
    with caplog.at_level(logging.WARNING):
        cells = grid.run([world.experiment("file", "lr textcnn")])
    assert len(cells) == 8
    assert [name for name, _, _ in spy.sets] == ["file"]
    assert caplog.text.count("repeat the texts of an earlier one") == 1


def test_distilled_rows_of_another_budget_are_refused(world: World, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="distilled 8 rows.*Allowed: 6"):
        world.grid(tmp_path).run([world.experiment("distilled", "lr", budget="3/class")])
    assert not tmp_path.joinpath("cells").exists()


def test_rows_of_weight_0_are_not_trained_on(world: World, tmp_path: Path, spy: Spy) -> None:
    """Weights by mass leave some rows without any."""
    weights = [0.0, 1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    distilled = world.prepared.distilled.assign(weight=weights)
    cells = world.grid(tmp_path).run([world.experiment("distilled", "lr", distilled=distilled)])
    assert [(cell.error, cell.rows) for cell in cells] == [(None, 7)] * 2
    (training,) = spy.trainings
    assert training.rows.texts.columns[0] == tuple(distilled["text"][1:])
    np.testing.assert_allclose(training.rows.relative_weights, np.array(weights[1:]) * 7 / 8)


def test_an_unknown_learner_is_refused_wherever_it_is_named(
    world: World, tmp_path: Path, spy: Spy
) -> None:
    experiments = [world.experiment("random", "lr"), world.experiment("random", "lr textcn")]
    with pytest.raises(InputError, match="no learner is called 'textcn'.*did you mean 'textcnn'"):
        world.grid(tmp_path).run(experiments)
    with pytest.raises(InputError, match="no learner is called 'transfomer'"):
        world.grid(tmp_path, methods_by_learner={"transfomer": "random"}).run(experiments[:1])
    assert spy.events == []


def test_learners_of_pairs_are_trained_on_pairs(world: World, tmp_path: Path, spy: Spy) -> None:
    def paired(rows: pd.DataFrame) -> pd.DataFrame:
        pairs = rows.rename(columns={"text": "text_a"})
        return pairs.assign(text_b=rows["text"].to_numpy()[::-1])

    experiment = world.experiment("random", "lr siamese_lr lr_rows textcnn")
    corpus, split = paired(world.prepared.corpus), paired(world.prepared.evaluation_split)
    texts = [corpus["text_a"].tolist(), corpus["text_b"].tolist()]
    rows = replace(experiment.material.corpus, texts=texts)
    pairs = replace(
        experiment,
        materials=(replace(experiment.material, corpus=rows, pool=None, distilled=None),),
        split=replace(world.prepared, corpus=corpus, evaluation_split=split).split(),
    )
    cells = world.grid(tmp_path, sets=1).run([pairs])
    assert [(cell.learner, cell.error) for cell in cells] == [
        ("siamese_lr", None),
        ("textcnn", None),
    ]
    assert all(training.rows.texts.is_pair for training in spy.trainings)


def test_two_corpora_of_one_grid_share_no_cell(world: World, tmp_path: Path) -> None:
    other = world.prepared.corpus.assign(text=table(160, 9, "other")["text"])
    experiments = [
        world.experiment("random", "lr_rows"),
        world.experiment("random", "lr_rows", name="plays", corpus=other),
    ]
    cells = world.grid(tmp_path).run(experiments)
    assert [cell.corpus for cell in cells] == ["films", "films", "plays", "plays"]
    assert len({cell.fingerprint for cell in cells}) == 4


# --- what is logged meanwhile


def test_the_grid_logs_the_time_left(
    world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from take.evaluation import grid as grid_module
    from take.evaluation.progress import Progress

    monkeypatch.setattr(grid_module, "Progress", lambda *given: Progress(*given, every=0.0))
    experiment = world.experiment("random", "lr")
    with caplog.at_level(logging.INFO, logger="take"):
        world.grid(tmp_path).run([experiment])
    left = r"1 of 2 cells done, about [\d.]+ s left\. Last: films 4/class, lr trained on"
    assert re.search(left, caplog.text)
    assert "2 of 2 cells done" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="take"):
        world.grid(tmp_path).run([experiment])
    assert "cells done" not in caplog.text  # all out of the store
