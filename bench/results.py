"""docs/results.md, from the cells of one run of the grid at one commit.

    python -m bench.results                                # from the cells in the repository
    python -m bench.results data/08_reporting/benchmark    # from yours, which replace those

`make benchmark` runs the grid and does the second.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import yaml

from bench.page import results_page
from bench.paper_comparison import Provenance
from bench.published import read_published
from take.errors import InputError
from take.text.format import plural

ROOT = Path(__file__).resolve().parents[1]
KEPT = Path("benchmarks/results")
PAGE = Path("docs/results.md")
MADE = Path("data/08_reporting/benchmark")
CORPORA = Path("data/02_intermediate")
TABLES = ("cells", "outcomes")
COMMAND = "kedro run --pipeline=benchmark"
WITHDRAWN = Path(__file__).with_name("withdrawn.md")
_COMMITTED = re.compile(r"\S+ \([0-9a-f]{7,40}\)")


def page(root: Path = ROOT) -> str:
    """The page of the kept cells; without any, the one that says why there are none."""
    folder = root / KEPT
    if not (folder / "cells.parquet").exists():
        return WITHDRAWN.read_text(encoding="utf-8")
    run = yaml.safe_load((folder / "run.yml").read_text(encoding="utf-8"))
    cells, outcomes = (pd.read_parquet(folder / f"{name}.parquet") for name in TABLES)
    return checked_page(cells, outcomes, Provenance.model_validate(run))


def checked_page(cells: pd.DataFrame, outcomes: pd.DataFrame, provenance: Provenance) -> str:
    """The page of cells of one commit."""
    check_versions(cells)
    return results_page(cells, outcomes, read_published(), provenance)


def check_versions(cells: pd.DataFrame) -> None:
    """Refuse cells of several commits, of changed files, or of code that is not named.

    >>> check_versions(pd.DataFrame({"code_version": ["0.1.0 (1a2b3c4)", "0.1.0"]}))
    Traceback (most recent call last):
    take.errors.InputError: cells: they do not come from one commit: 0.1.0 (1a2b3c4) (1 cell), ...
    """
    found = cells["code_version"].replace("", "no version").value_counts()
    if len(found) == 1 and _COMMITTED.fullmatch(str(found.index[0])):
        return
    listed = ", ".join(f"{name} ({plural(int(n), 'cell')})" for name, n in found.items())
    raise InputError(
        f"they do not come from one commit: {listed or 'there are none'}",
        where="cells",
        allowed="cells of one commit, without changes since",
        remedy="commit, remove data/08_reporting/cells, and run `make benchmark`",
    )


def keep(root: Path, provenance: Provenance, made: Path = MADE) -> None:
    """Keep the cells and outcomes that the grid made, and write the page; all or nothing."""
    found = {
        name: pd.read_parquet(newest(root / made / f"benchmark_{name}.parquet")) for name in TABLES
    }
    check_versions(found["cells"])
    rows = {name: _rows(root, name) for name in sorted(found["cells"]["corpus"].unique())}
    provenance = provenance.model_copy(
        update={
            "training_rows": {name: counts[0] for name, counts in rows.items()},
            "evaluation_rows": {name: counts[1] for name, counts in rows.items()},
        }
    )
    text = checked_page(found["cells"], found["outcomes"], provenance)
    folder = root / KEPT
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in found.items():
        table.to_parquet(folder / f"{name}.parquet", compression="zstd", index=False)
    written = yaml.safe_dump(provenance.model_dump(), sort_keys=False, allow_unicode=True)
    (folder / "run.yml").write_text(written, encoding="utf-8")
    _write(root, text)


def newest(path: Path) -> Path:
    """The file, or the last version of a versioned artifact."""
    if path.is_file():
        return path
    versions = sorted(path.glob(f"*/{path.name}"))
    if not versions:
        raise InputError("it was not made", where=str(path), remedy="run `make benchmark` first")
    return versions[-1]


def today() -> str:
    """The day, in UTC."""
    return datetime.now(UTC).date().isoformat()


def machine() -> str:
    """The machine, without its name."""
    return f"{plural(os.cpu_count() or 1, 'core')}, no GPU used"


def main(arguments: list[str] | None = None) -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("made", nargs="?", type=Path, help="folder of the grid's tables")
    parser.add_argument("--command", default=COMMAND, help="what made it, as the page says it")
    options = parser.parse_args(arguments)
    made: Path | None = options.made
    try:
        if made is None:
            _write(ROOT, page())
        else:
            made_by = Provenance(command=options.command, date=today(), machine=machine())
            keep(ROOT, made_by, made.resolve())
    except InputError as refused:
        sys.exit(str(refused))


def _write(root: Path, text: str) -> None:
    (root / PAGE).write_text(text, encoding="utf-8")
    print(f"{PAGE} is written.")


def _rows(root: Path, corpus: str) -> tuple[int, int]:
    """Rows of a corpus and of its evaluation split, after ingestion."""
    import pyarrow.parquet as pq

    training, evaluation = (
        pq.read_metadata(newest(root / CORPORA / corpus / f"{name}.parquet")).num_rows
        for name in ("corpus", "evaluation_split")
    )
    return training, evaluation


if __name__ == "__main__":
    main()
