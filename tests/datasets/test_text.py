from __future__ import annotations

from pathlib import Path

import pytest
from kedro.io import DatasetError
from kedro.io.core import Version

from take.datasets.artifact import Artifact
from take.errors import AlteredArtifactError
from take.reuse.records import record_path


@pytest.fixture
def artifact(tmp_path: Path) -> Artifact:
    return Artifact(
        filepath=str(tmp_path / "set.csv"), dataset="take.datasets.text.TextDataset", version=None
    )


@pytest.mark.parametrize("text", ["", "a\r\nb\nc\rd", "\ufeffnaïve 🎬 \0\u2028", "x" * 100_000])
def test_a_text_comes_back_exactly(artifact: Artifact, text: str) -> None:
    artifact.save(text)
    assert artifact.load() == text
    assert artifact.path.read_bytes() == text.encode("utf-8")


def test_what_utf8_cannot_hold_leaves_the_old_file_in_place(artifact: Artifact) -> None:
    artifact.save("old")
    with pytest.raises(DatasetError, match="surrogates not allowed"):
        artifact.save("new \ud800")
    assert artifact.load() == "old"
    assert sorted(artifact.path.parent.iterdir()) == [artifact.path, record_path(artifact.path)]


def test_an_altered_file_is_noticed(artifact: Artifact) -> None:
    artifact.save("a\r\n")
    artifact.path.write_bytes(b"a\n")
    with pytest.raises((AlteredArtifactError, DatasetError), match="2 bytes where 3 were written"):
        artifact.load()


def test_versions_stand_side_by_side(tmp_path: Path) -> None:
    for version, text in (("1", "first"), ("2", "second")):
        Artifact(
            filepath=str(tmp_path / "set.csv"),
            dataset="take.datasets.text.TextDataset",
            version=Version(None, version),
        ).save(text)
    found = sorted(path.read_text() for path in tmp_path.rglob("set.csv") if path.is_file())
    assert found == ["first", "second"]
