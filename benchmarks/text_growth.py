"""How the time and memory of ingestion and of what compares texts grow with the rows of a corpus.

    export OMP_NUM_THREADS=1 PYTHONPATH=src
    python benchmarks/text_growth.py --rows 10_000 100_000 1_000_000

The corpora are those of `benchmarks/corpora.py`, in shards. Every line is a process of its own;
processor seconds and peak memory are those of the whole process, imports included.

- `related`: the relatives of 4,000 rows.
- `copies`: an index of the corpus, searched for what 5,000 rows that are like it copy.
- `apart`: rows that no other row contains, as the measure of near copies draws them.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import corpora
import numpy as np
import pandas as pd

FOLDER = Path(tempfile.gettempdir()) / "take_text_growth"
CHOSEN, QUERIES = 4_000, 5_000


def ingest(source: Path, task: str) -> None:
    from take.corpus.ingest import IngestionSettings, ingest
    from take.corpus.sources import CorpusSource
    from take.corpus.spec import CorpusSpec
    from take.datasets.artifact import TableArtifact
    from take.rows.labelled import TEXT_COLUMNS

    columns = {name: name for name in (*TEXT_COLUMNS[task], "label")}  # type: ignore[index]
    files = {split: str(source / split) for split in ("train", "evaluation")}
    spec = CorpusSpec.model_validate(
        {"task": task, "columns": columns, "source": {"kind": "files", **files}}
    )
    raw = CorpusSource("made", spec).read()
    made = ingest(raw, IngestionSettings(budget="20/class"))
    for name in ("corpus", "evaluation_split"):
        TableArtifact(filepath=str(source / f"{name}.parquet")).save(getattr(made, name))


def _rows(source: Path, name: str = "corpus") -> pd.DataFrame:
    from take.datasets.artifact import TableArtifact

    table: pd.DataFrame = TableArtifact(filepath=str(source / f"{name}.parquet")).load()
    return table


def related(source: Path, task: str) -> None:
    from take.rows.labelled import TEXT_COLUMNS
    from take.text.normalise import text_rows
    from take.text.related import RelatedRows

    corpus = _rows(source)
    rows = RelatedRows(text_rows(corpus, TEXT_COLUMNS[task]))  # type: ignore[index]
    chosen = np.random.default_rng(0).choice(len(corpus), CHOSEN, replace=False)
    found = rows.to(np.sort(chosen))
    print(f"{int(found.sum()):,} related, {int(rows.common.sum()):,} common", file=sys.stderr)


def copies(source: Path, task: str) -> None:
    from take.rows.labelled import TEXT_COLUMNS
    from take.text.copies import CopyIndex, CopySettings
    from take.text.normalise import text_rows

    columns = TEXT_COLUMNS[task]  # type: ignore[index]
    queries = text_rows(_rows(source, "evaluation_split"), columns)[:QUERIES]
    index = CopyIndex(text_rows(_rows(source), columns), CopySettings())
    print(len(index.find(queries).findings), "copies", file=sys.stderr)


def apart(source: Path, task: str) -> None:
    from take.audit.privacy.real_rows import MOST_ROWS, set_apart
    from take.rows.labelled import TEXT_COLUMNS
    from take.text.normalise import text_rows

    rows = text_rows(_rows(source), TEXT_COLUMNS[task])  # type: ignore[index]
    found = set_apart(rows, np.arange(len(rows)), MOST_ROWS, np.random.default_rng(0))
    print(f"{len(found.rest):,} in the rest", file=sys.stderr)


STAGES: dict[str, Callable[[Path, str], None]] = {
    function.__name__: function for function in (ingest, related, copies, apart)
}


def measure(stage: str, source: Path, task: str) -> None:
    STAGES[stage](source, task)
    seconds = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{seconds:.1f} | {peak:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=list(STAGES))
    parser.add_argument("--task", choices=("single", "pair"), default="single")
    parser.add_argument("--format", default="parquet")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        stage, source = options.measure
        measure(stage, Path(source), options.task)
        return
    print("| rows | stage | CPU s | peak GB |\n" + "|---" * 4 + "|")
    for n in options.rows:
        source = FOLDER / f"{options.task}-{options.format}-{n}"
        if not source.exists():
            made = corpora.Options(rows=n, task=options.task, evaluation_rows=QUERIES)
            corpora.make(source, made, options.format)
        for stage in options.stages:
            command = [sys.executable, __file__, "--task", options.task]
            command += ["--measure", stage, str(source)]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            line = done.stdout.strip().splitlines()[-1]
            print(f"| {n:,} | {stage} | {line} |", flush=True)


if __name__ == "__main__":
    main()
