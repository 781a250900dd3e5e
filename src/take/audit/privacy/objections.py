"""Candidates to which the privacy gate would object as single rows, found before selection.

The gate does not read this table: it searches the finished rows again.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from take.audit.privacy.pii import PiiSettings
from take.audit.privacy.screening import personal_data, personal_values
from take.rows.labelled import TEXT_COLUMNS, task_of
from take.text.copies import CopyIndex, CopySettings
from take.text.normalise import text_rows

_BLOCKED = {
    "copy_of_train": True,
    "copy_of_evaluation": True,
    "near_copy_of_train": True,
    "near_copy_of_evaluation": True,
    "personal_data_of_train": True,
    "shared_span_of_train": False,
    "personal_data": False,
}
"""Reasons, the worst first, and whether the gate blocks such a row or marks it for review."""
OBJECTION_COLUMNS = {"id": "str", "reason": "str", "detail": "str", "blocked": "bool"}


def row_objections(
    pool: pd.DataFrame,
    corpus: pd.DataFrame,
    evaluation_split: pd.DataFrame,
    copies: CopySettings,
    pii: PiiSettings,
) -> pd.DataFrame:
    """The worst objection to each candidate that has any: id, reason, detail, blocked.

    >>> pool = pd.DataFrame({"id": ["a", "b"], "text": ["A dull film!", "ask jo@example.org"]})
    >>> corpus = pd.DataFrame({"id": ["3f2a", "77c0"], "text": ["a dull film", "bliss"]})
    >>> found = row_objections(pool, corpus, corpus[1:], CopySettings(), PiiSettings())
    >>> found.values.tolist()
    [['a', 'copy_of_train', 'train row 3f2a', True], ['b', 'personal_data', 'email', False]]
    """
    ids, order = pool["id"].tolist(), list(_BLOCKED)
    found = [
        *_copies(pool, "train", corpus, corpus[:0], copies),
        *_copies(pool, "evaluation", evaluation_split, corpus, copies),
        *_personal_data(pool, corpus, pii),
    ]
    worst: dict[int, tuple[str, str]] = {}
    for row, reason, detail in sorted(found, key=lambda one: (one[0], order.index(one[1]))):
        worst.setdefault(row, (reason, detail))
    lines = [(ids[row], *why, _BLOCKED[why[0]]) for row, why in worst.items()]
    return pd.DataFrame(lines, columns=list(OBJECTION_COLUMNS)).astype(OBJECTION_COLUMNS)


_Objection = tuple[int, str, str]
"""Candidate, reason, and a detail that quotes no text."""


def _copies(
    pool: pd.DataFrame,
    split: str,
    reference: pd.DataFrame,
    others: pd.DataFrame,
    settings: CopySettings,
) -> Iterator[_Objection]:
    columns = TEXT_COLUMNS[task_of(pool)]
    ids = reference["id"].tolist()
    index = CopyIndex(text_rows(reference, columns), settings, text_rows(others, columns))
    for finding in index.find(text_rows(pool, columns)).findings:
        kind = "copy" if finding.kind == "verbatim" else finding.kind
        reason = f"{kind}_of_{split}"
        if reason in _BLOCKED:  # spans of the evaluation split are no check of the gate
            yield finding.query, reason, f"{split} row {ids[finding.reference]}"


def _personal_data(
    pool: pd.DataFrame, corpus: pd.DataFrame, settings: PiiSettings
) -> Iterator[_Objection]:
    columns = TEXT_COLUMNS[task_of(pool)]
    if found := list(personal_data(pool, columns, settings)):
        known = personal_values(corpus, columns, settings)
        for row, kind, _, value in found:
            yield row, f"personal_data{'_of_train' if value in known else ''}", kind
