"""`make benchmark`: distils every corpus, runs the grid and writes docs/results.md, at one commit.

    python -m bench.run --raw=<folder of corpora> --corpora="sst2 mrpc" --pools=2

Each step is a `kedro` command that reuses what was made before, so that a killed run resumes.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import yaml

from bench import results
from bench.paper_comparison import Provenance
from take.errors import InputError
from take.text.format import duration, plural

SETTINGS = "conf/base/parameters_evaluation.yml"
STORED = "data/08_reporting/cells/cells"
_MOST_FILES = 10


class Step(NamedTuple):
    """One command."""

    title: str
    command: list[str]


def commit_of(root: Path) -> str:
    """The commit of the checkout; refused if any file differs from it.

    Files that git does not know count too: code could import them.
    """
    try:
        commit = _git(root, "rev-parse", "HEAD")
        changed = _git(root, "status", "--porcelain").splitlines()
    except (OSError, subprocess.CalledProcessError) as error:
        raise InputError(
            "not a git checkout with a commit, so the results could not name the code that made "
            "them",
            where=str(root),
            remedy="clone the repository and run the benchmark there",
        ) from error
    if changed:
        more = ", …" * (len(changed) > _MOST_FILES)
        names = ", ".join(line.strip() for line in changed[:_MOST_FILES]) + more
        raise InputError(
            f"{plural(len(changed), 'file differs', 'files differ')} from the commit: {names}",
            where=str(root),
            remedy="commit them, or put them away with `git stash --include-untracked`",
        )
    return commit


def check_same(root: Path, commit: str) -> None:
    """Refuse to go on if the checkout is no longer what the benchmark began with."""
    if commit_of(root) != commit:
        raise InputError(
            f"the commit was {commit[:7]} when the benchmark began, and is another now",
            where=str(root),
            remedy=f"check out {commit[:7]} and run the same command: it resumes",
        )


def check_stored(root: Path, commit: str) -> None:
    """Refuse to start where cells of another commit are stored: the grid would reuse them."""
    found = [_version(path) for path in (root / STORED).glob("*.json")]
    others = Counter(version for version in found if f"({commit[:7]})" not in version)
    if others:
        listed = ", ".join(f"{version} ({count:,})" for version, count in others.most_common())
        raise InputError(
            f"cells of other code are stored, and the page may have cells of one commit only: "
            f"{listed}",
            where=STORED,
            remedy=f"remove {Path(STORED).parent} (what it holds is computed again), or check out "
            "that commit",
        )


def steps_of(options: argparse.Namespace, root: Path) -> list[Step]:
    """A `distill` for every corpus and pool, then the grid."""
    settings = yaml.safe_load((root / SETTINGS).read_text(encoding="utf-8"))["benchmark"]
    corpora = options.corpora.split() or settings["corpora"] or list(settings["budgets"])
    extra = [options.params] if options.params else []
    raw = [f"raw_root={_path(options.raw)}"] if options.raw else []
    steps = []
    for corpus in corpora:
        budget = settings["budgets"].get(corpus, ["20/class"])[0]
        for pool in range(1 if options.quick else options.pools):
            chosen = [f"corpus={corpus}", f"budget={budget}", f"pool={pool}", *raw, *extra]
            steps.append(Step(f"distil {corpus}, pool {pool}", _kedro("distill", chosen)))
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


def _kedro(pipeline: str, params: Sequence[str]) -> list[str]:
    found = shutil.which("kedro") or "kedro"
    return [found, "run", f"--pipeline={pipeline}", f"--params={','.join(params)}"]


def _path(given: str) -> Path:
    path = Path(given).resolve()
    if not path.exists() or "," in str(path):
        problem = "has a comma in its name" if path.exists() else "does not exist"
        raise InputError(problem, where=given, remedy="name another file or folder")
    return path


def _version(path: Path) -> str:
    value = json.loads(path.read_text(encoding="utf-8"))["value"]
    return value["cell"]["code_version"] or "no version"


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(  # noqa: S603 - fixed command, no user input
        command, capture_output=True, text=True, check=True
    ).stdout.strip()


if __name__ == "__main__":
    try:
        sys.exit(run(parsed()))
    except InputError as refused:
        sys.exit(str(refused))
