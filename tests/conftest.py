"""Shared by all tests: a throw-away copy of the project, and the real `kedro` command on it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest
import yaml

if TYPE_CHECKING:
    from tests.evaluation.tiny import World

ROOT = Path(__file__).parent.parent

# A busy machine is no reason to fail.
hypothesis.settings.register_profile("no deadline", deadline=None)
hypothesis.settings.load_profile("no deadline")

# Before any library reads it: no test waits for a hub that it must not need.
os.environ["HF_HUB_OFFLINE"] = "1"


TINY_MODELS = (
    *("tests/generation/finetuning", "tests/generation/sampling"),
    *("tests/learners/test_transformer.py", "tests/learners/test_networks.py"),
    *("tests/audit/privacy/test_membership.py", "tests/estimate/test_rates.py"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that train or run tiny networks; `make check` leaves them out."""
    for item in items:
        if item.path.relative_to(ROOT).as_posix().startswith(TINY_MODELS):
            item.add_marker(pytest.mark.tiny_lm)


# Several commands in one process: imports take longer than most of them.
MANY = """
import json, sys, traceback
from pathlib import Path
from click.testing import CliRunner
from kedro.framework.startup import bootstrap_project

metadata = bootstrap_project(Path.cwd())
from take.cli import cli

outcomes = []
for arguments in json.loads(sys.argv[1]):
    done = CliRunner().invoke(cli, arguments, obj=metadata)
    output = done.output
    if done.exc_info and not isinstance(done.exception, SystemExit):
        output += "".join(traceback.format_exception(*done.exc_info))
    outcomes.append([done.exit_code, output])
Path(sys.argv[2]).write_text(json.dumps(outcomes))
"""


@dataclass
class Project:
    """A copy of the project's code and configuration in a temporary folder."""

    path: Path

    def kedro(self, *arguments: str, ok: bool = True) -> str:
        """Run `kedro` here; its whole output."""
        done = subprocess.run(self.command(*arguments), **self.options(), timeout=600)
        output = done.stdout + done.stderr
        assert (done.returncode == 0) is ok, output
        return output

    def kedro_each(self, *commands: list[str]) -> list[tuple[int, str]]:
        """Run `kedro` commands of the project one after the other; exit codes and outputs.

        What they log is in outcomes.log.
        """
        outcomes = self.path / "outcomes.json"
        command = [sys.executable, "-c", MANY, json.dumps(commands), str(outcomes)]
        options = self.options()
        options["env"]["PYTHONPATH"] = str(self.path / "src")
        done = subprocess.run(command, **options, timeout=900)
        outcomes.with_suffix(".log").write_text(done.stderr)
        assert done.returncode == 0, done.stdout + done.stderr
        return [(code, output) for code, output in json.loads(outcomes.read_text())]

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start `kedro` here and go on."""
        return subprocess.Popen(self.command(*arguments), **self.options())

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "kedro", *arguments]

    def options(self) -> dict:
        environment = {**os.environ, "DO_NOT_TRACK": "1", "COLUMNS": "200"}
        return {
            "cwd": self.path,
            "env": environment,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "text": True,
        }

    def add_corpora(self, **corpora: dict) -> None:
        """Describe corpora the way a user does, in conf/local/corpora.yml."""
        text = yaml.safe_dump({"corpora": corpora}, allow_unicode=True)
        (self.path / "conf/local/corpora.yml").write_text(text, encoding="utf-8")

    def write(self, file: str, content: str | bytes) -> Path:
        path = self.path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def artifacts(self) -> dict[str, bytes]:
        """Every file a run made under data/, by path."""
        return {
            path.relative_to(self.path).as_posix(): path.read_bytes()
            for path in sorted((self.path / "data").rglob("*"))
            if path.is_file() and not {"01_raw", ".locks"} & set(path.parts)
        }

    def newest(self, pattern: str) -> Path:
        """The newest file under data/ with that name, records aside."""
        return sorted((self.path / "data").rglob(pattern))[-1]


@pytest.fixture(scope="session")
def fresh_mlflow_db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An MLflow database with its tables made: making them takes seconds, copying them nothing."""
    from mlflow import MlflowClient

    path = tmp_path_factory.mktemp("mlflow") / "mlflow.db"
    MlflowClient(tracking_uri=f"sqlite:///{path}").search_experiments()
    return path


@pytest.fixture
def project(tmp_path: Path, fresh_mlflow_db: Path) -> Project:
    shutil.copytree(ROOT / "conf", tmp_path / "conf", ignore=shutil.ignore_patterns("local"))
    (tmp_path / "conf/local").mkdir()
    (tmp_path / "data").mkdir()
    shutil.copytree(ROOT / "src", tmp_path / "src")  # compiled modules save a second a process
    for name in ("pyproject.toml", ".telemetry"):
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copy(fresh_mlflow_db, tmp_path / "mlflow.db")
    return Project(tmp_path)


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A corpus, what a run makes of it, and learners to train, all tiny."""
    from tests.evaluation.tiny import make_world

    return make_world(tmp_path_factory.mktemp("world"))


def single_text_csv(n_rows: int, start: int = 0) -> str:
    """A CSV corpus of two classes with texts of many lengths, none of them alike."""
    rows = ["text,label"]
    for i in range(start, start + n_rows):
        mood = ("dull", "grand")[i % 2]
        rows.append(f'"take {i}: a {mood} film, {"very " * (i % 13)}{mood} indeed",{i % 2}')
    return "\n".join(rows) + "\n"


CSV_CORPUS = {
    "task": "single",
    "source": {"kind": "files", "train": "data/01_raw/films.csv"},
    "columns": {"text": "text", "label": "label"},
    "labels": ["bad", "good"],
}
