"""Load and soak: many real `kedro run`s of a tiny corpus, all at once or one after the other.

python benchmarks/soak.py load [corpora] [runs per corpus]   # 5 and 2: ten runs at once
python benchmarks/soak.py soak [runs]                        # 50 runs, each with another budget

`load` checks that every run ends, and that each release holds the rows that its audit names. `soak`
prints what is left in the project, the temporary folder and the process table every ten runs, and
what `kedro tidy --keep=1` leaves of it. Both end with `kedro verify`.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import sqlite3
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
import yaml

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))  # corpus and language model are the tiny ones of the tests
tests, tiny, films = (
    importlib.import_module(f"tests.{name}")
    for name in ("conftest", "generation.tiny", "integration.conftest")
)

# Distilled rows of each class; a run with another budget selects, audits and releases again.
BUDGETS = (2, 3, 4, 5)


def tiny_project(folder: Path, corpora: list[str]) -> Any:
    """A copy of this project with some corpora of 300 rows and a tiny language model."""
    project = tests.Project(folder / "project")
    for part in ("conf", "src"):
        ignored = shutil.ignore_patterns("local", "__pycache__")
        shutil.copytree(ROOT / part, project.path / part, ignore=ignored)
    for part in ("conf/local", "data"):
        (project.path / part).mkdir()
    for name in ("pyproject.toml", ".telemetry"):
        shutil.copy(ROOT / name, project.path / name)
    models = folder / "models"
    models.mkdir()
    tiny.saved("llama", models)
    # Twelve rows a class in the pool; this seed gives a pool that passes the gate.
    csv = films.noisy_csv(300)
    films.set_up_films(project, models / "llama", csv, validation_rows=60, seed=5)
    described = yaml.safe_dump({"corpora": dict.fromkeys(corpora, tests.CSV_CORPUS)})
    project.write("conf/local/corpora.yml", described)
    return project


def arguments(corpus: str, run: int) -> tuple[str, ...]:
    """A run with its own budget."""
    budget = f"{BUDGETS[run % len(BUDGETS)]}/class"
    return ("run", "--pipeline=distill", f"--params=corpus={corpus},budget={budget}")


def check_releases(project: Any) -> int:
    """How many releases there are; each must hold the rows that its audit names."""
    from take.audit.release.manifest import check_release

    found = list(project.path.glob("data/07_model_output/*/release/*/release"))
    for release in found:
        audit = json.loads((release / "audit.json").read_text())
        n_rows = len((release / "distilled.jsonl").read_text().splitlines())
        assert audit["privacy"]["copies"]["distilled"]["train"]["rows"] == n_rows, release
        assert check_release(release) == [], release
    return len(found)


def load(n_corpora: int = 5, n_runs: int = 2) -> None:
    """All runs at once, on a fresh project without a database of runs."""
    with tempfile.TemporaryDirectory() as folder:
        corpora = [f"corpus{number}" for number in range(n_corpora)]
        project = tiny_project(Path(folder), corpora)
        began = time.perf_counter()
        running = [
            project.start(*arguments(corpus, run)) for run in range(n_runs) for corpus in corpora
        ]
        outputs = ["".join(each.communicate()) for each in running]
        codes = [each.returncode for each in running]
        waited = sum("Waiting for another run" in output for output in outputs)
        print(f"{len(running)} runs at once: exit codes {sorted(set(codes))}, {waited} waited,")
        print(f"{time.perf_counter() - began:.0f} s, {check_releases(project)} releases")
        for code, output in zip(codes, outputs, strict=True):
            if code or "Traceback" in output or "not tracked" in output:
                print(output)
        print(_tracked(project))
        print(_verified(project))


def soak(n_runs: int = 50) -> None:
    """One run after the other, with another budget each time."""
    with tempfile.TemporaryDirectory() as folder:
        project = tiny_project(Path(folder), ["films"])
        temporary = Path(folder) / "tmp"
        temporary.mkdir()
        os.environ["TMPDIR"] = str(temporary)
        print("runs  files  other files  MB    in TMPDIR  processes")
        for run in range(n_runs):
            output = project.kedro(*arguments("films", run))
            assert "Traceback" not in output, output
            if run in (0, 1) or (run + 1) % 10 == 0:
                _print_state(run + 1, project, temporary)
        check_releases(project)
        project.kedro("tidy", "--keep=1", "--yes")
        print("after `kedro tidy --keep=1`:")
        _print_state(n_runs, project, temporary)
        print(_verified(project))


def _print_state(run: int, project: Any, temporary: Path) -> None:
    files = [path for path in (project.path / "data").rglob("*") if path.is_file()]
    # Everything but the versions of artifacts and their records, which grow on purpose.
    others = [path for path in files if not any(part.startswith("20") for part in path.parts)]
    megabytes = sum(path.stat().st_size for path in files) / 1e6
    left = len(list(temporary.rglob("*")))
    children = len(psutil.Process().children(recursive=True))
    columns = (f"{run:4}", f"{len(files):6}", f"{len(others):12}", f"{megabytes:6.1f}")
    print(*columns, f"{left:10}", f"{children:10}", flush=True)


def _verified(project: Any) -> str:
    lines: list[str] = project.kedro("verify").splitlines()
    return next(line for line in lines if "artifacts checked" in line)


def _tracked(project: Any) -> str:
    """The runs in MLflow's database by status."""
    with sqlite3.connect(project.path / "mlflow.db") as database:
        found = database.execute("select status, count(*) from runs group by status").fetchall()
    return f"MLflow: {dict(found)}"


if __name__ == "__main__":
    numbers = map(int, sys.argv[2:])
    load(*numbers) if sys.argv[1] == "load" else soak(*numbers)
