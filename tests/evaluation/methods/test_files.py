from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from take.errors import InputError
from take.evaluation.methods import method
from take.evaluation.methods.material import BaselineSettings, EvaluationCopies, NotApplicableError
from tests.evaluation.methods.conftest import make_material

ROWS = {"text": ["dull", "so so", "grand"], "label": [0, 1, 2]}


def written(path, table):
    table = pd.DataFrame(table)
    if path.suffix == ".csv":
        table.to_csv(path, index=False)
    elif path.suffix == ".jsonl":
        lines = [json.dumps(row) for row in table.to_dict("records")]
        path.write_text("\n".join(lines) + "\n")
    else:
        table.to_parquet(path, index=False)
    return str(path)


def evaluated(path, table, material=None, seed=0):
    settings = BaselineSettings(file=written(path, table))
    return method("file")(material or make_material(), settings, seed)


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
def test_labelled_rows_of_any_format_are_read(tmp_path, suffix):
    made = evaluated(tmp_path / f"set{suffix}", ROWS | {"label": ["bad", "fair", "good"]})
    assert made.texts == [["dull", "so so", "grand"]]
    assert made.labels.tolist() == [0, 1, 2]
    assert made.weights.tolist() == [1, 1, 1]


def test_weights_are_kept_in_proportion(tmp_path):
    made = evaluated(tmp_path / "set.csv", ROWS | {"weight": [2, 4, 6]})
    assert made.weights.tolist() == [0.5, 1.0, 1.5]


def test_names_decide_over_ids(tmp_path):
    """Where names are numbers, an id alone would be taken for a name."""
    material = make_material(class_names=("2", "1", "0"))
    table = ROWS | {"label_name": ["2", "1", "0"]}
    assert evaluated(tmp_path / "set.parquet", table, material).labels.tolist() == [0, 1, 2]


def test_a_file_of_each_seed(tmp_path):
    for seed in (0, 1):
        written(tmp_path / f"set_{seed}.csv", ROWS | {"text": [f"{w} {seed}" for w in "abc"]})
    settings = BaselineSettings(file=str(tmp_path / "set_{seed}.csv"))
    assert method("file")(make_material(), settings, 1).texts == [["a 1", "b 1", "c 1"]]


REFUSED = {
    "row 3, column 'label': unknown label 'great'": {"label": ["bad", "fair", "great"]},
    "no row has the label 'fair', 'good'": {"label": [0, 0, 0]},
    "row 2, column 'text': the text is blank": {"text": ["dull", "  ", "grand"]},
    "row 2, column 'text': the text is null": {"text": ["dull", None, "grand"]},
    "row 1, column 'label': label 1 is not that of label_name 'bad'": {
        "label": [1, 1, 2],
        "label_name": ["bad", "fair", "good"],
    },
    "row 2, column 'weight'": {"weight": [1.0, -1.0, 1.0]},
    r"1 of 3 rows are copied from the evaluation split: row 3 \(evaluation row e0\)": {
        "text": ["dull", "so so", "held  OUT"]
    },
    "row 2, column 'text': the text holds a NUL character": {"text": ["dull", "so\0so", "grand"]},
    "row 1, column 'text': the text is not a string": {"text": [b"dull", b"so so", b"grand"]},
    "row 1, column 'label': unknown label 0.0 .and 2 more rows": {"label": [0.0, 1.0, 2.0]},
    "row 2, column 'label': unknown label '3'": {"label": ["0", "3", "2"]},
    "row 3, column 'label': unknown label None": {"label": ["bad", "fair", None]},
    "row 3, column 'label_name': unknown label 'great'": {"label_name": ["bad", "fair", "great"]},
}


@pytest.mark.parametrize("message", REFUSED)
def test_bad_rows_are_refused_with_file_and_row(tmp_path, message):
    with pytest.raises(InputError, match=rf"set\.parquet.*{message}"):
        evaluated(tmp_path / "set.parquet", ROWS | REFUSED[message])


REMEDIES = {
    "did you mean 'good'": {"label": ["bad", "fair", "Good"]},
    "use one of 'bad', 'fair', 'good'": {"label": ["bad", "fair", "xyz"]},
    "add rows of it": {"label": [0, 0, 0]},
    "fill it or drop the row": {"text": ["dull", "", "grand"]},
    "correct it, or drop the column": {"weight": ["1", "heavy", "1"]},
    "remove them": {"text": ["dull", "so so", "Held out"]},
}


@pytest.mark.parametrize("remedy", REMEDIES)
def test_what_is_refused_says_how_to_fix_it(tmp_path, remedy):
    with pytest.raises(InputError) as caught:
        evaluated(tmp_path / "set.csv", ROWS | REMEDIES[remedy])
    assert f"Fix: {remedy}" in str(caught.value)
    assert "corpora.yml" not in str(caught.value)  # the file is at fault, not the corpus


def raw(path, content, **changes):
    path.write_bytes(content)
    return method("file")(make_material(**changes), BaselineSettings(file=str(path)), 0)


GOOD = b"text,label\ndull,0\nso so,1\ngrand,2\n"
JSON = '{"text": "dull", "label": "0", "weight": 2}\n{"text": "so", "label": "1", "weight": 1}\n'
JSON += '{"text": "grand", "label": "2", "weight": 3}\n'


@pytest.mark.parametrize("content", [GOOD, b"\xef\xbb\xbf" + GOOD, GOOD.replace(b"\n", b"\r\n")])
def test_byte_order_marks_and_line_ends_do_not_matter(tmp_path, content):
    made = raw(tmp_path / "set.csv", content)
    assert made.texts == [["dull", "so so", "grand"]]
    assert made.labels.tolist() == [0, 1, 2]


@pytest.mark.parametrize("start", ["", "\n", "\ufeff"])
def test_ids_may_be_strings_and_blank_lines_are_skipped(tmp_path, start):
    made = raw(tmp_path / "set.jsonl", (start + JSON).encode())
    assert made.labels.tolist() == [0, 1, 2]
    assert made.weights.tolist() == [1.0, 0.5, 1.5]


UNREADABLE = {
    "line 3: byte 0xf6 is not UTF-8. Fix: save": GOOD.replace(b"so so", b"s\xf6 so"),
    "line 1: byte 0xff is not UTF-8": GOOD.decode().encode("utf-16"),
    "line 2: NUL byte": GOOD.replace(b"dull", b"du\0ll"),
    "the file is empty": b"\n",
    "there are no rows": b"text,label\n",
    "there is no column 'text' among 2 columns. Fix: did you mean 'Text'?": b"Text,L\n",
    "line 3: malformed CSV: 3 fields": GOOD.replace(b"so so", b"so, so"),
}


@pytest.mark.parametrize("message", UNREADABLE)
def test_damaged_files_are_refused_by_name(tmp_path, message):
    with pytest.raises(InputError) as caught:
        raw(tmp_path / "set.csv", UNREADABLE[message])
    assert message in str(caught.value)
    assert "set.csv" in str(caught.value)


def test_deeply_nested_json_is_refused(tmp_path):
    with pytest.raises(InputError, match="line 1: malformed JSON"):
        raw(tmp_path / "set.jsonl", b"[" * 100_000)


def test_repeated_rows_are_used_with_a_warning(tmp_path, caplog):
    made = evaluated(
        tmp_path / "set.csv",
        {"text": ["a", "a", "b", "a"], "label": ["bad", "bad", "fair", "good"]},
    )
    assert len(made) == 4
    assert "2 of 4 rows repeat the texts of an earlier one, 1 of them under another" in caplog.text
    assert "row 2 repeats row 1" in caplog.text
    caplog.clear()
    evaluated(tmp_path / "set.csv", ROWS)
    assert not caplog.text


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
def test_rows_of_another_task_are_refused(tmp_path, suffix):
    pairs = {"text_a": ["a"] * 3, "text_b": ["b"] * 3, "label": [0, 1, 2]}
    with pytest.raises(InputError, match="its rows are pairs of texts .*Allowed: single texts"):
        evaluated(tmp_path / f"set{suffix}", pairs)
    with pytest.raises(InputError, match="its rows are single texts .*Allowed: pairs of texts"):
        evaluated(tmp_path / f"set{suffix}", ROWS, make_material(pairs=True))


def test_a_missing_file_and_a_missing_column_are_named(tmp_path):
    settings = BaselineSettings(file=str(tmp_path / "nothing.csv"))
    with pytest.raises(InputError, match=r"nothing.csv: there is no such file"):
        method("file")(make_material(), settings, 0)
    settings = BaselineSettings(file=str(tmp_path / "nowhere" / "set.csv"))
    with pytest.raises(InputError, match=r"no such file.*check the path in evaluation.baselines"):
        method("file")(make_material(), settings, 0)
    with pytest.raises(InputError, match="there is no column 'label'"):
        evaluated(tmp_path / "set.csv", {"text": ROWS["text"]})
    with pytest.raises(InputError, match="no file is named"):
        method("file")(make_material(), BaselineSettings(), 0)


def test_a_file_is_never_read_without_a_check_for_copies(tmp_path):
    with pytest.raises(InputError, match="copies of the evaluation split cannot be found"):
        evaluated(tmp_path / "set.csv", ROWS, make_material(evaluation=None))


def test_texts_are_not_quoted(tmp_path):
    with pytest.raises(InputError) as caught:
        evaluated(tmp_path / "set.csv", ROWS | {"text": ["dull", "so so", "Held OUT"]})
    assert "OUT" not in str(caught.value)


def test_copies_of_pairs_are_found_in_either_order_but_not_by_one_text():
    split = pd.DataFrame({"id": ["e0", "e1"], "text_a": ["One.", "?"], "text_b": ["Two!", "!"]})
    copies = EvaluationCopies(split)
    assert copies.of([["one", "TWO", "one", "?"], ["two", "one", "three", "!"]]) == [
        (0, "e0"),
        (1, "e0"),
    ]


def dilm_sets(n_sets=3, sizes=(2, 4)):
    rows = [
        {"per_class": size, "set": number, "label": label, "text": f"{size} {number} {label} {row}"}
        for size in sizes
        for number in range(n_sets)
        for label in range(3)
        for row in range(size)
    ]
    return pd.DataFrame(rows)


def published(tmp_path, table):
    written(tmp_path / "films.parquet", table)
    return BaselineSettings(dilm_root=str(tmp_path))


def test_the_published_set_of_the_seed_and_the_budget_is_read(tmp_path):
    made = method("dilm")(make_material(), published(tmp_path, dilm_sets()), seed=2)
    assert len(made) == 12
    assert np.bincount(made.labels).tolist() == [4, 4, 4]
    assert all(text.startswith("4 2 ") for text in made.texts[0])


def test_published_sets_that_do_not_fit_are_refused(tmp_path):
    settings = published(tmp_path, dilm_sets())
    with pytest.raises(
        NotApplicableError, match=r"films.parquet: there is no set 3. Allowed: 0, 1"
    ):
        method("dilm")(make_material(), settings, seed=3)
    with pytest.raises(NotApplicableError, match="no set of 5 per class. Allowed: 2, 4"):
        method("dilm")(make_material(budgets=(5, 5, 5)), settings, seed=0)
    with pytest.raises(NotApplicableError, match=r"budgets are \[4, 4, 2\]"):
        method("dilm")(make_material(budgets=(4, 4, 2)), settings, seed=0)
    with pytest.raises(
        NotApplicableError, match=r"no such file. Allowed: the folder has sets of films"
    ):
        method("dilm")(make_material(name="sst2"), settings, seed=0)
    with pytest.raises(InputError, match="no column 'text_a'"):
        method("dilm")(make_material(pairs=True), settings, seed=0)
    with pytest.raises(InputError, match="nowhere: there is no such folder") as caught:
        method("dilm")(make_material(), BaselineSettings(dilm_root="nowhere"), seed=0)
    assert not isinstance(caught.value, NotApplicableError)  # a mistake, not a lack
    with pytest.raises(NotApplicableError, match="dilm_root is not set"):
        method("dilm")(make_material(), BaselineSettings(), seed=0)


def test_a_damaged_published_set_is_refused(tmp_path):
    table = dilm_sets()
    last = table.index[(table["per_class"] == 4) & (table["set"] == 0)][-1]
    settings = published(tmp_path, table.drop(index=last))
    with pytest.raises(InputError, match=r"set 0: the classes have \[4, 4, 3\] rows"):
        method("dilm")(make_material(), settings, seed=0)
    settings = published(tmp_path, table.assign(label=table["label"].replace(2, 7)))
    with pytest.raises(InputError, match="unknown label 7"):
        method("dilm")(make_material(), settings, seed=0)
