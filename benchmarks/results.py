"""docs/results.md, from cells that `kedro run --pipeline=benchmark` computed.

    python benchmarks/results.py                      # from the cells in the repository
    python benchmarks/results.py data/…/benchmark_cells.parquet    # from yours

Yours become the repository's: they are copied to benchmarks/results/cells.parquet.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd
import yaml

from take.evaluation.beside import Departures
from take.evaluation.page import Provenance, results_page
from take.evaluation.published import read_published

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "benchmarks/results/cells.parquet"
RUN = ROOT / "benchmarks/results/run.yml"
PAGE = ROOT / "docs/results.md"

PICTURES = """
## Pictures

The plots `benchmark_margins_plot` and `benchmark_budget_plot` as kedro-viz and MLflow show them, on this page as screenshots.

![What take gains over each method](images/results-margins.png)

![What more rows bring](images/results-budget.png)
"""  # noqa: E501


def page(cells: pd.DataFrame) -> str:
    """The page, with what benchmarks/results/run.yml says of the run that made the cells."""
    run = yaml.safe_load(RUN.read_text(encoding="utf-8"))
    provenance = Provenance(run["commands"], run["date"], run["machine"])
    departures = Departures(
        notes=run["notes"],
        learners=run["learners"],
        budgets=run["budgets"],
        evaluation_rows=run["evaluation_rows"],
    )
    published = read_published(ROOT / "conf/base/published.yml")
    made = results_page(cells, published, run["metrics"], provenance, departures)
    return f"{made}\nNot run at all: {run['missing']}.\n{PICTURES}"


def newest(path: Path) -> Path:
    """The file, or the last version of a versioned artifact."""
    if path.is_file():
        return path
    versions = sorted(path.glob(f"*/{path.name}"))
    if not versions:
        raise SystemExit(f"{path}: there are no cells. Run `kedro run --pipeline=benchmark` first.")
    return versions[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cells", nargs="?", type=Path, default=KEPT)
    cells = pd.read_parquet(newest(parser.parse_args().cells))
    KEPT.parent.mkdir(exist_ok=True)
    cells.to_parquet(KEPT, compression="zstd", index=False)
    PAGE.write_text(page(cells), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)}: {len(cells):,} cells.")


if __name__ == "__main__":
    main()
