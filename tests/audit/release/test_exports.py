"""The distilled set in the formats that are exact, and what is refused before any is written."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import unicodedata
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from take.audit.audited import to_jsonl
from take.audit.release.folder import write_datasets_folder
from take.datasets.artifact import TableArtifact
from take.errors import InputError
from take.selection.tables import check_distilled
from tests.audit.release.hostile import (
    HOSTILE,
    NAMES,
    TEXTS,
    WEIGHTS,
    distilled,
    patiently,
)

# --- JSONL


@patiently
@given(st.lists(st.tuples(TEXTS, WEIGHTS), min_size=1, max_size=5))
def test_jsonl_is_exact_and_has_a_line_a_row(rows: list[tuple[str, float]]) -> None:
    table = distilled([text for text, _ in rows], [weight for _, weight in rows])
    written = to_jsonl(table).encode("utf-8").decode("utf-8")
    lines = written.splitlines()  # breaks at U+2028, U+0085 and the like, too
    assert len(lines) == len(table)
    assert [json.loads(line) for line in lines] == table.to_dict("records")


def test_jsonl_keeps_the_order_of_columns_and_the_letters(hostile: pd.DataFrame) -> None:
    written = to_jsonl(hostile)
    assert "🎬" in written
    assert "\\ud83c" not in written
    assert not [c for c in written if unicodedata.category(c) in ("Cc", "Zl", "Zp") and c != "\n"]
    records = [json.loads(line) for line in written.splitlines()]
    assert [list(record) for record in records] == [list(hostile.columns)] * len(hostile)
    assert records == hostile.to_dict("records")


def test_jsonl_refuses_what_is_no_json() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_jsonl(distilled(["fine"], [float("nan")]))


# --- Parquet and the `datasets` folder


def test_parquet_is_exact(hostile: pd.DataFrame, tmp_path: Path) -> None:
    artifact = TableArtifact(filepath=str(tmp_path / "distilled.parquet"))
    artifact.save(hostile)
    pd.testing.assert_frame_equal(artifact.load(), hostile, check_exact=True)


def test_the_datasets_folder_says_what_its_columns_are(
    hostile: pd.DataFrame, tmp_path: Path
) -> None:
    write_datasets_folder(hostile, tmp_path / "set", NAMES)
    files = [path for path in (tmp_path / "set").rglob("*") if path.is_file()]
    assert files == [tmp_path / "set/data/train-00000-of-00001.parquet"]
    found = pq.read_table(files[0])
    features = json.loads(found.schema.metadata[b"huggingface"])["info"]["features"]
    assert list(features) == list(hostile.columns)
    assert features["label"] == {"names": NAMES, "_type": "ClassLabel"}
    assert found.to_pylist() == hostile.to_dict("records")


@pytest.mark.parametrize("with_card", [False, True])
def test_the_datasets_library_reads_the_folder(
    hostile: pd.DataFrame, tmp_path: Path, with_card: bool
) -> None:
    import datasets

    folder = tmp_path / "set"
    write_datasets_folder(hostile, folder, ["bad", "good", "in between"])
    if with_card:
        (folder / "README.md").write_text("---\nlicense: cc0-1.0\n---\n# A set\n")
    loaded = datasets.load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))
    assert list(loaded) == ["train"]
    rows = loaded["train"]
    assert rows.features["label"] == datasets.ClassLabel(names=["bad", "good", "in between"])
    others = {name: kind.dtype for name, kind in rows.features.items() if name != "label"}
    assert others == dict.fromkeys(others, "string") | {"weight": "float64"}
    assert rows.to_list() == hostile.to_dict("records")


@patiently
@given(st.lists(st.tuples(TEXTS, WEIGHTS), min_size=1, max_size=5))
def test_the_datasets_folder_is_exact(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, float]]
) -> None:
    table = distilled([text for text, _ in rows], [weight for _, weight in rows])
    folder = tmp_path_factory.mktemp("set")
    write_datasets_folder(table, folder, NAMES)
    file = folder / "data/train-00000-of-00001.parquet"
    assert pq.read_table(file).to_pylist() == table.to_dict("records")


WRITE_ALL = """
import json
import sys
from pathlib import Path
import pandas as pd
from take.datasets.artifact import Artifact, TableArtifact
from take.audit.audited import to_jsonl
from take.audit.release.folder import to_csv, write_datasets_folder

source, folder = Path(sys.argv[1]), Path(sys.argv[2])
table = pd.DataFrame(json.loads(source.read_text(encoding="utf-8")))
TableArtifact(filepath=str(folder / "distilled.parquet")).save(table)
text = "take.datasets.folders.TextDataset"
Artifact(filepath=str(folder / "distilled.csv"), dataset=text).save(to_csv(table))
Artifact(filepath=str(folder / "distilled.jsonl"), dataset=text).save(to_jsonl(table))
write_datasets_folder(table, folder / "set", ["bad", "good"])
"""


def test_two_processes_write_the_same_bytes(tmp_path: Path) -> None:
    source = tmp_path / "rows.json"
    source.write_text(json.dumps(distilled(HOSTILE).to_dict("list")), encoding="utf-8")
    folders = [tmp_path / "one", tmp_path / "two"]
    running = [
        subprocess.Popen(
            [sys.executable, "-c", WRITE_ALL, str(source), str(folder)],
            env={"PYTHONHASHSEED": str(seed), "OMP_NUM_THREADS": "1"},
        )
        for seed, folder in enumerate(folders, start=1)
    ]
    assert [process.wait() for process in running] == [0, 0]
    written = [
        {
            path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and not path.name.endswith(".record.json")
        }
        for folder in folders
    ]
    assert sorted(written[0]) == [
        "distilled.csv",
        "distilled.jsonl",
        "distilled.parquet",
        "set/data/train-00000-of-00001.parquet",
    ]
    assert written[0] == written[1]


# --- refusals


def test_hostile_rows_are_accepted(hostile: pd.DataFrame) -> None:
    check_distilled(hostile, NAMES)


def test_nothing_is_written_of_a_refused_table(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        write_datasets_folder(distilled(["bad"], [-1.0]), tmp_path / "set", NAMES)
    assert not (tmp_path / "set").exists()
