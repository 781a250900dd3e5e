"""The first section of the page: what is not shown, what is, and the scores behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from bench.markdown import both, code, percent, points, table
from take.evaluation.headlines import count_wins, over_learners
from take.evaluation.names import CONSTANT, FULL, KINDS, RANDOM, is_competitor, ordered_learners
from take.evaluation.statistics import CONFIDENCE
from take.evaluation.summary import DIFFERENCE, compared_in
from take.evaluation.tables import METRICS
from take.rows.corrections import holm
from take.text.format import MISSING, plural, share

Row = dict[Any, Any]
Place = tuple[str, str, str]

READING = (
    "Scores are `accuracy / macro F1` in % of the evaluation rows, mean ± standard error. The "
    "column *metric* names the one that counts: macro F1 where the smallest class of the training "
    "split has less than two thirds of the rows of the largest. *Kept* is the share kept above "
    "chance, (score − constant) / (full − constant). Differences are in points of that metric, "
    "paired by training set and evaluation row. Errors and 95 % intervals are from a two-way "
    "bootstrap over training sets and evaluation rows: a difference is called "
    "*better* or *worse* only if it would hold for other sets and other rows. The best rival is "
    "chosen by these same scores, so it looks slightly better than it is."
)


def in_short(
    summary: pd.DataFrame,
    comparisons: pd.DataFrame,
    training_rows: Mapping[str, int],
    compared: str,
) -> str:
    """Where TAKE is not ahead; counts; medians over learners; every learner."""
    if summary.empty:
        return "## In short\n\nNothing was evaluated yet."
    parts = ["## In short", not_shown(comparisons, compared)]
    wins = count_wins(comparisons, compared)
    parts.append("\n".join(f"- {sentence}" for sentence in wins.sentences()))
    parts.append(_medians(summary, training_rows, compared))
    for independent in (True, False):
        mine = summary[summary["independent"] == independent]
        if len(mine):
            kind = KINDS[independent]
            parts.append(f"### {kind[:1].upper()}{kind[1:]}")
            parts.append(_by_learner(mine, comparisons, compared))
    return "\n\n".join([*(part for part in parts if part), READING])


def not_shown(comparisons: pd.DataFrame, compared: str) -> str:
    """The rivals that TAKE is worse than, and those that it is not shown to be better than.

    Worse counts without a correction, better only after Holm's: what is against us needs less.
    """
    rivals = comparisons[comparisons["method"] == compared]
    rivals = rivals[rivals["other"].map(is_competitor).astype(bool)]
    known = rivals["p"].notna()
    if not known.any():
        return f"No difference of {code(compared)} to a rival was measured."
    corrected = pd.Series(1.0, rivals.index)
    corrected[known] = holm(rivals.loc[known, "p"].to_numpy(dtype=np.float64))
    worse = rivals["verdict"] == "worse"
    better = (corrected <= 1 - CONFIDENCE) & (rivals["difference"] > 0)
    behind, open_ = ("; ".join(_listed(rivals[mine])) for mine in (worse, known & ~worse & ~better))
    total = plural(int(known.sum()), "comparison")
    return (
        f"Where {code(compared)} is shown to be worse, even without a correction: "
        f"{behind or 'nowhere'}. Where it is not shown to be better: {open_ or 'nowhere'}. In "
        f"{int(better.sum())} of {total} with a rival it is shown to be better (Holm)."
    )


def _listed(rivals: pd.DataFrame) -> Iterator[str]:
    for (corpus, budget), block in rivals.groupby(["corpus", "budget"], sort=False):
        where = [
            f"with {code(learner)} than {', '.join(code(name) for name in mine['other'])}"
            for learner, mine in block.groupby("learner", sort=False)
        ]
        yield f"on {code(corpus)} at {budget} {', '.join(where)}"


def budget_rows(summary: pd.DataFrame, corpus: str, budget: str) -> float | None:
    """The rows of a budget: the median over methods, some of which may have more or fewer."""
    here = summary[(summary["corpus"] == corpus) & (summary["budget"] == budget)]
    rows = here.loc[~here["method"].isin([FULL, CONSTANT]), "rows"].median()
    return None if pd.isna(rows) else float(rows)


def budget_in_words(
    summary: pd.DataFrame, corpus: str, budget: str, training_rows: Mapping[str, int]
) -> str:
    """A budget as written, in rows, and as the true share of the corpus."""
    rows, of = budget_rows(summary, corpus, budget), training_rows.get(corpus)
    if rows is None:
        return budget
    part = f", {share(rows / of)} of {of:,}" if of else ""
    return f"{budget}: {plural(round(rows), 'row')}{part}"


def _medians(summary: pd.DataFrame, training_rows: Mapping[str, int], compared: str) -> str:
    groups = over_learners(summary)
    rows = []
    for (corpus, budget, independent), block in sorted(
        groups.groupby(["corpus", "budget", "independent"], sort=False),
        key=lambda one: not one[0][2],
    ):
        found = {row["method"]: row for row in block.to_dict("records")}
        chosen = compared_in(found, compared)
        ours = found.get(chosen, {}) if chosen else {}
        shown = [_median(found.get(name, {})) for name in (RANDOM, CONSTANT, FULL)]
        metric = summary.loc[summary["corpus"] == corpus, "metric"].iloc[0]
        rows.append(
            [
                KINDS[bool(independent)],
                code(corpus),
                budget_in_words(summary, str(corpus), str(budget), training_rows),
                METRICS.get(metric, metric),
                str(ours.get("learners", 0)),
                f"**{_median(ours)}**",
                *shown,
                _range(ours, "share_median", "share_lowest", "share_highest"),
            ]
        )
    header = ["kind", "corpus", "budget", "metric", "learners", compared]
    header += ["random", "constant", "full", "kept, %"]
    intro = "Medians over learners, with the lowest and the highest, in % of the headline metric:"
    return f"{intro}\n\n{table(header, rows, left=4)}"


def _median(row: Mapping[Any, Any]) -> str:
    return _range(row, "median", "lowest", "highest")


def _range(row: Mapping[Any, Any], *names: str) -> str:
    median, low, high = (percent(row.get(name)) for name in names)
    return median if MISSING in (low, high) or low == high else f"{median} ({low} to {high})"


def _by_learner(summary: pd.DataFrame, comparisons: pd.DataFrame, compared: str) -> str:
    """One row per corpus and learner, at the budget with the most scores."""
    rows = []
    for place in _main_places(summary):
        here = {row["method"]: row for row in _at(summary, place).to_dict("records")}
        chosen = compared_in([name for name, row in here.items() if row["n_cells"]], compared)
        against = _at(comparisons, place)
        against = against[against["method"] == chosen]
        rival = next(iter(against[against["runner_up"]].to_dict("records")), {})
        random = next(iter(against[against["other"] == RANDOM].to_dict("records")), {})
        best, ours = rival.get("other"), here.get(chosen, {})
        metric = str(next(iter(here.values()))["metric"])
        rows.append(
            [
                code(place[0]),
                place[1],
                code(place[2]),
                METRICS.get(metric, metric),
                f"**{both(ours)}**" if ours else MISSING,
                both(here.get(RANDOM, {})),
                both(here.get(CONSTANT, {})),
                f"{both(here[best])} {code(best)}" if best else MISSING,
                both(here.get(FULL, {})),
                percent(ours.get("share_kept")),
                points(random, DIFFERENCE),
                points(rival, DIFFERENCE),
            ]
        )
    header = ["corpus", "budget", "learner", "metric", compared, "random", "constant"]
    header += ["best rival", "full", "kept, %", f"{compared} − random", f"{compared} − best rival"]
    return table(header, rows, left=4)


def _main_places(summary: pd.DataFrame) -> list[Place]:
    places = []
    for corpus, mine in summary.groupby("corpus", sort=False):
        budget = str(mine["budget"].mode().iloc[0])
        learners = mine.loc[mine["budget"] == budget, "learner"]
        places += [(str(corpus), budget, name) for name in ordered_learners(learners)]
    return places


def _at(frame: pd.DataFrame, place: Place) -> pd.DataFrame:
    for name, value in zip(("corpus", "budget", "learner"), place, strict=True):
        frame = frame[frame[name] == value]
    return frame
