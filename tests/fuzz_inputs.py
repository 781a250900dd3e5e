"""Bad input of every kind, for `tests.fuzz`: data files, settings, `--params`."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from hypothesis import strategies as st

ROOT = Path(__file__).parent.parent
SECRET = "zebrafish"
"""In texts of the corpus, which no message may quote."""

_characters = st.characters(exclude_categories=["Cs"])
_words = st.text(_characters, max_size=12)
_SIGNS = "\t\r\n\x00\ufeff\u200b\u202e\x1b\"',=:~/é0"
_ODD = (
    "e\u0301 -1 1e999 nan null yes true ${x} ${globals:corpus} {} [] ../.. =1+1 20/class 0.1% films"
)
_odd = st.sampled_from([*_SIGNS, *_ODD.split(), ""])
_scalars = st.one_of(
    _words, _odd, st.integers(), st.floats(), st.booleans(), st.none(), st.just(10**30)
)
_values = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_words | _odd, inner, max_size=3),
    max_leaves=5,
)


def _edited(valid: bytes) -> st.SearchStrategy[bytes]:
    """A valid file with a few bytes cut out, put in or exchanged."""
    edit = st.tuples(st.integers(0, len(valid)), st.integers(0, 4), st.binary(max_size=4))

    def apply(edits: list[tuple[int, int, bytes]]) -> bytes:
        result = valid
        for at, cut, put in edits:
            result = result[:at] + put + result[at + cut :]
        return result

    return st.lists(edit, min_size=1, max_size=4).map(apply)


# --- Data files ------------------------------------------------------------------------------

_ROWS = [{"text": f"{SECRET} number {i}", "label": "good" if i % 2 else "bad"} for i in range(24)]


def _csv(rows: list[dict[str, Any]]) -> bytes:
    return pd.DataFrame(rows).to_csv(index=False).encode("utf-8", "surrogatepass")


def _jsonl(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def _parquet(rows: list[dict[str, Any]]) -> bytes:
    buffer = io.BytesIO()
    try:
        pd.DataFrame(rows).to_parquet(buffer)
    except Exception:
        pd.DataFrame([{key: str(value) for key, value in row.items()} for row in rows]).to_parquet(
            buffer
        )
    return buffer.getvalue()


_WRITERS = {"csv": _csv, "jsonl": _jsonl, "parquet": _parquet}


@st.composite
def _structured_rows(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Rows as above, some of whose labels, texts, columns and keys are odd."""
    rows = [dict(row) for row in _ROWS[: draw(st.sampled_from([0, 1, 2, 23, 24]))]]
    label, text = draw(st.just(None) | _values), draw(st.just(None) | _values)
    for number, row in enumerate(rows):
        if label is not None and number % draw(st.sampled_from([1, 2, 5])) == 0:
            row["label"] = label
        if text is not None and number % 7 == 0:
            row["text"] = f"{SECRET} {text}" if isinstance(text, str) else text
    extra = draw(st.just("") | _words)
    if extra:
        rows = [{extra: draw(_scalars), **row} for row in rows]
    if draw(st.booleans()) and rows:
        rows[0].pop(draw(st.sampled_from(["text", "label"])))
    return rows


@st.composite
def data_files(draw: st.DrawFn) -> tuple[str, bytes, dict[str, Any]]:
    """The ending of a file, its bytes, and the entry that describes it in corpora.yml."""
    ending = draw(st.sampled_from(sorted(_WRITERS)))
    valid = _WRITERS[ending](_ROWS)
    content = draw(
        st.binary(max_size=60)
        | _edited(valid)
        | _structured_rows().map(_WRITERS[ending])
        | _structured_rows().map(_WRITERS[draw(st.sampled_from(sorted(_WRITERS)))])
    )
    entry: dict[str, Any] = {
        "task": "single",
        "source": {"kind": "files", "train": f"data/01_raw/odd.{ending}"},
        "columns": {"text": "text", "label": "label"},
    }
    if draw(st.booleans()):
        entry["labels"] = draw(st.just(["bad", "good"]) | st.lists(_words, min_size=2, max_size=4))
    if draw(st.integers(0, 5)) == 0:
        encodings = ["utf-16", "latin-1", "rot13", "no such", "base64", "idna"]
        entry["source"]["encoding"] = draw(st.sampled_from(encodings))
    if draw(st.integers(0, 5)) == 0:
        entry["columns"] = {"text": "label", "label": "text"}
    return ending, content, entry


# --- Settings --------------------------------------------------------------------------------

_WORDS = (
    "corpora films odd task source kind train evaluation encoding columns text label labels about "
    "licence language fraction seed ingestion budget max_text_chars embedding encoder model corpus "
    "server tracking experiment name mlflow_registry_uri params long_params_strategy type metadata "
    "raw_root path revision package file where text_a text_b single pair hub files"
)
_NAMES = st.sampled_from(_WORDS.split())
_trees = st.recursive(
    _scalars | _NAMES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(_NAMES | _words | _odd, inner, max_size=4)
    ),
    max_leaves=12,
)


@st.composite
def settings_files(draw: st.DrawFn) -> tuple[str, bytes]:
    """The name of a file under conf/local and its bytes."""
    valid = {
        "corpora_more.yml": b"corpora:\n  odd: {task: single, source: {kind: files, train: x.csv},"
        b"\n    columns: {text: text, label: label}, labels: [bad, good]}\n",
        "globals.yml": b"corpus: films\nbudget: 2/class\nencoder: {model: embedded}\n",
        "parameters.yml": b"ingestion:\n  budget: 2/class\n  max_text_chars: 1000\n",
        "mlflow.yml": b"tracking: {experiment: {name: take}, params: {dict_params: {sep: '.'}}}\n",
        "catalog.yml": b"more: {type: take.datasets.artifact.TableArtifact, filepath: data/x.pq}\n",
        "credentials.yml": b"server: {name: x}\n",
    }
    name = draw(st.sampled_from(sorted(valid)))
    tree = st.dictionaries(_NAMES | _words, _trees, max_size=3).map(
        lambda found: yaml.safe_dump(found, allow_unicode=True).encode("utf-8", "replace")
    )
    wrapped = _trees.map(
        lambda found: yaml.safe_dump(
            {"corpora_more.yml": {"corpora": {"films": found}}}.get(name, {"ingestion": found})
        ).encode()
    )
    content = draw(
        st.binary(max_size=40)
        | st.text(_characters, max_size=40).map(str.encode)
        | _edited(valid[name])
        | tree
        | wrapped
    )
    return name, content


# --- The command line ------------------------------------------------------------------------

_PARAMETERS = (
    "corpus budget raw_root ingestion ingestion.budget ingestion.max_text_chars ingestion.x "
    "embedding.segment_strings evaluation audit.gate.override.pii distillation..x ."
)
_parameter_names = st.sampled_from(_PARAMETERS.split())
_argument = st.text(
    st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=12
)


@st.composite
def parameters(draw: st.DrawFn) -> list[str]:
    """Arguments of `kedro run`, after the pipeline."""
    odd = _odd.filter(lambda text: "\x00" not in text)
    number = st.integers(-5, 10**20).map(str)
    pair = st.tuples(_parameter_names | _argument, _argument | odd | number).map("=".join)
    given = draw(st.lists(pair | _argument, max_size=4))
    options = [f"--params={','.join(given)}"]
    name = draw(
        st.sampled_from(["tags", "nodes", "from-nodes", "load-versions", "namespaces", "env", "x"])
    )
    if draw(st.integers(0, 3)) == 0:
        options.append(f"--{name}={draw(_argument | odd)}")
    return options
