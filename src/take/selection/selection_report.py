"""How rows were chosen: a report and a figure. Both hold numbers, never a text."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from take.frozen import Frozen
from take.selection.exam.playoff import Playoff
from take.text.format import as_words

_BLUE, _ORANGE, _GREY = "#3b6ea5", "#d98c3f", "#8a8a8a"


class SearchStep(Frozen):
    """One sweep of `exam` over all positions; the first step is the start."""

    sweep: int
    """Number of the sweep; 0 is the start."""
    swaps: int
    """Rows exchanged in it."""
    exam_loss_before: float
    """Loss of the surrogate models on their exam rows before the sweep."""
    exam_loss_after: float
    """The same after it: what the search lowers."""
    validation_loss: float
    """Loss of the surrogate models on validation rows, for which no swap is made. Where it rises
    while the exam loss falls, the search overfits the exam rows. The sweep with the lowest is kept,
    so it is slightly lower than on rows that chose nothing."""
    validation_accuracy: float
    """Weighted share of validation rows predicted correctly."""
    exam_rows: int
    """Exam rows of this sweep. They grow from sweep to sweep, so exam losses of sweeps with
    different numbers of rows are not quite comparable."""


class SelectionReport(Frozen):
    """How the rows were chosen."""

    selector: str
    """The selector that chose."""
    scope: str
    """`class`: each class has its budget; `global`: they compete."""
    budget: str
    """The budget as given by the user."""
    rows: int
    """Rows chosen."""
    pool_rows: int
    """Candidates in the pool."""
    excluded: dict[str, int] = Field(default_factory=dict)
    """Candidates that could not be chosen, because the privacy gate would object, by reason."""
    kept_rows: int | None = None
    """Rows chosen before that were kept (`redistil`)."""
    seed: int
    tempering: float
    class_mass: str = "weights"
    """Mass of the classes in the weights: even, corpus or weights."""
    """Α of w^α: 1 is κ, 0 gives equal weights."""
    figures: dict[str, float]
    """The selector's own figures."""
    steps: list[SearchStep] = Field(default_factory=list)
    """The steps of a search."""
    playoff: Playoff | None = None
    """Several sets, compared by learners that were trained on them."""

    @property
    def tracked(self) -> dict[str, Any]:
        """What MLflow records: of a playoff its summary, and not every trial."""
        summary = None if self.playoff is None else self.playoff.summary
        return self.model_dump(mode="json", exclude={"playoff"}) | {"playoff": summary}

    @property
    def excluded_in_words(self) -> str:
        """How many candidates were excluded and why; empty if none."""
        reasons = ", ".join(f"{as_words(reason)} {n:,}" for reason, n in self.excluded.items())
        return f"{sum(self.excluded.values()):,} ({reasons})" if reasons else ""


def search_figure(report: SelectionReport) -> Any:
    """The surrogates' loss on exam rows, which the search lowers, and on validation rows."""
    from plotly.graph_objects import Figure, Scatter
    from plotly.subplots import make_subplots

    steps = report.steps
    if not steps:
        figure = Figure()
        figure.add_annotation(text=f"`{report.selector}` does not search", showarrow=False)
        return figure.update_layout(template="plotly_white")
    sweeps = [step.sweep for step in steps]
    titles = ("loss of models trained on the rows", "rows exchanged, and validation accuracy")
    figure = make_subplots(
        rows=1, cols=2, subplot_titles=titles, specs=[[{}, {"secondary_y": True}]]
    )
    lines = (
        ("exam rows: what the search lowers", [s.exam_loss_after for s in steps], _BLUE),
        ("validation rows: choose the sweep", [s.validation_loss for s in steps], _ORANGE),
    )
    for name, values, colour in lines:
        line = Scatter(x=sweeps, y=values, name=name, mode="lines+markers", line_color=colour)
        figure.add_trace(line, 1, 1)
    swaps = [step.swaps for step in steps]
    figure.add_bar(x=sweeps, y=swaps, name="rows exchanged", marker_color=_GREY, row=1, col=2)
    accuracy = Scatter(
        x=sweeps,
        y=[100 * step.validation_accuracy for step in steps],
        name="validation accuracy, %",
        mode="lines+markers",
        line_color=_ORANGE,
        line_dash="dot",
    )
    figure.add_trace(accuracy, row=1, col=2, secondary_y=True)
    figure.update_xaxes(title_text="sweep over all positions (0: the start, by transport)", dtick=1)
    figure.update_yaxes(title_text="cross-entropy, weighted by κ", row=1, col=1)
    figure.update_yaxes(title_text="rows", row=1, col=2, secondary_y=False)
    figure.update_yaxes(title_text="%", row=1, col=2, secondary_y=True, showgrid=False)
    first, best = steps[0], min(steps, key=lambda step: step.validation_loss)
    after, before = 100 * best.validation_accuracy, 100 * first.validation_accuracy
    headline = (
        f"Surrogate models trained on the rows of sweep {best.sweep} predict {after:.1f} % of "
        f"validation rows correctly (plain accuracy); on the start's rows, {before:.1f} %"
    )
    return figure.update_layout(
        template="plotly_white", title=headline, legend={"orientation": "h", "y": -0.25}
    )
