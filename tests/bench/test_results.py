"""docs/results.md is generated from the cells in the repository, which are of one commit."""

from __future__ import annotations

import shutil

import pandas as pd
import pytest

from bench import results
from take.errors import InputError

MOST_BYTES = 1_000_000


def versions(*names):
    return pd.DataFrame({"code_version": names})


def test_the_page_in_the_repository_is_made_from_its_cells() -> None:
    assert (results.ROOT / results.PAGE).read_text(encoding="utf-8") == results.page()


def test_the_kept_files_are_small() -> None:
    for path in (results.ROOT / results.KEPT).glob("*"):
        assert path.stat().st_size < MOST_BYTES


def test_the_page_names_the_command_that_made_it(tmp_path, monkeypatch) -> None:
    kept = results.ROOT / results.KEPT
    for name in results.TABLES:
        shutil.copy(kept / f"{name}.parquet", tmp_path / f"benchmark_{name}.parquet")
    for corpus in pd.read_parquet(kept / "cells.parquet")["corpus"].unique():
        folder = tmp_path / results.CORPORA / corpus
        folder.mkdir(parents=True)
        for name in ("corpus", "evaluation_split"):
            pd.DataFrame({"id": range(3)}).to_parquet(folder / f"{name}.parquet")
    (tmp_path / results.PAGE).parent.mkdir()
    monkeypatch.setattr(results, "ROOT", tmp_path)
    command = "kedro run --pipeline=benchmark --params=benchmark.sets=10"
    results.main([str(tmp_path), "--command", command])
    assert f"```\n{command}\n```" in (tmp_path / results.PAGE).read_text(encoding="utf-8")


def test_without_cells_the_page_says_why(tmp_path) -> None:
    text = results.page(tmp_path)
    assert "withdrawn" in text
    assert "make benchmark RAW=" in text


def test_cells_of_one_commit_are_accepted() -> None:
    results.check_versions(versions(*["0.1.0 (1a2b3c4)"] * 3))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            ["0.1.0 (1a2b3c4)"] * 2 + ["0.1.0 (5d6e7f8)"],
            r"\(1a2b3c4\) \(2 cells\), 0.1.0 \(5d6e7f8\) \(1 cell\)",
        ),
        (["0.1.0 (1a2b3c4, changed since)"] * 2, r"changed since\) \(2 cells\)"),
        (["0.1.0"], r"0.1.0 \(1 cell\)"),
        (["0.1.0 (1a2b3c4)", ""], r"no version \(1 cell\)"),
        ([], "there are none"),
    ],
)
def test_other_cells_are_refused(names, message) -> None:
    with pytest.raises(InputError, match=f"{message}.*Fix: commit.*make benchmark"):
        results.check_versions(versions(*names))


def test_the_last_version_of_a_table_is_read(tmp_path) -> None:
    path = tmp_path / "benchmark_cells.parquet"
    with pytest.raises(InputError, match="run `make benchmark` first"):
        results.newest(path)
    for version in ("2026-01-02", "2026-01-01"):
        (path / version).mkdir(parents=True)
        (path / version / path.name).touch()
    assert results.newest(path).parent.name == "2026-01-02"
