"""Runs at the same time, on a clock set back, and of code that is edited meanwhile."""

from __future__ import annotations

import hashlib
import json
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from take.reuse.locks import RunLock
from tests.conftest import Project

pytestmark = pytest.mark.cli


def distill(budget: str, *options: str) -> tuple[str, ...]:
    return ("run", "--pipeline=distill", f"--params=corpus=films,budget={budget}", *options)


def releases(project: Project) -> list[Path]:
    return sorted((project.path / "data/07_model_output/films/release").glob("*/release"))


def audited_rows(release: Path) -> int:
    """How many rows a release has, after all of its parts have been shown to be about them."""
    rows = (release / "distilled.jsonl").read_bytes()
    digest = hashlib.sha256(rows).hexdigest()
    audit = json.loads((release / "audit.json").read_text())
    manifest = json.loads((release / "manifest.json").read_text())
    n_rows = len(rows.splitlines())
    assert audit["privacy"]["audited"]["distilled_sha256"] == digest
    assert audit["balance"]["audited"]["distilled_sha256"] == digest
    assert audit["privacy"]["copies"]["distilled"]["train"]["rows"] == n_rows
    assert manifest["rows"] == n_rows
    for page in ("README.md", "report.html"):
        assert digest in (release / page).read_text()
    return n_rows


def test_two_runs_on_one_corpus_do_not_mix(distilled_films: Project) -> None:
    before = releases(distilled_films)
    first = distilled_films.start(*distill("3/class"))
    time.sleep(0.7)
    second = distilled_films.start(*distill("4/class"))
    outputs = ["".join(run.communicate(timeout=600)) for run in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0), outputs
    made = [release for release in releases(distilled_films) if release not in before]
    assert sorted(map(audited_rows, made)) == [6, 8]
    waiting = [
        output for output in outputs if "Waiting for another run on 'films' (process" in output
    ]
    assert len(waiting) == 1
    # The one that waited is the newest, whenever it was started.
    assert f"release/{max(made).parent.name}/release" in waiting[0]
    assert "0 problems" in distilled_films.kedro("verify")


def test_waiting_for_a_run_has_a_limit_and_changes_nothing(distilled_films: Project) -> None:
    before = distilled_films.artifacts()
    lock = RunLock(distilled_films.path / "data/.locks", "films")
    lock.acquire(0)
    options = "--params=corpus=films,budget=3/class,wait_minutes=0.01"
    output = distilled_films.kedro("run", "--pipeline=distill", options, ok=False)
    assert "Error: " in output
    assert "another run on 'films'" in output
    assert "did not end within 0.01 minutes" in output
    lock.release()
    assert distilled_films.artifacts() == before


def test_rows_that_were_not_audited_are_not_released(distilled_films: Project) -> None:
    before = releases(distilled_films)
    distilled_films.kedro(*distill("2/class", "--to-nodes=distillation.trace_rows"))
    options = ("--runner=SequentialRunner", "--from-nodes=audit.export_release")
    output = distilled_films.kedro(*distill("2/class", *options), ok=False)
    assert "was made from another version of" in output
    assert "Fix: run `kedro run --pipeline=distill`" in output
    assert releases(distilled_films) == before


def test_a_clock_set_back_is_noticed_before_anything_is_made(distilled_films: Project) -> None:
    next_year = f"{datetime.now(UTC).year + 1}-01-01T00.00.00.000Z"
    for folder in [path for path in distilled_films.path.glob("data/**/20*Z") if path.is_dir()]:
        folder.rename(folder.with_name(next_year))
    before = distilled_films.artifacts()
    output = distilled_films.kedro(*distill("2/class"), ok=False)
    assert "the clock was set back" in output
    assert next_year in output
    assert distilled_films.artifacts() == before


def test_code_edited_during_a_run_is_recorded_as_it_ran(distilled_films: Project) -> None:
    edited = distilled_films.path / "src/take/selection/describe/curve.py"
    text = edited.read_text()
    running = distilled_films.start(*distill("3/class"))
    while "Running 'distillation.select_rows'" not in (line := running.stderr.readline()):  # type: ignore[union-attr]
        assert line, running.communicate()
    edited.write_text(text + "\n\nEDITED = True\n")
    running.communicate(timeout=600)
    assert running.returncode == 0
    again = distilled_films.kedro(*distill("3/class"))
    assert "Running 'distillation.describe_distilled': code of" in again
    assert "take.selection.describe.curve changed" in again


def test_tidy_asks_and_keeps_what_the_last_release_was_made_from(distilled_films: Project) -> None:
    distilled_films.kedro(*distill("3/class"))
    everything = distilled_films.artifacts()
    (code, shown), (unanswered, asked) = distilled_films.kedro_each(["tidy"], ["tidy", "--keep=1"])
    assert (code, unanswered) == (0, 1)
    assert "kedro tidy --keep=1" in shown
    assert "Remove these" in asked
    assert distilled_films.artifacts() == everything
    outcomes = distilled_films.kedro_each(["tidy", "--keep=1", "--yes"], ["verify"])
    assert [code for code, _ in outcomes] == [0, 0], outcomes
    assert len(distilled_films.artifacts()) < len(everything)
    assert len(releases(distilled_films)) == 1
    again = distilled_films.kedro(*distill("3/class"))
    assert "Running" not in again
