from __future__ import annotations

from pathlib import Path

import pytest
from kedro.io import AbstractDataset, DatasetError

from take.datasets.work_folder import WorkFolderDataset


@pytest.fixture
def folder(tmp_path: Path) -> WorkFolderDataset:
    return WorkFolderDataset(filepath=str(tmp_path / "searches"), metadata={"layer": "raw"})


def test_it_loads_a_place_and_makes_nothing(folder: WorkFolderDataset, tmp_path: Path) -> None:
    assert folder.load() == tmp_path / "searches"
    assert list(tmp_path.iterdir()) == []
    assert folder.metadata == {"layer": "raw"}


def test_what_is_in_it_is_no_reason_to_run_again(folder: WorkFolderDataset) -> None:
    empty = folder.identity()
    folder.load().mkdir()
    (folder.load() / "state").write_text("half a search")
    assert folder.identity() == empty
    elsewhere = WorkFolderDataset(filepath=str(folder.load() / "deeper"))
    assert elsewhere.identity() == empty


def test_nothing_can_be_saved_to_it(folder: WorkFolderDataset) -> None:
    with pytest.raises(DatasetError, match="a place, not a result"):
        folder.save("anything")  # type: ignore[arg-type]
    with pytest.raises(DatasetError):
        folder.save(None)


def test_the_catalog_can_make_it_and_name_it(tmp_path: Path) -> None:
    entry = {"type": "take.datasets.work_folder.WorkFolderDataset", "filepath": str(tmp_path)}
    made = AbstractDataset.from_config("search_folder", entry)
    assert made.load() == tmp_path
    assert str(tmp_path) in str(made)
