"""What the privacy gate found: numbers and names only, because MLflow logs it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from take.audit.privacy.copies import CopySummary
from take.audit.privacy.distances import Distances
from take.audit.privacy.membership import MembershipReport
from take.audit.privacy.settings import CheckName
from take.frozen import Frozen
from take.generation.finetuning.report import PrivacyReport as SpentBudget

Table = Literal["distilled", "pool"]
Verdict = Literal["pass", "review", "block"]
VERDICTS: tuple[Verdict, ...] = ("pass", "review", "block")
"""From best to worst."""


class Copies(Frozen):
    """Copies of training rows, and of rows that nothing was learned from."""

    train: CopySummary
    held_out: CopySummary = Field(
        description="the evaluation split in the place of train: what chance gives a set of its "
        "size"
    )


class PiiCounts(Frozen):
    """Rows with what looks like personal data."""

    rows: int = Field(description="rows with any")
    in_corpus: int = Field(description="rows with such data that stand in the corpus, too")
    kinds: dict[str, int] = Field(description="findings by kind")


class ScreeningCounts(Frozen):
    """What was found in the rows themselves."""

    copies: dict[Table, Copies]
    real_rows: CopySummary | None = Field(
        default=None,
        description="the evaluation split's own rows in the place of ours, against train: so much "
        "of it real rows do that nobody copied",
    )
    pii: dict[Table, PiiCounts]

    def summary(self) -> str:
        """The figures to look at first, in one line."""
        parts = []
        for name, found in self.copies.items():
            train = found.train
            parts.append(
                f"{name} {train.verbatim:,} copies, {train.near_copies:,} near copies, "
                f"{train.shared_spans:,} long spans of training rows, "
                f"{self.pii[name].rows:,} rows with personal data"
            )
        return "; ".join(parts)


class DistancesReport(Frozen):
    """How near rows are to what the language model was trained on, and to what it never read."""

    tables: dict[Table, Distances] = Field(
        description="empty where it was trained on every row of a class"
    )


class Check(Frozen):
    """One check and its verdict."""

    name: CheckName
    verdict: Verdict
    sentence: str = Field(description="what was found, in words")
    overridden: str | None = Field(
        default=None, description="who let it pass all the same, and why"
    )


class PrivacyReport(Frozen):
    """The gate's verdict and all it rests on. Screened; not certified."""

    verdict: Verdict = Field(description="the worst of the checks")
    blocked: bool = Field(description="whether the export is stopped: a block not overridden")
    checks: list[Check]
    copies: dict[Table, Copies]
    real_rows: CopySummary | None = Field(
        default=None, description="rows of the evaluation split against train: by chance"
    )
    distances: dict[Table, Distances] = Field(
        description="empty where every corpus row was trained on"
    )
    pii: dict[Table, PiiCounts]
    membership: MembershipReport
    spent: SpentBudget | None = Field(description="ε, where fine-tuning was private")
    changed_limits: dict[str, float | None] = Field(
        default_factory=dict, description="limits that are not the built-in ones; None: no limit"
    )

    @property
    def word(self) -> str:
        """What may be said of the rows.

        ε covers the language model's training rows; the rows were also scored and selected by
        computations that no ε covers.
        """
        if self.spent is None or self.spent.repeatable:
            return "screened"
        return f"screened; generator trained with ε = {self.spent.epsilon:.2f}"

    def limits_in_words(self) -> str:
        """Limits that somebody has changed, for people; empty if none."""
        changed = ", ".join(
            f"{name} {'none' if value is None else f'{value:g}'}"
            for name, value in self.changed_limits.items()
        )
        return f"Limits that are not the built-in ones: {changed}." if changed else ""

    def reasons(self) -> list[str]:
        """What speaks against the rows, the worst first."""
        against = [check for check in self.checks if check.verdict != "pass"]
        against.sort(key=lambda check: -VERDICTS.index(check.verdict))
        return [check.sentence for check in against]
