"""The audit through the real `kedro` command: the real encoder, and a tiny language model."""

from __future__ import annotations

import csv
import io
import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml

from take.audit.release.manifest import check_release
from take.reuse.verify import verify
from tests.conftest import Project

pytestmark = pytest.mark.cli

AUDIT = ("run", "--pipeline=audit", "--params=corpus=films")


def release(project: Project) -> Path:
    return project.newest("SHA256SUMS").parent


def report(project: Project, name: str) -> dict:
    return json.loads(project.newest(f"{name}.json").read_text())


def audit(**settings: object) -> tuple[str, ...]:
    """The stage on its own; `__` stands for a dot."""
    given = [f"audit.{name.replace('__', '.')}={value}" for name, value in settings.items()]
    return "run", "--pipeline=audit", f"--params={','.join(['corpus=films', *given])}"


def test_all_formats_hold_the_same_rows(distilled_once: Project) -> None:
    distilled = pd.read_parquet(distilled_once.newest("distilled.parquet"))
    folder = release(distilled_once)
    lines = (folder / "distilled.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == distilled.to_dict("records")
    written = (folder / "distilled.csv").read_bytes().decode()
    rows = list(csv.DictReader(io.StringIO(written, newline="")))
    assert [row["id"] for row in rows] == distilled["id"].tolist()
    assert [row["text"] for row in rows] == distilled["text"].tolist()  # none begins a formula
    table = pq.read_table(folder / "data/train-00000-of-00001.parquet")
    assert table.to_pylist() == distilled.to_dict("records")
    features = json.loads(table.schema.metadata[b"huggingface"])["info"]["features"]
    assert features["label"]["names"] == ["bad", "good"]


def test_the_release_is_complete_and_says_how_it_was_made(distilled_once: Project) -> None:
    folder = release(distilled_once)
    files = {path.name for path in folder.rglob("*") if path.is_file()}
    assert files == {
        *("README.md", "report.html", "audit.json", "manifest.json", "SHA256SUMS"),
        *("distilled.csv", "distilled.jsonl", "lineage_totals.parquet"),
        "train-00000-of-00001.parquet",
    }
    manifest = json.loads((folder / "manifest.json").read_text())
    fine_tuning = manifest["parameters"]["generation.fine_tune"]["generation.fine_tuning"]
    assert fine_tuning["canaries"]["planted"] == 32
    assert {"raw_corpus", "encoder", "language_model"} <= set(manifest["inputs"])
    assert manifest["verdict"] == report(distilled_once, "privacy_report")["verdict"]
    header = yaml.safe_load((folder / "README.md").read_text().split("---\n")[1])
    assert header["configs"][0]["data_files"][0]["path"] == "data/train-*.parquet"
    done = subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=folder, capture_output=True)
    assert done.returncode == 0, done.stderr


def test_nothing_of_the_corpus_is_released(distilled_once: Project) -> None:
    corpus = pd.read_parquet(distilled_once.newest("corpus.parquet"))
    rows = pd.read_parquet(distilled_once.newest("distilled.parquet"))
    # A tiny model trained for ten epochs does write rows of this corpus; those are its own.
    secrets = [*corpus["id"], *(set(corpus["text"]) - set(rows["text"]))]
    for path in release(distilled_once).rglob("*"):
        if path.is_file():
            content = path.read_bytes().decode("utf-8", errors="replace")
            assert not [secret for secret in secrets if secret in content], path
    page = distilled_once.newest("audit_page.html").read_text()
    assert sum(text in page for text in corpus["text"]) > 20  # the internal one has them


def test_the_cost_of_each_node_is_in_the_report(distilled_once: Project) -> None:
    page = distilled_once.newest("audit_page.html").read_text()
    for node in ("fine_tune", "select_rows", "attack_generator"):
        assert node in page
    record = json.loads(distilled_once.newest("pool.parquet.record.json").read_text())
    assert record["cost"]["seconds"] > 0
    assert record["cost"]["peak_megabytes"] > 100


def test_the_gate_finds_no_copy_in_the_pool_by_its_own_rule(distilled_once: Project) -> None:
    found = report(distilled_once, "privacy_report")
    for table in found["copies"].values():
        assert (table["train"]["verbatim"], table["train"]["near_copies"]) == (0, 0)
        assert (table["evaluation"]["verbatim"], table["evaluation"]["near_copies"]) == (0, 0)
    assert found["changed_limits"]["near_copies_block"] is None
    assert (
        "Limits that are not the built-in ones"
        in (release(distilled_once) / "README.md").read_text()
    )


def test_block_stops_the_export_and_an_override_by_name_is_recorded(
    distilled_films: Project,
) -> None:
    before = distilled_films.artifacts()
    shut = audit(gate__limits__closer_block=0.01)
    output = distilled_films.kedro(*shut, ok=False)
    assert "The privacy gate blocks the release; nothing was exported." in output
    assert "Traceback" not in output
    assert report(distilled_films, "privacy_report")["blocked"]
    assert len([name for name in distilled_films.artifacts() if "SHA256SUMS" in str(name)]) == len(
        [name for name in before if "SHA256SUMS" in str(name)]
    )
    blocking = [
        check["name"]
        for check in report(distilled_films, "privacy_report")["checks"]
        if check["verdict"] == "block"
    ]
    overrides = ",".join(f"audit.gate.override.{name}=J. Doe (made-up films)" for name in blocking)
    output = distilled_films.kedro(*shut[:-1], f"{shut[-1]},{overrides}")
    assert f"Check '{blocking[0]}' is overridden: J. Doe (made-up films)." in output
    manifest = json.loads((release(distilled_films) / "manifest.json").read_text())
    assert manifest["overrides"] == dict.fromkeys(blocking, "J. Doe (made-up films)")
    for name in ("README.md", "report.html"):
        assert "J. Doe" in (release(distilled_films) / name).read_text()


def test_a_changed_limit_does_not_run_the_language_model(distilled_films: Project) -> None:
    output = distilled_films.kedro(*audit(gate__limits__closer_review=0.9))
    assert "Reusing the outputs of 'audit.attack_generator'" in output
    assert "Reusing the outputs of 'audit.screen_rows'" in output
    assert "Running 'audit.judge_privacy'" in output


def test_verify_covers_the_release_wherever_it_is(distilled_films: Project, tmp_path: Path) -> None:
    copied = tmp_path / "released"
    shutil.copytree(release(distilled_films), copied / "films")
    assert verify(copied, check_release).problems == []
    (copied / "films/distilled.csv").write_text("id,text\n")
    (problem,) = verify(copied, check_release).problems
    assert "distilled.csv" in problem
    (release(distilled_films) / "README.md").write_text("altered")
    assert "README.md" in distilled_films.kedro("verify", ok=False)


def test_a_report_for_release_has_no_training_row(distilled_films: Project) -> None:
    distilled_films.kedro(*audit(report__release="true"))
    page = distilled_films.newest("audit_page.html").read_text()
    assert page == distilled_films.newest("release_page.html").read_text()


def test_figures_reach_mlflow(distilled_once: Project) -> None:
    found = report(distilled_once, "privacy_report")
    with sqlite3.connect(distilled_once.path / "mlflow.db") as database:
        tags = dict(database.execute("select key, value from tags"))
        metrics = dict(database.execute("select key, value from metrics"))
    assert tags["privacy_report.verdict"] == found["verdict"]
    auc = found["membership"]["canaries"]["auc"]["value"]
    assert metrics["privacy_report.membership.canaries.auc.value"] == auc


def test_the_release_is_a_data_set_to_the_datasets_library(distilled_once: Project) -> None:
    pytest.importorskip("datasets")
    code = (
        "import sys, datasets; found = datasets.load_dataset(sys.argv[1])['train']; "
        "print(len(found), found.features['label'].names)"
    )
    options = distilled_once.options()
    options["env"] |= {"HF_HUB_OFFLINE": "1", "HF_HOME": str(distilled_once.path / "hf")}
    command = [sys.executable, "-c", code, str(release(distilled_once))]
    done = subprocess.run(command, **options)
    assert done.stdout.strip() == "10 ['bad', 'good']", done.stderr
