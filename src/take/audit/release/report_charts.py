"""The charts of the report, from the evidence; what they mean is written in the templates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from take.audit.balance.comparison import EVEN_RATIO
from take.audit.balance.report import SetBalance, Where
from take.audit.release.accuracy import kind_of, metric_name, scores
from take.audit.release.charts import (
    Mark,
    Row,
    Scale,
    Series,
    Tick,
    bars,
    curve,
    histogram,
    intervals,
    round_ticks,
)
from take.audit.release.charts_map import coverage_map
from take.audit.release.evidence import ReportEvidence
from take.audit.release.report_rows import titles
from take.evaluation.names import DISTILLED, FULL, RANDOM
from take.text.format import as_words, duration, number, percent, plural, points, size

_TIMES = [Tick(0.25, "¼ ×"), Tick(0.5, "½ ×"), Tick(1, "1 ×"), Tick(2, "2 ×"), Tick(4, "4 ×")]
_RATIOS = Scale(0.2, 5, log=True)
_MOST_TERMS = 15
_BINS = 24
_ROLES = {DISTILLED: "ours", FULL: "other"}


def coverage(evidence: ReportEvidence, *, release: bool) -> Markup | None:
    """The coverage map; without training rows for release: their places are not released."""
    table = evidence.map_coordinates
    if table is None or not (table["kind"] == "distilled").any():
        return None
    if release:
        table = table[table["kind"] != "corpus"]
    return coverage_map(table, evidence.corpus_report.labels, titles(evidence))


def budget(evidence: ReportEvidence) -> dict[str, Any] | None:
    """Cost and distances along the greedy path, and the chosen set."""
    table, report = evidence.budget_curve, evidence.distillation_report
    if table.empty:
        return None
    by_class = report.run.scope == "class" and table["rows_per_class"].notna().all()
    sizes = table["rows_per_class" if by_class else "rows"].to_numpy(np.float64).tolist()
    unit = "rows per class" if by_class else "rows"
    chosen = max((c.rows for c in report.classes.values()), default=0) if by_class else report.rows
    knee = report.knee.k if report.knee else None
    cost = curve(
        sizes,
        [Series("cost along the greedy path", table["cost"].tolist())],
        f"{unit} (logarithmic)",
        "transport cost",
        points=[(float(chosen), report.cost, f"chosen: {chosen:,}")],
        marks=[Mark(float(knee), "knee")] if knee is not None else [],
    )
    distances = curve(
        sizes,
        [
            Series("mean distance", table["mean_distance"].tolist()),
            Series("95 % of rows are nearer", table["p95_distance"].tolist(), "reference"),
            Series("W₁ from the weighted corpus", table["w1"].tolist(), "other"),
        ],
        f"{unit} (logarithmic)",
        "distance",
    )
    return {"unit": unit, "sizes": sizes, "cost": cost, "distances": distances}


def weights(evidence: ReportEvidence) -> Markup | None:
    """How much training rows weigh."""
    report = evidence.scoring_report
    if not sum(report.histogram_counts):
        return None
    return histogram(
        report.histogram_edges,
        [Series("training rows", [float(n) for n in report.histogram_counts])],
        "weight, as a multiple of the mean",
        [Mark(1.0, "equal weights")],
    )


def distances(evidence: ReportEvidence) -> dict[str, Markup]:
    """By table: distances to rows trained on and to rows never read."""
    return {
        table: histogram(
            found.histogram.edges,
            [
                Series("to rows trained on", found.histogram.queries_to_matched_members),
                Series(
                    "to as many rows never read",
                    found.histogram.queries_to_matched_non_members,
                    "reference",
                ),
            ],
            "distance to the closest of them",
        )
        for table, found in evidence.privacy.distances.items()
    }


def membership(evidence: ReportEvidence) -> dict[str, Markup]:
    """By group: how much fine-tuning lowered the loss of texts trained on, and of others."""
    scores, found = evidence.membership_scores, {}
    if scores is None or scores.empty:
        return {}
    for group in ("canaries", "rows"):
        mine = scores[(scores["group"] == group) & np.isfinite(scores["score"])]
        is_member = mine["member"].astype(bool)
        is_missing = getattr(evidence.privacy.membership, group) is None
        if is_missing or not is_member.any() or is_member.all():
            continue
        low, high = np.quantile(mine["score"], [0, 1])
        edges = np.linspace(low, max(high, low + 1e-6), min(_BINS, max(6, len(mine) // 6)) + 1)
        sides = [
            Series(name, np.histogram(part["score"], edges)[0].astype(float).tolist(), role)
            for name, part, role in (
                ("trained on", mine[is_member], "ours"),
                ("never read", mine[~is_member], "reference"),
            )
        ]
        found[group] = histogram(edges.tolist(), sides, "fall of the loss, in nats per token")
    return found


def mentions(evidence: ReportEvidence, where: Where) -> dict[str, Any] | None:
    """Mentions of identity groups as multiples of the corpus's, and one side by the other.

    `inconclusive` are groups that no row mentions, which may be chance.
    """
    found: SetBalance = getattr(evidence.balance, where)
    shifted = {finding.name for finding in evidence.balance.of(where, "shifted")}
    rows, inconclusive = [], []
    for name, one in found.mentions.items():
        if one.rows == 0 and (one.high is None or one.high > _RATIOS.high):
            inconclusive.append(name)
            continue
        ratio = "–" if one.ratio is None else f"{number(one.ratio, 2)} ×"
        role = "against" if f"mentions of {name}" in shifted else "ours"
        written = f"{ratio} · {plural(one.rows, 'row')}"
        rows.append(Row(name, one.ratio, one.low, one.high, written, role))
    for name, pair in found.sides.items():
        if pair.ratio is None:
            continue
        titles = (finding.name for finding in evidence.balance.of(where))
        title = next((title for title in titles if title.startswith(f"{name}: ")), name)
        role = "against" if title in shifted else "other"
        ratio = f"{number(pair.ratio, 2)} ×"
        rows.append(Row(title, pair.ratio, pair.low, pair.high, ratio, role))
    if not rows:
        return None
    axis = "mentions, as a multiple of the corpus"
    chart = intervals(rows, _RATIOS, _TIMES, axis, EVEN_RATIO, 1.0)
    n_shifted = sum(row.role == "against" for row in rows)
    return {"chart": chart, "shifted": n_shifted, "inconclusive": inconclusive}


def lengths(evidence: ReportEvidence) -> dict[str, Markup]:
    """By column of texts: words per text, of distilled rows and corpus."""
    charts = {}
    for name, one in evidence.balance.distilled.lengths.items():
        sides = (
            ("distilled", one.quantiles, "ours"),
            ("corpus", one.corpus_quantiles, "reference"),
        )
        scale = Scale(0, max(*(found.p95 for _, found, _ in sides), 1) * 1.05)
        rows = [
            Row(side, found.p50, found.p5, found.p95, f"{found.p50} words", role)
            for side, found, role in sides
        ]
        title = "words per text: median, with 90 % of the rows"
        charts[name] = intervals(rows, scale, scale.ticks(5), title)
    return charts


def terms(evidence: ReportEvidence) -> Iterator[tuple[str, Markup]]:
    """Words more and less often than in the corpus."""
    table = evidence.balance_terms
    if table is None or table.empty:
        return
    table = table[table["where"] == "distilled"]
    sides = (("over", "More often", "ours"), ("under", "Less often", "reference"))
    for direction, title, role in sides:
        mine = table[table["direction"] == direction].head(_MOST_TERMS)
        if mine.empty:
            continue
        top = float(mine["z"].abs().max()) or 1.0
        rows = [
            (
                str(row["term"]),
                abs(float(row["z"])) / top,
                f"{number(row['per_thousand'], 2)} ‰, {number(row['corpus_per_thousand'], 2)} ‰",
            )
            for _, row in mine.iterrows()
        ]
        yield title, bars(rows, role, 1.0)


def accuracy(evidence: ReportEvidence) -> list[dict[str, Any]]:
    """By learner: a headline and the scores of all methods; empty where nothing was evaluated."""
    shown = scores(evidence)
    if shown is None:
        return []
    errors = shown["standard_error"].fillna(0)
    low, high = float((shown["mean"] - errors).min()), float((shown["mean"] + errors).max())
    margin = 0.06 * (high - low or 0.1)
    scale = Scale(max(0, low - margin), min(1, high + margin))
    ticks = [Tick(t.value, f"{100 * t.value:.3g} %") for t in round_ticks(scale.low, scale.high, 7)]
    return [
        {
            "headline": _headline(table, str(learner)),
            "learner": table["learner_title"].iloc[0] or str(learner),
            "kind": kind_of(table.iloc[0].to_dict()),
            "methods": table["method"].tolist(),
            "chart": intervals(
                [_score(row) for _, row in table.iterrows()],
                scale,
                ticks,
                f"{metric_name(table)} on the evaluation split",
            ),
        }
        for learner, table in shown.groupby("learner", sort=False)
    ]


def _score(row: pd.Series) -> Row:
    mean, error, method = float(row["mean"]), row["standard_error"], str(row["method"])
    role = _ROLES.get(method, "reference")
    if pd.isna(error):
        return Row(method, mean, None, None, percent(mean), role)
    written = f"{percent(mean)} ± {100 * error:.1f}"
    return Row(method, mean, mean - float(error), mean + float(error), written, role)


def _headline(table: pd.DataFrame, learner: str) -> str:
    """What the distilled rows give, compared with random rows."""
    by_method = table.set_index("method")
    if DISTILLED not in by_method.index:
        return f"{learner}: the distilled rows were not evaluated"
    mine = by_method.loc[DISTILLED]
    text = f"{learner}: {metric_name(table)} {percent(mine['mean'])} with the distilled rows"
    if RANDOM in by_method.index and not pd.isna(mine.get("vs_random")):
        text += f", {points(mine['vs_random'])} points compared with random rows"
        if mine.get("vs_random_verdict") not in ("better", "worse"):
            text += " (no clear difference)"
    return text


def cost(evidence: ReportEvidence) -> dict[str, Any] | None:
    """Time and peak memory of each stage."""
    table = evidence.costs
    if table is None or table.empty:
        return None
    stages = table.groupby("stage", sort=False).agg(
        {"seconds": "sum", "peak_megabytes": "max", "bytes": "sum"}
    )
    rows = [
        (
            as_words(str(stage)),
            float(row["seconds"]),
            f"{duration(row['seconds'])} · {size(1e6 * row['peak_megabytes'])}",
        )
        for stage, row in stages.iterrows()
    ]
    seconds, total = stages["seconds"], float(stages["seconds"].sum())
    part = float(seconds.max()) / total if total else 0.0
    return {
        "chart": bars(rows),
        "seconds": total,
        "longest": str(seconds.idxmax()),
        "share": part,
        "n_bytes": float(stages["bytes"].sum()),
    }
