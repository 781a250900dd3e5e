"""Grids of real learners on tiny models: what is computed and recorded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from take.evaluation.cells import CellResult, cells_table
from tests.evaluation.spies import Spy, spy  # noqa: F401 - a fixture
from tests.evaluation.tiny import World

# `spy` is both the fixture's name and what tests are handed.
# ruff: noqa: F811

SCORES = ("accuracy", "macro_f1", "accuracy_f1")


def test_the_cells_are_the_plan(world: World, tmp_path: Path, spy: Spy) -> None:
    experiment = world.experiment("full random", "lr textcnn siamese_lr")
    grid = world.grid(tmp_path, sets=3, trainings=2, full_sets=2)
    plan = list(grid.plan(experiment))
    assert plan == [
        *[("lr", "full", seed, 0) for seed in (0, 1)],  # solved to the optimum: trained once
        *[("lr", "random", seed, 0) for seed in (0, 1, 2)],
        *[("textcnn", "full", seed, training) for seed in (0, 1) for training in (0, 1)],
        *[("textcnn", "random", seed, training) for seed in (0, 1, 2) for training in (0, 1)],
    ]
    cells = grid.run([experiment])
    assert [(c.learner, c.method, c.set_seed, c.training_seed) for c in cells] == plan
    assert {(c.corpus, c.budget, c.code_version, c.error) for c in cells} == {
        ("films", "4/class", "test", None)
    }
    drawn = [training.seed for training in spy.trainings if training.learner == "textcnn"]
    assert drawn == [0, 1, 1000, 1001, 2000, 2001]
    assert [ceiling.seed for ceiling in spy.ceilings] == [0, 0, 1, 1000, 1001]
    # Learners that draw nothing are the same for every seed: the full corpus is learnt once.
    assert sum(training.learner == "lr" for training in spy.trainings) == 3
    full = [cell for cell in cells if cell.method == "full" and cell.learner == "lr"]
    assert full[0].fingerprint == full[1].fingerprint


def test_trainings_differ_and_so_do_their_models(world: World, tmp_path: Path, spy: Spy) -> None:
    world.grid(tmp_path, trainings=2).run([world.experiment("random", "textcnn")])
    queries = world.prepared.split()._texts
    logits = {training.model.logits(queries).tobytes() for training in spy.trainings}
    assert len(logits) == 4


def test_updates_are_equal_except_for_the_full_corpus(
    world: World, tmp_path: Path, spy: Spy
) -> None:
    methods = "full random eda kmeans take distilled"
    grid = world.grid(tmp_path)
    cells = grid.run([world.experiment(methods, "lr textcnn transformer")])
    assert {len(training.rows) for training in spy.trainings} == {8, 80}  # EDA: ten times as many
    for training in spy.trainings:
        assert training.updates == {"lr": None}.get(training.learner, 3)
    # The full corpus is trained on until validation rows of the corpus get no better.
    for ceiling in spy.ceilings:
        texts, held_out = (
            set(rows.texts.columns[0]) for rows in (ceiling.rows, ceiling.validation)
        )
        assert len(held_out) == 16
        assert texts | held_out <= set(world.prepared.corpus["text"])
        assert not texts & held_out
    for cell in cells:
        if cell.method == "full":
            assert len(cell.curve) > 1
            assert cell.rows < 160
        if cell.learner != "lr":
            assert cell.updates == 3 if cell.method != "full" else cell.updates > 3
    again = grid.run([world.experiment(methods, "lr textcnn transformer")])
    assert [cell.curve for cell in again] == [cell.curve for cell in cells]
    assert [(cell.rows, cell.updates) for cell in again] == [(c.rows, c.updates) for c in cells]


def test_sets_are_selected_from_the_pools_in_turn(world: World, tmp_path: Path) -> None:
    (first,) = world.prepared.pools
    kept = np.flatnonzero(first.rows["label"].groupby(first.rows["label"]).cumcount() >= 8)
    second = first._replace(
        number=7,
        rows=first.rows.iloc[kept].reset_index(drop=True),
        embeddings=first.embeddings.subset(kept),
    )
    experiment = world.experiment("take random", "lr", pools=(first, second))
    cells = world.grid(tmp_path, sets=4).run([experiment])
    pools = {cell.set_seed: cell.pool for cell in cells if cell.method == "take"}
    assert pools == {0: 0, 1: 7, 2: 0, 3: 7}
    assert {cell.pool for cell in cells if cell.method == "random"} == {None}
    # Rows of other methods do not depend on the number of pools.
    alone = world.grid(tmp_path / "alone", sets=4).run([world.experiment("random", "lr")])
    digests = [cell.set_digest for cell in cells if cell.method == "random"]
    assert [cell.set_digest for cell in alone] == digests
    allowed = set(second.rows["text"])
    sets = experiment.materials[1].pool
    assert sets is not None
    assert set(sets.texts[0]) == allowed


def test_the_constant_predicts_the_most_frequent_class(world: World, tmp_path: Path) -> None:
    corpus = world.prepared.corpus.copy()
    corpus.loc[:9, ["label", "label_name"]] = 1, "good"
    experiment = world.experiment("constant", "lr textcnn", corpus=corpus)
    grid = world.grid(tmp_path, sets=3, trainings=2)
    cells = grid.run([experiment])
    assert len(cells) == 2  # one for each learner, whatever the seeds
    labels = world.prepared.split()._labels
    for cell in cells:
        predicted = grid.store.predictions(cell.fingerprint)
        assert set(predicted.tolist()) == {1}
        rows = world.prepared.split().rows(cell.evaluation_rows)
        assert cell.accuracy == np.mean(labels[rows] == 1)


def test_the_headline_metric_follows_the_classes(world: World, tmp_path: Path) -> None:
    corpus = world.prepared.corpus.copy()
    corpus.loc[corpus.index[corpus["label"] == 0][:40], ["label", "label_name"]] = 1, "good"
    uneven = world.experiment("random", "lr char_lr", corpus=corpus)
    cells = world.grid(tmp_path, sets=1).run([uneven])
    assert [(cell.metric, cell.independent) for cell in cells] == [
        ("macro_f1", False),
        ("macro_f1", True),
    ]
    (even,) = world.grid(tmp_path, sets=1).run([world.experiment("random", "lr")])
    assert even.metric == "accuracy"


def test_a_slow_learner_is_trained_with_fewer_methods(world: World, tmp_path: Path) -> None:
    grid = world.grid(tmp_path, sets=1, methods_by_learner={"textcnn": ("take", "random")})
    cells = grid.run([world.experiment("random kmeans", "lr textcnn")])
    assert [(cell.learner, cell.method) for cell in cells] == [
        ("lr", "random"),
        ("lr", "kmeans"),
        ("textcnn", "random"),
    ]


def test_the_fields_of_a_cell(world: World, tmp_path: Path) -> None:
    experiment = world.experiment("random", "lr textrnn")
    grid = world.grid(tmp_path, sets=1)
    linear, network = grid.run([experiment])
    assert (linear.rows, linear.missing_classes, linear.evaluation_rows) == (8, 0, 30)
    assert network.evaluation_rows == 12  # `evaluation_rows` of this learner
    assert linear.set_digest == network.set_digest != ""
    assert linear.learner_title.startswith("logistic regression on TF-IDF")
    assert network.training_seconds > 0
    assert network.seconds == network.training_seconds + network.prediction_seconds
    assert network.peak_megabytes > 50
    assert linear.set_seconds >= 0
    split = world.prepared.split()
    for cell in (linear, network):
        assert all(0 <= getattr(cell, name) <= 1 for name in SCORES)
        predicted = grid.store.predictions(cell.fingerprint)
        assert predicted is not None
        assert len(predicted) == cell.evaluation_rows
        rows = split.rows(cell.evaluation_rows)
        assert cell.accuracy == np.mean(split._labels[rows] == predicted)


def test_a_table_of_cells_round_trips(world: World, tmp_path: Path) -> None:
    grid = world.grid(tmp_path, sets=1)
    experiment = world.experiment("random file", "lr textcnn")
    rows = world.prepared.pools[0].rows[["text", "label_name"]]
    rows.to_csv(tmp_path / "rows.csv", index=False)
    grid = world.grid(tmp_path, sets=1, baselines={"file": str(tmp_path / "rows.csv")})
    cells = grid.run([experiment])
    cells[0] = cells[0].model_copy(update={"error": "ValueError: no", "accuracy": None})
    cells_table(cells).to_parquet(tmp_path / "cells.parquet")
    rows_read = pd.read_parquet(tmp_path / "cells.parquet").to_dict("records")
    found = [
        {k: v.tolist() if k == "curve" else None if pd.isna(v) else v for k, v in row.items()}
        for row in rows_read
    ]
    assert [CellResult.model_validate(row) for row in found] == cells
