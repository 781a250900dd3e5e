"""How many rows to distil to, and how they are split over the classes."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from take.errors import InputError

_PER_CLASS = re.compile(r"(\d{1,15})\s*/\s*class")
_PERCENT = re.compile(r"(\d{1,15}(?:\.\d{1,15})?|\.\d{1,15})\s*%")
_ROWS = re.compile(r"\d{1,15}")
_ALLOWED = "'20/class', '0.1%' (above 0, at most 100) or a number of rows such as 120"


@dataclass(frozen=True)
class Budget:
    """A parsed budget: rows per class, a share of the corpus, or a number of rows."""

    kind: Literal["per_class", "percent", "rows"]
    amount: Fraction

    @classmethod
    def parse(cls, text: str | int) -> Budget:
        """Read a budget as a user writes it.

        >>> Budget.parse("20/class").split([500, 300])
        (20, 20)
        >>> Budget.parse("0.1%").split([12_500, 12_501])
        (12, 13)
        >>> Budget.parse("200%")
        Traceback (most recent call last):
        take.errors.InputError: Budget '200%' is more than the whole corpus. Allowed: ...
        """
        written = str(text).strip()
        if isinstance(text, bool) or not isinstance(text, (str, int)):
            raise InputError(f"budget {text!r} is not a budget", allowed=_ALLOWED)
        budget = cls._read(written)
        if budget is None:
            raise InputError(f"budget {written!r:.40} is not a budget", allowed=_ALLOWED)
        if budget.amount == 0:
            raise InputError(f"budget {written!r} is 0 rows", allowed=_ALLOWED)
        if budget.kind == "percent" and budget.amount > 100:
            raise InputError(f"budget {written!r} is more than the whole corpus", allowed=_ALLOWED)
        return budget

    @classmethod
    def _read(cls, written: str) -> Budget | None:
        if match := _PER_CLASS.fullmatch(written):
            return cls("per_class", Fraction(match[1]))
        if match := _PERCENT.fullmatch(written):
            return cls("percent", Fraction(match[1]))
        if match := _ROWS.fullmatch(written):
            return cls("rows", Fraction(match[0]))
        return None

    def split(self, class_sizes: Sequence[int]) -> tuple[int, ...]:
        """Rows for each class: an even split, the remainder to the largest classes.

        Of equally large classes the one with the lower id comes first, so that the split is
        deterministic. A share of the corpus is rounded half up.
        """
        n_classes = len(class_sizes)
        if self.kind == "per_class":
            shares = [int(self.amount)] * n_classes
        else:
            total = int(self.amount)
            if self.kind == "percent":
                total = math.floor(self.amount * sum(class_sizes) / 100 + Fraction(1, 2))
            if total < n_classes:
                raise InputError(
                    f"budget {self} is {total} rows for {n_classes} classes",
                    allowed="at least one row per class",
                    remedy=f"set a budget of at least {n_classes} rows",
                )
            even, remainder = divmod(total, n_classes)
            largest_first = sorted(range(n_classes), key=lambda c: (-class_sizes[c], c))
            shares = [even] * n_classes
            for class_id in largest_first[:remainder]:
                shares[class_id] += 1
        return tuple(shares)

    def __str__(self) -> str:
        is_whole = self.amount.denominator == 1
        amount = (
            str(self.amount.numerator) if is_whole else f"{float(self.amount):.10f}".rstrip("0")
        )
        return {"per_class": f"{amount}/class", "percent": f"{amount}%", "rows": amount}[self.kind]


def check_budget(
    budget: Budget,
    class_sizes: Sequence[int],
    names: Sequence[str],
    rows_read: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """The budget's split, if every class has as many rows as its share.

    `rows_read` are the classes' rows before ingestion removed some, for the message.

    >>> check_budget(Budget.parse("3/class"), [5, 2], ["ham", "spam"])
    Traceback (most recent call last):
    take.errors.InputError: Class 'spam' has 2 rows but budget 3/class asks for 3 of it. ...
    """
    shares = budget.split(class_sizes)
    for name, size, share, read in zip(
        names, class_sizes, shares, rows_read or class_sizes, strict=True
    ):
        if size < share:
            left = f" left of {read} (the others are duplicates or in the evaluation split)"
            rows = f"{size} rows{left if read >= share else ''}"
            raise InputError(
                f"class {name!r} has {rows} but budget {budget} asks for {share} of it",
                remedy="lower the budget, add rows, or take the class out of 'labels'",
            )
    return shares
