"""Distillation through the real `kedro` command: the real encoder, and a tiny language model."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from take.audit.release.manifest import check_release
from take.pipeline_registry import register_pipelines
from take.reuse.verify import verify
from tests.conftest import Project
from tests.integration.conftest import DISTILLATION, noisy_csv

pytestmark = pytest.mark.cli

DISTILL = ("run", "--pipeline=distill", "--params=corpus=films")
ROWS_PER_CLASS = 5
PLOTS = ("transport_plot", "coverage_plot", "budget_plot", "search_plot")
EXPORTS = ("distilled.parquet", "lineage.parquet")


def distillation(**settings: object) -> tuple[str, ...]:
    """The stage on its own; `__` stands for a dot."""
    given = [f"{name.replace('__', '.')}={value}" for name, value in settings.items()]
    return "run", "--pipeline=distillation", f"--params={','.join(['corpus=films', *given])}"


def table(project: Project, name: str) -> pd.DataFrame:
    return pd.read_parquet(project.newest(f"{name}.parquet"))


def report(project: Project, name: str) -> dict:
    return json.loads(project.newest(f"{name}.json").read_text())


def exports(project: Project) -> dict[str, bytes]:
    return {name: project.newest(name).read_bytes() for name in EXPORTS}


def versions(project: Project, name: str) -> list[Path]:
    return sorted(path for path in (project.path / "data").rglob(name) if path.is_file())


def is_run(output: str, node: str) -> bool:
    """Whether the node ran; it was reused if not, and one of the two is in the log."""
    assert (f"Running '{node}'" in output) != (f"Reusing the outputs of '{node}'" in output)
    return f"Running '{node}'" in output


def even_weights(project: Project) -> pd.Series:
    """The weights by id, normalised within each class, with classes of even mass."""
    weights = table(project, "weights").set_index("id")["weight"]
    labels = table(project, "corpus").set_index("id")["label"]
    return weights / weights.groupby(labels).transform("sum") / labels.nunique()


def test_the_distilled_rows_are_pool_rows_to_the_budget_of_each_class(
    distilled_once: Project,
) -> None:
    distilled, pool = (table(distilled_once, name) for name in ("distilled", "pool"))
    assert list(distilled) == ["id", "text", "label", "label_name", "weight"]
    assert distilled["label"].tolist() == [0] * ROWS_PER_CLASS + [1] * ROWS_PER_CLASS
    assert distilled["id"].is_unique
    origin = pool.set_index("id").loc[distilled["id"]]
    for column in ("text", "label", "label_name"):
        assert origin[column].tolist() == distilled[column].tolist()
    assert (distilled["weight"] == 1).all()
    assert distilled["id"].tolist() == table(distilled_once, "selection")["id"].tolist()


def test_the_lineage_adds_up(distilled_once: Project) -> None:
    distilled, corpus, lineage, totals, assignments = (
        table(distilled_once, name)
        for name in ("distilled", "corpus", "lineage", "lineage_totals", "assignments")
    )
    assert totals["id"].tolist() == distilled["id"].tolist()
    assert totals["assigned_mass"].sum() == pytest.approx(1, abs=1e-6)
    listed = lineage.groupby("id")["mass"].sum().reindex(totals["id"], fill_value=0).to_numpy()
    assert np.abs(listed + totals["unlisted_mass"] - totals["assigned_mass"]).max() < 1e-6
    assert (totals["unlisted_mass"] > 1e-3).any()  # else the cut was not tried
    assert lineage.groupby("id").size().max() == DISTILLATION["description"]["lineage_rows"]

    assert assignments["source_id"].tolist() == corpus["id"].tolist()
    assert set(assignments["id"]) <= set(distilled["id"])
    counted = assignments["id"].value_counts().reindex(totals["id"], fill_value=0)
    assert counted.tolist() == totals["rows"].tolist()
    # The masses are the weights of the rows assigned, added up from the tables alone.
    weights = even_weights(distilled_once)
    mass = assignments["source_id"].map(weights).groupby(assignments["id"]).sum()
    expected = mass.reindex(totals["id"], fill_value=0).to_numpy()
    np.testing.assert_allclose(totals["assigned_mass"], expected, atol=1e-9)
    # Each row stands for rows of its own class, and what is listed is quoted right.
    labels = corpus.set_index("id")["label_name"]
    own = distilled.set_index("id")["label_name"]
    assert (lineage["id"].map(own) == lineage["source_label_name"]).all()
    assert (assignments["id"].map(own) == assignments["source_id"].map(labels)).all()
    assert (
        lineage["source_id"].map(corpus.set_index("id")["text"]) == lineage["source_text"]
    ).all()


def test_reports_curve_and_plots_are_there_and_agree(distilled_once: Project) -> None:
    chosen = report(distilled_once, "selection_report")
    described = report(distilled_once, "distillation_report")
    assert chosen["rows"] == described["rows"] == 2 * ROWS_PER_CLASS
    assert chosen["budget"] == described["run"]["budget"] == "5/class"
    assert chosen["kept_rows"] is None
    # The noise in this corpus gives the exam something to do.
    assert chosen["figures"]["swaps"] >= 3
    assert chosen["figures"]["validation_loss"] < 0.8 * chosen["figures"]["validation_loss_before"]
    assert [step["sweep"] for step in chosen["steps"]] == list(range(len(chosen["steps"])))

    curve = table(distilled_once, "budget_curve")
    assert curve["rows_per_class"].tolist() == list(range(1, 2 * ROWS_PER_CLASS + 1))
    assert (curve["cost"].diff().dropna() <= 1e-12).all()
    assignments, weights = table(distilled_once, "assignments"), even_weights(distilled_once)
    cost = float(weights.to_numpy() @ assignments["distance"].to_numpy() ** 2)
    assert described["cost"] == pytest.approx(cost, rel=1e-4)
    corpus = table(distilled_once, "corpus")
    worst = table(distilled_once, "least_covered")
    assert set(worst["id"]) <= set(corpus["id"])
    assert worst["distance"].max() == pytest.approx(assignments["distance"].max(), rel=1e-4)
    for name in PLOTS:
        assert report(distilled_once, name)["data"], name


def test_nothing_is_left_over_and_everything_verifies(distilled_once: Project) -> None:
    assert " 0 problems" in distilled_once.kedro("verify")
    assert not list((distilled_once.path / "data/06_models/searches").glob("*"))


def test_mlflow_has_the_figures_and_neither_texts_nor_ids(distilled_once: Project) -> None:
    chosen = report(distilled_once, "selection_report")
    described = report(distilled_once, "distillation_report")
    with sqlite3.connect(distilled_once.path / "mlflow.db") as database:
        (run,) = (run for (run,) in database.execute("select run_uuid from runs"))
        logged = database.execute("select key, step, value from metrics").fetchall()
        tags = dict(database.execute("select key, value from tags"))
        params = dict(database.execute("select key, value from params"))
    metrics = {(key, step): value for key, step, value in logged}
    assert metrics["selection_report.rows", 0] == 2 * ROWS_PER_CLASS
    for step, line in enumerate(chosen["steps"]):
        assert metrics["selection_report.steps.validation_loss", step] == line["validation_loss"]
    assert metrics["distillation_report.cost", 0] == described["cost"]
    covered = described["coverage"]["own_class"]["mean"]
    assert metrics["distillation_report.coverage.own_class.mean", 0] == covered
    assert tags["selection_report.selector"] == params["distillation.selection.selector"] == "exam"
    assert params["distillation.budget"] == "5/class"
    assert len(tags["fingerprint.distilled"]) == 16

    folder = distilled_once.path / "mlartifacts" / run / "artifacts"
    kept = {path.name for path in folder.iterdir()}
    assert {f"{name}.json" for name in PLOTS} | {"budget_curve.parquet"} <= kept
    assert [name for name in kept if name.endswith(".parquet")] == ["budget_curve.parquet"]
    assert all(
        kind.kind in "if" for kind in pd.read_parquet(folder / "budget_curve.parquet").dtypes
    )
    stored = [
        distilled_once.path / "mlflow.db",
        *(distilled_once.path / "mlartifacts").rglob("*.*"),
    ]
    secrets = [
        value.encode()
        for name in ("corpus", "evaluation_split", "pool")
        for column in ("id", "text")
        for value in table(distilled_once, name)[column]
    ]
    for path in stored:
        content = path.read_bytes() if path.is_file() else b""
        assert not any(secret in content for secret in secrets), path


def test_a_second_run_reuses_everything(distilled_films: Project) -> None:
    before = distilled_films.artifacts()
    output = distilled_films.kedro(*DISTILL)
    assert output.count("nothing changed") == len(register_pipelines()["distill"].nodes)
    assert "Running" not in output
    assert distilled_films.artifacts() == before


def test_another_description_chooses_no_rows(distilled_films: Project) -> None:
    before = table(distilled_films, "distilled")
    output = distilled_films.kedro(
        *distillation(
            distillation__description__sample_weights="mass",
            distillation__description__lineage_rows=3,
        ),
        "--to-nodes=distillation.trace_rows",
    )
    assert not is_run(output, "distillation.select_rows")
    assert is_run(output, "distillation.trace_rows")
    assert "parameter distillation.description.sample_weights changed" in output
    assert len(versions(distilled_films, "selection.parquet")) == 1
    distilled, totals = (
        table(distilled_films, "distilled"),
        table(distilled_films, "lineage_totals"),
    )
    assert distilled.drop(columns="weight").equals(before.drop(columns="weight"))
    assert distilled["weight"].mean() == pytest.approx(1)
    np.testing.assert_allclose(distilled["weight"], totals["assigned_mass"] * len(distilled))
    assert table(distilled_films, "lineage").groupby("id").size().max() == 3


def test_another_selector_chooses_again_and_the_same_one_the_same_bytes(
    distilled_films: Project,
) -> None:
    first, chosen = exports(distilled_films), table(distilled_films, "selection")["id"]
    other = distillation(distillation__selection__selector="facility")
    output = distilled_films.kedro(*other, "--to-nodes=distillation.trace_rows")
    assert is_run(output, "distillation.select_rows")
    assert "selector changed from 'exam' to 'facility'" in output
    assert set(table(distilled_films, "selection")["id"]) != set(chosen)
    assert all(content != first[name] for name, content in exports(distilled_films).items())
    assert report(distilled_films, "selection_report")["steps"] == []

    output = distilled_films.kedro(*distillation())  # chosen again, in another process
    assert is_run(output, "distillation.select_rows")
    assert exports(distilled_films) == first
    assert len(versions(distilled_films, "distilled.parquet")) == 3


def test_invalid_settings_are_refused_before_anything_is_written(
    distilled_films: Project,
) -> None:
    before = distilled_films.artifacts()
    typo = distilled_films.kedro(
        *distillation(distillation__selection__selector="facilty"), ok=False
    )
    assert "selector is 'facilty'; registered are random, kmeans" in typo
    assert "Running" not in typo
    large = distilled_films.kedro(*distillation(budget="13/class"), ok=False)
    assert "there are 12 candidates" in large
    assert "at least 13 candidates (its budget)" in large
    assert "lower the budget, or generate a larger pool" in large
    for output in (typo, large):
        assert "Error: " in output
        assert "Traceback" not in output
    assert distilled_films.artifacts() == before


def test_a_grown_corpus_keeps_the_pool_and_most_rows(distilled_films: Project) -> None:
    before = {path: path.read_bytes() for path in versions(distilled_films, "distilled.parquet")}
    old_ids, old_rows = table(distilled_films, "distilled")["id"], table(distilled_films, "corpus")
    distilled_films.write("data/01_raw/films.csv", noisy_csv(330))
    output = distilled_films.kedro("run", "--pipeline=redistil", "--params=corpus=films")
    assert is_run(output, "embedding.embed_corpus")
    assert is_run(output, "distillation.select_rows")
    for node in register_pipelines()["generation"].nodes:
        assert node.name not in output
    assert len(versions(distilled_films, "pool.parquet")) == 1

    corpus, distilled = table(distilled_films, "corpus"), table(distilled_films, "distilled")
    assert len(corpus) > len(old_rows) + 20
    assert distilled["label"].value_counts().to_dict() == {0: ROWS_PER_CLASS, 1: ROWS_PER_CLASS}
    kept = int(old_ids.isin(distilled["id"]).sum())
    assert kept >= 0.8 * len(old_ids)
    chosen = report(distilled_films, "selection_report")
    assert chosen["kept_rows"] == kept
    assert f"{kept} of {len(old_ids)} rows distilled before are kept." in output
    assert table(distilled_films, "assignments")["source_id"].tolist() == corpus["id"].tolist()

    assert len(versions(distilled_films, "distilled.parquet")) == 2
    assert {path: path.read_bytes() for path in before} == before
    assert verify(distilled_films.path / "data", check_release).problems == []

    # The release tells of both corpora.
    manifest = json.loads(distilled_films.newest("manifest.json").read_text())
    assert manifest["command"].startswith("kedro run --pipeline=redistil ")
    assert {"raw_corpus", "raw_corpus, earlier"} <= set(manifest["inputs"])


def test_redistil_before_distill_is_refused(films: Project) -> None:
    output = films.kedro("run", "--pipeline=redistil", "--params=corpus=films", ok=False)
    assert "has not been made yet" in output
    assert "kedro run --pipeline=distill" in output
    assert "Traceback" not in output
    assert films.artifacts() == {}
