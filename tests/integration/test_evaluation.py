"""Evaluation and benchmark through the real `kedro` command, on the tiny distilled project."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
import yaml

from take.audit.release.manifest import check_release
from take.reuse.verify import verify
from tests.conftest import Project
from tests.integration.test_distillation import is_run, table

pytestmark = pytest.mark.cli

QUICK = {
    "evaluation": {
        "methods": ["distilled", "random", "full"],
        "learners": ["lr", "siamese_lr", "lr_rows"],
        "methods_by_learner": {},
        "sets": 2,
    },
    "benchmark": {
        "budgets": {"films": ["5/class"]},
        "quickly": {"methods": ["random", "take", "full"], "learners": ["lr"], "sets": 2},
    },
}


@pytest.fixture
def ready(distilled_films: Project) -> Project:
    """The distilled project with cheap learners, and no MLflow but where a test wants it."""
    settings = distilled_films.path / "conf/local/parameters.yml"
    settings.write_text(settings.read_text() + yaml.safe_dump(QUICK))
    untracked = {"tracking": {"disable_tracking": {"pipelines": ["evaluation", "benchmark"]}}}
    distilled_films.write("conf/local/mlflow.yml", yaml.safe_dump(untracked))
    return distilled_films


def evaluation(*given: str) -> tuple[str, ...]:
    return "run", "--pipeline=evaluation", f"--params={','.join(['corpus=films', *given])}"


def cell_files(project: Project) -> dict[Path, int]:
    folder = project.path / "data/08_reporting/cells/cells"
    return {path: path.stat().st_mtime_ns for path in folder.glob("*.json")}


def test_an_evaluation_is_shown_reused_and_extended_by_a_user_s_file(ready: Project) -> None:
    output = ready.kedro(*evaluation())
    assert is_run(output, "evaluation.evaluate_distilled")
    shown = ready.newest("evaluation_table.txt").read_text(encoding="utf-8").strip()
    assert shown in output
    for word in ("distilled", "random", "full", "lr_rows"):
        assert word in shown
    cells = table(ready, "evaluation_cells")
    assert cells["error"].isna().all()
    assert set(cells["learner"]) == {"lr", "lr_rows"}  # no pairs here
    assert cells.groupby("method").size().to_dict() == {"distilled": 4, "random": 4, "full": 2}
    assert (cells["evaluation_rows"] == len(table(ready, "evaluation_split"))).all()
    # A tenth of each class is validation rows, on which the training stops.
    sizes = table(ready, "corpus").groupby("label").size()
    expected = int((sizes - sizes // 10).sum())
    assert set(cells.query("method == 'full'")["rows"]) == {expected}
    report = json.loads(ready.newest("evaluation_report.json").read_text())
    mean = cells.query("method == 'random' and learner == 'lr'")["accuracy"].mean()
    assert report["scores"]["films 5/class"]["lr"]["random"]["mean"] == pytest.approx(mean)
    assert verify(ready.path / "data", check_release).problems == []

    # The grid is gone through again, for what may have failed; nothing is computed or new.
    before = cell_files(ready)
    again = ready.kedro(*evaluation())
    assert "Reusing the outputs of 'evaluation.summarise_cells'" in again
    assert shown in again  # shown all the same
    assert cell_files(ready) == before

    # A file and another learner: what was computed stays, and only their cells are added.
    kept, rows = cell_files(ready), rows_of(ready)
    rows.to_csv(ready.path / "rows.csv", index=False)
    given = evaluation(
        "evaluation.baselines.file=rows.csv", "evaluation.learners=lr lr_rows lr_phi"
    )
    more = ready.kedro(*given)
    assert is_run(more, "evaluation.evaluate_distilled")
    assert {path: stamp for path, stamp in cell_files(ready).items() if path in kept} == kept
    assert ready.newest("evaluation_table.txt").read_text(encoding="utf-8").strip() in more
    cells = table(ready, "evaluation_cells")
    assert set(cells["learner"]) == {"lr", "lr_rows", "lr_phi"}
    assert set(cells["method"]) == {"file", "distilled", "random", "full"}
    assert set(cells.query("method == 'file'")["rows"]) == {len(rows)}

    # The same name, other rows.
    rows.iloc[:-1].to_csv(ready.path / "rows.csv", index=False)
    assert is_run(ready.kedro(*given), "evaluation.evaluate_distilled")
    found = table(ready, "evaluation_cells").query("method == 'file'")
    assert set(found["rows"]) == {len(rows) - 1}


def rows_of(project: Project, name: str = "corpus", n_rows: int = 6) -> pd.DataFrame:
    return table(project, name)[["text", "label_name"]].groupby("label_name").head(n_rows)


def test_bad_requests_are_refused_before_anything_is_computed(ready: Project) -> None:
    """Every other kind of bad file: tests/pipelines/test_evaluation_nodes.py."""
    before = ready.artifacts()
    rows = pd.concat([rows_of(ready), rows_of(ready, "evaluation_split", 1)])
    rows.to_csv(ready.path / "rows.csv", index=False)
    copied = ready.kedro(*evaluation("evaluation.baselines.file=rows.csv"), ok=False)
    for words in (
        "rows.csv: 2 of 14 rows are copied from the evaluation split: row 13 (evaluation row ",
        "Fix: remove them",
    ):
        assert words in copied
    typo = ready.kedro(*evaluation("evaluation.methods=distilled randm"), ok=False)
    assert "no method is called 'randm'" in typo
    assert "did you mean 'random'" in typo
    assert "Running" not in typo
    for output in (copied, typo):
        assert "Error: " in output
        assert "Traceback" not in output
    assert ready.artifacts() == before


def test_a_quick_benchmark_runs_on_every_corpus_with_a_pool(ready: Project) -> None:
    half_made = ready.path / "data/07_model_output/plays"
    shutil.copytree(ready.path / "data/07_model_output/films", half_made)
    output = ready.kedro("run", "--pipeline=benchmark", "--params=benchmark.quick=true")
    cells = table(ready, "benchmark_cells")
    assert cells["error"].isna().all()
    assert set(cells["corpus"]) == {"films"}
    assert cells.groupby("method").size().to_dict() == {"random": 2, "take": 2, "full": 1}
    assert "films" in ready.newest("benchmark_table.txt").read_text(encoding="utf-8")
    assert is_run(output, "benchmark.run_benchmark")

    before = ready.artifacts()
    refused = ready.kedro(
        "run", "--pipeline=benchmark", "--params=benchmark.corpora=films sst2", ok=False
    )
    assert "corpus 'sst2' has no pool yet; ready are films" in refused
    assert "kedro run --pipeline=distill --params=corpus=sst2" in refused
    assert "Traceback" not in refused
    assert ready.artifacts() == before
