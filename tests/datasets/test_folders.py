"""Texts, releases and work folders as the catalog has them."""

from __future__ import annotations

from pathlib import Path

import pytest
from kedro.io import AbstractDataset, DatasetError
from kedro.io.core import Version

from take.audit.release.manifest import check_release
from take.datasets.artifact import Artifact
from take.datasets.folders import WorkFolderDataset
from take.errors import AlteredArtifactError
from take.reuse.records import record_path
from take.reuse.verify import verify
from tests.audit.release.released import check, facts, privacy, released


def artifact(tmp_path: Path) -> Artifact:
    """As the catalog has it."""
    return Artifact(
        filepath=str(tmp_path / "films/release"),
        dataset="take.datasets.folders.ReleaseFolderDataset",
    )


def test_a_release_is_saved_and_its_folder_loaded(tmp_path: Path) -> None:
    folder = artifact(tmp_path)
    folder.save(released())
    assert folder.load() == tmp_path / "films/release"
    assert (folder.load() / "data/train-00000-of-00001.parquet").is_file()
    assert record_path(folder.load()).is_file()
    assert "filepath" in str(folder)
    assert (verify(tmp_path, check_release).checked, verify(tmp_path, check_release).problems) == (
        1,
        [],
    )
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
    assert verify(tmp_path, check_release).problems == []
    assert not list(tmp_path.rglob(".*"))


def test_an_altered_release_is_not_loaded(tmp_path: Path) -> None:
    folder = artifact(tmp_path)
    folder.save(released())
    (folder.load() / "README.md").write_text("# other\n")
    with pytest.raises((AlteredArtifactError, DatasetError), match=r"README\.md was altered"):
        folder.load()


@pytest.fixture
def text_artifact(tmp_path: Path) -> Artifact:
    return Artifact(
        filepath=str(tmp_path / "set.csv"),
        dataset="take.datasets.folders.TextDataset",
        version=None,
    )


@pytest.mark.parametrize("text", ["", "a\r\nb\nc\rd", "\ufeffnaïve 🎬 \0\u2028", "x" * 100_000])
def test_a_text_comes_back_exactly(text_artifact: Artifact, text: str) -> None:
    text_artifact.save(text)
    assert text_artifact.load() == text
    assert text_artifact.path.read_bytes() == text.encode("utf-8")


def test_what_utf8_cannot_hold_leaves_the_old_file_in_place(text_artifact: Artifact) -> None:
    text_artifact.save("old")
    with pytest.raises(DatasetError, match="surrogates not allowed"):
        text_artifact.save("new \ud800")
    assert text_artifact.load() == "old"
    assert sorted(text_artifact.path.parent.iterdir()) == [
        text_artifact.path,
        record_path(text_artifact.path),
    ]


def test_an_altered_file_is_noticed(text_artifact: Artifact) -> None:
    text_artifact.save("a\r\n")
    text_artifact.path.write_bytes(b"a\n")
    with pytest.raises((AlteredArtifactError, DatasetError), match="2 bytes where 3 were written"):
        text_artifact.load()


def test_versions_are_kept_next_to_each_other(tmp_path: Path) -> None:
    for version, text in (("1", "first"), ("2", "second")):
        Artifact(
            filepath=str(tmp_path / "set.csv"),
            dataset="take.datasets.folders.TextDataset",
            version=Version(None, version),
        ).save(text)
    found = sorted(path.read_text() for path in tmp_path.rglob("set.csv") if path.is_file())
    assert found == ["first", "second"]


@pytest.fixture
def work_folder(tmp_path: Path) -> WorkFolderDataset:
    return WorkFolderDataset(filepath=str(tmp_path / "searches"), metadata={"layer": "raw"})


def test_a_work_folder_loads_its_path_and_creates_nothing(
    work_folder: WorkFolderDataset, tmp_path: Path
) -> None:
    assert work_folder.load() == tmp_path / "searches"
    assert list(tmp_path.iterdir()) == []
    assert work_folder.metadata == {"layer": "raw"}


def test_the_content_of_a_work_folder_is_not_its_identity(work_folder: WorkFolderDataset) -> None:
    empty = work_folder.identity()
    work_folder.load().mkdir()
    (work_folder.load() / "state").write_text("half a search")
    assert work_folder.identity() == empty
    elsewhere = WorkFolderDataset(filepath=str(work_folder.load() / "deeper"))
    assert elsewhere.identity() == empty


def test_a_work_folder_is_read_only(work_folder: WorkFolderDataset) -> None:
    with pytest.raises(DatasetError, match="is read only"):
        work_folder.save("anything")  # type: ignore[arg-type]
    with pytest.raises(DatasetError):
        work_folder.save(None)


def test_the_catalog_makes_a_work_folder(tmp_path: Path) -> None:
    entry = {"type": "take.datasets.folders.WorkFolderDataset", "filepath": str(tmp_path)}
    made = AbstractDataset.from_config("search_folder", entry)
    assert made.load() == tmp_path
    assert str(tmp_path) in str(made)
