"""How the time and memory of each stage grow with the rows of the corpus.

    OMP_NUM_THREADS=1 PYTHONPATH=src python benchmarks/scale.py --sizes 10000 100000 1000000
        [--stages influence lineage] [--width 384]

Corpora are those of `corpora.py`. φ is a random unit vector for each row, around a centre of its
class: no encoder is timed, and the stages cannot tell. The pool has 1,000 candidates of 4 classes,
and the budget is 20 per class. Every line is a process of its own, which reads the files that
earlier stages would have left and writes those that its nodes would.

- s: wall time; CPU s: of all threads, which other jobs on the machine distort less;
- ×: CPU time over that of the size before;
- peak MB: the most resident memory above that of the imports. Pages of mapped files count, which
  the kernel drops when it needs the memory; "of it own" is without them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

from scale_inputs import Inputs, prepare
from scale_stages import STAGES, TEXT_STAGES

WARM_UP_ROWS = 1000
"""A stage is run with so few rows first, so that its imports are not measured."""
SAMPLE_SECONDS = 0.01


class Measured(NamedTuple):
    """One stage at one size."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    own_bytes: int


class Memory:
    """The most memory of the process from now on, above that of now."""

    def __init__(self) -> None:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the mark is that of now
        self._first, self._own, self._done = _status(), 0, threading.Event()
        self._watch = threading.Thread(target=self._sample, daemon=True)
        self._watch.start()

    def stop(self) -> tuple[int, int]:
        """In bytes: all resident pages, and those of no file."""
        self._done.set()
        self._watch.join()
        return _status()["VmHWM"] - self._first["VmRSS"], self._own

    def _sample(self) -> None:
        while not self._done.wait(SAMPLE_SECONDS):
            self._own = max(self._own, _status()["RssAnon"] - self._first["RssAnon"])


def _status() -> dict[str, int]:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    pairs = (line.split() for line in lines if line.startswith(("VmRSS", "VmHWM", "RssAnon")))
    return {name[:-1]: 1024 * int(size) for name, size, _ in pairs}


def measure(stage: str, inputs: Inputs) -> Measured:
    few = inputs._replace(folder=_folder(inputs.folder.parent, WARM_UP_ROWS, inputs.width))
    STAGES[stage](few._replace(rows=WARM_UP_ROWS))
    memory, wall, cpu = Memory(), time.perf_counter(), time.process_time()
    STAGES[stage](inputs)
    seconds, used = time.perf_counter() - wall, time.process_time() - cpu
    return Measured(seconds, used, *memory.stop())


def _folder(root: Path, rows: int, width: int) -> Path:
    return root / f"{rows}-{width}"


def alone(*arguments: str) -> str:
    """The last line that a process of its own prints."""
    command = [sys.executable, __file__, *arguments]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)}: exit code {done.returncode}")
    return done.stdout.strip().rpartition("\n")[2]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=list(STAGES))
    parser.add_argument("--sizes", nargs="+", type=int, default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--width", type=int, default=384, help="features of φ")
    parser.add_argument("--folder", type=Path, default=Path("build/scale"))
    parser.add_argument("--one", choices=("prepare", "measure"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    width, with_texts = options.width, bool(TEXT_STAGES & set(options.stages))
    sizes = [Inputs(_folder(options.folder, n, width), n, width) for n in options.sizes]
    if options.one == "prepare":
        prepare(sizes[0], with_texts)
        return
    if options.one == "measure":
        print(json.dumps(measure(options.stages[0], sizes[0])))
        return

    def one(what: str, rows: int, *stages: str) -> str:
        common = ("--folder", str(options.folder), "--width", str(width), "--sizes", str(rows))
        return alone("--one", what, *common, "--stages", *stages)

    for rows in sorted({WARM_UP_ROWS, *options.sizes}):
        one("prepare", rows, *options.stages)
    print("| stage | N | s | CPU s | × | peak MB | of it own MB |\n|---|" + "---:|" * 6)
    for stage in options.stages:
        before = None
        for rows in options.sizes:
            found = Measured(*json.loads(one("measure", rows, stage)))
            ratio = f"{found.cpu_seconds / before:.1f}" if before else ""
            times = f"{found.seconds:,.1f} | {found.cpu_seconds:,.1f} | {ratio}"
            memory = f"{found.peak_bytes / 1e6:,.0f} | {found.own_bytes / 1e6:,.0f}"
            print(f"| {stage} | {rows:,} | {times} | {memory} |", flush=True)
            before = found.cpu_seconds


if __name__ == "__main__":
    main()
