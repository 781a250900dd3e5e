"""The catalog's dataset of a release, as an artifact with a record; made-up rows."""

from __future__ import annotations

from pathlib import Path

import pytest
from kedro.io import DatasetError

from take.datasets.artifact import Artifact
from take.errors import AlteredArtifactError
from take.reuse.records import record_path
from take.reuse.verify import verify
from tests.audit.release.released import check, facts, privacy, released


def artifact(tmp_path: Path) -> Artifact:
    """As the catalog has it."""
    return Artifact(
        filepath=str(tmp_path / "films/release"),
        dataset="take.datasets.release_folder.ReleaseFolderDataset",
    )


def test_it_saves_a_release_and_loads_its_folder(tmp_path: Path) -> None:
    folder = artifact(tmp_path)
    folder.save(released())
    assert folder.load() == tmp_path / "films/release"
    assert (folder.load() / "data/train-00000-of-00001.parquet").is_file()
    assert record_path(folder.load()).is_file()
    assert "filepath" in str(folder)
    assert (verify(tmp_path).checked, verify(tmp_path).problems) == (1, [])
    assert sorted(path.name for path in folder.load().parent.iterdir()) == [
        "release",
        "release.record.json",
    ]


def test_a_blocked_release_leaves_the_earlier_one(tmp_path: Path) -> None:
    folder = artifact(tmp_path)
    folder.save(released())
    before = folder.identity()
    with pytest.raises(DatasetError, match="The privacy gate blocks the release"):
        folder.save(released(facts(privacy=privacy(check("verbatim", "block")))))
    assert folder.identity() == before
    assert verify(tmp_path).problems == []
    assert not list(tmp_path.rglob(".*"))


def test_an_altered_release_is_not_loaded(tmp_path: Path) -> None:
    folder = artifact(tmp_path)
    folder.save(released())
    (folder.load() / "README.md").write_text("# other\n")
    with pytest.raises((AlteredArtifactError, DatasetError), match=r"README\.md was altered"):
        folder.load()
