"""What the audit finds in rows that nobody copied, and how much personal data a corpus contains.

    kedro run --pipeline=ingestion --params=corpus=sst2,raw_root=…     (each corpus, once)
    python benchmarks/audit.py rotten_tomatoes sst2 ag_news mnli mrpc

Train rows that no other train row contains are set apart, and searched for in the rest of train:
what is found is chance, or a corpus that repeats itself. Those that share a long run of words with
what they resemble are counted apart: mostly, they are the same story told twice. No evaluation row
is read.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

from take.audit.privacy.pii import find_pii
from take.audit.privacy.real_rows import set_apart
from take.audit.privacy.screening import copy_summary
from take.rows.labelled import TEXT_COLUMNS, task_of
from take.rows.random import rng
from take.text.copies import CopyIndex, CopySettings
from take.text.normalise import text_rows

DATA = Path("data/02_intermediate")
ROWS, LONG_RUN = 2000, 8


def train_rows(corpus: str) -> pd.DataFrame:
    """The newest version of the train rows."""
    return pd.read_parquet(sorted((DATA / corpus / "corpus.parquet").glob("*/*.parquet"))[-1])


def main() -> None:
    print(
        "| corpus | train | set apart | verbatim | near copies | spans | flagged | no run of "
        f"{LONG_RUN} words | personal data | s |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for corpus in sys.argv[1:]:
        train = train_rows(corpus)
        columns = TEXT_COLUMNS[task_of(train)]
        rows = text_rows(train, columns)
        begun = time.perf_counter()
        most = min(ROWS, len(rows) // 5)
        apart = set_apart(rows, np.arange(len(rows)), most, rng(0, "apart"))
        index = CopyIndex([rows[i] for i in apart.rest], CopySettings())
        findings = index.find([rows[i] for i in apart.rows])
        found = copy_summary(findings)
        seconds = time.perf_counter() - begun
        by_chance = sum(finding.span_words < LONG_RUN for finding in findings.findings)
        personal = [finding for column in columns for finding in find_pii(train[column].tolist())]
        kinds = Counter(finding.kind for finding in personal)
        listed = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items())) or "none"
        print(
            f"| {corpus} | {len(rows):,} | {found.rows:,} | {found.verbatim} | "
            f"{found.near_copies} | {found.shared_spans} | {found.copied:.2%} | {by_chance} | "
            f"{listed} | {seconds:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
