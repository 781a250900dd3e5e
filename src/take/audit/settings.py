"""What a user may set about the report."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class ReportSettings(BaseModel):
    """`params:audit.report`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    release: bool = Field(
        default=False,
        description="leave training rows out of the report; those of an export never have any",
    )
