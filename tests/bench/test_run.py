"""The driver of `make benchmark`, with a fake `kedro` and a real git repository."""

from __future__ import annotations

import json
import subprocess
import sys

import pandas as pd
import pytest
import yaml

from bench import results, run
from bench.checkout import STORED, check_stored
from take.errors import InputError
from take.evaluation.cells import CellResult, cells_table

SETTINGS = {
    "benchmark": {"corpora": [], "budgets": {"sst2": ["20/class", "5/class"], "mrpc": ["7"]}}
}
KEDRO = """#!{python}
import os, sys
from pathlib import Path
with open("data/commands", "a") as log:
    log.write("\\t".join(sys.argv[1:]) + "\\n")
exec(os.environ.get("WHEN_CALLED", ""))
"""


def git(root, *arguments):
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(root), *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A committed project, and a `kedro` that writes down how it was called."""
    project, bin_ = tmp_path / "project", tmp_path / "bin"
    for folder in (project / "conf/base", project / "data", project / "docs", bin_):
        folder.mkdir(parents=True)
    (project / run.SETTINGS).write_text(yaml.safe_dump(SETTINGS))
    (project / ".gitignore").write_text("data/\n")
    (project / "docs/results.md").write_text("before\n")
    (bin_ / "kedro").write_text(KEDRO.format(python=sys.executable))
    (bin_ / "kedro").chmod(0o755)
    monkeypatch.setenv("PATH", str(bin_), prepend=":")
    git(project, "init", "-q")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "all")
    return project


def commands(root):
    written = root / "data/commands"
    return written.read_text().splitlines() if written.exists() else []


def make_tables(root, version):
    """What the grid leaves behind."""
    cell = {"corpus": "sst2", "budget": "20/class", "learner": "lr", "training_seed": 0}
    cells = cells_table(
        CellResult(**cell, method=method, set_seed=0, code_version=version, accuracy=0.5, rows=40)
        for method in ("random", "take")
    )
    nothing = {"corpus": [], "fingerprint": [], "predicted": []}
    tables = {f"{results.MADE}/benchmark_cells.parquet/v1/benchmark_cells.parquet": cells}
    tables[f"{results.MADE}/benchmark_outcomes.parquet/v1/benchmark_outcomes.parquet"] = (
        pd.DataFrame(nothing)
    )
    for name in ("corpus", "evaluation_split"):
        tables[f"{results.CORPORA}/sst2/{name}.parquet"] = pd.DataFrame({"text": ["a", "b"]})
    for path, table in tables.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        table.to_parquet(root / path)


def test_every_pool_is_made_and_then_the_grid_is_run(root, tmp_path, capsys):
    make_tables(root, f"0.1.0 ({git(root, 'rev-parse', 'HEAD')[:7]})")
    options = ["--raw", str(tmp_path), "--corpora", "sst2 mrpc", "--params", "a.b=1"]
    assert run.run(run.parsed(options), root) == 0
    data, last = f"raw_root={tmp_path},a.b=1", "--to-nodes=generation.embed_pool"
    assert commands(root) == [
        f"run\t--pipeline=distill\t{last}\t--params=corpus=sst2,budget=20/class,pool=0,{data}",
        f"run\t--pipeline=distill\t{last}\t--params=corpus=sst2,budget=20/class,pool=1,{data}",
        f"run\t--pipeline=distill\t{last}\t--params=corpus=mrpc,budget=7,pool=0,{data}",
        f"run\t--pipeline=distill\t{last}\t--params=corpus=mrpc,budget=7,pool=1,{data}",
        "run\t--pipeline=benchmark\t--params=benchmark.corpora=sst2 mrpc,a.b=1",
    ]
    shown = capsys.readouterr().out
    assert "[1/5] sst2, pool 0 … (" in shown
    assert "; about " in shown.splitlines()[1]
    assert "[5/5] grid … (" in shown
    kept = yaml.safe_load((root / results.KEPT / "run.yml").read_text())
    assert kept["command"] == 'make benchmark RAW=<data> CORPORA="sst2 mrpc" POOLS=2 PARAMS=a.b=1'
    assert kept["training_rows"] == {"sst2": 2}
    assert len(pd.read_parquet(root / results.KEPT / "cells.parquet")) == 2
    assert "`sst2`" in (root / "docs/results.md").read_text()


def test_mixed_cells_change_nothing(root):
    make_tables(root, "0.1.0 (1a2b3c4, changed since)")
    with pytest.raises(InputError, match="do not come from one commit"):
        run.run(run.parsed(["--corpora", "sst2"]), root)
    assert not (root / results.KEPT).exists()
    assert (root / "docs/results.md").read_text() == "before\n"


def test_a_quick_run_has_one_pool_and_writes_no_page(root, tmp_path):
    options = ["--quick", "--pools", "3", "--corpora", "sst2", "--vectors", str(tmp_path / "bin")]
    assert run.run(run.parsed([*options, "--dilm", str(tmp_path)]), root) == 0
    distil, grid = commands(root)
    assert "corpus=sst2,budget=20/class,pool=0" in distil
    assert "--to-nodes=generation.embed_pool" in distil
    chosen = f"learners.word_vectors={tmp_path}/bin,benchmark.baselines.dilm_root={tmp_path}"
    assert grid.endswith(f"=benchmark.corpora=sst2,{chosen},benchmark.quick=true")
    assert (root / "docs/results.md").read_text() == "before\n"


def test_the_corpora_are_those_with_budgets_unless_named(root):
    assert len(run.steps_of(run.parsed(["--pools", "1"]), root)) == 3
    named = {"benchmark": SETTINGS["benchmark"] | {"corpora": ["mrpc"]}}
    (root / run.SETTINGS).write_text(yaml.safe_dump(named))
    assert run.steps_of(run.parsed([]), root)[0].title == "mrpc, pool 0"


@pytest.mark.parametrize("name", ["docs/results.md", "src/new.py"])
def test_changed_and_unknown_files_are_refused_before_anything_runs(root, name):
    (root / name).parent.mkdir(exist_ok=True)
    (root / name).write_text("changed\n")
    with pytest.raises(InputError, match="1 file differs from the commit: .*Fix: commit them") as e:
        run.run(run.parsed([]), root)
    assert name.split("/", maxsplit=1)[0] in str(e.value)
    assert not commands(root)


def test_a_folder_without_git_is_refused(tmp_path):
    with pytest.raises(InputError, match="not a git checkout"):
        run.run(run.parsed([]), tmp_path)


def test_missing_folders_are_refused(root):
    with pytest.raises(InputError, match="nowhere: does not exist"):
        run.run(run.parsed(["--raw", "nowhere"]), root)
    assert not commands(root)


def test_stored_cells_of_another_commit_are_refused_before_anything_runs(root):
    folder = root / STORED
    folder.mkdir(parents=True)
    for name, version in (("a", f"0.1.0 ({git(root, 'rev-parse', 'HEAD')[:7]})"), ("b", "0.1.0")):
        cell = {"value": {"cell": {"code_version": version}}}
        (folder / f"{name}.json").write_text(json.dumps(cell))
    with pytest.raises(InputError, match=r"of one commit only: 0.1.0 \(1\)\. Fix: remove"):
        run.run(run.parsed([]), root)
    assert not commands(root)
    (folder / "b.json").unlink()
    check_stored(root, git(root, "rev-parse", "HEAD"))


def test_a_failing_step_ends_the_run_with_its_exit_code(root, monkeypatch):
    monkeypatch.setenv("WHEN_CALLED", "sys.exit(7 if 'pool=1' in sys.argv[-1] else 0)")
    assert run.run(run.parsed(["--corpora", "sst2"]), root) == 7
    assert len(commands(root)) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("Path('docs/results.md').write_text('x')", "1 file differs"),
        ("os.system('git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x')", "began"),
    ],
)
def test_a_checkout_that_changes_during_the_run_is_refused(root, monkeypatch, change, message):
    monkeypatch.setenv("WHEN_CALLED", f"'benchmark' in sys.argv[2] and {change}")
    before = (root / "docs/results.md").read_text()
    with pytest.raises(InputError, match=message):
        run.run(run.parsed(["--corpora", "sst2"]), root)
    assert len(commands(root)) == 3
    assert (root / "docs/results.md").read_text() in (before, "x")
    assert not (root / results.KEPT).exists()
