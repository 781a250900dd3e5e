"""An estimate, and the table that people read."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

TOLERANCE = 0.4
"""A run should take no more than this share longer or shorter than the total."""
_MINUTE, _HOUR = 60, 3600


class StageCost(BaseModel):
    """What one stage will take."""

    model_config = ConfigDict(frozen=True)

    stage: str
    seconds: float = Field(ge=0)
    peak_megabytes: float = Field(ge=0, description="held by the process, earlier stages' too")
    disk_megabytes: float = Field(ge=0, description="added under data/")
    reused: bool = Field(default=False, description="made before and still right: nothing runs")
    decided_by: str = Field(default="", description="what most of the time goes into")


class Estimate(BaseModel):
    """What a run will take, stage by stage."""

    model_config = ConfigDict(frozen=True)

    corpus: str
    budget: str
    rows: int
    evaluation_rows: int
    cores: int
    calibration_seconds: float
    stages: list[StageCost]
    notes: list[str] = Field(default_factory=list)

    @property
    def seconds(self) -> float:
        """All stages, one after the other."""
        return sum(stage.seconds for stage in self.stages)

    @property
    def peak_megabytes(self) -> float:
        """The most of any stage."""
        running = [stage.peak_megabytes for stage in self.stages if not stage.reused]
        return max(running, default=0.0)

    @property
    def disk_megabytes(self) -> float:
        """Added by all stages."""
        return sum(stage.disk_megabytes for stage in self.stages)

    def table(self) -> str:
        """The estimate as text, a line per stage."""
        running = any(not stage.reused for stage in self.stages)
        head = (
            f"{self.corpus}, {self.budget}: {self.rows:,} rows, {self.evaluation_rows:,} for "
            f"evaluation"
        )
        if running:
            cores = f"{self.cores} core{'s' if self.cores > 1 else ''}"
            head += f"; calibrated in {in_words(self.calibration_seconds)} on {cores}"
        lines: list[tuple[str, ...]] = [("stage", "time", "memory", "disk", "decided by")]
        for stage in self.stages:
            if stage.reused:
                lines.append((stage.stage, "reused", "", "", ""))
            else:
                lines.append(_line(stage.stage, stage, stage.decided_by))
        if running:
            lines.append(_line("total", self, f"± {TOLERANCE:.0%}"))
        else:
            lines.append(("total", "seconds", "", "", "nothing changed"))
        widths = [max(len(line[i]) for line in lines) for i in range(4)]
        shown = [
            "  ".join(
                [*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[4]]
            ).rstrip()
            for line in lines
        ]
        return "\n".join([head, "", *shown, *(["", *self.notes] if self.notes else [])])


def in_words(seconds: float) -> str:
    """A time to be read.

    >>> [in_words(seconds) for seconds in (0.2, 35.4, 290, 8000)]
    ['1 s', '35 s', '4 min 50 s', '2 h 13 min']
    """
    if seconds < _MINUTE:
        return f"{max(1, round(seconds))} s"
    if seconds < _HOUR:
        minutes, rest = divmod(round(seconds), _MINUTE)
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(round(seconds / _MINUTE), _MINUTE)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def megabytes_in_words(megabytes: float) -> str:
    """A size to be read.

    >>> [megabytes_in_words(size) for size in (0.02, 12.4, 1640.0)]
    ['0.1 MB', '12 MB', '1.6 GB']
    """
    if round(megabytes) >= 1000:
        return f"{megabytes / 1000:.1f} GB"
    return f"{megabytes:.0f} MB" if megabytes >= 10 else f"{max(0.1, megabytes):.1f} MB"


def _line(name: str, cost: StageCost | Estimate, decided_by: str) -> tuple[str, ...]:
    return (
        name,
        in_words(cost.seconds),
        megabytes_in_words(cost.peak_megabytes),
        megabytes_in_words(cost.disk_megabytes),
        decided_by,
    )
