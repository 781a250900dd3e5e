"""What the privacy gate reports: numbers and names only, because MLflow logs it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from take.audit.audited import AuditedRows
from take.audit.intervals import Estimate
from take.frozen import Frozen
from take.generation.finetuning.fine_tuning_report import PrivacyReport as SpentBudget

CheckName = Literal[
    "verbatim",
    "near_copies",
    "shared_spans",
    "distances",
    "pii",
    "canaries",
    "members",
    "extraction",
]
Table = Literal["distilled", "pool"]
Verdict = Literal["pass", "review", "block"]
VERDICTS: tuple[Verdict, ...] = ("pass", "review", "block")
"""From best to worst."""


class CopySummary(Frozen):
    """How many rows copy; each counts once, as the worst kind found."""

    rows: int = Field(description="Rows that were checked.")
    verbatim: int = Field(description="Word for word, but for case, blanks and punctuation.")
    near_copies: int = Field(description="A few words changed or moved, or an excerpt.")
    shared_spans: int = Field(description="Otherwise different, with a long run of words of one.")
    longest_span: int = Field(
        description="Words of the longest run shared with any row; phrases that many rows contain "
        "count only within a copy."
    )
    copied: float = Field(description="Share of rows with any of the three.")
    copied_low: float = Field(description="Lower end of its 95 % interval.")
    copied_high: float = Field(description="Upper end of its 95 % interval.")


class Copies(Frozen):
    """Copies of training rows, and of rows that nothing was trained on."""

    train: CopySummary
    evaluation: CopySummary = Field(
        description="copies of the evaluation split instead of train: what chance gives a set of "
        "its size"
    )


class PiiCounts(Frozen):
    """Rows with what looks like personal data."""

    rows: int = Field(description="rows with any")
    in_corpus: int = Field(description="rows with such data that the corpus contains, too")
    kinds: dict[str, int] = Field(description="findings by kind")


class ScreeningCounts(Frozen):
    """What was found in the rows themselves."""

    copies: dict[Table, Copies]
    real_rows: CopySummary | None = Field(
        default=None,
        description="training rows that the language model was not trained on, checked against "
        "the other training rows: how much real rows overlap that nobody copied; None where there "
        "are none",
    )
    pii: dict[Table, PiiCounts]
    audited: AuditedRows | None = Field(default=None, description="the rows it is about")

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


class Quantiles(Frozen):
    """Of a distance, or a ratio of two."""

    smallest: float = Field(description="None is below.")
    p01: float = Field(description="1 % are below.")
    p05: float = Field(description="5 % are below.")
    median: float = Field(description="Half of them are below.")
    p95: float = Field(description="95 % are below.")
    mean: float = Field(description="Over all rows.")


class Histogram(Frozen):
    """Shares of rows by distance to the closest reference; the bars of each add up to 1."""

    edges: list[float] = Field(description="Of the bars, one more than there are bars.")
    queries_to_members: list[float] = Field(description="Rows under audit, to all members.")
    unseen_to_members: list[float] = Field(
        description="Non-members, to all members: what real, unseen rows have."
    )
    queries_to_matched_members: list[float] = Field(
        description="Rows under audit, to samples of the members, as many as non-members."
    )
    queries_to_matched_non_members: list[float] = Field(
        description="Rows under audit, to as many non-members of the same classes: without "
        "memorisation, the same as to the matched members."
    )


class Distances(Frozen):
    """Euclidean distances between embeddings. Indicators, not guarantees."""

    queries: int = Field(description="Rows under audit that were measured.")
    members: int = Field(description="Rows that the language model was trained on.")
    non_members: int = Field(description="Rows that it was not trained on.")
    matched_rows: int = Field(description="Rows on either side of the matched comparison.")
    draws: int = Field(description="Samples of the larger side in the matched comparison.")
    closest_member: Quantiles = Field(
        description="Distance of a row under audit to its closest member (DCR)."
    )
    unseen_closest_member: Quantiles = Field(
        description="The same for non-members: what real, unseen rows have."
    )
    closest_matched_member: Quantiles = Field(
        description="Distance of a row under audit to the closest of as many members as there are "
        "matched rows, over all draws."
    )
    closest_matched_non_member: Quantiles = Field(
        description="The same to non-members: without memorisation, the same figures."
    )
    ratio: Quantiles = Field(
        description="Distance to the closest member over that to the second closest (NNDR): near 0 "
        "the row belongs to one member; 1 where both distances are 0."
    )
    unseen_ratio: Quantiles = Field(description="The same for non-members.")
    unusually_close: float = Field(
        description="Share of rows under audit that are closer to a member than all but 1 % of "
        "non-members are. Rows that are more typical than real ones exceed 1 % as well."
    )
    closer_to_members: Estimate = Field(
        description="Share of rows under audit that are closer to a member than to any non-member, "
        "over sets of equal size and classes, ties as halves; ½ if nothing was memorised. With f "
        "times as many members as non-members, a draw holds 1 in f of what may have been copied."
    )
    independent_comparisons: float = Field(
        description="The effective number of comparisons its interval rests on: rows under audit "
        "with the same closest reference row count as one."
    )
    histogram: Histogram = Field(description="The distances, for a plot.")


class DistancesReport(Frozen):
    """Distances to rows the language model was trained on and to rows it was not, by table."""

    tables: dict[Table, Distances] = Field(
        description="empty where it was trained on every row of a class"
    )
    audited: AuditedRows | None = Field(default=None, description="the rows it is about")


class Attack(Frozen):
    """What one membership test found."""

    members: int = Field(description="texts that the kept weights were trained on")
    others: int = Field(description="texts that they were not trained on, drawn alike")
    auc: Estimate = Field(
        description="chance that a text trained on scores above one that was not; 0.5: no trace"
    )
    tpr: Estimate = Field(
        description="share of the texts trained on that are found when 1 % of the others are "
        "taken for such; 0.01: no trace"
    )
    mean_difference: float = Field(
        description="how much more fine-tuning lowered their loss, in nats per token"
    )


class MembershipReport(Frozen):
    """How much the language model memorised; None where there was nothing to compare."""

    canaries: Attack | None = Field(description="planted secrets against those not planted")
    rows: Attack | None = Field(description="corpus rows trained on against validation rows")
    repeats: int = Field(description="how often each canary was among the rows")
    generated_canaries: int = Field(
        description="generated rows, before screening, that begin like a canary"
    )
    extracted_secrets: int = Field(
        description="planted numbers that generated rows contain, before screening"
    )
    control_secrets: int = Field(description="numbers never planted that they contain: by chance")
    pool_sha256: str | None = Field(
        default=None, description="the pool that the language model generated"
    )

    def summary(self) -> str:
        """The figures to look at first, in one line."""
        parts = [
            f"{name} AUC {found.auc.value:.2f} [{found.auc.low:.2f}, {found.auc.high:.2f}]"
            for name, found in (("canaries", self.canaries), ("rows", self.rows))
            if found is not None
        ]
        return ", ".join([*parts, f"{self.extracted_secrets} secrets extracted"])


class Check(Frozen):
    """One check and its verdict."""

    name: CheckName
    verdict: Verdict
    sentence: str = Field(description="what was found, in words")
    overridden: str | None = Field(default=None, description="who overrides the block, and why")


class PrivacyReport(Frozen):
    """The gate's verdict and all it rests on. Screened; not certified."""

    verdict: Verdict = Field(description="the worst of the checks")
    blocked: bool = Field(description="whether the export is stopped: a block not overridden")
    checks: list[Check]
    copies: dict[Table, Copies]
    real_rows: CopySummary | None = Field(
        default=None, description="training rows set apart against the others: by chance"
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
    audited: AuditedRows | None = Field(default=None, description="the rows it is about")

    @property
    def word(self) -> str:
        """What may be claimed about the rows.

        ε covers the language model's training rows; the rows were also scored and selected by
        computations that no ε covers.
        """
        if self.spent is None or self.spent.repeatable:
            return "screened"
        return f"screened; generator trained with ε = {self.spent.epsilon:.2f}"

    def limits_in_words(self) -> str:
        """The limits that were changed, in a sentence; empty if none."""
        changed = ", ".join(
            f"{name} {'none' if value is None else f'{value:g}'}"
            for name, value in self.changed_limits.items()
        )
        return f"Limits that are not the built-in ones: {changed}." if changed else ""

    def reasons(self) -> list[str]:
        """The reasons of checks that did not pass, the worst first."""
        against = [check for check in self.checks if check.verdict != "pass"]
        against.sort(key=lambda check: -VERDICTS.index(check.verdict))
        return [check.sentence for check in against]
