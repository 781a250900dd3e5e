"""How well the rows stand for the corpus: map, classes, budget curve, weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from take.audit.release.charts import Mark, Series, curve, histogram
from take.audit.release.charts_map import coverage_map
from take.audit.release.evidence import ReportEvidence
from take.audit.release.sections import Figure, Tile
from take.audit.release.sections_rows import Passage, spots
from take.rows.labelled import TEXT_COLUMNS, task_of
from take.text.format import count, number, share


def coverage(evidence: ReportEvidence, *, release: bool) -> dict[str, Any]:
    """Where the distilled rows stand in the corpus, and what they cover worst."""
    report = evidence.distillation_report
    own = report.coverage.own_class or report.coverage.any_class
    chance = report.coverage.random
    return {
        "figure": _map(evidence, release=release),
        "sentence": f"On average a training row is {number(own.mean)} from the nearest distilled "
        f"row {'of its class' if report.coverage.own_class else 'of any class'}; with as many "
        f"rows chosen at random it is {number(chance.mean)}. 95 % of training rows have one "
        f"within {number(own.p95)} ({number(chance.p95)} at random). 0 is the same text, 1.41 an "
        "unrelated one.",
        "reached": report.transport.reached,
        "classes": [{"name": name, **found.model_dump()} for name, found in report.classes.items()],
        "uncovered": report.coverage.uncovered_rows,
        "regions": _regions(evidence, release=release),
        "pool": _pool(evidence),
    }


def budget(evidence: ReportEvidence) -> dict[str, Any]:
    """What other budgets would give."""
    table, report = evidence.budget_curve, evidence.distillation_report
    if table.empty:
        return {"figures": []}
    by_class = report.run.scope == "class" and table["rows_per_class"].notna().all()
    sizes = table["rows_per_class" if by_class else "rows"].to_numpy(np.float64)
    unit = "rows per class" if by_class else "rows in all"
    n_chosen = (
        max((c.rows for c in report.classes.values()), default=0) if by_class else report.rows
    )
    knee = report.knee
    bends = knee is not None and knee.k is not None
    headline = (
        f"The curve bends at {count(knee.k)} {unit}"  # type: ignore[union-attr]
        if bends
        else "No budget stands out: cost goes on falling"
    )
    marks = [Mark(float(knee.k), "knee")] if bends else []  # type: ignore[union-attr,arg-type]
    cost = Figure(
        headline,
        curve(
            sizes.tolist(),
            [Series("cost along the greedy path", table["cost"].tolist())],
            f"{unit} (logarithmic)",
            "transport cost",
            points=[(float(n_chosen), report.cost, f"chosen: {count(n_chosen)}")],
            marks=marks,
        ),
        (f"{knee.sentence} " if knee else "")
        + "Lower is better: the mean squared distance, by weight, from a training row to the "
        "nearest distilled row. The point is the set on this page. The search that chose it also "
        "looks at what learners make of the rows, so it may lie above the curve.",
    )
    last = table.iloc[-1]
    distances = Figure(
        f"From 1 to {count(sizes[-1])} {unit} the mean distance falls "
        f"from {number(table['mean_distance'].iloc[0])} to {number(last['mean_distance'])}",
        curve(
            sizes.tolist(),
            [
                Series("mean distance", table["mean_distance"].tolist()),
                Series("95 % of rows are nearer", table["p95_distance"].tolist(), "beside"),
                Series("W₁ from the weighted corpus", table["w1"].tolist(), "other"),
            ],
            f"{unit} (logarithmic)",
            "distance",
        ),
        "Distances of training rows to the nearest distilled row along the same path; W₁ also asks "
        "that each row stands for equally much, and is measured at some budgets only.",
    )
    return {"figures": [cost, distances]}


def weights(evidence: ReportEvidence) -> dict[str, Any]:
    """Whether a few training rows speak for all."""
    report = evidence.scoring_report
    health = report.weights
    tiles = [
        Tile(share(health["effective_share"]), "effective sample size", "100 % is equal weights"),
        Tile(share(health["top_percent_share"]), "held by the top 1 %", "1 % is equal weights"),
        Tile(share(health["floored_share"]), "of scores lifted to the floor", "1/I has no bound"),
        Tile(
            count(health["capped_rows"]),
            "rows at the cap",
            f"{number(health['largest_weight'])} × the mean",
        ),
        Tile(
            number(report.length_correlation, 2),
            "correlation with length",
            "0: length plays no part",
        ),
    ]
    warnings = []
    if health.get("low_effective_share"):
        warnings.append(
            "Before the cap, the effective sample size is below 10 % of the rows: a few training "
            "rows speak for the corpus. Consider another kernel, a higher floor or equal weights."
        )
    if abs(report.length_correlation) > 0.5:
        warnings.append("Weights follow the length of the texts: long or short texts dominate.")
    figures = []
    if sum(report.histogram_counts):
        figures.append(
            Figure(
                f"{count(health['effective_rows'])} of {count(health['n_rows'])} training rows "
                "would weigh as much, if all weighed the same",
                histogram(
                    report.histogram_edges,
                    [Series("training rows", [float(n) for n in report.histogram_counts])],
                    "weight, as a multiple of the mean",
                    [Mark(1.0, "equal weights")],
                ),
                "A long tail to the right means that few rows count for much. Rows that the probe "
                "learns early and keeps weigh more; rows with doubtful labels weigh less.",
            )
        )
    classes = [
        {"name": name, "rows": rows, "weight": report.weight_share.get(name)}
        for name, rows in report.class_share.items()
    ]
    return {
        "tiles": tiles,
        "warnings": warnings,
        "figures": figures,
        "classes": classes,
        "scorer": report.scorer,
        "kernel": report.kernel,
    }


def _pool(evidence: ReportEvidence) -> list[tuple[str, str, str]]:
    """What the rows were chosen from, beside equally many real rows: name, pool, real."""
    found = evidence.pool_quality
    cover, wording = found.coverage.any_class, found.diversity
    lines = [
        ("mean distance of a training row", number(cover.compared.mean), number(cover.real.mean)),
        ("label agrees with a probe", share(found.agreement.before), share(found.agreement.corpus)),
        (
            "different word pairs",
            share(wording.pool.distinct_2),
            share(wording.corpus.distinct_2),
        ),
        ("words per row", number(found.words.pool.mean), number(found.words.corpus.mean)),
    ]
    if found.mauve is not None:
        lines.append(("MAUVE", number(found.mauve.pool), number(found.mauve.corpus)))
    if found.perplexity is not None:
        read = found.perplexity
        lines.append(("perplexity", number(read.pool), number(read.corpus)))
    return lines


def _map(evidence: ReportEvidence, *, release: bool) -> Figure | None:
    points, names = evidence.map_coordinates, evidence.corpus_report.labels
    if points is None or not (points["kind"] == "distilled").any():
        return None
    if release:  # the places of training rows are not released
        points = points[points["kind"] != "corpus"]
    held = 100 * (points["share_x"].iloc[0] + points["share_y"].iloc[0])
    return Figure(
        f"{count(len(evidence.distilled))} distilled rows among "
        + (
            "the rows they were chosen from"
            if release
            else f"{count(evidence.corpus_report.train.rows_kept)} training rows"
        ),
        coverage_map(points, names, spots(evidence)),
        "Large points are distilled rows; the larger, the more of the corpus's weight they stand "
        "for. Choose one to go to its row. "
        + (
            "Small points are rows of the pool; training rows are left out. "
            if release
            else "Small points are training rows, drawn by weight; thin lines lead from some of "
            "them to the row that stands for them. Every cloud should have large points in it."
        )
        + f" This plane holds {held:.0f} % of the variance: what is near on paper may be far "
        "apart, and the reverse.",
    )


def _regions(evidence: ReportEvidence, *, release: bool) -> list[dict[str, Any]]:
    table: pd.DataFrame | None = None if release else evidence.least_covered
    shown = []
    for name, region in evidence.distillation_report.regions.items():
        rows = []
        if table is not None and len(table):
            columns = TEXT_COLUMNS[task_of(table)]
            for _, row in table[table["region"].astype(str) == str(name)].iterrows():
                rows.append(
                    {
                        "label": row["label_name"],
                        "distance": row["distance"],
                        "passages": [Passage.of(row[column]) for column in columns],
                        "closest": [Passage.of(row[f"closest_{column}"]) for column in columns],
                    }
                )
        missing = region.pool_distance > 0.9 * region.distance
        shown.append(
            {
                "name": name,
                **region.model_dump(),
                "cause": "the pool has nothing like them"
                if missing
                else "the choice left them out",
                "rows": rows,
            }
        )
    return shown
