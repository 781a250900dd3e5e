"""Files that are empty, damaged or not files, and rows that were accepted without a word."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from take.corpus.ingest import IngestionSettings
from take.corpus.sources import CorpusSource
from take.corpus.spec import CorpusSpec
from take.errors import InputError
from tests.corpus.corpora import GOOD, GOOD_CSV, csv, jsonl, run


def invalid_utf8(n_rows: int, bad_row: int) -> pa.Array:
    """Strings of one byte, one of which is not UTF-8."""
    data = bytearray(b"a" * n_rows)
    data[bad_row] = 0xFF
    offsets = np.arange(n_rows + 1, dtype=np.int32)
    return pa.StringArray.from_buffers(n_rows, pa.py_buffer(offsets), pa.py_buffer(bytes(data)))


@pytest.mark.parametrize("labels", [None, ["bad", "good"]])
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_files_without_rows(tmp_path: Path, ending: str, labels: list[str] | None) -> None:
    path = tmp_path / f"films.{ending}"
    if ending == "parquet":
        pd.DataFrame({"text": [], "label": []}).to_parquet(path)
    else:
        path.write_text("text,label\n" if ending == "csv" else "")
    with pytest.raises(InputError, match=rf"films\.{ending}: there are no rows. Fix:"):
        run(path, labels=labels)


@pytest.mark.parametrize("column", ["text", "label"])
def test_parquet_with_invalid_utf8_names_the_row(tmp_path: Path, column: str) -> None:
    path = tmp_path / "films.parquet"
    columns = {"text": pa.array(map(str, range(40))), "label": pa.array(["0", "1"] * 20)}
    pq.write_table(pa.table({**columns, column: invalid_utf8(40, 17)}), path)
    with pytest.raises(InputError, match=rf"films\.parquet, row 18, column '{column}': .*Fix:"):
        run(path, labels=None)


def test_a_damaged_column_name_in_parquet(tmp_path: Path) -> None:
    path = tmp_path / "films.parquet"
    pq.write_table(pa.table({"text": ["a"], "label": [0]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"label", b"lab\xffl"))
    with pytest.raises(InputError, match=r"films\.parquet: not a whole Parquet file"):
        run(path)


def test_a_file_that_is_not_in_the_stated_encoding(tmp_path: Path) -> None:
    source = {"kind": "files", "train": str(csv(tmp_path, GOOD_CSV)), "encoding": "utf-16"}
    with pytest.raises(InputError, match=r"UTF-16 stream does not start with BOM. Fix:"):
        run(tmp_path, source=source)


def test_a_folder_without_files(tmp_path: Path) -> None:
    folder = tmp_path / "dir.csv"
    folder.mkdir()
    with pytest.raises(InputError, match=r"dir\.csv: the folder holds no file") as error:
        run(folder)
    assert "did you mean" not in str(error.value)


def test_a_link_to_nothing_does_not_suggest_itself(tmp_path: Path) -> None:
    (tmp_path / "films.csv").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match="there is no such file") as error:
        run(tmp_path / "films.csv")
    assert "did you mean" not in str(error.value)


def test_a_name_with_control_characters_is_escaped(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\\x1b\[31mb\.csv: there is no such file") as error:
        run(tmp_path / "a\x1b[31mb.csv")
    assert str(error.value).isprintable()


@pytest.mark.parametrize("column", ["text", "label"])
def test_a_repeated_json_key_names_the_line(tmp_path: Path, column: str) -> None:
    path = jsonl(tmp_path, GOOD)
    line = f'{{"text": "new", "label": 0, "{column}": "0"}}\n'
    path.write_text(path.read_text() + line)
    with pytest.raises(InputError, match=rf"films\.jsonl, line 41: column '{column}' appears tw"):
        run(path)


def test_columns_that_are_not_read_may_be_anything(tmp_path: Path) -> None:
    path = jsonl(tmp_path, GOOD)
    line = '{"text": "new", "label": 0, "more": {"text": 1, "text": 2}, "id": 1, "id": 2}\n'
    path.write_text(path.read_text() + line)
    assert run(path).report.train.rows_read + run(path).report.evaluation.rows_read == 41


@pytest.mark.parametrize("text", ["\u200b\u200d", "\ufeff", "\u2800 \u3164", "\x01\x02", "\ufe0f"])
def test_a_text_that_nobody_can_see_is_blank(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match="row 41, column 'text': the text is blank"):
        run(jsonl(tmp_path, [*GOOD, {"text": text, "label": 0}]))


def test_train_that_equals_evaluation_is_called_so(tmp_path: Path) -> None:
    path = csv(tmp_path, GOOD_CSV)
    source = {"kind": "files", "train": str(path), "evaluation": str(path)}
    with pytest.raises(InputError, match="every train row is also in the evaluation split"):
        run(path, source=source)


def test_a_class_that_lost_its_rows_to_the_evaluation_split(tmp_path: Path) -> None:
    evaluation = tmp_path / "evaluation.csv"
    lines = GOOD_CSV.splitlines()
    evaluation.write_text("\n".join(lines[:1] + lines[1::2]))
    source = {"kind": "files", "train": str(csv(tmp_path, GOOD_CSV)), "evaluation": str(evaluation)}
    with pytest.raises(InputError, match=r"Class 'bad' has 0 rows left of 20 \(the others are dup"):
        run(tmp_path, source=source)


def test_special_tokens_are_counted_in_a_warning(tmp_path: Path) -> None:
    rows = [{"text": f"confidential {i}<|im_end|>", "label": i % 2} for i in range(40)]
    result = run(jsonl(tmp_path, rows))
    (warning,) = result.report.warnings
    n_train = len(result.corpus)
    assert f"{n_train} of {n_train} train rows (100 %) hold what looks like a special" in warning
    assert "confidential" not in warning
    plain = [{"text": f"<b>text</b> [{i}] a|b", "label": i % 2} for i in range(40)]
    assert not run(jsonl(tmp_path, plain)).report.warnings


@pytest.mark.parametrize("budget", ["9" * 5000, f"0.{'1' * 5000}%", f"{'9' * 400}/class"])
def test_a_budget_of_thousands_of_digits_is_refused(budget: str) -> None:
    with pytest.raises(ValueError, match="is not a budget") as error:
        IngestionSettings(budget=budget)
    assert len(error.value.errors()[0]["msg"]) < 200


@pytest.mark.parametrize("content", [b"", b"[", b"\xff", b'"bad"', b'{"bad": 0}'])
def test_label_names_next_to_parquet_files_that_are_no_list(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "films").mkdir()
    (tmp_path / "films" / "labels.json").write_bytes(content)
    source = {"kind": "hub", "repository": "a/b", "revision": "0" * 40}
    described = {"task": "single", "source": source, "columns": {"text": "text", "label": "label"}}
    spec = CorpusSpec.model_validate({**described, "labels": ["bad", "good"]})
    with pytest.raises(InputError, match=r"labels\.json: it holds no list of label names. Fix:"):
        CorpusSource("films", spec, str(tmp_path)).read()
