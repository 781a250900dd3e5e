"""What rows contain that should not be released: copies of other rows, personal data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import pandas as pd

from take.audit.privacy.copies import CopyFindings, CopyIndex, CopySettings, copy_summary
from take.audit.privacy.pii import ALL_KINDS, PiiSettings, find_pii, masked
from take.audit.privacy.report import Copies, PiiCounts, ScreeningCounts, Table
from take.rows.labelled import TEXT_COLUMNS, task_of
from take.text.normalise import fold_to_ascii, text_rows

FINDING_COLUMNS = {
    "where": "str",
    "row": "str",
    "kind": "str",
    "reference": "str",
    "reference_row": "str",
    "value": "float64",
    "span": "str",
}
"""Columns of the table of findings: what was found in which table and row, and what it copies."""


class Screened(NamedTuple):
    """The findings with the words they rest on, and their numbers."""

    findings: pd.DataFrame
    counts: ScreeningCounts


def screened(
    tables: Mapping[Table, pd.DataFrame],
    corpus: pd.DataFrame,
    evaluation_split: pd.DataFrame,
    copies: CopySettings,
    pii: PiiSettings,
) -> Screened:
    """Search every table of rows for copies of either split, and for personal data."""
    columns = TEXT_COLUMNS[task_of(corpus)]
    texts = {name: text_rows(table, columns) for name, table in tables.items()}
    splits = {"train": corpus, "evaluation": evaluation_split}
    rows: list[dict[str, Any]] = []
    counts: dict[Table, dict[str, Any]] = {name: {} for name in tables}
    real_rows = None
    for split, reference in splits.items():
        index = CopyIndex(text_rows(reference, columns), copies)
        for name, table in tables.items():
            found = index.find(texts[name])
            rows += _copies(found, name, split, table, reference)
            counts[name][split] = copy_summary(found)
        if split == "train":
            real_rows = copy_summary(index.find(text_rows(evaluation_split, columns)))

    @cache  # searched only once something was found: mostly nothing is
    def in_corpus() -> frozenset[str]:
        return frozenset(found.value for found in _personal_data(corpus, columns, pii))

    personal_data: dict[Table, PiiCounts] = {}
    for name, table in tables.items():
        in_table = list(_personal_data(table, columns, pii))
        personal_data[name] = _pii_counts(in_table, in_corpus)
        rows += _pii_rows(in_table, name, table, in_corpus)
    return Screened(
        pd.DataFrame(rows, columns=list(FINDING_COLUMNS)).astype(FINDING_COLUMNS),
        ScreeningCounts(
            copies={name: Copies(**found) for name, found in counts.items()},
            real_rows=real_rows,
            pii=personal_data,
        ),
    )


def _copies(
    found: CopyFindings, name: str, split: str, table: pd.DataFrame, reference: pd.DataFrame
) -> Iterator[dict[str, Any]]:
    ids, reference_ids = table["id"].tolist(), reference["id"].tolist()
    for finding in found.findings:
        yield {
            "where": name,
            "row": ids[finding.query],
            "kind": finding.kind,
            "reference": split,
            "reference_row": reference_ids[finding.reference],
            "value": finding.overlap,
            "span": finding.span,
        }


class _Found(NamedTuple):
    row: int
    kind: str
    shown: str
    value: str
    """The same for one number however it is written."""


def _personal_data(
    table: pd.DataFrame, columns: Sequence[str], settings: PiiSettings
) -> Iterator[_Found]:
    for column in columns:
        texts = table[column].tolist()
        for found in find_pii(texts, settings.kinds or ALL_KINDS, settings.engine):
            text, span = texts[found.row], slice(found.start, found.end)
            value = "".join(filter(str.isalnum, fold_to_ascii(text[span]).text)).casefold()
            yield _Found(found.row, found.kind, masked(text, found.start, found.end), value)


def _pii_rows(
    found: Sequence[_Found], name: str, table: pd.DataFrame, in_corpus: Callable[[], frozenset[str]]
) -> Iterator[dict[str, Any]]:
    ids = table["id"].tolist()
    for one in found:
        yield {
            "where": name,
            "row": ids[one.row],
            "kind": one.kind,
            "reference": "corpus" if one.value in in_corpus() else "",
            "reference_row": "",
            "value": float("nan"),
            "span": one.shown,
        }


def _pii_counts(found: Sequence[_Found], in_corpus: Callable[[], frozenset[str]]) -> PiiCounts:
    return PiiCounts(
        rows=len({one.row for one in found}),
        in_corpus=len({one.row for one in found if one.value in in_corpus()}),
        kinds=dict(sorted(Counter(one.kind for one in found).items())),
    )
