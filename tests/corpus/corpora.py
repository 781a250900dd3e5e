"""Files of rows, and the ingestion of them, for the tests of what is refused."""

from __future__ import annotations

import json
from pathlib import Path

from take.corpus.ingest import Ingested, IngestionSettings, ingest
from take.corpus.sources import CorpusSource
from take.corpus.spec import CorpusSpec

GOOD = [{"text": f"text {i}", "label": i % 2} for i in range(40)]
SETTINGS = IngestionSettings(budget="2/class")


def run(path: Path, settings: IngestionSettings = SETTINGS, **changes: object) -> Ingested:
    spec = {
        "task": "single",
        "source": {"kind": "files", "train": str(path)},
        "columns": {"text": "text", "label": "label"},
        "labels": ["bad", "good"],
        **changes,
    }
    return ingest(CorpusSource("films", CorpusSpec.model_validate(spec)).read(), settings)


def all_texts(result: Ingested) -> set[str]:
    return set(result.corpus["text"]) | set(result.evaluation_split["text"])


def jsonl(folder: Path, rows: list[dict]) -> Path:
    path = folder / "films.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def csv(folder: Path, content: str | bytes) -> Path:
    path = folder / "films.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


GOOD_CSV = "text,label\n" + "".join(f"text {i},{i % 2}\n" for i in range(40))
