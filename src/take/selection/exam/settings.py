"""Settings of `exam`: who sits in the panel, what it is asked, and when the search ends."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from take.frozen import Frozen

MemberName = Literal["phi", "tfidf", "joint", "centred", "gaussian"]
ScheduleName = Literal["growing", "rotating", "fixed"]


class ExamSettings(Frozen):
    """How a subset is chosen by what learners taught with it get right.

    >>> ExamSettings(members=("phi", "tfidf"), max_sweeps=3).exam_rows
    8000
    """

    members: tuple[MemberName, ...] = Field(default=("phi", "tfidf"), min_length=1)
    """Feature spaces of the kernel-ridge learners; see `panel.KERNELS`."""
    exam_rows: int = Field(default=8000, ge=10)
    """Train rows on which candidates are marked: the more, the less they can be learnt by heart."""
    schedule: ScheduleName = "growing"
    """`growing`: the first sweep takes one of `parts`, each later one twice as many, up to all;
    `rotating`: each sweep takes the next part; `fixed`: every sweep takes all. Growing
    finds rows as good as fixed in about half the time; rotating fits each small part in turn,
    and did worst on sst2: more rows are the better guard."""
    parts: int = Field(default=4, ge=1)
    fewest_rows: int = Field(default=200, ge=4)
    """With fewer exam rows the search would learn them by heart: `facility` chooses instead."""
    watched_rows: int = Field(default=2000, ge=10)
    """Train rows no swap is made for: they stop the search and choose which sweep is kept."""
    coverage: float = Field(default=0.0, ge=0)
    """β of the transport penalty β Σ_n w_n min_c C_nc."""
    ridge: float | None = Field(default=None, gt=0)
    """λ of every learner; by default each takes the best of `ridge_grid`, anew in every sweep."""
    ridge_grid: tuple[float, ...] = Field(default=(0.1, 0.3, 1.0, 3.0), min_length=1)
    exact_candidates: int = Field(default=64, ge=1)
    """Candidates of each position whose loss is computed exactly, after the quadratic screen."""
    min_gain: float = Field(default=1e-4, ge=0)
    """Least fall of the exam loss that is worth a swap."""
    max_sweeps: int = Field(default=12, ge=0)
    max_swaps: int | None = Field(default=None, ge=0)
    max_seconds: float | None = Field(default=None, ge=0)
    """A budget of time depends on the machine: only sweeps and swaps give the same rows twice."""
    patience: int = Field(default=3, ge=1)
    """Sweeps without a lower watched loss after which the search stops."""

    @field_validator("members")
    @classmethod
    def _each_once(cls, members: tuple[MemberName, ...]) -> tuple[MemberName, ...]:
        if len(set(members)) < len(members):
            raise ValueError(f"members {list(members)} name one learner twice; name each once")
        return members

    @field_validator("ridge_grid")
    @classmethod
    def _positive(cls, grid: tuple[float, ...]) -> tuple[float, ...]:
        if min(grid) <= 0:
            raise ValueError(f"ridge_grid holds {min(grid):g}; each λ must be above 0")
        return grid
