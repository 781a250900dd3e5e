"""docs/results.md is generated from the cells in the repository."""

from __future__ import annotations

from bench import results


def test_the_page_in_the_repository_is_made_from_its_cells() -> None:
    cells = results.read_cells(results.KEPT)
    assert results.PAGE.read_text(encoding="utf-8") == results.page(cells)
