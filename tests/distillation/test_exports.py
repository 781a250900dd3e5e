"""The distilled set in every format, with rows made to break them."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import subprocess
import sys
import time
import unicodedata
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from take.corpus.spec import Task
from take.datasets.artifact import TableArtifact
from take.distillation.exports import (
    check_distilled,
    distilled_columns,
    formula_cells,
    to_csv,
    to_jsonl,
    write_datasets_folder,
)
from take.errors import InputError

NAMES = ["bad", "good"]

HOSTILE = [
    'she said "fine", twice""',
    "one\ntwo\r\nthree\rfour",
    '=HYPERLINK("http://example.com","x")',
    " \t@SUM(1)",
    "\ufeff＝1+1",
    "\u200b\u202e-2+3\u202c \u05d0\u200f",
    "fine;=cmd|' /C calc'!A0",
    'fine\n"=1',
    "nul \0 and \x01\x1b[31m\x7f\x85\u2028\u2029",
    "emoji 👩‍👩‍👧 🎬",
    "\\u0041 \\n </script>",
    "x" * 10_240,
    ",",
    "'already",
    "NA",
]

# Any text that UTF-8 can hold, and texts made of nothing but what matters here.
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
    st.text("a=＠;,'\"\t\r\n\0 \ufeff\u200b\u2028\x85", min_size=1),
).filter(str.strip)
WEIGHTS = st.floats(min_value=0, allow_nan=False, allow_infinity=False)

# The first example of a run waits for imports.
patiently = settings(deadline=None, max_examples=50)


def distilled(texts: list[str], weights: list[float] | None = None) -> pd.DataFrame:
    labels = [row % 2 for row in range(len(texts))]
    return pd.DataFrame(
        {
            "id": [f"{row:04x}" for row in range(len(texts))],
            "text": texts,
            "label": labels,
            "label_name": [NAMES[label] for label in labels],
            "weight": weights or [0.1 * row for row in range(len(texts))],
        }
    )


def distilled_pairs(texts: list[str]) -> pd.DataFrame:
    table = distilled(texts).rename(columns={"text": "text_a"})
    table.insert(2, "text_b", texts[::-1])
    return table


def csv_cells(text: str, delimiter: str = ",") -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))


def runs_as_formula(cell: str) -> bool:
    """Whether a spreadsheet that drops what it cannot show, and folds wide forms, would run it."""
    unseen = ("Cc", "Cf", "Zl", "Zp", "Zs")
    first = next((c for c in cell if unicodedata.category(c) not in unseen), "")
    if unicodedata.decomposition(first or " ").startswith(("<wide>", "<small>")):
        first = unicodedata.normalize("NFKC", first)
    return first in ("=", "+", "-", "@")


HOSTILE_TABLES = [distilled(HOSTILE), distilled_pairs(HOSTILE)]


@pytest.fixture(params=HOSTILE_TABLES, ids=["single", "pair"])
def hostile(request: pytest.FixtureRequest) -> pd.DataFrame:
    return request.param.copy()


# --- CSV


def running_cells(table: pd.DataFrame) -> list[str]:
    """Cells that run in a spreadsheet, whatever it takes for the separator."""
    parsed = [row for delimiter in ",;\t" for row in csv_cells(to_csv(table), delimiter)]
    return [cell for row in parsed for cell in row if runs_as_formula(cell)]


@patiently
@given(st.lists(TEXTS, min_size=1, max_size=5))
def test_no_cell_of_a_csv_runs(texts: list[str]) -> None:
    assert running_cells(distilled(texts)) == []


def test_no_hostile_cell_of_a_csv_runs(hostile: pd.DataFrame) -> None:
    assert running_cells(hostile) == []


@patiently
@given(st.lists(TEXTS, min_size=1, max_size=5))
def test_a_csv_is_the_table_but_for_apostrophes_and_nul(texts: list[str]) -> None:
    table = distilled(texts)
    header, *rows = csv_cells(to_csv(table))
    assert header == list(distilled_columns("single"))
    found = pd.DataFrame(rows, columns=header)
    without = [text.replace("'", "").replace("\0", "\ufffd") for text in texts]
    assert [text.replace("'", "") for text in found["text"]] == without
    changed = sum(len(cell) != len(text) for cell, text in zip(found["text"], texts, strict=True))
    assert changed == formula_cells(table)
    assert found["weight"].astype(float).tolist() == table["weight"].tolist()
    assert found["label"].astype(int).tolist() == table["label"].tolist()


def test_what_is_no_formula_is_left_alone() -> None:
    texts = ["a = b", "3 - 4", "mail me @ home", "'quoted'", "fine; then", "one\ntwo", "1e5", "#!"]
    table = distilled(texts)
    assert formula_cells(table) == 0
    assert [row[1] for row in csv_cells(to_csv(table))[1:]] == texts


@pytest.mark.parametrize("front", ["", " ", "\t", "\r", "\n", "\ufeff", "\u200b", "\0", "\u202e"])
@pytest.mark.parametrize("sign", list("=+-@＝＋－＠"))
def test_every_sign_is_neutralised_behind_anything_unseen(front: str, sign: str) -> None:
    table = distilled([f"{front}{sign}1"])
    cell = csv_cells(to_csv(table))[1][1]
    assert cell.startswith("'")
    assert formula_cells(table) == 1


@pytest.mark.parametrize("text", ["\tplain", "\rplain", " \tplain"])
def test_a_leading_tab_or_return_is_neutralised_too(text: str) -> None:
    assert csv_cells(to_csv(distilled([text])))[1][1] == f"'{text}"


def test_ids_and_label_names_are_neutralised_and_numbers_are_not() -> None:
    table = distilled(["fine"], [1e-7]).assign(id="-1", label_name="@bad")
    assert csv_cells(to_csv(table))[1] == ["'-1", "fine", "0", "'@bad", "1e-07"]
    assert formula_cells(table) == 2


def test_csv_rows_end_as_the_rfc_says() -> None:
    written = to_csv(distilled(["one\ntwo", "three"]))
    assert written.endswith("\r\n")
    assert written.count("\r\n") == 3
    assert not written.startswith("\ufeff")


def test_long_runs_of_separators_are_searched_once() -> None:
    table = distilled(["a" + "\n" * 100_000 + "b", "a" + "; " * 50_000 + "b"])
    start = time.process_time()
    assert formula_cells(table) == 0
    assert time.process_time() - start < 5  # 0.2 s; 40 s if each looked past the others


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
    datasets = pytest.importorskip("datasets")
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
from take.distillation.exports import to_csv, to_jsonl, write_datasets_folder

source, folder = Path(sys.argv[1]), Path(sys.argv[2])
table = pd.DataFrame(json.loads(source.read_text(encoding="utf-8")))
TableArtifact(filepath=str(folder / "distilled.parquet")).save(table)
text = "take.datasets.text.TextDataset"
Artifact(filepath=str(folder / "distilled.csv"), dataset=text).save(to_csv(table))
Artifact(filepath=str(folder / "distilled.jsonl"), dataset=text).save(to_jsonl(table))
write_datasets_folder(table, folder / "set", ["bad", "good"])
"""


def test_two_processes_write_the_same_bytes(tmp_path: Path) -> None:
    source = tmp_path / "rows.json"
    source.write_text(json.dumps(distilled(HOSTILE).to_dict("list")), encoding="utf-8")
    written: list[dict[str, str]] = []
    for name, hash_seed in (("one", "1"), ("two", "2")):
        folder = tmp_path / name
        environment = {"PYTHONHASHSEED": hash_seed, "OMP_NUM_THREADS": "1"}
        subprocess.run(
            [sys.executable, "-c", WRITE_ALL, str(source), str(folder)], env=environment, check=True
        )
        written.append(
            {
                path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
                for path in sorted(folder.rglob("*"))
                if path.is_file() and not path.name.endswith(".record.json")
            }
        )
    assert sorted(written[0]) == [
        "distilled.csv",
        "distilled.jsonl",
        "distilled.parquet",
        "set/data/train-00000-of-00001.parquet",
    ]
    assert written[0] == written[1]


# --- refusals


def test_hostile_rows_are_no_reason_to_refuse(hostile: pd.DataFrame) -> None:
    check_distilled(hostile, NAMES)


def test_classes_without_a_row_are_allowed() -> None:
    check_distilled(distilled(["fine"]), NAMES)


def spoilt(column: str, value: Any, row: int = 1, task: Task = "single") -> pd.DataFrame:
    texts = ["first", "second", "third"]
    table = distilled(texts) if task == "single" else distilled_pairs(texts)
    if isinstance(value, str | None):
        table[column] = table[column].astype(object)
    table.loc[row, column] = value
    return table


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (spoilt("text", " \n"), r"row 2, column 'text': the str of 2 characters is blank"),
        (spoilt("text", None), r"row 2, column 'text': the NoneType is not a string"),
        (spoilt("text", "a\ud800"), r"row 2, column 'text': .* holds half a surrogate pair"),
        (spoilt("text_b", "", task="pair"), r"row 2, column 'text_b': .* is blank"),
        (spoilt("id", ""), r"row 2, column 'id': '' is blank"),
        (spoilt("id", "0000", row=2), r"row 3, column 'id': '0000' stands in an earlier row"),
        (spoilt("label", 2), r"row 2, column 'label': 2 is the label of no class; there are 2"),
        (spoilt("label", -1), r"row 2, column 'label': -1 is the label of no class"),
        (spoilt("label_name", "bad"), r"row 2, column 'label_name': 'bad' contradicts label 1.*'g"),
        (spoilt("weight", float("nan")), r"row 2, column 'weight': nan is no finite number"),
        (spoilt("weight", float("inf")), r"row 2, column 'weight': inf is no finite number"),
        (spoilt("weight", -0.5), r"row 2, column 'weight': -0.5 is negative"),
    ],
)
def test_a_bad_value_is_refused_and_named(table: pd.DataFrame, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_distilled(table, NAMES)


@pytest.mark.parametrize("column", distilled_columns("single"))
def test_a_missing_column_is_refused(column: str) -> None:
    with pytest.raises(InputError, match=f"no column '{column.replace('text', 'text_a')}'"):
        check_distilled(distilled(["fine"]).drop(columns=column), NAMES)


def test_a_table_of_another_shape_is_refused() -> None:
    table = distilled(["first", "second"])
    with pytest.raises(InputError, match="column 'rank' is unknown"):
        check_distilled(table.assign(rank=1), NAMES)
    with pytest.raises(InputError, match="column 'id' is repeated"):
        check_distilled(pd.concat([table, table[["id"]]], axis=1), NAMES)
    with pytest.raises(InputError, match="no rows"):
        check_distilled(table.iloc[:0], NAMES)
    with pytest.raises(InputError, match="column 'weight': the values are int64"):
        check_distilled(table.astype({"weight": "int64"}), NAMES)
    with pytest.raises(InputError, match="Two classes have one name"):
        check_distilled(table, ["bad", "bad"])


@pytest.mark.parametrize("index", [[0, 1], [1, 2], pd.RangeIndex(1, 3)])
def test_an_index_that_parquet_would_keep_is_refused(index: Any) -> None:
    table = distilled(["first", "second"])
    table.index = pd.Index(index)
    with pytest.raises(InputError, match=r"index.*reset_index"):
        check_distilled(table, NAMES)


def test_a_text_is_never_quoted() -> None:
    with pytest.raises(InputError) as caught:
        check_distilled(spoilt("text", "secret \udc00"), NAMES)
    assert "secret" not in str(caught.value)


def test_nothing_is_written_of_a_refused_table(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        write_datasets_folder(spoilt("weight", -1.0), tmp_path / "set", NAMES)
    assert not (tmp_path / "set").exists()
