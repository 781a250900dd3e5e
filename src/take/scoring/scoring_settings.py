"""Everything a user may set about scoring, with bounds; validated before anything is computed."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from take.frozen import Frozen

KernelName = Literal["exponential", "linear", "cosine", "constant", "last"]
ScheduleName = Literal["even", "log"]
KernelValue = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Decay = Annotated[float, Field(gt=0, le=1000)]


class ScoringSettings(Frozen):
    """Parameters of the scoring stage (METHOD §1).

    >>> ScoringSettings(checkpoints=5).checkpoints
    5
    """

    scorer: str = Field(default="trajectory", description="name of a scorer in the registry")
    seed: int = Field(default=0, ge=0, lt=2**32)
    block_rows: int = Field(
        default=2048, ge=1, le=1_000_000, description="rows in memory at a time"
    )

    checkpoints: int = Field(
        default=20, ge=2, le=1000, description="T, counting the untouched head"
    )
    schedule: ScheduleName = Field(
        default="even", description="how checkpoints are spread over updates"
    )
    epochs: int = Field(default=10, ge=1, le=1000)
    batch_size: int = Field(
        default=256, ge=1, le=65_536, description="at most; less where the corpus is small"
    )
    learning_rate: float = Field(default=0.01, gt=0, le=10)
    weight_decay: float = Field(default=0.01, ge=0, le=1)
    validation_share: float = Field(
        default=0.05, gt=0, le=0.5, description="rows that the second probe is not trained on"
    )

    kernel: KernelName | tuple[KernelValue, ...] = Field(
        default="exponential", description="k(t) of Eq. 9 by name, or its T values"
    )
    kernel_decay: Decay | Literal["auto"] = Field(default="auto", description="λ; auto is T / T_m")
    floor: float = Field(
        default=0.1, gt=0, le=1, description="smallest I, as a fraction of its column mean"
    )
    cap: float = Field(
        default=5.0, gt=1, le=1_000_000, description="largest weight, as a multiple of 1/N"
    )

    noise_share: float = Field(
        default=0.1, gt=0, le=0.5, description="labels flipped in the noisy copy"
    )
    damping: float = Field(
        default=0.1, gt=0, le=10, description="added to H, in units of its mean diagonal"
    )
    bootstrap_resamples: int = Field(default=1000, ge=100, le=100_000)

    @field_validator("scorer")
    @classmethod
    def _scorer_is_registered(cls, name: str) -> str:
        # Imported here because the scorers themselves read these settings.
        from take.scoring.scorers import SCORERS

        if name not in SCORERS:
            raise ValueError(f"scorer is {name!r}; registered scorers are {', '.join(SCORERS)}")
        return name

    @model_validator(mode="after")
    def _custom_kernel_fits(self) -> ScoringSettings:
        if not isinstance(self.kernel, str):
            if len(self.kernel) != self.checkpoints:
                raise ValueError(
                    f"kernel has {len(self.kernel)} values but there are {self.checkpoints} "
                    "checkpoints; give one value per checkpoint"
                )
            if not any(self.kernel):
                raise ValueError("kernel is zero everywhere; at least one value must be positive")
        return self
