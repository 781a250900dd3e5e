"""What sampling did."""

from __future__ import annotations

from pydantic import BaseModel, Field


class SamplingReport(BaseModel):
    """Counts and rates; never a text."""

    language_model: str
    decoder: str
    rows_generated: int
    rows_kept: int
    shortest_tokens: int = Field(description="learned from the corpus")
    longest_tokens: int = Field(description="learned from the corpus")
    mean_tokens: float = Field(description="of a generated row, the end token aside")
    tokens_written: int = Field(description="in this run; rows found on disk are not counted")
    seconds: float = Field(description="spent writing in this run, screening aside")
    tokens_per_second: float
