"""What the scripts that print tables for the docs share: the newest report, and a table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def newest_path(corpus: str, name: str, ending: str) -> Path:
    """The newest version of an artifact of a corpus."""
    found = sorted(Path("data").glob(f"*/{corpus}/{name}{ending}/*/{name}{ending}"))
    if not found:
        raise SystemExit(f"no {name} of {corpus} under data/: run the pipeline that makes it first")
    return found[-1]


def newest_report(corpus: str, name: str) -> dict[str, Any]:
    """The newest report of a corpus."""
    text = newest_path(corpus, name, ".json").read_text(encoding="utf-8")
    report: dict[str, Any] = json.loads(text)
    return report


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A Markdown table."""
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    print("\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n")
