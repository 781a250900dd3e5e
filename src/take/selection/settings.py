"""Everything a user may set about selection, with bounds; validated before anything is computed."""

from __future__ import annotations

import numpy as np
from pydantic import Field, field_validator

from take.frozen import Frozen
from take.rows.arrays import Int64
from take.selection.exam.settings import ExamSettings
from take.selection.geometry import GeometrySettings
from take.selection.problem import Scope


class SelectionSettings(Frozen):
    """Parameters of the selectors (METHOD §3).

    >>> SelectionSettings(epsilon=0.1).epsilon
    0.1
    """

    selector: str = Field(default="exam", description="name of a selector in the registry")
    scope: Scope = Field(
        default="class",
        description="`class`: each class has its budget; `global`: classes compete for the whole",
    )
    tempering: float = Field(
        default=1.0, ge=0, le=1, description="α of w^α: 1 is κ, 0 counts every row alike"
    )
    geometry: GeometrySettings = GeometrySettings()
    seed: int = Field(default=0, ge=0, lt=2**32)
    block_rows: int = Field(
        default=2048, ge=1, le=1_000_000, description="corpus rows worked on at a time"
    )
    memory_megabytes: int = Field(
        default=1024, ge=16, description="cap on what a selector keeps to save work; never needed"
    )
    most_replaced: float = Field(
        default=0.2, ge=0, le=1, description="`redistil`: share of the rows that may be exchanged"
    )

    epsilon: float = Field(default=0.05, gt=0, le=10, description="ε of Eq. 11")
    iterations: int = Field(
        default=200, ge=1, le=100_000, description="Sinkhorn iterations of `received_mass`"
    )
    tolerance: float = Field(
        default=1e-5, gt=0, lt=1, description="largest Σ_c |Σ_n γ_nc − ν_c| of a converged plan"
    )

    path_factor: float = Field(
        default=2.0,
        ge=1,
        le=100,
        description="`facility`, `exam`: greedy goes on to so many times the budget, for the curve",
    )
    refine: bool = Field(default=True, description="`facility`: swap until no swap lowers the cost")
    swap_rows: int = Field(
        default=4096, ge=1, le=1_000_000, description="`swap`: corpus rows drawn by weight"
    )
    swap_patience: int = Field(
        default=50, ge=1, description="`swap`: solves without a gain before it stops"
    )
    kmeans_iterations: int = Field(default=50, ge=1, le=10_000)
    exam: ExamSettings = ExamSettings()

    @property
    def memory_bytes(self) -> int:
        """The cap in bytes."""
        return self.memory_megabytes * 2**20

    def exchangeable(self, rows: Int64, previous: Int64) -> int:
        """How many rows may still be exchanged when a corpus is distilled again.

        Those of `rows` that were not chosen before count as exchanged already.

        >>> SelectionSettings().exchangeable(np.arange(19), previous=np.arange(18))
        2
        """
        added = len(np.setdiff1d(rows, previous))
        return max(0, int(self.most_replaced * len(rows) + 1e-9) - added)

    @field_validator("selector")
    @classmethod
    def _selector_is_registered(cls, name: str) -> str:
        # Imported here because the selectors themselves read these settings.
        from take.selection.registry import SELECTORS

        if name not in SELECTORS:
            raise ValueError(f"selector is {name!r}; registered are {', '.join(SELECTORS)}")
        return name
