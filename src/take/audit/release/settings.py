"""What a user may set about the report."""

from __future__ import annotations

from pydantic import Field

from take.frozen import Frozen


class ReportSettings(Frozen):
    """`params:audit.report`."""

    release: bool = Field(
        default=False,
        description="leave training rows out of the report; those of an export never have any",
    )
