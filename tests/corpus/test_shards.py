"""A folder of shards is a corpus: the same rows as one file, read a batch at a time."""

from __future__ import annotations

import gzip
import json
import weakref
from pathlib import Path

import pandas as pd
import pytest

from take.corpus import reading
from take.corpus.columns import Columns
from take.corpus.ingest import ingest
from take.corpus.sources import CorpusSource
from take.corpus.spec import CorpusSpec
from take.errors import InputError
from tests.corpus.corpora import GOOD, SETTINGS, run

ROWS = pd.DataFrame(
    {"text": [f'say "{i}",\tor\n{i}' for i in range(60)], "label": ["bad", "good"] * 30}
)
FORMATS = ("csv", "tsv", "jsonl", "parquet", "csv.gz", "tsv.gz", "jsonl.gz")


def write(rows: pd.DataFrame, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if ".parquet" in path.suffixes:
        rows.to_parquet(path)
    elif ".jsonl" in path.suffixes:
        rows.to_json(path, orient="records", lines=True)
    else:
        rows.to_csv(path, index=False, sep="\t" if ".tsv" in path.suffixes else ",")
    return path


def shards(folder: Path, ending: str = "parquet", rows: pd.DataFrame = ROWS) -> Path:
    for number, start in enumerate(range(0, len(rows), 25)):
        write(rows[start : start + 25], folder / f"part-{number:02}.{ending}")
    return folder


@pytest.mark.parametrize("ending", FORMATS)
def test_a_folder_is_the_corpus_that_one_file_is(tmp_path: Path, ending: str) -> None:
    one = run(write(ROWS, tmp_path / f"rows.{ending}"))
    folder = shards(tmp_path / "shards", ending)
    (folder / "_SUCCESS").touch()
    (folder / f".part-00.{ending}.crc").touch()
    for path in (folder, folder / f"part-*.{ending}"):
        several = run(path)
        assert several.corpus.equals(one.corpus)
        assert several.evaluation_split.equals(one.evaluation_split)
        assert several.report.train == one.report.train
        assert several.report.origin == str(path)


def test_shards_may_be_of_several_kinds_and_in_folders(tmp_path: Path) -> None:
    folder = tmp_path / "rows"
    for place, ending in enumerate(FORMATS):
        write(ROWS[place * 8 : place * 8 + 8], folder / f"day={place}" / f"rows.{ending}")
    write(ROWS[56:], folder / "day=9" / "rows.csv")
    assert run(folder).corpus.equals(run(write(ROWS, tmp_path / "rows.parquet")).corpus)


def test_evaluation_shards(tmp_path: Path) -> None:
    source = {"kind": "files", "train": str(shards(tmp_path / "train", rows=ROWS[:40]))}
    evaluation = shards(tmp_path / "evaluation", rows=ROWS[30:])
    result = run(tmp_path, source={**source, "evaluation": str(evaluation)})
    assert (len(result.corpus), len(result.evaluation_split)) == (30, 30)


@pytest.mark.parametrize(
    ("value", "problem"), [("", "the text is blank"), (None, "the text is null")]
)
def test_a_bad_row_is_named_with_its_shard(tmp_path: Path, value: object, problem: str) -> None:
    folder = shards(tmp_path / "rows", "jsonl")
    path = folder / "part-01.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:6], json.dumps({"text": value, "label": 0}), *lines[7:]]))
    with pytest.raises(InputError, match=rf"rows/part-01\.jsonl, row 7, column 'text': {problem}"):
        run(folder)


def test_a_bad_label_is_named_with_its_shard(tmp_path: Path) -> None:
    folder = shards(tmp_path / "rows")
    write(pd.DataFrame({"text": ["new"], "label": ["fair"]}), folder / "part-09.parquet")
    with pytest.raises(InputError, match=r"part-09\.parquet, row 1, column 'label': unknown"):
        run(folder)
    write(pd.DataFrame({"text": ["new"], "label": [7]}), folder / "part-09.parquet")
    with pytest.raises(InputError, match=r"numbers \(first in row 1 of .*part-09\.parquet\)"):
        run(folder, labels=None)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "csv.gz"])
def test_a_damaged_shard_is_named(tmp_path: Path, ending: str) -> None:
    folder = shards(tmp_path / "rows", ending)
    path = folder / f"part-01.{ending}"
    path.write_bytes(path.read_bytes()[:-20] + b"\xff")
    with pytest.raises(InputError, match=rf"part-01\.{ending}.*Fix:"):
        run(folder)


def test_a_shard_without_the_column_is_named(tmp_path: Path) -> None:
    folder = shards(tmp_path / "rows")
    write(ROWS.rename(columns={"label": "lable"}), folder / "part-07.parquet")
    with pytest.raises(InputError, match=r"part-07\.parquet: there is no column 'label'"):
        run(folder)


def test_other_files_in_the_folder_are_refused_not_left_out(tmp_path: Path) -> None:
    folder = shards(tmp_path / "rows")
    (folder / "part-02.parquet.tmp").touch()
    with pytest.raises(InputError, match=r"part-02\.parquet\.tmp: it is in .*rows, but no file"):
        run(folder)
    assert len(run(folder / "*.parquet").corpus)


def test_a_pattern_that_matches_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"part-\*\.csv: no file matches the pattern"):
        run(shards(tmp_path / "rows") / "part-*.csv")


def test_a_truncated_gzip_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl.gz"
    packed = gzip.compress("\n".join(map(json.dumps, GOOD)).encode())
    path.write_bytes(packed[:-30])
    with pytest.raises(InputError, match=r"rows\.jsonl\.gz: not a whole gzip file"):
        run(path)


def test_the_digest_is_of_contents_and_order(tmp_path: Path) -> None:
    def digest(path: Path) -> str:
        source = {"kind": "files", "train": str(path)}
        columns = {"text": "text", "label": "label"}
        spec = {"task": "single", "source": source, "columns": columns}
        return CorpusSource("films", CorpusSpec.model_validate(spec)).digest()

    here, there = shards(tmp_path / "here"), shards(tmp_path / "there")
    assert digest(here) == digest(there) == digest(there / "*.parquet")
    (there / "part-00.parquet").rename(there / "part-03.parquet")
    assert digest(here) != digest(there)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_rows_are_python_objects_a_batch_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    """What is read is counted as long as it is alive, whatever then holds it."""

    class Batch(list[object]):
        pass

    batches: list[weakref.ref[Batch]] = []
    most = 0
    kept = Columns.add

    def rows_alive() -> int:
        return sum(len(batch) for ref in batches if (batch := ref()) is not None)

    def add(self: Columns, batch: dict[str, list[object]]) -> None:
        nonlocal most
        counted = {
            name: Batch(values) if isinstance(values, list) else values
            for name, values in batch.items()
        }
        batches.extend(weakref.ref(each) for each in counted.values() if isinstance(each, Batch))
        most = max(most, rows_alive())
        kept(self, counted)

    monkeypatch.setattr(Columns, "add", add)
    monkeypatch.setattr(reading, "BATCH_ROWS", 10)
    folder = shards(tmp_path / "rows", ending)
    columns = {"text": "text", "label": "label"}
    spec = {
        "task": "single",
        "source": {"kind": "files", "train": str(folder)},
        "columns": columns,
        "labels": ["bad", "good"],
    }
    raw = CorpusSource("films", CorpusSpec.model_validate(spec)).read()
    assert most <= 10 * len(columns)
    assert rows_alive() == 0
    assert bool(batches) == (ending != "parquet")
    assert (raw.train.rows.dtypes == "str").all()
    made = ingest(raw, SETTINGS)
    assert len(made.corpus) + len(made.evaluation_split) == len(ROWS)
