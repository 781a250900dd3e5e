"""`make benchmark`: makes the pools, runs the grid and writes docs/results.md, at one commit.

    python -m bench.run --raw=<folder of corpora> --corpora="sst2 mrpc" --pools=2

Each step is a `kedro` command that reuses what was made before, so that a killed run resumes.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import yaml

from bench import results
from bench.checkout import check_same, check_stored, commit_of
from bench.paper_comparison import Provenance
from take.errors import InputError
from take.text.format import duration

SETTINGS = "conf/base/parameters_evaluation.yml"
LAST_NODE = "generation.embed_pool"
"""Of a pool: the grid selects rows itself, and nothing of it is released."""


class Step(NamedTuple):
    """One command."""

    title: str
    command: list[str]


def steps_of(options: argparse.Namespace, root: Path) -> list[Step]:
    """The pools of every corpus, then the grid."""
    settings = yaml.safe_load((root / SETTINGS).read_text(encoding="utf-8"))["benchmark"]
    corpora = options.corpora.split() or settings["corpora"] or list(settings["budgets"])
    extra = [options.params] if options.params else []
    raw = [f"raw_root={_path(options.raw)}"] if options.raw else []
    steps = []
    for corpus in corpora:
        budget = settings["budgets"].get(corpus, ["20/class"])[0]
        for pool in range(1 if options.quick else options.pools):
            chosen = [f"corpus={corpus}", f"budget={budget}", f"pool={pool}", *raw, *extra]
            command = _kedro("distill", chosen, f"--to-nodes={LAST_NODE}")
            steps.append(Step(f"{corpus}, pool {pool}", command))
    chosen = [f"benchmark.corpora={' '.join(corpora)}"]
    if options.vectors:
        chosen.append(f"learners.word_vectors={_path(options.vectors)}")
    if options.dilm:
        chosen.append(f"benchmark.baselines.dilm_root={_path(options.dilm)}")
    if options.quick:
        chosen.append("benchmark.quick=true")
    return [*steps, Step("grid", _kedro("benchmark", [*chosen, *extra]))]


def run(options: argparse.Namespace, root: Path = results.ROOT) -> int:
    """All steps; the exit code of the first that fails. A quick run writes no page."""
    commit = commit_of(root)
    steps = steps_of(options, root)
    if not options.quick:
        check_stored(root, commit)
    start = time.monotonic()
    for place, step in enumerate(steps):
        check_same(root, commit)
        spent = time.monotonic() - start
        done = f"[{place + 1}/{len(steps)}] {step.title} … ({duration(spent)}"
        print(f"{done}{_left(spent, place, len(steps) - 1)})", flush=True)
        code = subprocess.run(step.command, cwd=root, check=False).returncode  # noqa: S603
        if code:
            print(f"{step.title} failed. The same command resumes here.", file=sys.stderr)
            return code
    check_same(root, commit)
    print(f"Done in {duration(time.monotonic() - start)}.")
    if not options.quick:
        results.keep(root, _how(options))
    return 0


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options; empty ones, as `make` passes them, are not given."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("raw", "vectors", "dilm", "corpora", "params"):
        parser.add_argument(f"--{name}", default="")
    parser.add_argument("--pools", type=int, default=2)
    parser.add_argument("--quick", action="store_true")
    return parser.parse_args(arguments)


def _how(options: argparse.Namespace) -> Provenance:
    """What the page says about the run, without paths of this machine."""
    shown = {"RAW": "<data>" * bool(options.raw), "VECTORS": "<vectors>" * bool(options.vectors)}
    shown |= {"DILM": "<dilm>" * bool(options.dilm), "CORPORA": options.corpora}
    shown |= {"POOLS": str(options.pools), "PARAMS": options.params}
    words = [f'{k}="{v}"' if " " in v else f"{k}={v}" for k, v in shown.items() if v]
    command = " ".join(["make benchmark", *words])
    return Provenance(command=command, date=results.today(), machine=results.machine())


def _left(spent: float, done: int, before_grid: int) -> str:
    """How long the steps before the grid will take; the grid estimates its own time.

    >>> _left(60, 2, 5), _left(60, 0, 5), _left(60, 5, 5)
    ('; about 1 min 30 s left before the grid', '', '; the grid says how long it will take')
    """
    if done == before_grid:
        return "; the grid says how long it will take"
    left = spent / done * (before_grid - done) if done else 0.0
    return f"; about {duration(left)} left before the grid" if done else ""


def _kedro(pipeline: str, params: Sequence[str], *options: str) -> list[str]:
    found = shutil.which("kedro") or "kedro"
    return [found, "run", f"--pipeline={pipeline}", *options, f"--params={','.join(params)}"]


def _path(given: str) -> Path:
    path = Path(given).resolve()
    if not path.exists() or "," in str(path):
        problem = "has a comma in its name" if path.exists() else "does not exist"
        raise InputError(problem, where=given, remedy="name another file or folder")
    return path


if __name__ == "__main__":
    try:
        sys.exit(run(parsed()))
    except InputError as refused:
        sys.exit(str(refused))
