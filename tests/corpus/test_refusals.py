"""Every kind of bad input, through the reader and the ingestion it meets."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from take.corpus.ingest import IngestionSettings
from take.errors import InputError
from tests.corpus.corpora import GOOD, GOOD_CSV, all_texts, csv, jsonl, run


def test_good_rows_pass_in_every_format(tmp_path: Path) -> None:
    parquet = tmp_path / "films.parquet"
    pd.DataFrame(GOOD).to_parquet(parquet)
    results = [run(path) for path in (jsonl(tmp_path, GOOD), csv(tmp_path, GOOD_CSV), parquet)]
    assert all(result.corpus.equals(results[0].corpus) for result in results)
    assert results[0].report.train.rows_read + results[0].report.evaluation.rows_read == 40


def test_missing_file(tmp_path: Path) -> None:
    csv(tmp_path, GOOD_CSV)
    with pytest.raises(
        InputError, match=r"film\.csv: there is no such file.*did you mean 'films\.csv'"
    ):
        run(tmp_path / "film.csv")


def test_unknown_ending(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.xlsx.*\.csv, \.jsonl, \.parquet"):
        run(tmp_path / "films.xlsx")


def test_missing_column(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no column 'label' among 2 columns.*'lable'\?"):
        run(csv(tmp_path, "text,lable\nfine,0\n"))


@pytest.mark.parametrize("content", ["text,label\n", ""])
def test_empty_corpus(tmp_path: Path, content: str) -> None:
    with pytest.raises(InputError, match=r"films\.csv.*(no rows|no column)"):
        run(csv(tmp_path, content))


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (None, "the text is null, value None"),
        ("", "the text is blank, value str of 0 characters"),
        ("  \t\n ", "the text is blank"),
        (17, "the text is not a string, value int"),
        (["a"], "the text is not a string"),
        ("x" * 1_000_000, "longer than 100,000 characters, value str of 1,000,000 characters"),
        ("a\0b", "NUL character"),
        ("half \ud83d pair", "surrogate"),
    ],
)
def test_bad_text_is_named_by_row(tmp_path: Path, value: object, problem: str) -> None:
    rows = [*GOOD[:5], {"text": value, "label": 0}, *GOOD[5:]]
    with pytest.raises(InputError, match=problem) as error:
        run(jsonl(tmp_path, rows))
    assert "films.jsonl, row 6, column 'text'" in str(error.value)
    assert "Fix:" in str(error.value)


def test_texts_are_not_quoted_in_messages(tmp_path: Path) -> None:
    secret = "confidential " * 10_000
    with pytest.raises(InputError) as error:
        run(jsonl(tmp_path, [*GOOD, {"text": secret, "label": 0}]))
    assert "confidential" not in str(error.value)


def test_several_bad_rows_are_counted(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"row 1,.*and 2 more rows"):
        run(jsonl(tmp_path, [{"text": "", "label": 0}] * 3 + GOOD))


@pytest.mark.parametrize("label", ["terrible", 2, -1, "2"])
def test_unknown_label(tmp_path: Path, label: object) -> None:
    with pytest.raises(InputError, match=rf"row 41, column 'label': unknown label '{label}'"):
        run(jsonl(tmp_path, [*GOOD, {"text": "new", "label": label}]))


@pytest.mark.parametrize("label", [None, 0.5, "", [0]])
def test_invalid_labels_are_refused(tmp_path: Path, label: object) -> None:
    with pytest.raises(InputError, match="row 41, column 'label': the label is"):
        run(jsonl(tmp_path, [*GOOD, {"text": "new", "label": label}]))


@pytest.mark.parametrize(
    ("labels", "named"), [(["bad", "good"], "the label 'good'"), (None, "the same label")]
)
def test_single_label(tmp_path: Path, labels: list[str] | None, named: str) -> None:
    rows = [{"text": f"text {i}", "label": "good"} for i in range(40)]
    with pytest.raises(InputError, match=f"every row has {named}"):
        run(jsonl(tmp_path, rows), labels=labels)


def test_declared_label_without_rows(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no row has the declared label 'fair'"):
        run(jsonl(tmp_path, GOOD), labels=["bad", "good", "fair"])


def test_evaluation_label_that_train_lacks(tmp_path: Path) -> None:
    evaluation = tmp_path / "evaluation.csv"
    evaluation.write_text("text,label\nseen,0\nunseen,3\n")
    source = {"kind": "files", "train": str(csv(tmp_path, GOOD_CSV)), "evaluation": str(evaluation)}
    with pytest.raises(InputError, match=r"evaluation\.csv, row 2.*unknown label '3'"):
        run(tmp_path, source=source, labels=None)


def test_class_smaller_than_its_budget(tmp_path: Path) -> None:
    settings = IngestionSettings(budget="1000/class")
    with pytest.raises(InputError, match=r"lass 'bad' has \d+ rows but budget 1000/class"):
        run(jsonl(tmp_path, GOOD), settings)


def test_wrong_encoding_names_the_line(tmp_path: Path) -> None:
    content = GOOD_CSV.encode() + "très bien,1\n".encode("latin-1")
    with pytest.raises(InputError, match=r"films\.csv, line 42: byte 0xe8 is not utf-8.*latin-1"):
        run(csv(tmp_path, content))


def test_another_encoding_can_be_stated(tmp_path: Path) -> None:
    path = csv(tmp_path, GOOD_CSV.encode() + "très bien,1\n".encode("latin-1"))
    source = {"kind": "files", "train": str(path), "encoding": "latin-1"}
    result = run(path, source=source)
    assert "très bien" in all_texts(result)


def test_byte_order_mark_is_no_part_of_the_first_column(tmp_path: Path) -> None:
    assert len(run(csv(tmp_path, b"\xef\xbb\xbf" + GOOD_CSV.encode())).corpus)


def test_nul_byte_names_the_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"films\.csv, line 42: NUL byte"):
        run(csv(tmp_path, GOOD_CSV.encode() + b"a\0b,1\n"))


def test_truncated_parquet(tmp_path: Path) -> None:
    path = tmp_path / "films.parquet"
    pd.DataFrame(GOOD).to_parquet(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"films\.parquet: not a whole Parquet file"):
        run(path)


def test_text_column_of_numbers_in_parquet(tmp_path: Path) -> None:
    path = tmp_path / "films.parquet"
    pd.DataFrame({"text": range(40), "label": [0, 1] * 20}).to_parquet(path)
    with pytest.raises(
        InputError, match="row 1, column 'text': the text is not a string, value int"
    ):
        run(path)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("one,two,3", "3 fields where the header has 2"),
        ("alone", "1 fields where the header has 2"),
        ('"open', "malformed CSV"),
        ('"shut"late,1', "malformed CSV"),
    ],
)
def test_malformed_csv_names_the_line(tmp_path: Path, line: str, problem: str) -> None:
    with pytest.raises(InputError, match=rf"films\.csv, line 42: .*{problem}|line 42: {problem}"):
        run(csv(tmp_path, GOOD_CSV + line + "\n"))


@pytest.mark.parametrize("line", ['{"text": "a", "label": ', "[1, 2]", '{"text": "a"}', "nonsense"])
def test_malformed_jsonl_names_the_line(tmp_path: Path, line: str) -> None:
    path = jsonl(tmp_path, GOOD)
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(InputError, match=r"films\.jsonl, line 41"):
        run(path)


def test_unusual_but_legal_text_passes(tmp_path: Path) -> None:
    texts = [
        "🎬🍿 👩‍👩‍👧",
        "فيلم رائع",
        "סרט נהדר",
        "很好看",
        "long " * 15_000,
        "NA",
        "null",
        "a\nb",
        'say "hi"',
    ]
    rows = [*GOOD, *({"text": text, "label": i % 2} for i, text in enumerate(texts))]
    result = run(jsonl(tmp_path, rows))
    assert set(texts) <= all_texts(result)


def test_legal_text_survives_csv(tmp_path: Path) -> None:
    path = tmp_path / "films.csv"
    frame = pd.DataFrame(
        {"text": ["NA", "a\nb", 'say "hi", twice', "🎬"] * 1, "label": [0, 1, 0, 1]}
    )
    pd.concat([frame, pd.DataFrame(GOOD)]).to_csv(path, index=False)
    assert set(frame["text"]) <= all_texts(run(path))


def test_an_empty_evaluation_split_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no row is in the evaluation split"):
        run(jsonl(tmp_path, GOOD), evaluation={"fraction": 1e-9})


@pytest.mark.parametrize("labels", [None, ["1", "2"]])
def test_a_number_that_is_no_label_does_not_pass_as_an_id(
    tmp_path: Path, labels: list[str] | None
) -> None:
    rows = [{"text": f"text {i}", "label": 1 + i % 2} for i in range(40)]
    evaluation = tmp_path / "evaluation.csv"
    evaluation.write_text("text,label\nseen,1\nunseen,0\n")
    source = {
        "kind": "files",
        "train": str(jsonl(tmp_path, rows)),
        "evaluation": str(evaluation),
    }
    with pytest.raises(InputError, match=r"evaluation\.csv, row 2.*unknown label '0'"):
        run(tmp_path, source=source, labels=labels)


def test_label_names_that_only_look_like_numbers(tmp_path: Path) -> None:
    rows = [{"text": f"text {i}", "label": ("²", "--5")[i % 2]} for i in range(40)]
    assert run(jsonl(tmp_path, rows), labels=None).report.labels == ["--5", "²"]


@pytest.mark.parametrize("line", ["[" * 100_000, '{"text": "a", "label": ' + "9" * 5000 + "}"])
def test_json_nested_too_deeply_names_the_line(tmp_path: Path, line: str) -> None:
    path = jsonl(tmp_path, GOOD)
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(InputError, match=r"films\.jsonl, line 41"):
        run(path)


@pytest.mark.parametrize("encoding", ["hex", "klingon"])
def test_what_is_no_text_encoding_is_refused(tmp_path: Path, encoding: str) -> None:
    source = {"kind": "files", "train": str(csv(tmp_path, GOOD_CSV)), "encoding": encoding}
    with pytest.raises(InputError, match="unknown encoding"):
        run(tmp_path, source=source)
