"""Plots of the scores, as Plotly figures with captions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from take.evaluation.layout import GREY, empty, in_panels, mark_blocks, titled
from take.evaluation.names import (
    FULL,
    RANDOM,
    is_variant,
    ordered_corpora,
    ordered_methods,
)

# Visible on white and on black.
_BLUE, _ORANGE = "#3b7ec4", "#d98c3f"
_COLOURS = (
    *("#4f9a6b", "#c2566a", "#8d70b8", "#a3804f", "#c774a8", "#6b8e9e", "#a3a13b"),
    *("#d98c3f", "#5fa8a0"),
)
_ROW_HEIGHT = 26


def budget_figure(summary: pd.DataFrame) -> Any:
    """The score against the number of rows, for learners that were trained at several budgets."""
    from plotly.graph_objects import Scatter

    scored = summary[summary["n_cells"] > 0].assign(budget_rows=_budget_rows(summary))
    scored = scored[scored["budget_rows"].notna()]
    panels = [
        (corpus, learner)
        for corpus in ordered_corpora(scored["corpus"])
        for learner in _learners(scored[scored["corpus"] == corpus])
        if scored.loc[_are(scored, corpus, learner), "budget_rows"].nunique() > 1
    ]
    if not panels:
        return empty("No curve: it takes two budgets or more of one corpus and learner")
    titles = [
        f"{corpus}, {learner}<br>{_kind(scored[_are(scored, corpus, learner)])}"
        for corpus, learner in panels
    ]
    figure = in_panels(titles, columns=3)
    colours = _colours(scored)
    shown = set()
    for place, (corpus, learner) in enumerate(panels):
        here = scored[_are(scored, corpus, learner)]
        for method in ordered_methods(here["method"]):
            mine = here[here["method"] == method].sort_values("budget_rows")
            if len(mine) < 2:
                continue  # a single point is in the other figures
            line = Scatter(
                x=mine["budget_rows"],
                y=100 * mine["mean"],
                name=method,
                legendgroup=method,
                showlegend=method not in shown,
                visible="legendonly" if is_variant(method) else True,
                mode="lines" if method == FULL else "lines+markers",
                line={"color": colours[method], "dash": "dash" if method == FULL else "solid"},
                error_y=_errors(mine["standard_error"], colours[method]),
                hovertemplate="%{x:,} rows: %{y:.1f} %",
            )
            figure.add_trace(line, place // 3 + 1, place % 3 + 1)
            shown.add(method)
    ticks = [k * 10**power for power in range(6) for k in (1, 2, 5)]
    figure.update_xaxes(title_text="rows (logarithmic)", type="log", tickvals=ticks, ticktext=ticks)
    figure.update_yaxes(title_text="%", title_standoff=2)
    caption = (
        "Mean score and standard error over training sets and evaluation rows, by the rows that "
        "the budget allows (eda adds altered copies to them). Dashed: all rows. The higher a line "
        "is on the left, the fewer rows it needs."
    )
    return titled(figure, "What more rows bring", caption)


def margins_figure(comparisons: pd.DataFrame) -> Any:
    """The lead of the compared method over each other one."""
    from plotly.graph_objects import Figure, Heatmap

    # Comparisons may be of two methods; the later, take, is shown.
    groups = comparisons.groupby(["corpus", "budget", "learner"], sort=False)
    is_chosen = comparisons["method"] == groups["method"].transform("last")
    margins = comparisons[comparisons["difference"].notna() & is_chosen]
    if margins.empty:
        return empty("No margins: neither take nor distilled was run together with another method")
    compared = " and ".join(margins["method"].unique())
    methods = ordered_methods(margins["other"])[::-1]
    blocks = {
        (str(c), str(b), str(learner)): f"{c}<br>{b}<br>{_kind(its)}"
        for (c, b, learner), its in margins.groupby(["corpus", "budget", "learner"], sort=False)
    }
    places = list(blocks)
    values: dict[tuple[str, ...], float] = {}
    texts: dict[tuple[str, ...], str] = {}
    for row in margins.to_dict("records"):
        place = (row["other"], row["corpus"], row["budget"], row["learner"])
        values[place] = 100 * float(row["difference"])
        shown = row["verdict"] in ("better", "worse")
        texts[place] = f"{values[place]:+.1f}" if shown else f"({values[place]:+.1f})"
    reach = max(5.0, min(20.0, max(abs(value) for value in values.values())))
    figure = Figure(
        Heatmap(
            x=list(range(len(places))),
            y=methods,
            z=[[values.get((name, *place)) for place in places] for name in methods],
            text=[[texts.get((name, *place), "") for place in places] for name in methods],
            texttemplate="%{text}",
            customdata=[[", ".join(place) for place in places]] * len(methods),
            hovertemplate="%{customdata}, %{y}: %{text} points<extra></extra>",
            hoverongaps=False,
            # Orange to blue: distinguishable without red and green.
            colorscale=[[0, "#d98c3f"], [0.5, "#f2f2f2"], [1, "#5a97d6"]],
            zmid=0,
            zmin=-reach,
            zmax=reach,
            xgap=2,
            ygap=2,
            colorbar={"title": {"text": "points"}, "thickness": 14},
        )
    )
    figure.update_layout(
        template="plotly_white",
        height=270 + _ROW_HEIGHT * len(methods),
        margin={"l": 180, "b": 110},
    )
    figure.update_xaxes(
        showgrid=False,
        zeroline=False,
        tickvals=list(range(len(places))),
        ticktext=[learner for *_, learner in places],
        tickangle=0 if len(places) <= 8 else -60,
    )
    figure.update_yaxes(showgrid=False)
    mark_blocks(figure, list(blocks.values()))
    n_shown = sum(not text.startswith("(") for text in texts.values())
    caption = (
        f"Points by which {compared} scores above the method named on the left: blue, {compared} "
        "is above; orange, below. In brackets: no difference is shown, as the 95 % interval over "
        f"sets and rows includes 0 or is missing. It is shown in {n_shown} of {len(texts)} cells."
    )
    return titled(figure, f"What {compared} gains over each method", caption)


def scores_figure(summary: pd.DataFrame) -> Any:
    """The score of each method with each learner; TAKE's variants are in the margins figure."""
    scored = summary[(summary["n_cells"] > 0) & ~summary["method"].map(is_variant).astype(bool)]
    if scored.empty:
        return empty("No scores: no cell was evaluated, or all failed")
    blocks = [
        group[group["budget"] == group["budget"].mode().iloc[0]]
        for _, group in scored.groupby("corpus", sort=False)
    ]
    width = max(block["learner"].nunique() for block in blocks)
    methods = ordered_methods(name for block in blocks for name in block["method"])[::-1]
    panels: list[pd.DataFrame | None] = []
    for block in blocks:
        learners = _learners(block)
        panels += [block[block["learner"] == learner] for learner in learners]
        panels += [None] * (width - len(learners))
    figure = in_panels(
        [_panel_title(panel, is_alone=len(blocks) == 1) for panel in panels],
        columns=width,
        height=90 + _ROW_HEIGHT * len(methods),
        shared_y=True,
    )
    colours = _colours(scored)
    for place, panel in enumerate(panels):
        row, column = place // width + 1, place % width + 1
        if panel is None:
            for update in (figure.update_xaxes, figure.update_yaxes):
                update(visible=False, row=row, col=column)
            continue
        figure.add_trace(_dots(panel, colours), row, column)
        ours = panel[panel["method"] == panel["compared"]]
        if len(ours):
            x = 100 * float(ours["mean"].iloc[0])
            figure.add_vline(x=x, line_dash="dot", line_color=_BLUE, row=row, col=column)
    ends = [-0.6, len(methods) - 0.4]
    figure.update_yaxes(categoryorder="array", categoryarray=methods, range=ends)
    figure.update_xaxes(title_text="%", title_standoff=2)
    compared = " or ".join(scored["compared"].dropna().unique())
    against = (
        f" Dotted: {compared}. Open dots: not shown to differ from it at 95 %." if compared else ""
    )
    caption = (
        f"Mean score and standard error over sets and rows; without bars, not measured.{against} "
        "Of each corpus, the budget with the most scores."
    )
    alone = f": {blocks[0]['corpus'].iloc[0]}, {blocks[0]['budget'].iloc[0]}"
    where = alone if len(blocks) == 1 else ""
    return titled(figure, f"Scores of learners with each training set{where}", caption)


def _dots(panel: pd.DataFrame, colours: Mapping[str, str]) -> Any:
    from plotly.graph_objects import Scatter

    is_shown = panel["margin_verdict"].isin(["better", "worse"])
    is_filled = is_shown | (panel["method"] == panel["compared"]) | panel["compared"].isna()
    own = [colours[name] for name in panel["method"]]
    return Scatter(
        x=100 * panel["mean"],
        y=panel["method"],
        mode="markers",
        marker={
            "color": own,
            "size": 9,
            "symbol": ["circle" if filled else "circle-open" for filled in is_filled],
            "line": {"width": 2, "color": own},
        },
        error_x=_errors(panel["standard_error"], GREY),
        showlegend=False,
        hovertemplate="%{y}: %{x:.1f} %<extra></extra>",
    )


def _panel_title(panel: pd.DataFrame | None, *, is_alone: bool) -> str:
    """The learner and its kind; with its corpus, if there are several."""
    if panel is None:
        return ""
    first = panel.iloc[0]
    where = "" if is_alone else f"{first['corpus']}, {first['budget']}<br>"
    return f"{where}{first['learner']}<br>{_kind(panel)}"


def _learners(table: pd.DataFrame) -> list[str]:
    """Independent ones first, as the rows of the table are ordered."""
    first = table.drop_duplicates("learner").sort_values(
        "independent", ascending=False, kind="stable"
    )
    return first["learner"].tolist()


def _kind(table: pd.DataFrame) -> str:
    return "independent" if table["independent"].iloc[0] else "selector's features"


def _budget_rows(summary: pd.DataFrame) -> pd.Series[float]:
    """Rows of a budget: the median of the methods' training rows, without full data."""
    small = summary[(summary["method"] != FULL) & (summary["n_cells"] > 0)]
    usual = small.groupby(["corpus", "budget"])["rows"].median()
    keys = zip(summary["corpus"], summary["budget"], strict=True)
    return pd.Series([usual.get(key, float("nan")) for key in keys], summary.index, dtype=float)


def _are(table: pd.DataFrame, corpus: str, learner: str) -> pd.Series[bool]:
    return (table["corpus"] == corpus) & (table["learner"] == learner)


def _colours(table: pd.DataFrame) -> dict[str, str]:
    known = {FULL: GREY, RANDOM: _ORANGE} | dict.fromkeys(table["compared"].dropna(), _BLUE)
    others = [name for name in ordered_methods(table["method"]) if name not in known]
    return {name: _COLOURS[n % len(_COLOURS)] for n, name in enumerate(others)} | known


def _errors(values: pd.Series[float], colour: str) -> dict[str, Any]:
    return {"array": (100 * values).tolist(), "color": colour, "thickness": 1.5, "width": 4}
