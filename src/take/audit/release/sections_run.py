"""Accuracy, cost, how to reproduce, and what the page does not say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from take.audit.release.charts_rows import Row, bars, intervals
from take.audit.release.charts_svg import Scale, Tick, round_ticks
from take.audit.release.evidence import ReportEvidence
from take.audit.release.sections import Figure
from take.evaluation.names import DISTILLED, FULL, RANDOM, meaning
from take.text.format import as_words, count, duration, percent, plural, points, share, size

_ROLES = {DISTILLED: "ours", FULL: "other"}


def accuracy(evidence: ReportEvidence) -> dict[str, Any]:
    """What learners make of the rows, where that was measured."""
    summary = evidence.accuracy_summary
    if summary is None or summary.empty or summary["mean"].isna().all():
        return {"figures": [], "methods": [], "slices": []}
    shown = summary[summary["mean"].notna()]
    errors = shown["standard_error"].fillna(0)
    low, high = float((shown["mean"] - errors).min()), float((shown["mean"] + errors).max())
    room = 0.06 * (high - low or 0.1)
    scale = Scale(max(0, low - room), min(1, high + room))
    ticks = [Tick(t.value, f"{100 * t.value:.3g} %") for t in round_ticks(scale.low, scale.high, 7)]
    figures = []
    for learner, table in shown.groupby("learner", sort=False):
        rows = [_score(row) for _, row in table.iterrows()]
        title = f"{as_words(str(table['metric'].iloc[0]))} on the evaluation split"
        chart = intervals(rows, scale, ticks, title)
        figures.append(
            Figure(
                _told(table, str(learner)),
                chart,
                f"{table['learner_title'].iloc[0] or str(learner)}, taught with the rows of each "
                "method and nothing else. Points are means over sets, lines ± one standard error; "
                "a method that gives one set only has none.",
            )
        )
    methods = [(str(name), meaning(str(name))) for name in shown["method"].unique()]
    return {"figures": figures, "methods": methods, "slices": _slices(evidence.slice_accuracy)}


def cost(evidence: ReportEvidence) -> dict[str, Any]:
    """Time, memory and disk, by stage and by node."""
    table = evidence.costs
    if table is None or table.empty:
        return {"stages": None, "nodes": []}
    stages = table.groupby("stage", sort=False).agg(
        seconds=("seconds", "sum"), peak=("peak_megabytes", "max"), n_bytes=("bytes", "sum")
    )
    rows = [
        (
            as_words(str(stage)),
            float(row["seconds"]),
            f"{duration(row['seconds'])} · {size(1e6 * row['peak'])}",
        )
        for stage, row in stages.iterrows()
    ]
    longest = stages["seconds"].idxmax()
    total = float(stages["seconds"].sum())
    part = share(float(stages["seconds"].max()) / total) if total else "0 %"
    figure = Figure(
        f"{duration(total)} in all, {part} of it in {as_words(str(longest))}",
        bars(rows),
        "Seconds that the stage's nodes took when they last ran, and the most memory that any of "
        f"them had. All outputs together take {size(float(stages['n_bytes'].sum()))} on disk.",
    )
    return {"stages": figure, "nodes": table.to_dict("records")}


def facts(evidence: ReportEvidence) -> list[tuple[str, str]]:
    """What the rows were made from, and with what."""
    corpus, tuning = evidence.corpus_report, evidence.fine_tuning_report
    selection = evidence.selection_report
    held = tuning.rows.validation_rows
    found = [
        ("Corpus", corpus.corpus),
        (
            "Training rows",
            f"{count(corpus.train.rows_kept)} of {count(corpus.train.rows_read)} read",
        ),
        ("Evaluation rows", f"{count(corpus.evaluation.rows_kept)}, never learned from"),
        ("Budget", corpus.budget),
        ("Language model", f"{tuning.language_model}, fine-tuned by {tuning.method}"),
        (
            "Fine-tuned on",
            f"{plural(tuning.rows.train_rows, 'row')}, {plural(held, 'row')} held out, "
            f"{plural(tuning.updates, 'update')}",
        ),
        (
            "Pool",
            f"{plural(selection.pool_rows, 'row')} kept of "
            f"{count(evidence.ledger_report.totals.generated)} generated",
        ),
        ("Selector", f"{selection.selector}, scope {selection.scope}, seed {selection.seed}"),
    ]
    about = getattr(corpus, "about", None)
    if about is not None:
        found += [
            ("Licence", " – ".join(filter(None, (about.licence, about.licence_note)))),
            ("Source", about.source),
            ("Citation", about.citation),
            ("Language", ", ".join(about.language)),
            ("Personal data in the corpus", f"{about.contains_personal_data}, says corpora.yml"),
        ]
    return [(name, value) for name, value in found if value]


def reproduction(evidence: ReportEvidence, *, release: bool) -> dict[str, Any]:
    """Command, code, inputs, and parameters by dotted name; for release without folders."""
    made = evidence.reproduction.shareable() if release else evidence.reproduction
    return {**made._asdict(), "parameters": dict(_flat(made.parameters))}


def _flat(nested: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in nested.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", str(value)


def limits(evidence: ReportEvidence, *, release: bool) -> list[str]:
    """What a reader should not conclude."""
    told = [
        "Screened means checked, not free of risk. The checks find copies, personal data and "
        "memory of the kinds they look for; what nobody looked for can still be there.",
        "Personal data are found by their form (and, where switched on, by a model). Names, "
        "places and stories that point to a person are not.",
        "Distances and coverage are as the sentence encoder sees texts. What it cannot tell apart, "
        "these figures cannot tell apart.",
        "Figures of transport and coverage are indicators. None of them promises an accuracy.",
    ]
    if evidence.accuracy_summary is None:
        told.append(
            "No learner was taught with these rows in this run, so that nothing is said "
            "about accuracy."
        )
    else:
        told.append(
            "Accuracy holds for the learners shown, on this evaluation split. Another learner, or "
            "other data, may do better or worse."
        )
    if not evidence.privacy.distances:
        told.append(
            "The language model was trained on every row of some class, so that distances to rows "
            "it never read could not be measured."
        )
    untold = len(evidence.balance.of("distilled", "inconclusive"))
    if untold:
        told.append(
            f"{plural(untold, 'figure')} of balance cannot be told from chance with "
            f"{plural(len(evidence.distilled), 'row')}; that is no evidence of fairness."
        )
    told.append("Identity groups are found by lists of English words, which miss and mistake much.")
    if release:
        told.append(
            "This copy is made for release: texts and ids of training rows are left out, so that "
            "not every figure can be checked from it alone."
        )
    return told


def _score(row: pd.Series) -> Row:
    error = row["standard_error"]
    known = not pd.isna(error)
    method = str(row["method"])
    return Row(
        method,
        float(row["mean"]),
        float(row["mean"] - error) if known else None,
        float(row["mean"] + error) if known else None,
        percent(row["mean"]) + (f" ± {100 * error:.1f}" if known else ""),
        _ROLES.get(method, "beside"),
    )


def _told(table: pd.DataFrame, learner: str) -> str:
    """A headline: what the distilled rows give, beside random rows."""
    by_method = table.set_index("method")
    if DISTILLED not in by_method.index:
        return f"{learner}: the distilled rows were not evaluated"
    mine = by_method.loc[DISTILLED]
    told = f"{learner}: {percent(mine['mean'])} with the distilled rows"
    if RANDOM in by_method.index and not pd.isna(mine.get("vs_random")):
        told += f", {points(mine['vs_random'])} points against random rows"
        if mine.get("vs_random_verdict") == "no difference shown":
            told += " (no clear difference)"
    return told


def _slices(table: pd.DataFrame | None) -> list[dict[str, Any]]:
    """Slices on which a learner does clearly worse or better; all of them where none does."""
    if table is None or table.empty:
        return []
    shown = []
    for learner, mine in table.groupby("learner", sort=False):
        shown.append(
            {
                "learner": str(learner),
                "shifted": int((mine["verdict"] == "shifted").sum()),
                "total": len(mine),
                "rows": mine.sort_values("difference").to_dict("records"),
            }
        )
    return shown
