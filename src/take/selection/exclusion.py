"""Candidates that are excluded from selection because the privacy gate would object to them.

The next best candidates are chosen in their place, because the selector never sees them.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pandas as pd

from take.errors import InputError
from take.selection.selection_settings import Scope

_logger = logging.getLogger(__name__)


def excluded_rows(
    pool: pd.DataFrame, objections: pd.DataFrame, budgets: Sequence[int], scope: Scope = "class"
) -> pd.DataFrame:
    """The ledger of exclusions: id, label, label_name, reason, detail of each excluded candidate.

    A candidate that the gate would block is always excluded. One that it would only mark for review
    is excluded, too, unless its class then had fewer candidates than its budget.

    >>> pool = pd.DataFrame({"id": list("abc"), "label": 0, "label_name": "bad"})
    >>> objections = pd.DataFrame(
    ...     {"id": ["a", "b"], "reason": ["copy_of_train", "personal_data"], "detail": "…"}
    ... ).assign(blocked=[True, False])
    >>> [excluded_rows(pool, objections, [budget])["id"].tolist() for budget in (1, 2)]
    [['a', 'b'], ['a']]
    """
    rows = pool[["id", "label", "label_name"]]
    found = rows.merge(objections, on="id", how="inner")
    parts = []
    for name, label, budget in _groups(rows, budgets, scope):
        mine = found if label is None else found[found["label"] == label]
        candidates = len(rows) if label is None else int((rows["label"] == label).sum())
        parts.append(_excluded(name, mine, candidates, budget))
    excluded = pd.concat([found.iloc[:0], *parts]).drop(columns="blocked")
    if len(excluded):
        _logger.info(
            "%s of %s candidates are excluded: %s.",
            f"{len(excluded):,}",
            f"{len(rows):,}",
            _counted(excluded),
        )
    return excluded.reset_index(drop=True)


def _excluded(name: str, against: pd.DataFrame, candidates: int, budget: int) -> pd.DataFrame:
    """What is excluded of a group with so many candidates."""
    blocked = against[against["blocked"]]
    left = candidates - len(blocked)
    if len(blocked) and left < budget:
        raise InputError(
            f"{left} of {candidates} candidates are left: the others may never be chosen, whatever "
            f"the limits of the privacy gate ({_counted(blocked)})",
            where=name,
            allowed=f"at least {budget} candidates (the budget)",
            remedy="lower the budget, generate a larger pool (generation.sampling.rows), or look "
            "at objections.parquet",
        )
    if candidates - len(against) >= budget:
        return against
    if len(against) > len(blocked):
        _logger.warning(
            "%s: %s candidates that the privacy gate will mark for review are not excluded, "
            "because too few others are left.",
            name,
            len(against) - len(blocked),
        )
    return blocked


def _groups(
    rows: pd.DataFrame, budgets: Sequence[int], scope: Scope
) -> list[tuple[str, int | None, int]]:
    """Name, label and budget of what must keep enough candidates: each class, or the pool."""
    if scope == "global":
        return [("the whole pool", None, sum(budgets))]
    names = dict(zip(rows["label"], rows["label_name"], strict=True))
    return [
        (f"class '{names[label]}'", label, budget)
        for label, budget in enumerate(budgets)
        if label in names
    ]


def _counted(rows: pd.DataFrame) -> str:
    counts = rows["reason"].value_counts()
    return ", ".join(f"{reason} {count:,}" for reason, count in counts.items())
