"""What the audit finds in rows that nobody copied, and how much personal data a corpus contains.

    kedro run --pipeline=ingestion --params=corpus=sst2,raw_root=…     (each corpus, once)
    python benchmarks/audit.py rotten_tomatoes sst2 ag_news mnli mrpc

Rows of the evaluation split are searched for in train: what is found is chance, or a corpus that
repeats itself. No setting is chosen by it.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

import pandas as pd

from take.audit.privacy.pii import find_pii
from take.audit.privacy.screening import copy_summary
from take.rows.labelled import TEXT_COLUMNS, task_of
from take.text.copies import CopyIndex, CopySettings
from take.text.normalise import text_rows

DATA = Path("data/02_intermediate")


def newest(corpus: str, name: str) -> pd.DataFrame:
    """The newest version of a table."""
    return pd.read_parquet(sorted((DATA / corpus / name).glob(f"*/{name}"))[-1])


def main() -> None:
    print("| corpus | rows | verbatim | near copies | spans | flagged | personal data | s |")
    print("|---|---|---|---|---|---|---|---|")
    for corpus in sys.argv[1:]:
        train, split = (
            newest(corpus, f"{name}.parquet") for name in ("corpus", "evaluation_split")
        )
        columns = TEXT_COLUMNS[task_of(train)]
        begun = time.perf_counter()
        index = CopyIndex(text_rows(train, columns), CopySettings())
        found = copy_summary(index.find(text_rows(split, columns)))
        seconds = time.perf_counter() - begun
        personal = [finding for column in columns for finding in find_pii(train[column].tolist())]
        kinds = Counter(finding.kind for finding in personal)
        listed = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items())) or "none"
        print(
            f"| {corpus} | {found.rows:,} | {found.verbatim} | {found.near_copies} | "
            f"{found.shared_spans} | {found.copied:.2%} | {listed} | {seconds:.0f} |"
        )


if __name__ == "__main__":
    main()
