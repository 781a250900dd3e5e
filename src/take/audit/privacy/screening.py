"""What rows contain that should not be released: copies of other rows, personal data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import pandas as pd

from take.audit.intervals import Estimate, proportion_interval
from take.audit.privacy.pii import ALL_KINDS, PiiSettings, digits_together, find_pii, masked
from take.audit.privacy.real_rows import MOST_ROWS, held_out_rows, set_apart
from take.audit.privacy.report import Copies, CopySummary, PiiCounts, ScreeningCounts, Table
from take.rows.labelled import TEXT_COLUMNS, task_of
from take.rows.random import rng
from take.text.copies import CopyFindings, CopyIndex, CopySettings
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
    generator_rows: pd.DataFrame,
    copies: CopySettings,
    pii: PiiSettings,
) -> Screened:
    """Search every table of rows for copies of either split, and for personal data."""
    columns = TEXT_COLUMNS[task_of(corpus)]
    texts = {name: text_rows(table, columns) for name, table in tables.items()}
    ids = {name: table["id"].tolist() for name, table in tables.items()}
    rows: list[tuple[Any, ...]] = []
    copied: dict[Table, dict[str, CopySummary]] = {name: {} for name in tables}
    for split, reference, others in (
        ("train", corpus, corpus[:0]),
        ("evaluation", evaluation_split, corpus),
    ):
        index = CopyIndex(text_rows(reference, columns), copies, text_rows(others, columns))
        reference_ids = reference["id"].tolist()
        for name, its in texts.items():
            found = index.find(its)
            copied[name][split] = copy_summary(found)
            rows += [
                (name, ids[name][query], kind, split, reference_ids[row], overlap, span)
                for query, row, kind, overlap, _, span in found.findings
            ]

    @cache  # searched only once something was found: mostly nothing is
    def in_corpus() -> frozenset[str]:
        return personal_values(corpus, columns, pii)

    counted: dict[Table, PiiCounts] = {}
    for name, table in tables.items():
        kinds: Counter[str] = Counter()
        with_any, known = set(), set()
        for row, kind, shown, value in personal_data(table, columns, pii):
            kinds[kind] += 1
            with_any.add(row)
            is_known = value in in_corpus()
            if is_known:
                known.add(row)
            where = "corpus" if is_known else ""
            rows.append((name, ids[name][row], kind, where, "", float("nan"), shown))
        counted[name] = PiiCounts(
            rows=len(with_any), in_corpus=len(known), kinds=dict(sorted(kinds.items()))
        )
    return Screened(
        pd.DataFrame(rows, columns=list(FINDING_COLUMNS)).astype(FINDING_COLUMNS),
        ScreeningCounts(
            copies={name: Copies(**found) for name, found in copied.items()},
            real_rows=real_rows(corpus, generator_rows, copies),
            pii=counted,
        ),
    )


def real_rows(
    corpus: pd.DataFrame, generator_rows: pd.DataFrame, copies: CopySettings
) -> CopySummary | None:
    """What real rows of train copy of the other rows of train; None if there are none to ask.

    They are rows that the language model was not trained on, and so no more than a fifth of the
    corpus: a smaller rest would have less to copy.

    >>> texts = ["a dull film", "no", "so", "yes", "oh"]
    >>> corpus = pd.DataFrame({"id": list("abcde"), "text": texts})
    >>> roles = pd.DataFrame({"id": list("abcde"), "role": "unread"})
    >>> real_rows(corpus, roles, CopySettings()).rows
    1
    """
    texts = text_rows(corpus, TEXT_COLUMNS[task_of(corpus)])
    most = min(MOST_ROWS, len(texts) // 5)
    found = set_apart(texts, held_out_rows(corpus, generator_rows), most, rng(0, "real rows"))
    if not len(found.rows):
        return None
    index = CopyIndex([texts[row] for row in found.rest], copies)
    return copy_summary(index.find([texts[row] for row in found.rows]))


def copy_summary(found: CopyFindings) -> CopySummary:
    """The figures of a report.

    For real rows that nobody copied, they are the baseline: so many rows overlap with the reference
    by chance, or because the corpus repeats itself.

    >>> index = CopyIndex([("a dull film",)], CopySettings())
    >>> summary = copy_summary(index.find([("A dull film!",), ("no",)]))
    >>> summary.verbatim, summary.copied, round(summary.copied_low, 3)
    (1, 0.5, 0.013)
    """
    kinds = Counter(finding.kind for finding in found.findings)
    share = Estimate(value=0.0, low=0.0, high=1.0)
    if found.n_queries:
        share = proportion_interval(len(found.findings), found.n_queries)
    spans = (finding.span_words for finding in found.findings)
    return CopySummary(
        rows=found.n_queries,
        verbatim=kinds["verbatim"],
        near_copies=kinds["near_copy"],
        shared_spans=kinds["shared_span"],
        longest_span=max(int(found.longest_spans.max(initial=0)), max(spans, default=0)),
        copied=share.value,
        copied_low=share.low,
        copied_high=share.high,
    )


def personal_values(
    table: pd.DataFrame, columns: Sequence[str], settings: PiiSettings
) -> frozenset[str]:
    """All personal data of a table, each in one spelling."""
    return frozenset(value for *_, value in personal_data(table, columns, settings))


def personal_data(
    table: pd.DataFrame, columns: Sequence[str], settings: PiiSettings
) -> Iterator[tuple[int, str, str, str]]:
    """Row, kind, how it may be shown, and its value: one, however a number is written."""
    for column in columns:
        texts = table[column].tolist()
        for row, kind, start, end in find_pii(texts, settings.kinds or ALL_KINDS, settings.engine):
            folded = digits_together(fold_to_ascii(texts[row][start:end]).text)
            value = "".join(filter(str.isalnum, folded)).casefold()
            yield row, kind, masked(texts[row], start, end), value
