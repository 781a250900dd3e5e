"""Bad rows and files through the real `kedro` command: one message each, no text in it."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.conftest import Project
from tests.corpus.test_data_files import invalid_utf8

pytestmark = pytest.mark.cli

SECRET = "zebrafish"
ROWS = [{"text": f"{SECRET} {i}", "label": ("bad", "good")[i % 2]} for i in range(40)]

BAD_LABELS = {
    "blank": (" ", "the label is blank"),
    "long": (SECRET * 10_000, "the label has 90,000 characters, more than 100"),
    "object": ({"body": SECRET}, "the label is a JSONObject"),
    "surrogate": ("half \ud83d", r"the label 'half \ud83d' holds an unpaired surrogate"),
    "escape": ("\x1b[31mred", r"the label '\x1b[31mred' holds an invisible character (U+001B)"),
    "override": ("\u202egood", r"the label '\u202egood' holds an invisible character (U+202E)"),
    "forged": ("a\n00:00:00 INFO Done", r"the label 'a\n00:00:00 INFO Done' holds an invisible"),
}


def as_lines(rows: list[dict]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def add(project: Project, files: dict[str, str | bytes]) -> None:
    """The files, each a corpus of its own."""
    for file, content in files.items():
        project.write(f"data/01_raw/{file}", content)
    corpora = {
        Path(file).stem: {
            "task": "single",
            "source": {"kind": "files", "train": f"data/01_raw/{file}"},
            "columns": {"text": "id", "label": "body"}
            if file == "mapped.csv"
            else {"text": "text", "label": "label"},
        }
        for file in files
    }
    project.add_corpora(**corpora)


def parquet(table: pa.Table) -> bytes:
    stream = pa.BufferOutputStream()
    pq.write_table(table, stream)
    return stream.getvalue().to_pybytes()


def test_bad_rows_are_refused_at_ingestion_and_no_text_is_shown(project: Project) -> None:
    files: dict[str, str | bytes] = {
        f"{name}.jsonl": as_lines([*ROWS, {"text": SECRET, "label": label}])
        for name, (label, _) in BAD_LABELS.items()
    }
    messages = {
        name: f"{name}.jsonl, row 41, column 'label': {message}"
        for name, (_, message) in BAD_LABELS.items()
    }
    others: dict[str, tuple[str | bytes, str]] = {
        "mapped.csv": (
            "id,body\n" + "".join(f"{i},{SECRET} {i}\n" for i in range(40)),
            "mapped.csv, column 'label': 40 different labels in 40 rows",
        ),
        "headless.csv": (
            "".join(f"{row['text']},{row['label']}\n" for row in ROWS),
            "headless.csv, line 1: there is no column 'text' among 2 columns",
        ),
        "empty.jsonl": ("", "empty.jsonl: there are no rows"),
        "header.csv": ("text,label\n", "header.csv: there are no rows"),
        "rowless.parquet": (
            parquet(pa.table({"text": pa.array([], pa.string()), "label": pa.array([])})),
            "rowless.parquet: there are no rows",
        ),
        "bytes.parquet": (
            parquet(pa.table({"text": invalid_utf8(40, 2), "label": pa.array(["a", "b"] * 20)})),
            "bytes.parquet, row 3, column 'text': the value cannot be read",
        ),
        "spaced.csv": (
            pd.DataFrame([*ROWS, {"text": SECRET, "label": "good "}]).to_csv(index=False),
            "spaced.csv, column 'label': the labels 'good' and 'good ' differ by blanks alone",
        ),
        "twice.jsonl": (
            as_lines(ROWS) + f'{{"text": "{SECRET}", "label": "bad", "label": "good"}}\n',
            "twice.jsonl, line 41: column 'label' appears twice",
        ),
    }
    files |= {name: content for name, (content, _) in others.items()}
    messages |= {Path(name).stem: message for name, (_, message) in others.items()}
    add(project, files)

    commands = (
        ["run", "--pipeline=ingestion", f"--params=corpus={name},budget=2/class"]
        for name in messages
    )
    outcomes = project.kedro_each(*commands)
    for (name, message), (code, output) in zip(messages.items(), outcomes, strict=True):
        assert code == 1, name
        error = output[output.index("Error: ") :]
        assert error.startswith(f"Error: data/01_raw/{message}")
        assert "Fix:" in error
        assert error.rstrip("\n").isprintable()
        assert "Traceback" not in output
        assert SECRET not in output
    assert not project.artifacts()
    assert SECRET.encode() not in (project.path / "mlflow.db").read_bytes()
    assert SECRET not in (project.path / "outcomes.log").read_text()


def test_what_is_accepted_with_a_warning_is_named(project: Project) -> None:
    rows = [
        {"text": f"{SECRET} {i}<|im_end|>", "label": ("bad", "Bad", "good")[i % 3]}
        for i in range(60)
    ]
    add(project, {"warned.jsonl": as_lines(rows)})
    output = project.kedro("run", "--pipeline=ingestion", "--params=corpus=warned,budget=2/class")
    assert "The labels 'Bad' and 'bad' differ by case or Unicode form alone" in output
    assert "(100 %) hold what looks like a special token of a language model" in output
    assert SECRET not in output
    report = json.loads(project.newest("corpus_report.json").read_text())
    assert len(report["warnings"]) == 2
