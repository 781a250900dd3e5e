"""What may be a label: bad ones are refused or named at ingestion, texts are never shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from take.errors import InputError
from tests.corpus.corpora import GOOD, csv, jsonl, run

SECRET = "confidential"
TICKETS = "id,body\n" + "".join(f"{i},{SECRET} ticket {i}\n" for i in range(60))


def rows_labelled(*labels: object) -> list[dict]:
    return [{"text": f"text {i}", "label": labels[i % len(labels)]} for i in range(40)]


@pytest.mark.parametrize("labels", [None, ["bad", "good"]])
@pytest.mark.parametrize("n_rows", [6, 60])
def test_texts_in_the_label_column_are_not_quoted(
    tmp_path: Path, labels: list[str] | None, n_rows: int
) -> None:
    path = csv(tmp_path, "\n".join(TICKETS.splitlines()[: n_rows + 1]))
    with pytest.raises(InputError, match=f"{n_rows} different labels in {n_rows} rows") as error:
        run(path, columns={"text": "id", "label": "body"}, labels=labels)
    assert SECRET not in str(error.value)
    assert "check which column 'label' names in corpora.yml" in str(error.value)


def test_texts_as_labels_of_the_evaluation_file_are_not_quoted(tmp_path: Path) -> None:
    evaluation = tmp_path / "evaluation.csv"
    evaluation.write_text("text,label\n" + "".join(f"{i},{SECRET} {i}\n" for i in range(9)))
    source = {"kind": "files", "train": str(jsonl(tmp_path, GOOD)), "evaluation": str(evaluation)}
    with pytest.raises(InputError, match=r"evaluation\.csv.*9 different labels in 9 rows") as error:
        run(tmp_path, source=source)
    assert SECRET not in str(error.value)


def test_half_as_many_labels_as_rows_are_accepted(tmp_path: Path) -> None:
    rows = [{"text": f"text {i}", "label": f"class {i % 20}"} for i in range(40)]
    with pytest.raises(InputError, match="asks for 2 of it"):  # not: too many labels
        run(jsonl(tmp_path, rows), labels=None)


def test_a_csv_without_a_header_shows_none_of_its_first_row(tmp_path: Path) -> None:
    content = "".join(f"{SECRET} ticket {i},{i % 2}\n" for i in range(40))
    with pytest.raises(InputError, match="line 1: there is no column 'text' among 2") as error:
        run(csv(tmp_path, content))
    assert SECRET not in str(error.value)
    assert "this line has to be the header" in str(error.value)


@pytest.mark.parametrize("name", ["Text", "text ", "texts"])
def test_a_column_that_resembles_the_wanted_one_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=f"did you mean '{name}'"):
        run(csv(tmp_path, f"{name},label\nfine,0\n"))


@pytest.mark.parametrize(
    "label",
    [{"body": f"{SECRET} words"}, [SECRET], f"{SECRET} words of more than forty characters in all"],
)
def test_what_is_no_label_is_not_quoted(tmp_path: Path, label: object) -> None:
    with pytest.raises(InputError, match="row 41, column 'label'") as error:
        run(jsonl(tmp_path, [*GOOD, {"text": "new", "label": label}]))
    assert SECRET not in str(error.value)


BAD = {
    "the label is blank": ["", "  ", "\u200b", "\u3164", "\x01"],
    "the label has 100,000 characters, more than 100": ["x" * 100_000],
    r"the label '\\x1b\[31mred' holds an invisible character \(U\+001B\)": ["\x1b[31mred"],
    r"the label '\\u202egood' holds an invisible character \(U\+202E\)": ["\u202egood"],
    r"the label 'a\\nINFO forged' holds an invisible character \(U\+000A\)": ["a\nINFO forged"],
    r"holds an invisible character \(U\+2028\)": ["a\u2028b"],
    r"holds an invisible character \(U\+200B\)": ["go\u200bod"],
    "holds an unpaired surrogate": ["half \ud83d"],
}
CASES = [(label, problem) for problem, labels in BAD.items() for label in labels]


@pytest.mark.parametrize(("label", "problem"), CASES)
@pytest.mark.parametrize("labels", [None, ["bad", "good"]])
def test_bad_labels_are_refused_with_their_row(
    tmp_path: Path, label: str, problem: str, labels: list[str] | None
) -> None:
    rows = [*rows_labelled("bad", "good"), {"text": "new", "label": label}]
    with pytest.raises(InputError, match=problem) as error:
        run(jsonl(tmp_path, rows), labels=labels)
    message = str(error.value)
    assert "films.jsonl, row 41, column 'label'" in message
    assert "Fix:" in message
    assert message.isprintable()


@pytest.mark.parametrize(("label", "problem"), CASES)
def test_bad_declared_labels_are_refused(tmp_path: Path, label: str, problem: str) -> None:
    with pytest.raises(InputError, match=rf"corpora\.yml, 'labels': .*{problem}") as error:
        run(jsonl(tmp_path, GOOD), labels=["bad", label])
    assert str(error.value).isprintable()


@pytest.mark.parametrize("other", ["good ", "good\u00a0", " good"])
@pytest.mark.parametrize("declared", [True, False])
def test_labels_that_differ_by_blanks_alone_are_refused(
    tmp_path: Path, other: str, declared: bool
) -> None:
    rows = rows_labelled("bad", "good", other)
    with pytest.raises(InputError, match="differ by blanks alone"):
        run(jsonl(tmp_path, rows), labels=["bad", "good", other] if declared else None)


@pytest.mark.parametrize(
    "other", ["Good", "ｇｏｏｄ", "go\u200dod"], ids=["case", "full-width", "joiner"]
)
def test_labels_that_look_alike_are_named_in_a_warning(tmp_path: Path, other: str) -> None:
    result = run(jsonl(tmp_path, rows_labelled("bad", "good", other)), labels=None)
    (warning,) = result.report.warnings
    assert "differ by case or Unicode form alone" in warning
    assert repr(other) in warning
    assert "'bad'" not in warning


def test_names_in_many_scripts_are_labels_without_a_warning(tmp_path: Path) -> None:
    names = ["👩‍👩‍👧", "می‌خواهم", "क्षेत्र", "сюжет", "C++", "Sci/Tech", "❤️", "x" * 100]
    report = run(jsonl(tmp_path, rows_labelled(*names)), labels=None).report
    assert sorted(report.labels) == sorted(names)
    assert not report.warnings


@pytest.mark.parametrize("labels", [(1, "1", 2), (True, 1, 0), (True, "true", "false")])
def test_labels_of_several_types_are_refused(tmp_path: Path, labels: tuple) -> None:
    with pytest.raises(InputError, match=r"several types: .*\(first in row 1\), .*row 2\)"):
        run(jsonl(tmp_path, rows_labelled(*labels)), labels=None)


def test_declared_labels_of_several_types_are_named_in_a_warning(tmp_path: Path) -> None:
    result = run(jsonl(tmp_path, rows_labelled("good", 0, "1")))
    (warning,) = result.report.warnings
    assert "strings (first in row 1), numbers (first in row 2)" in warning
    assert result.report.labels == ["bad", "good"]


def test_a_truth_value_is_no_id(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="row 41, column 'label': unknown label 'true'"):
        run(jsonl(tmp_path, [*GOOD, {"text": "new", "label": True}]))


def test_the_only_label_of_a_file_is_not_quoted(tmp_path: Path) -> None:
    """A file of one row, whose text is mapped as its label."""
    path = csv(tmp_path, "text,label\na,zebrafish number 0\n")
    with pytest.raises(InputError, match="every row has the same label") as refused:
        run(path, labels=None)
    assert "zebrafish" not in str(refused.value)
