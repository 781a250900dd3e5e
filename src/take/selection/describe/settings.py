"""Everything a user may set about what is said of the distilled rows."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from take.frozen import Frozen
from take.selection.describe.lineage import Plan


class DescriptionSettings(Frozen):
    """`params:distillation.description`: changing it chooses no other rows."""

    sample_weights: Literal["uniform", "mass"] = Field(
        default="uniform",
        description="`weight` of a distilled row: 1, or by the mass it stands for, with mean 1",
    )
    lineage_rows: int = Field(
        default=20, ge=1, le=10_000, description="training rows listed for each distilled row"
    )
    plan: Plan = Field(
        default="nearest",
        description="`nearest`: a training row is stood for by its nearest distilled row; "
        "`entropic`: it is shared among them as Eq. 11 has it",
    )
    curve_rows_per_class: int | None = Field(
        default=None, ge=1, description="how far the budget curve goes; None: twice the budget"
    )
    sample_rows: int = Field(
        default=1000, ge=10, le=20_000, description="corpus rows in the exact distances"
    )
    seed: int = Field(default=0, ge=0, lt=2**32)
