"""A user's file: its contents decide whether an evaluation has to run again."""

from __future__ import annotations

from pathlib import Path

import pytest

from take.datasets.given_rows import GivenRowsDataset


@pytest.mark.parametrize("name", ["rows.csv", "set_{seed}.csv", "{seed}/rows.csv", "[a]/rows.csv"])
def test_other_contents_are_another_file_wherever_the_seed_stands(
    tmp_path: Path, name: str
) -> None:
    dataset = GivenRowsDataset(filepath=str(tmp_path / name))
    absent = dataset.identity()
    file = tmp_path / name.replace("{seed}", "1")
    file.parent.mkdir(exist_ok=True)
    file.write_text("text,label\n", encoding="utf-8")
    before = dataset.identity()
    file.write_text("text,label\nfine,1\n", encoding="utf-8")
    assert len({absent, before, dataset.identity()}) == 3


def test_no_file_is_no_file() -> None:
    assert GivenRowsDataset(filepath=None).load() is None
    assert GivenRowsDataset(filepath=None).identity() == "no file"
