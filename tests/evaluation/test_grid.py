"""Grids of real learners on tiny models: what is computed, kept, resumed and recorded."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from take.baselines.registry import METHODS
from take.errors import InputError
from take.evaluation.cells import cells_of, cells_table
from take.evaluation.grid import Bench
from take.evaluation.settings import LearnerChoices
from tests.baselines.conftest import make_material
from tests.evaluation.spies import Spy, spy  # noqa: F401 - a fixture
from tests.evaluation.tiny import World, table

# `spy` is both the fixture's name and what tests are handed.
# ruff: noqa: F811

SCORES = ("accuracy", "macro_f1", "accuracy_f1")


def files(folder: Path, kind: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / kind).glob("*")}


# --- what is computed


def test_the_cells_are_the_plan(world: World, tmp_path: Path, spy: Spy) -> None:
    bench = world.bench("full random", "lr textcnn siamese_lr")
    grid = world.grid(tmp_path, sets=3, trainings=2, full_sets=2)
    plan = list(grid.plan(bench))
    assert plan == [
        *[("lr", "full", seed, 0) for seed in (0, 1)],  # solved to the optimum: trained once
        *[("lr", "random", seed, 0) for seed in (0, 1, 2)],
        *[("textcnn", "full", seed, training) for seed in (0, 1) for training in (0, 1)],
        *[("textcnn", "random", seed, training) for seed in (0, 1, 2) for training in (0, 1)],
    ]
    cells = grid.run([bench])
    assert [(c.learner, c.method, c.set_seed, c.training_seed) for c in cells] == plan
    assert {(c.corpus, c.budget, c.code_version, c.error) for c in cells} == {
        ("films", "4/class", "test", None)
    }
    drawn = [lesson.seed for lesson in spy.lessons if lesson.learner == "textcnn"]
    assert drawn == [0, 1, 1000, 1001, 0, 1, 1000, 1001, 2000, 2001]
    # Learners that draw nothing are the same for every seed: the full corpus is learnt once.
    assert sum(lesson.learner == "lr" for lesson in spy.lessons) == 4
    full = [cell for cell in cells if cell.method == "full" and cell.learner == "lr"]
    assert full[0].fingerprint == full[1].fingerprint


def test_trainings_differ_and_so_do_their_models(world: World, tmp_path: Path, spy: Spy) -> None:
    world.grid(tmp_path, trainings=2).run([world.bench("random", "textcnn")])
    asked = world.prepared.split()._texts
    logits = {lesson.model.logits(asked).tobytes() for lesson in spy.lessons}
    assert len(logits) == 4


def test_updates_are_matched_but_for_the_full_corpus(
    world: World, tmp_path: Path, spy: Spy
) -> None:
    methods = "full random eda kmeans take distilled"
    cells = world.grid(tmp_path, full_updates=7).run(
        [world.bench(methods, "lr textcnn transformer")]
    )
    assert {len(lesson.rows) for lesson in spy.lessons} == {8, 80, 160}  # EDA has ten times as many
    for lesson in spy.lessons:
        wanted = {"lr": None}.get(lesson.learner, 7 if len(lesson.rows) == 160 else 3)
        assert lesson.updates == wanted
    for cell in cells:
        wanted = {"lr": None}.get(cell.learner, 7 if cell.method == "full" else 3)
        assert cell.updates == wanted


def test_a_slow_learner_is_taught_by_fewer_methods(world: World, tmp_path: Path) -> None:
    grid = world.grid(tmp_path, sets=1, methods_by_learner={"textcnn": ("take", "random")})
    cells = grid.run([world.bench("random kmeans", "lr textcnn")])
    assert [(cell.learner, cell.method) for cell in cells] == [
        ("lr", "random"),
        ("lr", "kmeans"),
        ("textcnn", "random"),
    ]


def test_what_a_cell_says_of_itself(world: World, tmp_path: Path) -> None:
    bench = world.bench("random", "lr textrnn")
    grid = world.grid(tmp_path, sets=1)
    linear, network = grid.run([bench])
    assert (linear.rows, linear.missing_classes, linear.asked_rows) == (8, 0, 30)
    assert network.asked_rows == 12  # `asked_rows` of this learner
    assert linear.set_digest == network.set_digest != ""
    assert linear.learner_title.startswith("logistic regression on TF-IDF")
    assert network.teach_seconds > 0
    assert network.seconds == network.teach_seconds + network.ask_seconds
    assert network.peak_megabytes > 50
    assert linear.set_seconds >= 0
    split = world.prepared.split()
    for cell in (linear, network):
        assert all(0 <= getattr(cell, name) <= 1 for name in SCORES)
        predicted = grid.store.predictions(cell.fingerprint)
        assert len(predicted) == cell.asked_rows
        rows, _ = split._questions(cell.asked_rows)
        assert cell.accuracy == np.mean(split._labels[rows] == predicted)


def test_a_table_of_cells_is_the_cells(world: World, tmp_path: Path) -> None:
    grid = world.grid(tmp_path, sets=1)
    bench = world.bench("random file", "lr textcnn")
    rows = world.prepared.pool[["text", "label_name"]]
    rows.to_csv(tmp_path / "rows.csv", index=False)
    grid = world.grid(tmp_path, sets=1, baselines={"file": str(tmp_path / "rows.csv")})
    cells = grid.run([bench])
    cells[0] = cells[0].model_copy(update={"error": "ValueError: no", "accuracy": None})
    cells_table(cells).to_parquet(tmp_path / "cells.parquet")
    assert cells_of(pd.read_parquet(tmp_path / "cells.parquet")) == cells


# --- what is kept


def test_a_second_run_computes_nothing_whatever_the_method(
    world: World, tmp_path: Path, spy: Spy
) -> None:
    methods = " ".join(name for name in METHODS if name not in ("file", "dilm"))
    bench = world.bench(methods, "lr textcnn")
    cells = world.grid(tmp_path).run([bench])
    assert [cell.error for cell in cells if cell.error] == []
    assert len(spy.lessons) > 50
    before = files(tmp_path, "cells"), files(tmp_path, "sets")
    spy.clear()
    again = world.grid(tmp_path).run([world.bench(methods, "lr textcnn")])
    timeless = {"set_seconds"}  # `full` and `distilled` are made again: quicker than read
    assert [cell.model_dump(exclude=timeless) for cell in again] == [
        cell.model_dump(exclude=timeless) for cell in cells
    ]
    assert spy.lessons == []
    assert {name for name, _, _ in spy.sets} == {"full", "distilled"}
    assert (files(tmp_path, "cells"), files(tmp_path, "sets")) == before


def test_a_killed_run_goes_on_where_it_stopped(world: World, tmp_path: Path, spy: Spy) -> None:
    bench = world.bench("random kmeans", "lr textcnn")
    whole = world.grid(tmp_path / "whole").run([bench])
    spy.clear()

    def interrupt() -> None:
        if len(spy.lessons) == 5:
            raise KeyboardInterrupt

    spy.before_teaching = interrupt
    with pytest.raises(KeyboardInterrupt):
        world.grid(tmp_path / "killed").run([bench])
    assert len(files(tmp_path / "killed", "cells")) == 2 * 5  # each with its predictions
    spy.before_teaching = lambda: None
    spy.clear()
    resumed = world.grid(tmp_path / "killed").run([bench])
    assert len(spy.lessons) == len(whole) - 5
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
def test_a_damaged_cell_is_computed_anew(
    world: World, tmp_path: Path, spy: Spy, damage: Any, caplog: pytest.LogCaptureFixture
) -> None:
    bench = world.bench("random kmeans", "textcnn")
    cells = world.grid(tmp_path).run([bench])
    path = tmp_path / "cells" / f"{cells[1].fingerprint}.json"
    path.write_bytes(damage(path.read_bytes()))
    spy.clear()
    again = world.grid(tmp_path).run([bench])
    assert len(spy.lessons) == 1
    assert f"{path.name} cannot be read" in caplog.text
    assert [cell.error for cell in again] == [None] * 4
    assert [cell.accuracy for cell in again] == [cell.accuracy for cell in cells]
    spy.clear()
    world.grid(tmp_path).run([bench])
    assert spy.lessons == []


def with_another_word(content: bytes) -> bytes:
    assert b" film " in content
    return content.replace(b" film ", b" plum ", 1)


@pytest.mark.parametrize(
    "damage", [truncated, of_another_kind, without_its_texts, with_another_word]
)
def test_a_damaged_set_is_made_anew(world: World, tmp_path: Path, spy: Spy, damage: Any) -> None:
    bench = world.bench("kmeans", "lr")
    cells = world.grid(tmp_path, sets=1).run([bench])
    (path,) = (tmp_path / "sets").iterdir()
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    made = list(spy.sets)
    spy.clear()
    again = world.grid(tmp_path, sets=1).run([bench])
    assert spy.sets == made
    assert spy.lessons == []  # the same rows: the cell still stands
    assert [cell.set_digest for cell in again] == [cell.set_digest for cell in cells]
    assert damage(path.read_bytes()) != path.read_bytes()


def test_only_what_is_stored_can_be_shown(world: World, tmp_path: Path, spy: Spy) -> None:
    bench = world.bench("random kmeans full", "lr textcnn")
    assert world.grid(tmp_path, stored=True).run([bench]) == []
    some = world.grid(tmp_path).run([world.bench("random", "textcnn")])
    spy.clear()
    before = files(tmp_path, "cells"), files(tmp_path, "sets")
    shown = world.grid(tmp_path, stored=True).run([bench])
    assert shown == some
    assert spy.lessons == []
    assert {name for name, _, _ in spy.sets} <= {"full"}
    assert (files(tmp_path, "cells"), files(tmp_path, "sets")) == before


# --- what a fingerprint is of


def fingerprint(world: World, folder: Path, **changes: Any) -> str:
    bench = changes.pop("bench", None) or world.bench("random", "textcnn")
    (cell,) = world.grid(folder, sets=1, **changes).run([bench])
    assert cell.error is None
    return cell.fingerprint


def other_choices(world: World, **training: Any) -> LearnerChoices:
    settings = world.choices.settings["textcnn"]
    changed = settings.training.model_copy(update=training)
    known = {"textcnn": settings.model_copy(update={"training": changed})}
    return LearnerChoices(settings=known)


def test_all_that_decides_the_scores_changes_the_fingerprint(world: World, tmp_path: Path) -> None:
    split = world.prepared.evaluation_split
    relabelled = split.assign(label=1 - split["label"], label_name=split["label_name"][::-1])
    reworded = split.assign(text=[f"{text} indeed" for text in split["text"]])
    one_row_set = world.bench("random", "textcnn", budget="3/class")
    found = {
        "as it is": fingerprint(world, tmp_path),
        "updates": fingerprint(world, tmp_path, choices=other_choices(world, updates=4)),
        "rate": fingerprint(world, tmp_path, choices=other_choices(world, learning_rate=0.02)),
        "rows": fingerprint(world, tmp_path, bench=one_row_set),
        "method": fingerprint(world, tmp_path, bench=world.bench("kmeans", "textcnn")),
        "labels asked": fingerprint(
            world, tmp_path, bench=world.bench("random", "textcnn", evaluation_split=relabelled)
        ),
        "texts asked": fingerprint(
            world, tmp_path, bench=world.bench("random", "textcnn", evaluation_split=reworded)
        ),
        "rows asked": fingerprint(
            world, tmp_path, choices=world.choices.model_copy(update={"asked_rows": {"textcnn": 9}})
        ),
    }
    assert len(set(found.values())) == len(found)
    assert fingerprint(world, tmp_path) == found["as it is"]


def test_what_a_user_changes_about_eda_makes_other_sets(
    world: World, tmp_path: Path, spy: Spy
) -> None:
    bench = world.bench("eda", "lr")
    few = {"eda": {**world.baselines["eda"], "times": 3}}
    (many,) = world.grid(tmp_path, sets=1).run([bench])
    (less,) = world.grid(tmp_path, sets=1, baselines=few).run([bench])
    assert (many.rows, less.rows) == (80, 24)
    assert many.fingerprint != less.fingerprint


def test_equal_rows_are_taught_once_whatever_the_method_is_called(
    world: World, tmp_path: Path, spy: Spy
) -> None:
    weights = {kernel: f"take_kernel_{kernel}" for kernel in ("exponential", "constant")}
    methods = " ".join(["take", *weights.values()])
    selection = {"selector": "random", "tempering": 0.0}  # draws the same rows under any weights
    cells = world.grid(tmp_path, sets=1, baselines={"selection": selection}).run(
        [world.bench(methods, "textcnn")]
    )
    assert [cell.method for cell in cells] == methods.split()
    assert len({cell.fingerprint for cell in cells}) == 1
    assert len(spy.sets) == 3
    assert len(spy.lessons) == 1
    assert len(list((tmp_path / "cells").glob("*.json"))) == 1


# --- what goes wrong


def test_a_method_that_fails_stops_nobody_else(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(*given: Any) -> Any:
        raise MemoryError("no room for a million candidates")

    failing.__module__ = "take.baselines.herding"
    monkeypatch.setitem(METHODS, "herding", failing)
    bench = world.bench("random herding kmeans", "lr textcnn")
    cells = world.grid(tmp_path).run([bench])
    failed = [cell for cell in cells if cell.error]
    assert {cell.method for cell in failed} == {"herding"}
    reasons = {cell.error for cell in failed}
    assert all(reason.startswith("MemoryError in test_grid.py, line ") for reason in reasons)
    assert all(cell.accuracy is None for cell in failed)
    assert len(cells) == 3 * 2 * 2
    assert "4 of 12 cells failed" in caplog.text
    monkeypatch.undo()  # it is not remembered: what has been mended is computed
    assert all(cell.error is None for cell in world.grid(tmp_path).run([bench]))


def test_a_learner_that_fails_stops_nobody_else(world: World, tmp_path: Path, spy: Spy) -> None:
    absent = world.choices.settings["transformer"].model_copy(update={"model": "no/such-model"})
    choices = LearnerChoices(settings={**world.choices.settings, "transformer": absent})
    bench = world.bench("random kmeans", "transformer lr")
    cells = world.grid(tmp_path, choices=choices).run([bench])
    assert [bool(cell.error) for cell in cells] == [True] * 4 + [False] * 4
    assert all("no/such-model" in cell.error for cell in cells if cell.error)

    def fail_once() -> None:
        if len(spy.lessons) == 4 + 1:
            spy.lessons.append(spy.lessons[-1])
            raise RuntimeError("diverged")

    spy.before_teaching = fail_once
    errors = [cell.error for cell in world.grid(tmp_path).run([world.bench("random", "textcnn")])]
    # Where it happened, but not what others say of it: their messages may quote a text.
    assert errors[0] is None
    assert errors[1].startswith("RuntimeError in test_grid.py, line ")


def test_what_does_not_apply_is_left_out_and_said_once(
    world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "take.evaluation.grid"):
        cells = world.grid(tmp_path).run([world.bench("dilm random", "lr lr_rows")])
    assert {cell.method for cell in cells} == {"random"}
    assert [line for line in caplog.messages if "left out" in line] == [
        "films: 'dilm' is left out. method 'dilm': dilm_root is not set. To mend: set it to the "
        "folder with DiLM's published sets, or leave 'dilm' out."
    ]


def test_a_user_s_rows_are_refused_before_anything_is_computed(
    world: World, tmp_path: Path, spy: Spy
) -> None:
    rows = world.prepared.pool[["text", "label_name"]].iloc[17:23]
    for seed in (0, 1):
        rows.to_csv(tmp_path / f"rows{seed}.csv", index=False)
    named = {"file": str(tmp_path / "rows{seed}.csv")}
    benches = [world.bench("random", "lr"), world.bench("random file", "lr", budget="2/class")]
    cells = world.grid(tmp_path / "good", baselines=named).run(benches)
    assert [(c.method, c.rows) for c in cells if c.budget == "2/class"] == [
        *[("random", 4)] * 2,
        *[("file", 6)] * 2,
    ]
    spy.clear()
    # The file of the second seed is bad, and the second bench is the only one that reads it.
    rows.assign(label_name="fine").to_csv(tmp_path / "rows1.csv", index=False)
    with pytest.raises(InputError, match="rows1.csv, row 1, column 'label_name'.*'fine'"):
        world.grid(tmp_path / "bad", baselines=named).run(benches)
    assert spy.lessons == []
    assert not (tmp_path / "bad").exists()


def test_a_user_s_file_is_read_once_and_warned_of_once(
    world: World, tmp_path: Path, spy: Spy, caplog: pytest.LogCaptureFixture
) -> None:
    rows = world.prepared.pool[["text", "label_name"]].iloc[[0, 1, 2, 2, 39, 38]]
    rows.to_csv(tmp_path / "rows.csv", index=False)
    grid = world.grid(tmp_path, sets=4, baselines={"file": str(tmp_path / "rows.csv")})
    with caplog.at_level(logging.WARNING):
        cells = grid.run([world.bench("file", "lr textcnn")])
    assert len(cells) == 8
    assert [name for name, _, _ in spy.sets] == ["file"]
    assert caplog.text.count("repeat the texts of an earlier one") == 1


def test_distilled_rows_of_another_budget_are_refused(world: World, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="distilled 8 rows.*Allowed: 6"):
        world.grid(tmp_path).run([world.bench("distilled", "lr", budget="3/class")])
    assert not tmp_path.joinpath("cells").exists()


def test_rows_that_weigh_nothing_are_not_taught(world: World, tmp_path: Path, spy: Spy) -> None:
    """Weights by mass leave some rows without any."""
    weights = [0.0, 1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    distilled = world.prepared.distilled.assign(weight=weights)
    cells = world.grid(tmp_path).run([world.bench("distilled", "lr", distilled=distilled)])
    assert [(cell.error, cell.rows) for cell in cells] == [(None, 7)] * 2
    (lesson,) = spy.lessons
    assert lesson.rows.texts.columns[0] == tuple(distilled["text"][1:])
    np.testing.assert_allclose(lesson.rows.relative_weights, np.array(weights[1:]) * 7 / 8)


def test_an_unknown_learner_is_refused_wherever_it_is_named(
    world: World, tmp_path: Path, spy: Spy
) -> None:
    benches = [world.bench("random", "lr"), world.bench("random", "lr textcn")]
    with pytest.raises(InputError, match="no learner is called 'textcn'.*did you mean 'textcnn'"):
        world.grid(tmp_path).run(benches)
    with pytest.raises(InputError, match="no learner is called 'transfomer'"):
        world.grid(tmp_path, methods_by_learner={"transfomer": "random"}).run(benches[:1])
    assert spy.events == []


def test_pairs_are_taught_to_learners_of_pairs(world: World, tmp_path: Path, spy: Spy) -> None:
    def paired(rows: pd.DataFrame) -> pd.DataFrame:
        pairs = rows.rename(columns={"text": "text_a"})
        return pairs.assign(text_b=rows["text"].to_numpy()[::-1])

    bench = world.bench("random", "lr siamese_lr lr_rows textcnn")
    corpus, split = paired(world.prepared.corpus), paired(world.prepared.evaluation_split)
    texts = [corpus["text_a"].tolist(), corpus["text_b"].tolist()]
    rows = replace(bench.material.corpus, texts=texts)
    pairs = replace(
        bench,
        material=replace(bench.material, corpus=rows, pool=None, distilled=None),
        split=replace(world.prepared, corpus=corpus, evaluation_split=split).split(),
    )
    cells = world.grid(tmp_path, sets=1).run([pairs])
    assert [(cell.learner, cell.error) for cell in cells] == [
        ("siamese_lr", None),
        ("textcnn", None),
    ]
    assert all(lesson.rows.texts.is_pair for lesson in spy.lessons)


def test_two_corpora_of_one_grid_share_no_cell(world: World, tmp_path: Path) -> None:
    other = world.prepared.corpus.assign(text=table(160, 9, "other")["text"])
    benches = [
        world.bench("random", "lr_rows"),
        world.bench("random", "lr_rows", name="plays", corpus=other),
    ]
    cells = world.grid(tmp_path).run(benches)
    assert [cell.corpus for cell in cells] == ["films", "films", "plays", "plays"]
    assert len({cell.fingerprint for cell in cells}) == 4


# --- what is said meanwhile


def test_the_grid_says_how_long_it_will_take(
    world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from take.evaluation import grid as grid_module
    from take.evaluation.progress import Progress

    monkeypatch.setattr(grid_module, "Progress", lambda *given: Progress(*given, every=0.0))
    bench = world.bench("random", "lr")
    with caplog.at_level(logging.INFO, logger="take"):
        world.grid(tmp_path).run([bench])
    assert "1 of 2 cells done, about 0 s left. Last: films 4/class, lr taught by" in caplog.text
    assert "2 of 2 cells done" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="take"):
        world.grid(tmp_path).run([bench])
    assert "cells done" not in caplog.text  # all out of the store


def test_a_metric_that_the_corpus_does_not_have_is_refused_first(
    world: World, tmp_path: Path, spy: Spy
) -> None:
    bench = world.bench("random", "lr")
    three = Bench(**{**vars(bench), "material": make_material()})
    grid = world.grid(tmp_path, metrics={bench.corpus: "accuracy_f1"})
    with pytest.raises(InputError, match="accuracy_f1, but there are 3 classes.*name another"):
        grid.run([three])
    assert spy.lessons == []
