"""docs/results.md, from cells that `kedro run --pipeline=benchmark` computed.

    python -m bench.results                                     # from the cells in the repository
    python -m bench.results data/…/benchmark_cells.parquet      # from yours

Yours replace the repository's: they are copied to benchmarks/results/cells.parquet.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd
import yaml

from bench.page import Provenance, results_page
from bench.paper_comparison import Departures
from bench.published import read_published

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "benchmarks/results/cells.parquet"
RUN = ROOT / "benchmarks/results/run.yml"
PAGE = ROOT / "docs/results.md"
OLD_NAMES = {
    "asked_rows": "evaluation_rows",
    "teach_seconds": "training_seconds",
    "ask_seconds": "prediction_seconds",
}
"""Columns of cells that earlier versions stored under other names; so is a word of the titles."""

PICTURES = """
## Pictures

The plots `benchmark_margins_plot` and `benchmark_budget_plot` as kedro-viz and MLflow show them, on this page as screenshots.

![What take gains over each method](images/results-margins.png)

![What more rows bring](images/results-budget.png)
"""  # noqa: E501


def page(cells: pd.DataFrame) -> str:
    """The page, with what benchmarks/results/run.yml says about the run that made the cells."""
    run = yaml.safe_load(RUN.read_text(encoding="utf-8"))
    provenance = Provenance(run["commands"], run["date"], run["machine"])
    departures = Departures(
        notes=run["notes"],
        learners=run["learners"],
        budgets=run["budgets"],
        evaluation_rows=run["evaluation_rows"],
    )
    published = read_published()
    made = results_page(cells, published, run["metrics"], provenance, departures)
    return f"{made}\nNot run at all: {run['missing']}.\n{PICTURES}"


def read_cells(path: Path) -> pd.DataFrame:
    """A table of cells, of this or an earlier version."""
    cells = pd.read_parquet(path).rename(columns=OLD_NAMES)
    titles = cells["learner_title"].str.replace("taught rows", "training rows")
    return cells.assign(learner_title=titles)


def newest(path: Path) -> Path:
    """The file, or the last version of a versioned artifact."""
    if path.is_file():
        return path
    versions = sorted(path.glob(f"*/{path.name}"))
    if not versions:
        raise SystemExit(f"{path}: there are no cells. Run `kedro run --pipeline=benchmark` first.")
    return versions[-1]


def main() -> None:
    """Write the page, and keep the cells it was made from."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cells", nargs="?", type=Path, default=KEPT)
    source = newest(parser.parse_args().cells)
    cells = read_cells(source)
    if source != KEPT:
        cells.to_parquet(KEPT, compression="zstd", index=False)
    PAGE.write_text(page(cells), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)}: {len(cells):,} cells.")


if __name__ == "__main__":
    main()
