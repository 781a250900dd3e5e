"""What rows contain that should not be released: copies of other rows, personal data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from take.audit.privacy.copies import CopyFindings, CopyIndex, CopySettings, copy_summary
from take.audit.privacy.pii import ALL_KINDS, PiiFinding, PiiSettings, find_pii, masked
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
            rows += _copied(found, name, split, table, reference)
            counts[name][split] = copy_summary(found)
        if split == "train":
            real_rows = copy_summary(index.find(text_rows(evaluation_split, columns)))
    personal = _Personal(corpus, columns, pii)
    found_pii = {name: personal.find(table) for name, table in tables.items()}
    for name, table in tables.items():
        rows += personal.rows(found_pii[name], name, table)
    return Screened(
        pd.DataFrame(rows, columns=list(FINDING_COLUMNS)).astype(FINDING_COLUMNS),
        ScreeningCounts(
            copies={name: Copies(**found) for name, found in counts.items()},
            real_rows=real_rows,
            pii={name: personal.counts(found) for name, found in found_pii.items()},
        ),
    )


def _copied(
    found: CopyFindings, name: str, split: str, table: pd.DataFrame, reference: pd.DataFrame
) -> Iterator[dict[str, Any]]:
    ids, known = table["id"].tolist(), reference["id"].tolist()
    for finding in found.findings:
        yield {
            "where": name,
            "row": ids[finding.query],
            "kind": finding.kind,
            "reference": split,
            "reference_row": known[finding.reference],
            "value": finding.overlap,
            "span": finding.span,
        }


class _Found(NamedTuple):
    row: int
    kind: str
    shown: str
    in_corpus: bool


class _Personal:
    """Personal data in rows, and whether the corpus holds the same."""

    def __init__(self, corpus: pd.DataFrame, columns: Sequence[str], settings: PiiSettings) -> None:
        self._columns, self._settings = columns, settings
        self._corpus = corpus
        self._known: frozenset[str] | None = None

    def find(self, table: pd.DataFrame) -> list[_Found]:
        found = []
        for text, finding in self._findings(table):
            value = _value(text, finding)
            shown = masked(text, finding.start, finding.end)
            found.append(_Found(finding.row, finding.kind, shown, value in self._in_corpus()))
        return found

    def rows(
        self, found: Sequence[_Found], name: str, table: pd.DataFrame
    ) -> Iterator[dict[str, Any]]:
        ids = table["id"].tolist()
        for finding in found:
            yield {
                "where": name,
                "row": ids[finding.row],
                "kind": finding.kind,
                "reference": "corpus" if finding.in_corpus else "",
                "reference_row": "",
                "value": float("nan"),
                "span": finding.shown,
            }

    def counts(self, found: Sequence[_Found]) -> PiiCounts:
        kinds = Counter(finding.kind for finding in found)
        return PiiCounts(
            rows=len({finding.row for finding in found}),
            in_corpus=len({finding.row for finding in found if finding.in_corpus}),
            kinds=dict(sorted(kinds.items())),
        )

    def _findings(self, table: pd.DataFrame) -> Iterator[tuple[str, PiiFinding]]:
        kinds = self._settings.kinds or ALL_KINDS
        for column in self._columns:
            texts = table[column].tolist()
            for finding in find_pii(texts, kinds, self._settings.engine):
                yield texts[finding.row], finding

    def _in_corpus(self) -> frozenset[str]:
        """Searched only once something was found: mostly nothing is."""
        if self._known is None:
            self._known = frozenset(_value(*found) for found in self._findings(self._corpus))
        return self._known


def _value(text: str, finding: PiiFinding) -> str:
    """The same for one number however it is written."""
    return "".join(
        filter(str.isalnum, fold_to_ascii(text[finding.start : finding.end]).text)
    ).casefold()
