"""docs/results.md is what the cells in the repository say."""

from __future__ import annotations

import importlib.util

import pandas as pd

from tests.conftest import ROOT


def test_the_page_in_the_repository_is_made_of_the_cells_in_it() -> None:
    found = importlib.util.spec_from_file_location("results", ROOT / "benchmarks/results.py")
    assert found is not None
    assert found.loader is not None
    results = importlib.util.module_from_spec(found)
    found.loader.exec_module(results)
    cells = pd.read_parquet(results.KEPT)
    assert (ROOT / "docs/results.md").read_text(encoding="utf-8") == results.page(cells)
