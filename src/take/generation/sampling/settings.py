"""Everything a user may set about sampling."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from take.frozen import Frozen

DecoderName = Literal["openvino_int8", "openvino", "torch"]


class SamplingSettings(Frozen):
    """How rows are drawn from the language model.

    >>> SamplingSettings(temperature=0.8).temperature
    0.8
    """

    rows: int = Field(
        default=5000, ge=1, le=10_000_000, description="M, rows to keep, even over classes"
    )
    tries: float = Field(
        default=3.0, ge=1, le=100, description="rows generated per row wanted, at most, in a class"
    )
    seed: int = Field(default=0, ge=0, lt=2**32)

    temperature: float = Field(default=0.85, gt=0, le=5)
    top_p: float = Field(default=0.95, gt=0, le=1, description="1 keeps the whole tail")
    top_k: int | None = Field(
        default=200, ge=1, description="most likely tokens to choose from; none: all"
    )
    repetition_penalty: float = Field(
        default=1.0, ge=1, le=5, description="a token already written is this much less likely"
    )
    length_quantiles: tuple[float, float] = Field(
        default=(0.005, 0.995), description="of the corpus's lengths in tokens: shortest, longest"
    )

    @field_validator("length_quantiles")
    @classmethod
    def _are_quantiles(cls, bounds: tuple[float, float]) -> tuple[float, float]:
        low, high = bounds
        if not 0 <= low < high <= 1:
            raise ValueError(f"length_quantiles are {low} and {high}; 0 ≤ shortest < longest ≤ 1")
        return bounds

    decoder: DecoderName = "openvino_int8"
    batch_rows: int = Field(
        default=256, ge=8, le=4096, multiple_of=8, description="rows written at once"
    )
