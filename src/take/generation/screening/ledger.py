"""The ledger: every generated row is accounted for, by class and by reason. Holds no text."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from pydantic import Field, NonNegativeInt, model_validator

from take.frozen import Frozen
from take.generation.screening.reasons import KEPT, Reason


class Account(Frozen):
    """Rows generated, kept, and dropped by reason.

    >>> Account(generated=3, kept=1, dropped={"duplicate": 1})
    Traceback (most recent call last):
    pydantic_core._pydantic_core.ValidationError: 1 validation error for Account
      Value error, 3 rows were generated but 1 kept + 1 dropped = 2 ...
    """

    generated: NonNegativeInt
    kept: NonNegativeInt
    dropped: dict[Reason, NonNegativeInt] = Field(description="by reason, in the checks' order")

    @model_validator(mode="after")
    def _adds_up(self) -> Account:
        n_dropped = sum(self.dropped.values())
        if self.generated != self.kept + n_dropped:
            raise ValueError(
                f"{self.generated} rows were generated but {self.kept} kept + {n_dropped} dropped "
                f"= {self.kept + n_dropped}"
            )
        return self

    @classmethod
    def of(cls, reasons: pd.Series) -> Account:
        """The account of rows with these reasons; every reason is named, if only with 0."""
        counts = {str(reason): int(n) for reason, n in reasons.value_counts().items()}
        return cls(
            # Not the sum of the counts: a row whose reason is missing must not go unnoticed.
            generated=len(reasons),
            kept=counts.pop(KEPT, 0),
            dropped={Reason(name): 0 for name in Reason}
            | {Reason(r): n for r, n in counts.items()},
        )


class LedgerReport(Frozen):
    """What became of every generated row.

    >>> judged = pd.DataFrame({"label": [0, 0, 1], "reason": ["", "empty", "surplus"]})
    >>> report = LedgerReport.of(judged, ["bad", "good"])
    >>> report.classes["bad"].kept, report.totals.dropped[Reason.SURPLUS]
    (1, 1)
    """

    classes: dict[str, Account]
    totals: Account

    @model_validator(mode="after")
    def _classes_add_up(self) -> LedgerReport:
        accounts = self.classes.values()
        sums = {
            "generated": sum(account.generated for account in accounts),
            "kept": sum(account.kept for account in accounts),
            **{reason.value: sum(a.dropped.get(reason, 0) for a in accounts) for reason in Reason},
        }
        stated = {
            "generated": self.totals.generated,
            "kept": self.totals.kept,
            **{reason.value: self.totals.dropped.get(reason, 0) for reason in Reason},
        }
        wrong = [
            f"{name} {stated[name]} ≠ {sums[name]}" for name in sums if stated[name] != sums[name]
        ]
        if wrong:
            raise ValueError(f"the classes do not add up to the totals: {', '.join(wrong)}")
        return self

    @classmethod
    def of(cls, judged: pd.DataFrame, label_names: Sequence[str]) -> LedgerReport:
        """The report on judged rows, which have at least a label and a reason ("" if kept)."""
        strange = set(judged["label"]) - set(range(len(label_names)))
        if strange:
            raise ValueError(f"labels {sorted(strange)} are not among 0 … {len(label_names) - 1}")
        return cls(
            classes={
                name: Account.of(judged.loc[judged["label"] == label, "reason"])
                for label, name in enumerate(label_names)
            },
            totals=Account.of(judged["reason"]),
        )
