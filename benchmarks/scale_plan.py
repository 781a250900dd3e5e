"""What a corpus that no machine holds would take on a cluster, projected from measured growth.

    PYTHONPATH=src python benchmarks/scale_plan.py docs/scale.md --rows 100000000 --machines 32

reads the lines that `scale.py` printed and takes each stage's CPU time and own memory per row from
the largest size. Stages that run on workers are divided by the cores of all machines, the others
run on one core of one machine. Nothing is measured here: all figures are products of measured ones.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import NamedTuple

ON_WORKERS = {"encoding", "influence", "weights", "transport_unkept", "facility", "lineage"}
PASSES = {
    "encoding": 1,
    "trajectory": 13,
    "influence": 1,
    "study": 24,
    "weights": 1,
    "facility": 10,
}
PASSES |= {"transport_unkept": 1, "lineage": 1, "description": 10, "screening": 1}
"""How often a stage reads or writes φ, about; transport keeps it on its workers."""
REPLACED = {"transport"}
"""Stages that keep within a limit all there is at the measured size, which is too much here."""
LINE = re.compile(
    r"^\| (\w+) \| ([\d,]+) \| [\d,.]+ \| ([\d,.]+) \| [\d,.]* \| [\d,]+ \| ([\d,]+) \|"
)


class Growth(NamedTuple):
    """Of one stage at the largest size that was measured."""

    rows: int
    cpu_seconds: float
    own_bytes: float


class Cluster(NamedTuple):
    """What the stages run on."""

    machines: int
    cores: int
    gigabits: float


def read_growth(document: str) -> dict[str, Growth]:
    """The largest size of each stage in a document's first table.

    >>> read_growth("| lineage | 1,000,000 | 5.6 | 3.4 | 9.9 | 600 | 91 |")
    {'lineage': Growth(rows=1000000, cpu_seconds=3.4, own_bytes=91000000.0)}
    """
    found: dict[str, Growth] = {}
    for written in document.splitlines():
        line = LINE.match(written)
        if line is None:
            if found:
                break
            continue
        name = line[1]
        rows, cpu, own = (float(line[place].replace(",", "")) for place in (2, 3, 4))
        if name not in found or rows > found[name].rows:
            found[name] = Growth(int(rows), cpu, own * 1e6)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("document", type=Path)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--machines", type=int, default=32)
    parser.add_argument("--cores", type=int, default=8, help="of each machine")
    parser.add_argument("--gigabits", type=float, default=10, help="per second, of each machine")
    parser.add_argument(
        "--strings-per-second", type=float, default=424, help="that one core encodes"
    )
    options = parser.parse_args()
    cluster = Cluster(options.machines, options.cores, options.gigabits)
    growth = read_growth(options.document.read_text(encoding="utf-8"))
    encoding = {"encoding": Growth(1, 1 / options.strings_per_second, 0.0)}
    phi_bytes = 4 * options.width * options.rows
    total = 0.0
    print(
        "| stage | runs on | CPU s per million rows | minutes of computing | φ read, TB "
        "| minutes of reading | memory of one process, GB |\n|---|---|" + "---:|" * 5
    )
    for stage, known in {**encoding, **growth}.items():
        if stage in REPLACED:
            continue
        on_workers = stage in ON_WORKERS
        per_row = known.cpu_seconds / known.rows
        cores = cluster.machines * cluster.cores if on_workers else 1
        computing = per_row * options.rows / cores
        read = phi_bytes * PASSES.get(stage, 0)
        readers = cluster.machines if on_workers else 1
        reading = read / (readers * cluster.gigabits * 1e9 / 8)
        total += max(computing, reading)
        memory = known.own_bytes / known.rows * options.rows / (readers if on_workers else 1)
        print(
            f"| {stage} | {'workers' if on_workers else 'one core'} | {1e6 * per_row:,.1f} "
            f"| {computing / 60:,.1f} | {read / 1e12:.2f} | {reading / 60:,.1f} "
            f"| {memory / 1e9:,.0f} |"
        )
    hours = total / 3600
    print(
        f"\nAll stages, one after the other, the slower of computing and reading: {hours:.1f} "
        f"hours, or {hours * cluster.machines:,.0f} machine-hours if all machines are kept for it."
    )


if __name__ == "__main__":
    main()
