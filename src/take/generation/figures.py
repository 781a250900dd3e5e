"""How the pool was made, as a Plotly figure without texts."""

from __future__ import annotations

from typing import Any

from take.generation.finetuning.report import FineTuningReport
from take.generation.screening.ledger import LedgerReport
from take.generation.screening.reasons import Reason

_BLUE, _ORANGE = "#3b6ea5", "#d98c3f"
# One for each reason, so that no two of a bar are alike.
_REASONS = (
    "#d98c3f", "#c05746", "#8a6a9c", "#5b8a72", "#b5a642", "#6b6b6b", "#a05c7b", "#9fb8d0",
    "#e3c08f", "#d49a92", "#4a3b63", "#a8c7b5", "#736a1f", "#b3b3b3", "#e0b7cb",
)  # fmt: skip


def generation_figure(ledger: LedgerReport, fine_tuning: FineTuningReport) -> Any:
    """Whether fine-tuning still helped, and what became of the rows each class generated."""
    from plotly.graph_objects import Bar, Figure, Scatter
    from plotly.subplots import make_subplots

    figure: Figure = make_subplots(
        rows=1,
        cols=2,
        column_widths=[0.4, 0.6],
        subplot_titles=("fine-tuning: loss per token", "generated rows: kept, or dropped and why"),
    )
    losses = fine_tuning.train_loss
    part = fine_tuning.updates / max(1, len(losses))
    updates = [round(part * (i + 1)) for i in range(len(losses))]
    figure.add_trace(Scatter(x=updates, y=losses, name="training rows", line_color=_BLUE), 1, 1)
    held_out = fine_tuning.held_out_loss
    figure.add_trace(
        Scatter(
            x=[point.update for point in held_out],
            y=[point.loss for point in held_out],
            name="rows held out of train",
            mode="lines+markers",
            line_color=_ORANGE,
        ),
        1,
        1,
    )
    names = list(ledger.classes)
    kept = [ledger.classes[name].kept for name in names]
    figure.add_trace(Bar(y=names, x=kept, name="kept", orientation="h", marker_color=_BLUE), 1, 2)
    for reason, colour in zip(Reason, _REASONS, strict=True):
        if not ledger.totals.dropped[reason]:
            continue
        counts = [ledger.classes[name].dropped[reason] for name in names]
        title = reason.value.replace("_", " ")
        figure.add_trace(
            Bar(y=names, x=counts, name=title, orientation="h", marker_color=colour), 1, 2
        )
    figure.update_xaxes(title_text="update", row=1, col=1)
    figure.update_xaxes(title_text="rows", row=1, col=2)
    figure.update_layout(
        template="plotly_white", barmode="stack", legend={"orientation": "h", "y": -0.2}
    )
    return figure
