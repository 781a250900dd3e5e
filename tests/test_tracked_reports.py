"""What MLflow, a real one, records of a report."""

from __future__ import annotations

import shutil
from pathlib import Path

import mlflow
import pytest
from mlflow.entities import Run

from take.datasets.artifact import ReportArtifact
from take.selection.exam.playoff import Playoff
from take.selection.selection_report import SearchStep, SelectionReport
from take.tracking import _log_artifact
from tests.audit.release.playoffs import decided, trial
from tests.audit.release.released import filled

NAME = "selection_report"


@pytest.fixture
def folder(tmp_path: Path, fresh_mlflow_db: Path) -> Path:
    shutil.copy(fresh_mlflow_db, tmp_path / "mlflow.db")
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    yield tmp_path
    mlflow.set_tracking_uri(before)


def logged(folder: Path, playoff: Playoff | None) -> Run:
    """The run in which a selection report is logged, read from the database."""
    report = filled(
        SelectionReport,
        selector="exam",
        figures={"validation_loss": 0.4},
        steps=[filled(SearchStep, sweep=n) for n in range(3)],
        playoff=playoff,
    )
    dataset = ReportArtifact(
        filepath=str(folder / f"{NAME}.json"),
        model="take.selection.selection_report.SelectionReport",
        metadata={"take": {"mlflow": "metrics"}},
    )
    dataset.save(report)
    assert dataset.load() == report  # nothing is left out of the report itself
    with mlflow.start_run() as run:
        _log_artifact(NAME, {NAME: dataset})
    return mlflow.get_run(run.info.run_id)


def test_of_a_playoff_the_winner_is_tracked_and_no_trial(folder: Path) -> None:
    few = decided()
    more = [trial(number, "textcnn", 0.5, 0.5) for number in range(3, 90)]
    run = logged(folder, few.model_copy(update={"trials": (*few.trials, *more)}))
    found = {key: value for key, value in run.data.metrics.items() if "playoff" in key}
    assert found == pytest.approx(
        {
            f"{NAME}.playoff.accuracy.transformer_lpft": 0.86,
            f"{NAME}.playoff.accuracy.textcnn": 0.81,
            f"{NAME}.playoff.fresh_accuracy.transformer_lpft": 0.81,
            f"{NAME}.playoff.fresh_accuracy.textcnn": 0.76,
        }
    )
    assert run.data.tags[f"{NAME}.playoff.recipe"] == "transformer_lpft"


def test_without_a_playoff_nothing_changes(folder: Path) -> None:
    run = logged(folder, None)
    assert not [key for key in (*run.data.metrics, *run.data.tags) if "playoff" in key]
    assert run.data.metrics[f"{NAME}.figures.validation_loss"] == 0.4
    assert run.data.metrics[f"{NAME}.steps.sweep"] == 2  # the last of three steps
    assert run.data.tags[f"{NAME}.selector"] == "exam"
