"""Everything a user may set about the privacy gate, with bounds."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from take.frozen import Frozen

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


class MembershipSettings(Frozen):
    """`params:audit.membership`."""

    rows: int = Field(
        default=96,
        ge=20,
        le=100_000,
        description="corpus rows trained on, and as many held out, whose losses are compared",
    )
    batch_rows: int = Field(default=64, ge=1, le=4096)
    precision: Literal["float32", "bfloat16"] = Field(
        default="bfloat16",
        description="of the products: bfloat16 takes half the time where the processor has it, and "
        "adds an eighth of the spread that scores of canaries have anyway",
    )
    seed: int = Field(default=0, ge=0, lt=2**32)


class PiiSettings(Frozen):
    """`params:audit.pii`."""

    engine: Literal["patterns", "presidio"] = Field(
        default="patterns", description="'presidio' needs take[pii]"
    )
    kinds: tuple[str, ...] | None = Field(
        default=None, description="what is looked for; none: every kind there is"
    )

    @field_validator("kinds")
    @classmethod
    def _are_known(cls, kinds: tuple[str, ...] | None) -> tuple[str, ...] | None:
        from take.audit.privacy.pii import ALL_KINDS

        if unknown := sorted(set(kinds or ()) - set(ALL_KINDS)):
            raise ValueError(f"there is no kind {unknown[0]!r}; there are {', '.join(ALL_KINDS)}")
        return kinds


class Limits(Frozen):
    """`limits` within `params:audit.gate`: what is let pass, and what stops the export.

    Shares count rows. Of a figure with an interval, its lower end counts: it takes evidence to
    stop an export. Where a limit is null, the check never gives that verdict.
    """

    verbatim_block: int | None = Field(
        default=1, ge=1, description="distilled rows that copy a training row word for word"
    )
    near_copies_block: int | None = Field(
        default=1, ge=1, description="distilled rows that nearly copy one"
    )
    pool_copies_review: float | None = Field(
        default=0.001,
        ge=0,
        le=1,
        description="share of the pool that copies, or nearly, and is beyond that of real rows",
    )
    shared_spans_review: int | None = Field(
        default=1, ge=1, description="distilled rows with a long run of a training row's words"
    )
    closer_review: float | None = Field(
        default=0.5, ge=0, le=1, description="rows closer to rows trained on than to others, share"
    )
    closer_block: float | None = Field(default=0.6, ge=0, le=1)
    pii_review: int | None = Field(
        default=1, ge=1, description="distilled rows with what looks like personal data"
    )
    pii_block: int | None = Field(
        default=1, ge=1, description="distilled rows with such data that stand in the corpus, too"
    )
    auc_review: float | None = Field(
        default=0.6, ge=0.5, le=1, description="AUC of membership inference"
    )
    auc_block: float | None = Field(default=0.8, ge=0.5, le=1)
    tpr_review: float | None = Field(
        default=0.05, ge=0, le=1, description="share found at 1 % false alarms"
    )
    tpr_block: float | None = Field(default=0.25, ge=0, le=1)
    extraction_block: int | None = Field(
        default=1, ge=1, description="planted secrets that the language model wrote down"
    )


class GateSettings(Frozen):
    """`params:audit.gate`.

    >>> GateSettings(override={"pii": "J. Doe: invented numbers"}).override["pii"]
    'J. Doe: invented numbers'
    """

    limits: Limits = Limits()
    override: dict[CheckName, str] = Field(
        default_factory=dict,
        description="checks that may not stop the export, each with who says so and why",
    )

    @field_validator("override")
    @classmethod
    def _is_signed(cls, override: dict[CheckName, str]) -> dict[CheckName, str]:
        for name, reason in override.items():
            if not reason.strip():
                raise ValueError(f"override.{name} does not say who overrides it and why")
        return override
