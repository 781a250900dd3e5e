from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from kedro.io import DatasetError
from kedro.io.core import Version

from take.artifacts.records import record_path
from take.datasets.artifact import Artifact
from take.distillation.exports import DistilledSet
from take.errors import AlteredArtifactError

NAMES = ["bad", "good", "in between"]
FILE = "data/train-00000-of-00001.parquet"


def distilled(*texts: str) -> DistilledSet:
    labels = [row % 2 for row in range(len(texts))]
    table = pd.DataFrame(
        {
            "id": [f"{row:04x}" for row in range(len(texts))],
            "text": texts,
            "label": labels,
            "label_name": [NAMES[label] for label in labels],
            "weight": 1.0,
        }
    )
    return DistilledSet(table, NAMES)


def artifact(tmp_path: Path, version: str | None = None) -> Artifact:
    """As the catalog has it."""
    return Artifact(
        filepath=str(tmp_path / "dataset"),
        dataset="take.datasets.datasets_folder.DatasetsFolderDataset",
        version=Version(None, version) if version else None,
    )


def test_it_saves_rows_and_loads_the_folder_to_give_to_datasets(tmp_path: Path) -> None:
    saved = distilled("dull", "grand", "naïve 🎬\nfilm")
    folder = artifact(tmp_path)
    folder.save(saved)
    assert folder.load() == tmp_path / "dataset"
    written = pq.read_table(tmp_path / "dataset" / FILE)
    assert written.to_pylist() == saved.rows.to_dict("records")
    features = json.loads(written.schema.metadata[b"huggingface"])["info"]["features"]
    assert features["label"] == {"names": NAMES, "_type": "ClassLabel"}  # also without a row


def test_a_later_set_replaces_all_of_the_earlier_one(tmp_path: Path) -> None:
    folder = artifact(tmp_path)
    folder.save(distilled("dull", "grand"))
    folder.save(distilled("new"))
    files = [path for path in folder.load().rglob("*") if path.is_file()]
    assert files == [tmp_path / "dataset" / FILE]
    assert pq.read_table(files[0]).column("text").to_pylist() == ["new"]
    assert sorted(tmp_path.iterdir()) == [tmp_path / "dataset", record_path(tmp_path / "dataset")]


def test_the_same_rows_make_the_same_bytes(tmp_path: Path) -> None:
    written = []
    for name in ("one", "two"):
        folder = artifact(tmp_path / name)
        folder.save(distilled("dull", "grand"))
        written.append((folder.load() / FILE).read_bytes())
    assert written[0] == written[1]


def test_a_refused_set_leaves_the_old_one_in_place(tmp_path: Path) -> None:
    folder = artifact(tmp_path)
    folder.save(distilled("old"))
    bad = distilled("new")
    with pytest.raises(DatasetError, match="'weight': -1.0 is negative"):
        folder.save(DistilledSet(bad.rows.assign(weight=-1.0), NAMES))
    assert pq.read_table(folder.load() / FILE).column("text").to_pylist() == ["old"]
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("how", ["altered", "added", "removed"])
def test_a_folder_that_was_changed_by_hand_is_noticed(tmp_path: Path, how: str) -> None:
    folder = artifact(tmp_path)
    folder.save(distilled("dull", "grand"))
    file = tmp_path / "dataset" / FILE
    if how == "altered":
        file.write_bytes(file.read_bytes()[:-1])
    elif how == "added":
        file.with_name("more.parquet").write_bytes(b"")
    else:
        file.unlink()
    with pytest.raises((AlteredArtifactError, DatasetError), match="altered|added|missing"):
        folder.load()


def test_versions_stand_side_by_side(tmp_path: Path) -> None:
    for version, text in (("1", "first"), ("2", "second")):
        artifact(tmp_path, version).save(distilled(text))
    files = sorted(path for path in tmp_path.rglob("*.parquet"))
    texts = [pq.read_table(path).column("text").to_pylist() for path in files]
    assert texts == [["first"], ["second"]]
    assert artifact(tmp_path, "3").load().parts[-2:] == ("2", "dataset")  # the newest
