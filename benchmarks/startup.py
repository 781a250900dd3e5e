"""`kedro registry list` here against an empty Kedro project with the same plugins, in one run.

    python benchmarks/startup.py

The bar is 1.5 ×: listing pipelines must not import torch, transformers and the like.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

REPEATS = 5
PROJECT = Path(__file__).parent.parent


def seconds(folder: Path) -> float:
    environment = {**os.environ, "DO_NOT_TRACK": "1"}
    started = time.perf_counter()
    command = [sys.executable, "-m", "kedro", "registry", "list"]
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    return time.perf_counter() - started


def make_empty_project(folder: Path) -> Path:
    command = [sys.executable, "-m", "kedro", "new", "--name=empty", "--tools=none"]
    command += ["--example=no", "--telemetry=no"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "empty"


def main() -> None:
    with TemporaryDirectory() as folder:
        empty = make_empty_project(Path(folder))
        seconds(empty), seconds(PROJECT)  # the first of each compiles bytecode
        pairs = [(seconds(PROJECT), seconds(empty)) for _ in range(REPEATS)]
    ours, theirs = (statistics.median(times) for times in zip(*pairs, strict=True))
    ratio = statistics.median(here / there for here, there in pairs)
    print(
        f"kedro registry list: {ours:.2f} s here, {theirs:.2f} s in an empty project: {ratio:.2f} x"
    )


if __name__ == "__main__":
    main()
