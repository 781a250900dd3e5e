"""What a selector says of itself. Holds numbers, never a text."""

from __future__ import annotations

from pydantic import Field

from take.frozen import Frozen


class SearchStep(Frozen):
    """One sweep of `exam` over all positions; the first line is the start."""

    sweep: int = Field(description="Number of the sweep; 0 is the start.")
    swaps: int = Field(description="Rows exchanged in it.")
    exam_loss_before: float = Field(description="Panel's loss on its exam rows, as it began.")
    exam_loss_after: float = Field(description="The same as it ended: what the search lowers.")
    watched_loss: float = Field(
        description="Panel's loss on other train rows, which no swap is made for; where it rises "
        "while the exam loss falls, the exam is being learnt by heart. The sweep with the lowest "
        "is kept, so that it is a little lower than on rows that chose nothing."
    )
    watched_accuracy: float = Field(description="Weighted share of watched rows it gets right.")
    exam_rows: int = Field(
        description="Exam rows of this sweep; they grow from sweep to sweep, so that exam losses "
        "of sweeps with other rows are not quite comparable."
    )


class SelectionReport(Frozen):
    """How the rows were chosen."""

    selector: str = Field(description="The selector that chose.")
    scope: str = Field(description="`class`: each class has its budget; `global`: they compete.")
    budget: str = Field(description="The budget as it was asked for.")
    rows: int = Field(description="Rows chosen.")
    pool_rows: int = Field(description="Candidates they were chosen from.")
    kept_rows: int | None = Field(
        default=None, description="Of the rows chosen before, those that still stand (`redistil`)."
    )
    seed: int
    tempering: float = Field(description="α of w^α: 1 is κ, 0 counts every row alike.")
    figures: dict[str, float] = Field(description="The selector's own figures.")
    steps: list[SearchStep] = Field(default_factory=list, description="How a search went.")
