"""The nodes of `evaluation` on tiny models: no Kedro run."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from take.errors import InputError
from take.evaluation.prepared_corpus import PreparedCorpus
from take.pipelines.evaluation import nodes
from tests.evaluation.tiny import BUDGET, COPIES, SCORING, SELECTION, World

METHODS = "distilled random kmeans full constant"
LEARNERS = "lr lr_phi siamese_lr textcnn"


def evaluated(
    world: World, folder: Path, budget: str | int = BUDGET, **settings: Any
) -> nodes.Evaluated:
    (pool,) = world.prepared.pools
    parts = {
        field.name: getattr(world.prepared, field.name)
        for field in dataclasses.fields(PreparedCorpus)
        if field.name not in ("name", "pools")
    }
    return nodes.evaluate_distilled(
        **parts,
        pool=pool.rows,
        ledger=pool.ledger,
        pool_embeddings=pool.embeddings,
        generator_rows=pool.generator_rows,
        encoder=world.encoder,
        folder=folder,
        scoring=SCORING,
        selection=SELECTION,
        copies=COPIES,
        choices=world.choices,
        budget=budget,
        settings=world.evaluation(**{"methods": METHODS, "learners": LEARNERS, **settings}),
    )


def evaluated_cells(*given: Any, **settings: Any) -> pd.DataFrame:
    return evaluated(*given, **settings).cells


def user_file(folder: Path) -> dict[str, str]:
    return {"file": str(folder / "rows.csv")}


def test_an_evaluation_from_rows_to_plots(world: World, tmp_path: Path) -> None:
    cells, outcomes = evaluated(world, tmp_path)
    assert cells["error"].isna().all()
    assert set(cells["corpus"]) == {"films"}
    assert set(cells["budget"]) == {BUDGET}
    assert list(dict.fromkeys(cells["learner"])) == ["lr", "lr_phi", "textcnn"]
    assert list(dict.fromkeys(cells["method"])) == METHODS.split()
    assert cells["code_version"].str.startswith("0.").all()

    found = nodes.summarise_cells(cells, outcomes)
    assert len(found.summary) == 3 * 5
    assert (found.summary["over"] != "not measured").all()
    assert found.summary["standard_error"].notna().all()
    mean = cells.query("learner == 'lr' and method == 'random'")["accuracy"].mean()
    scored = found.report.scores[f"films {BUDGET}"]["lr"]
    assert scored["random"].mean == pytest.approx(mean)
    assert scored["random"].seeds == 2
    assert scored["random"].macro_f1 == pytest.approx(
        cells.query("learner == 'lr' and method == 'random'")["macro_f1"].mean()
    )
    assert (scored["full"].share_kept, scored["constant"].share_kept) == (1, 0)
    by_kind = found.report.learners[f"films {BUDGET}"]
    assert {kind: its["random"].learners for kind, its in by_kind.items()} == {
        "independent": 1,
        "same_features": 2,
    }
    assert found.report.headline[f"films {BUDGET}"] == pytest.approx(
        cells.query("learner == 'textcnn' and method == 'distilled'")["accuracy"].mean()
    )
    assert "Independent learners: distilled is shown to be better than random in" in found.table
    assert (found.report.cells, found.report.failed_cells) == (len(cells), 0)
    assert set(found.comparisons["method"]) == {"distilled"}
    assert set(found.comparisons["other"]) >= {"random", "kmeans"}
    for word in ("distilled", "random", "lr", "textcnn"):
        assert word in found.table
    texts = [*world.prepared.corpus["text"], *world.prepared.pools[0].rows["text"]]
    shown = (found.table, found.report.model_dump_json(), found.summary.to_csv())
    pictures = (found.scores_plot.to_json(), found.margins_plot.to_json())
    for content in (*shown, *pictures):
        assert not any(text in content for text in texts)


def test_a_second_evaluation_reuses_the_stored_cells(world: World, tmp_path: Path) -> None:
    first = evaluated_cells(world, tmp_path)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")}
    again = evaluated_cells(world, tmp_path)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")} == kept
    columns = [name for name in first if name != "set_seconds"]
    pd.testing.assert_frame_equal(first[columns], again[columns])


def test_a_number_is_a_budget(world: World, tmp_path: Path) -> None:
    cells = evaluated_cells(world, tmp_path, budget=8, methods="random", learners="lr")
    assert (cells["rows"] == 8).all()
    assert set(cells["budget"]) == {"8"}


def test_a_user_s_file_is_evaluated_with_the_other_methods(world: World, tmp_path: Path) -> None:
    rows = world.prepared.pools[0].rows[["text", "label_name"]].iloc[15:27]
    rows.to_csv(tmp_path / "rows.csv", index=False)
    cells, outcomes = evaluated(
        world,
        tmp_path,
        baselines=user_file(tmp_path),
        methods="random distilled",
        learners="lr textcnn",
    )
    assert set(cells["method"]) == {"file", "random", "distilled"}
    assert set(cells.query("method == 'file'")["rows"]) == {12}
    assert cells["error"].isna().all()
    found = nodes.summarise_cells(cells, outcomes)
    assert "file" in set(found.summary["method"])
    assert "file" in found.table


def test_other_rows_under_the_same_name_are_evaluated_again(world: World, tmp_path: Path) -> None:
    rows = world.prepared.pools[0].rows[["text", "label_name"]].iloc[17:23]
    requested = {"methods": "random", "learners": "lr_rows", "baselines": user_file(tmp_path)}
    for count in (6, 5):
        rows.iloc[:count].to_csv(tmp_path / "rows.csv", index=False)
        cells = evaluated_cells(world, tmp_path, **requested)
        assert set(cells.query("method == 'file'")["rows"]) == {count}
    with pytest.raises(InputError, match="no file is named.*evaluation.baselines.file"):
        evaluated_cells(world, tmp_path, methods="file random", learners="lr_rows")


BAD = ("unknown label", "missing class", "empty text", "copied row", "pairs")


def bad_files(world: World) -> dict[str, tuple[pd.DataFrame, tuple[str, ...]]]:
    """What is wrong, and what the message has to say: row, value, remedy."""
    good = world.prepared.pools[0].rows[["text", "label_name"]].iloc[17:23].reset_index(drop=True)
    copied = world.prepared.evaluation_split[["text", "label_name"]].iloc[:1]
    return {
        "unknown label": (
            good.replace({"label_name": {"good": "goood"}}),
            ("row 4, column 'label_name'", "unknown label 'goood'", "did you mean 'good'"),
        ),
        "missing class": (
            good[good["label_name"] == "bad"],
            ("no row has the label 'good'", "Allowed: rows of each", "add rows of it"),
        ),
        "empty text": (
            good.assign(text=good["text"].where(good.index != 2, "  ")),
            ("row 3, column 'text'", "fill it or drop the row"),
        ),
        "copied row": (
            pd.concat([good, copied]),
            ("1 of 7 rows are copied", "row 7 (evaluation row eval-0)", "remove them"),
        ),
        "pairs": (
            good.rename(columns={"text": "text_a"}).assign(text_b="b"),
            ("its rows are pairs", "Allowed: single texts", "evaluate it on the corpus"),
        ),
    }


@pytest.mark.parametrize("problem", BAD)
def test_bad_files_are_refused_before_anything_is_computed(
    world: World, tmp_path: Path, problem: str
) -> None:
    rows, words = bad_files(world)[problem]
    rows.to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(InputError) as caught:
        evaluated_cells(world, tmp_path / "cells", baselines=user_file(tmp_path))
    for word in ("rows.csv", "Fix: ", *words):
        assert word in str(caught.value)
    assert not (tmp_path / "cells").exists()


def test_failed_cells_are_counted_and_shown(world: World, tmp_path: Path) -> None:
    cells, outcomes = evaluated(world, tmp_path, methods="random distilled", learners="lr")
    cells.loc[cells["method"] == "distilled", ["accuracy", "macro_f1", "accuracy_f1"]] = None
    cells.loc[cells["method"] == "distilled", "error"] = "MemoryError: too small"
    found = nodes.summarise_cells(cells, outcomes)
    assert found.report.failed_cells == 2
    assert "distilled" not in found.report.scores[f"films {BUDGET}"]["lr"]
