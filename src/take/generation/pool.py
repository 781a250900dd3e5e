"""The pool and its ledger: rows are generated and screened until each class has its share.

Every generated row is either in the pool or, with the reason why it was dropped, in the ledger.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
from pydantic import NonNegativeInt, model_validator

from take.frozen import Frozen
from take.generation.sampling.rows import RowNumbers
from take.generation.screening.reasons import KEPT, Reason
from take.rows.labelled import content_id, text_columns

_logger = logging.getLogger(__name__)

_MARGIN = 1.05
"""Factor on the rows that the rate so far calls for: another round costs more than a few rows."""


def fill_pool(
    read_rows: Callable[[Sequence[RowNumbers]], pd.DataFrame],
    judge: Callable[[pd.DataFrame, Mapping[int, int]], pd.DataFrame],
    shares: Sequence[int],
    label_names: Sequence[str],
    tries: float,
) -> pd.DataFrame:
    """All generated rows with their verdicts.

    Each round generates what each class lacks, by the rate at which its rows were kept so far. A
    class stops when it has its share, or after `tries` × its share rows. Rounds depend on verdicts
    alone, so the same rows give the same pool, however they are batched. A row that `judge` gives
    another label counts for the share of that one; `prompt_label` is the label of its prompt.
    """
    rounds: list[pd.DataFrame] = []
    made, kept = np.zeros(len(shares), dtype=int), np.zeros(len(shares), dtype=int)
    limits = [math.ceil(tries * share) for share in shares]
    while True:
        wanted = [
            min(_rows_needed(share, kept[c], made[c]), limits[c] - made[c])
            for c, share in enumerate(shares)
        ]
        if not any(wanted):
            break
        candidates = read_rows(
            [
                RowNumbers(c, int(made[c]), int(made[c] + count))
                for c, count in enumerate(wanted)
                if count > 0
            ]
        )
        room = {c: share - int(kept[c]) for c, share in enumerate(shares)}
        judged = candidates.assign(prompt_label=candidates["label"], **judge(candidates, room))
        made += wanted
        kept += np.bincount(judged.loc[judged["reason"] == "", "label"], minlength=len(shares))
        rounds.append(judged)
    for c, share in enumerate(shares):
        if kept[c] < share:
            _logger.warning(
                "Class '%s' has %s of the %s rows wanted after %s tries; the run continues. "
                "Fix: raise generation.sampling.tries, or see the ledger for what was dropped.",
                label_names[c],
                f"{kept[c]:,}",
                f"{share:,}",
                f"{made[c]:,}",
            )
    return pd.concat(rounds, ignore_index=True)


def _rows_needed(share: int, kept: int, made: int) -> int:
    """Rows that would fill a share at the rate so far; the whole share in the first round.

    >>> _rows_needed(100, 0, 0), _rows_needed(100, 80, 100), _rows_needed(100, 100, 130)
    (100, 27, 0)
    """
    lacking = share - kept
    if lacking <= 0 or not made:
        return max(lacking, 0)
    rate = max(kept, 1) / made
    return math.ceil(lacking / rate * _MARGIN)


def pool_rows(
    judged: pd.DataFrame, label_names: Sequence[str], columns: Sequence[str]
) -> pd.DataFrame:
    """The kept rows, class by class: id, texts, label, label_name, prompt_label, the verifier's."""
    order = ["label", "prompt_label", "index"]
    kept = judged[judged["reason"] == ""].sort_values(order, ignore_index=True)
    names = [label_names[label] for label in kept["label"]]
    texts = {column: kept[column].tolist() for column in columns}
    ids = [content_id(parts) for parts in zip(*texts.values(), names, strict=True)]
    pool = pd.DataFrame({"id": ids, **texts, "label": kept["label"], "label_name": names})
    pool = pool.astype(dict.fromkeys(["id", *columns, "label_name"], "str"))
    return pool.join(kept[["prompt_label", "index", "verifier_label", "verifier_confidence"]])


def ledger_rows(judged: pd.DataFrame, label_names: Sequence[str]) -> pd.DataFrame:
    """The dropped rows: label, label_name, index, reason, detail, the generated text."""
    dropped = judged[judged["reason"] != ""].sort_values(["label", "index"], ignore_index=True)
    dropped.insert(1, "label_name", [label_names[label] for label in dropped["label"]])
    return dropped


def all_rows(pool: pd.DataFrame, ledger: pd.DataFrame) -> pd.DataFrame:
    """Every generated row by class of the prompt and number, with its reason ("" if kept).

    >>> pool = pd.DataFrame({"text": ["fine"], "label": [1], "prompt_label": [0], "index": [1]})
    >>> ledger = pool.assign(raw="?", label=0, index=0, reason="empty")
    >>> all_rows(pool, ledger)[["prompt_label", "index", "raw", "reason"]].values.tolist()
    [[0, 0, '?', 'empty'], [0, 1, 'fine', '']]
    """
    raw = ["\n".join(texts) for texts in zip(*text_columns(pool), strict=True)]
    kept = pool.assign(raw=raw, reason=KEPT)
    columns = [column for column in kept if column not in ("id", "label_name")]
    rows = pd.concat([kept[columns], ledger])[columns]
    return rows.sort_values(["prompt_label", "index"], ignore_index=True)


class Account(Frozen):
    """What became of the rows generated from the prompts of a class: kept, or dropped by reason.

    >>> Account(generated=3, kept=1, dropped={"duplicate": 1})
    Traceback (most recent call last):
    pydantic_core._pydantic_core.ValidationError: 1 validation error for Account
      Value error, 3 rows were generated but 1 kept + 1 dropped = 2 ...
    """

    generated: NonNegativeInt
    kept: NonNegativeInt
    dropped: dict[Reason, NonNegativeInt]
    """By reason, in the checks' order."""
    relabelled: NonNegativeInt = 0
    """Of the rows kept, those that are in the pool under another label than their prompt's."""
    received: NonNegativeInt = 0
    """Rows from prompts of other classes that are in the pool under this class's label. So the pool
    has kept − relabelled + received rows of a class."""

    @model_validator(mode="after")
    def _adds_up(self) -> Account:
        n_dropped = sum(self.dropped.values())
        if self.generated != self.kept + n_dropped:
            raise ValueError(
                f"{self.generated} rows were generated but {self.kept} kept + {n_dropped} dropped "
                f"= {self.kept + n_dropped}"
            )
        if self.relabelled > self.kept:
            raise ValueError(f"{self.relabelled} rows were relabelled, but only {self.kept} kept")
        return self

    @classmethod
    def of(cls, reasons: pd.Series, relabelled: int = 0, received: int = 0) -> Account:
        """The account of rows with these reasons; reasons that did not occur have 0."""
        counts = {str(reason): int(n) for reason, n in reasons.value_counts().items()}
        return cls(
            # Not the sum of the counts: a row whose reason is missing must not go unnoticed.
            generated=len(reasons),
            kept=counts.pop(KEPT, 0),
            dropped={Reason(name): 0 for name in Reason}
            | {Reason(r): n for r, n in counts.items()},
            relabelled=relabelled,
            received=received,
        )


class LedgerReport(Frozen):
    """How many rows of each class were kept, and dropped for which reason. Holds no text.

    >>> rows = {"label": [0, 0, 1, 0], "prompt_label": [0, 0, 1, 1]}
    >>> judged = pd.DataFrame({**rows, "reason": ["", "empty", "surplus", ""]})
    >>> report = LedgerReport.of(judged, ["bad", "good"])
    >>> report.classes["good"].kept, report.classes["good"].relabelled
    (1, 1)
    >>> report.totals.dropped[Reason.SURPLUS]
    1
    """

    classes: dict[str, Account]
    """By the class of the prompt."""
    totals: Account

    def summary(self) -> str:
        """The totals in one line."""
        counts = sorted(self.totals.dropped.items(), key=lambda item: -item[1])
        dropped = ", ".join(f"{reason} {count:,}" for reason, count in counts if count)
        moved = self.totals.relabelled
        relabelled = f", {moved:,} of them relabelled" if moved else ""
        pool = f"Pool of {self.totals.kept:,} rows{relabelled}."
        return f"{pool} Dropped: {dropped or 'none'}."

    @model_validator(mode="after")
    def _classes_add_up(self) -> LedgerReport:
        names = ["generated", "kept", "relabelled", "received"]

        def counts(account: Account) -> Counter[str]:
            rows = {name: int(getattr(account, name)) for name in names}
            return Counter(rows | {reason.value: n for reason, n in account.dropped.items()})

        stated, sums = counts(self.totals), Counter[str]()
        for account in self.classes.values():
            sums.update(counts(account))
        checked = [*names, *(reason.value for reason in Reason)]
        wrong = [f"{n} {stated[n]} ≠ {sums[n]}" for n in checked if stated[n] != sums[n]]
        if wrong:
            raise ValueError(f"the classes do not add up to the totals: {', '.join(wrong)}")
        if sums["relabelled"] != sums["received"]:
            raise ValueError(
                f"{sums['relabelled']} rows were relabelled, but {sums['received']} received"
            )
        return self

    @classmethod
    def of(cls, judged: pd.DataFrame, label_names: Sequence[str]) -> LedgerReport:
        """The report on judged rows: label, prompt_label, and reason ("" if kept) of each."""
        strange = set(judged["label"]) | set(judged["prompt_label"])
        strange -= set(range(len(label_names)))
        if strange:
            raise ValueError(f"labels {sorted(strange)} are not among 0 … {len(label_names) - 1}")
        moved = judged[judged["label"] != judged["prompt_label"]]
        if not (moved["reason"] == KEPT).all():
            raise ValueError("a row that was dropped has another label than its prompt")
        return cls(
            classes={
                name: Account.of(
                    judged.loc[judged["prompt_label"] == label, "reason"],
                    relabelled=int((moved["prompt_label"] == label).sum()),
                    received=int((moved["label"] == label).sum()),
                )
                for label, name in enumerate(label_names)
            },
            totals=Account.of(judged["reason"], relabelled=len(moved), received=len(moved)),
        )
