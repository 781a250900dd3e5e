"""Plotly figures of the pool and of how it was made. They hold no text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any

from take.generation.finetuning.fine_tuning_report import FineTuningReport
from take.generation.pool import LedgerReport
from take.generation.quality.report import COVERAGE_BAR, LEVELS, PoolQuality, Spread
from take.generation.screening.reasons import Reason

_BLUE, _ORANGE, _GREY = "#3b6ea5", "#d98c3f", "#9a9a9a"
# A colour for each reason, so that no two parts of a bar are alike.
_REASONS = (
    "#d98c3f", "#c05746", "#8a6a9c", "#5b8a72", "#b5a642", "#6b6b6b", "#a05c7b", "#9fb8d0",
    "#e3c08f", "#d49a92", "#4a3b63", "#a8c7b5", "#736a1f", "#b3b3b3", "#e0b7cb",
)  # fmt: skip
_CAPTION_WIDTH = 64
_MOST_CLASSES = 12
_POOL = ("generated rows, kept", _BLUE)
_REAL = ("real rows", _GREY)


def generation_figure(ledger: LedgerReport, fine_tuning: FineTuningReport) -> Any:
    """The losses of fine-tuning, and how many rows of each class were kept or dropped."""
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
    validation = fine_tuning.validation_loss
    points, values = [point.update for point in validation], [point.loss for point in validation]
    curve = Scatter(x=points, y=values, name="validation rows", line_color=_ORANGE)
    figure.add_trace(curve.update(mode="lines+markers"), 1, 1)
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


def pool_figure(report: PoolQuality) -> Any:
    """Generated and real rows in six panels, each with a sentence on how to read it."""
    share = f"{report.rows / report.generated:.0%} kept" if report.generated else "none judged"
    cover, closest = report.coverage.any_class, report.closest_record
    copies = "" if closest is None else f": {closest.below_real_p1:.1%} of rows left of the line"
    panels = [
        (
            f"{report.generated:,} rows generated, {share}",
            "How many generated rows were kept, or dropped for which reason.",
        ),
        (
            "Does the text match its label?",
            f"Share of rows for which {_verifier(report)} predicts the given label; grey: real "
            "rows it was not trained on. Orange near grey: the language model follows its labels.",
        ),
        (
            "Variety",
            "distinct-n: share of different words, pairs, triples. Self-BLEU: overlap between rows "
            "(lower is more varied). MAUVE: 1 is indistinguishable. Blue should be near grey.",
        ),
        (
            f"Length: largest gap {report.words.ks:.0%}",
            "Share of rows with at most this many words. The closer the curves, the more alike.",
        ),
        (
            f"Copying{copies}",
            "Share of rows with a training row at most this near. Blue above grey at the left: "
            "rows are copied. 1 % left of the dotted line is chance.",
        ),
        (
            f"Coverage: as good as {report.coverage.equivalent_rows:,.0f} real rows",
            f"Share of the corpus with one of {report.compared:,} pool rows at most this near. "
            f"Blue right of grey: parts are missed. r̄ is {_number(cover.ratio)} × that of real "
            f"rows; up to {COVERAGE_BAR} is the bar.",
        ),
    ]
    figure = _grid(panels, rows=2, columns=3)
    _outcome_bars(figure, report)
    _agreement_bars(figure, report)
    _variety_bars(figure, report)
    _curves(figure, (report.words.pool, report.words.corpus), 2, 1, "words")
    # A few very long rows would leave no room for the others.
    longest = max(report.words.pool.p99, report.words.corpus.p99)
    figure.update_xaxes(range=[0, 1.05 * longest], row=2, col=1)
    if closest is not None:
        _curves(figure, (closest.pool, closest.real), 2, 2, "distance to the closest training row")
        figure.add_vline(x=closest.real.p1, line_dash="dot", line_color=_GREY, row=2, col=2)
    _curves(figure, (cover.compared, cover.real), 2, 3, "distance to the closest pool row")
    return figure


def classes_figure(report: PoolQuality) -> Any:
    """The classes and the regions of the corpus that the pool covers worst."""
    panels = [
        (
            "Variety by class",
            "Self-BLEU: how much of a row is in other rows, too. Blue far above grey: the class "
            "repeats the same phrases.",
        ),
        (
            "Coverage by class",
            "r̄ by generated rows of the class over r̄ by equally many real ones: 1 is as good, "
            f"above the dotted line ({COVERAGE_BAR}) the class is covered poorly.",
        ),
        (
            "Worst covered regions",
            "Mean distance of the corpus's worst covered rows, in groups of similar rows. Grey "
            "nearly as high: unusual rows; far below: the pool misses them.",
        ),
    ]
    figure = _grid(panels, rows=1, columns=3)
    names = sorted(report.classes, key=lambda name: -(report.classes[name].coverage_ratio or 9))
    names = names[:_MOST_CLASSES]
    classes = [report.classes[name] for name in names]
    variety = {
        _POOL: [each.self_bleu_pool for each in classes],
        _REAL: [each.self_bleu_corpus for each in classes],
    }
    _bars(figure, (1, 1), names, variety, legend=True)
    _bars(figure, (1, 2), names, {_POOL: [each.coverage_ratio for each in classes]})
    figure.update_traces(textposition="inside", row=1, col=2)  # the line would cross the numbers
    figure.add_hline(y=COVERAGE_BAR, line_dash="dot", line_color=_GREY, row=1, col=2)
    regions = report.worst_regions.values()
    labels = [f"{name}<br>{each.share:.1%}" for name, each in report.worst_regions.items()]
    distances = {
        _POOL: [each.distance for each in regions],
        _REAL: [each.real_distance for each in regions],
    }
    _bars(figure, (1, 3), labels, distances)
    figure.update_xaxes(title_text="region, its share of the corpus", row=1, col=3)
    highest = (1.0, max([COVERAGE_BAR, *(each.coverage_ratio or 0 for each in classes)]), 1.42)
    for column, top in enumerate(highest, start=1):
        figure.update_yaxes(range=[0, 1.12 * top], row=1, col=column)
    return figure


def _grid(panels: Sequence[tuple[str, str]], rows: int, columns: int) -> Any:
    from plotly.graph_objects import Figure
    from plotly.subplots import make_subplots

    captions = [wrap(caption, _CAPTION_WIDTH) for _, caption in panels]
    n_lines = max(map(len, captions))  # padded to the same height, so that titles are aligned
    titles = [
        f"<b>{title}</b><br><span style='font-size:11px;color:#666'>"
        + "<br>".join([*lines, *[" "] * (n_lines - len(lines))])
        + "</span>"
        for (title, _), lines in zip(panels, captions, strict=True)
    ]
    figure: Figure = make_subplots(
        rows=rows, cols=columns, subplot_titles=titles, vertical_spacing=0.24 if rows > 1 else 0
    )
    figure.update_annotations(font_size=14)
    figure.update_layout(
        template="plotly_white",
        barmode="group",
        height=440 * rows,
        margin={"t": 110, "b": 90},
        legend={"orientation": "h", "y": -0.12 if rows > 1 else -0.25},
    )
    return figure


def _outcome_bars(figure: Any, report: PoolQuality) -> None:
    from plotly.graph_objects import Bar

    names = sorted(report.outcomes, key=lambda name: report.outcomes[name])
    counts = [report.outcomes[name] for name in names]
    labels, texts = [name.replace("_", " ") for name in names], [f"{count:,}" for count in counts]
    bar = Bar(x=counts, y=labels, text=texts, orientation="h", textposition="outside")
    colours = [_BLUE if name == "kept" else _GREY for name in names]
    figure.add_trace(bar.update(cliponaxis=False, marker_color=colours, showlegend=False), 1, 1)


def _agreement_bars(figure: Any, report: PoolQuality) -> None:
    names = sorted(report.classes, key=lambda name: report.classes[name].agreement.before or 0)
    shown = {"all": report.agreement}
    shown |= {name: report.classes[name].agreement for name in names[:_MOST_CLASSES]}
    shares = {
        ("generated, before the label filter", _ORANGE): [each.before for each in shown.values()],
        _POOL: [each.after for each in shown.values()],
        _REAL: [each.corpus for each in shown.values()],
    }
    _bars(figure, (1, 2), list(shown), shares, legend=True)
    figure.update_yaxes(range=[0, 1.08], tickformat=".0%", row=1, col=2)


def _variety_bars(figure: Any, report: PoolQuality) -> None:
    names = ["distinct-1", "distinct-2", "distinct-3", "self-BLEU"]
    pool, corpus = (
        [side.distinct_1, side.distinct_2, side.distinct_3, side.self_bleu]
        for side in (report.diversity.pool, report.diversity.corpus)
    )
    if report.mauve is not None:
        names.append("MAUVE")
        pool.append(report.mauve.pool)
        corpus.append(report.mauve.corpus)
    _bars(figure, (1, 3), names, {_POOL: pool, _REAL: corpus})
    figure.update_yaxes(range=[0, 1.08], row=1, col=3)


def _bars(
    figure: Any,
    place: tuple[int, int],
    names: list[str],
    sides: Mapping[tuple[str, str], list[Any]],
    *,
    legend: bool = False,
) -> None:
    """Bars of each side, by its name and colour, in the panel at a row and a column."""
    from plotly.graph_objects import Bar

    for (title, colour), values in sides.items():
        texts = [_number(value) for value in values]
        bar = Bar(x=names, y=values, text=texts, name=title, marker_color=colour)
        bar.update(textposition="outside", cliponaxis=False, showlegend=legend)
        figure.add_trace(bar, *place)


def _curves(
    figure: Any, spreads: tuple[Spread, Spread], row: int, column: int, axis_title: str
) -> None:
    """Cumulative shares of rows, drawn from quantiles."""
    from plotly.graph_objects import Scatter

    for spread, (name, colour) in zip(spreads, (_POOL, _REAL), strict=True):
        line = Scatter(x=spread.curve, y=LEVELS.tolist(), name=name, line={"color": colour})
        figure.add_trace(line.update(mode="lines", showlegend=False), row, column)
    figure.update_xaxes(title_text=axis_title, row=row, col=column)
    figure.update_yaxes(range=[0, 1.02], tickformat=".0%", row=row, col=column)


def _verifier(report: PoolQuality) -> str:
    if report.verifier is None:
        return "the verifier"
    known = report.verifier.accuracy
    accuracy = "" if known is None else f" (right on {known:.1%} of held-out train rows)"
    return f"the {report.verifier.name}{accuracy}"


def _number(value: float | None) -> str:
    return "?" if value is None else f"{value:.2f}"
