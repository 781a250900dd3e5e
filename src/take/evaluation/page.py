"""The page of results, docs/results.md, made of cells and published figures alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from take.evaluation.beside import Beside, Departures
from take.evaluation.cells import Metric
from take.evaluation.details import (
    cost_section,
    failures_section,
    grid_sections,
    missing_section,
    parts_section,
)
from take.evaluation.markdown import NOTHING, code, percent, points, table
from take.evaluation.names import (
    FULL,
    RANDOM,
    meaning,
    ordered_budgets,
    ordered_corpora,
    ordered_learners,
    ordered_methods,
)
from take.evaluation.paper_tables import PAPER_TABLES, elsewhere_table, gains_table, paper_table
from take.evaluation.published import Published
from take.evaluation.summary import DIFFERENCE, compared_in, comparisons_table, summary_table
from take.evaluation.text import METRICS, score


@dataclass(frozen=True)
class Provenance:
    """How the page came to be."""

    commands: Sequence[str]
    date: str
    machine: str = ""
    code_versions: Sequence[str] = ()
    """Those of the cells where none are given."""


def results_page(
    cells: pd.DataFrame,
    published: Published,
    headline: Mapping[str, Metric],
    provenance: Provenance,
    departures: Departures | None = None,
    compared: str = "take",
) -> str:
    """All that was measured, from the short to the long, in Markdown."""
    summary = summary_table(cells, headline, compared)
    comparisons = comparisons_table(cells, headline, compared)
    departures = departures or Departures()
    beside = Beside(cells, published, departures, compared)
    sections = [
        "# Results",
        "Written by the commands below from the scores they left: change those, not this page.",
        _in_short(summary, comparisons, compared),
        _how_to_regenerate(cells, provenance),
        _what_was_run(cells, summary, departures),
        _beside_the_paper(beside, published),
        *grid_sections(summary, comparisons),
        parts_section(cells, headline, compared),
        cost_section(summary),
        failures_section(cells),
        missing_section(summary),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _in_short(summary: pd.DataFrame, comparisons: pd.DataFrame, compared: str) -> str:
    """One row per corpus and learner, at the budget with the most scores."""
    if summary.empty:
        return "## In short\n\nNothing was evaluated yet."
    rows, verdicts = [], []
    for place in _main_places(summary):
        here = {row["method"]: row for row in _at(summary, place).to_dict("records")}
        chosen = compared_in([name for name, row in here.items() if row["n_cells"]], compared)
        against = _at(comparisons, place)
        against = against[against["method"] == chosen]
        rival = next(iter(against[against["runner_up"]].to_dict("records")), {})
        random = next(iter(against[against["other"] == RANDOM].to_dict("records")), {})
        best = rival.get("other")
        ours = here.get(chosen, {})
        rows.append(
            [
                code(place[0]),
                place[1],
                code(place[2]),
                f"**{score(ours)}**" if ours else NOTHING,
                score(here.get(RANDOM, {})),
                f"{score(here[best])} {code(best)}" if best else NOTHING,
                score(here.get(FULL, {})),
                percent(ours.get("share_kept")),
                points(random, DIFFERENCE),
                points(rival, DIFFERENCE),
            ]
        )
        verdicts.append((random.get("verdict"), rival.get("verdict")))
    names = " or ".join(summary["compared"].dropna().unique()) or compared
    header = ["corpus", "budget", "learner", names, "random", "best rival", "full", "kept, %"]
    header += [f"{names} − random", f"{names} − best rival"]
    counted = [_counted(names, "random rows", [verdict for verdict, _ in verdicts])]
    counted += [_counted(names, "the best rival", [verdict for _, verdict in verdicts])]
    return "\n\n".join(["## In short", "\n".join(counted), table(header, rows, left=3), _READING])


_READING = (
    "Scores in % of the evaluation rows, mean ± standard error over training sets (over trainings "
    "where there is one set; none of a single observation). The best rival is the best method that "
    "is neither full data nor `take` or a variant of it; chosen by these very scores, it looks a "
    "little better than it is. *Kept* is the share of what full data reaches. Differences are in "
    "points, paired by seeds, with their 95 % interval (Student's t, over sets): *better* and "
    "*worse* are said only where it excludes 0. Each is a test of its own: of many without any "
    "difference, one in twenty would still show one."
)


def _counted(names: str, other: str, verdicts: Sequence[object]) -> str:
    """Of how many corpora and learners what is shown.

    >>> _counted("take", "random rows", ["better", "better", "no difference shown", None])
    '- Against random rows, `take` is shown to be better in 2 of 3 cases, worse in 0; 1 show no \
difference.'
    """
    found = [str(verdict) for verdict in verdicts if isinstance(verdict, str)]
    better, worse = found.count("better"), found.count("worse")
    rest = len(found) - better - worse
    return (
        f"- Against {other}, `{names}` is shown to be better in {better} of {len(found)} cases, "
        f"worse in {worse}; {rest} show no difference."
    )


def _how_to_regenerate(cells: pd.DataFrame, provenance: Provenance) -> str:
    versions = provenance.code_versions or sorted({str(v) for v in cells["code_version"] if v})
    facts = [f"Written on {provenance.date}"]
    if versions:
        facts.append(f"scores computed by take {', '.join(versions)}")
    if provenance.machine:
        facts.append(provenance.machine)
    commands = "\n".join(provenance.commands)
    return f"## How to regenerate\n\n```\n{commands}\n```\n\n{'; '.join(facts)}."


def _what_was_run(cells: pd.DataFrame, summary: pd.DataFrame, departures: Departures) -> str:
    if cells.empty:
        return ""
    header = ["corpus", "training rows", "evaluation rows", "metric", "budgets", "seeds", "cells"]
    corpora = []
    for corpus in ordered_corpora(cells["corpus"]):
        mine, found = cells[cells["corpus"] == corpus], summary[summary["corpus"] == corpus]
        full = mine.loc[mine["method"] == FULL, "rows"]
        asked = departures.evaluation_rows.get(corpus, int(mine["asked_rows"].max()))
        whole = f"{int(full.max()):,}" if len(full) and full.max() else NOTHING
        metric = str(found["metric"].iloc[0])
        seeds = f"{mine['set_seed'].nunique()} sets × {mine['training_seed'].nunique()}"
        budgets = ", ".join(ordered_budgets(mine["budget"]))
        row = [code(corpus), whole, f"{asked:,}", METRICS.get(metric, metric), budgets, seeds]
        corpora.append([*row, f"{len(mine):,}", departures.notes.get(corpus, "")])
    learners = [
        [code(name), *_learner(summary[summary["learner"] == name], departures.learners.get(name))]
        for name in ordered_learners(summary["learner"])
    ]
    methods = [[code(name), meaning(name) or NOTHING] for name in ordered_methods(cells["method"])]
    return "\n\n".join(
        [
            "## What was run",
            table([*header, "note"], corpora, left=8),
            table(["learner", "what it is", "updates", "updates, full"], learners, left=2),
            "TF-IDF comes in two protocols: words and idf of the whole corpus, as in the paper "
            "(`lr`, `siamese_lr`), and of the taught rows alone, which is what someone has who "
            "was handed only those (`lr_rows`, `siamese_lr_rows`). The selector `exam` looks for "
            "rows that teach ridge regressions on φ and TF-IDF well, asked about training rows: "
            "the logistic regressions here are of that kind, networks and transformers are not.",
            table(["method", "what it is"], methods, left=2),
        ]
    )


def _learner(mine: pd.DataFrame, note: str | None) -> Iterator[str]:
    titles = [str(title) for title in mine["learner_title"].dropna().unique() if title]
    yield ("; or ".join(titles) or NOTHING) + (f" ({note})" if note else "")
    for group in (mine[mine["method"] != FULL], mine[mine["method"] == FULL]):
        counts = sorted({int(count) for count in group["updates"].dropna()})
        yield " to ".join(f"{n:,}" for n in dict.fromkeys(counts[:1] + counts[-1:])) or NOTHING


def _beside_the_paper(beside: Beside, published: Published) -> str:
    spread = published.sources["take"].spread if "take" in published.sources else None
    intro = (
        "Each cell is `published → **ours**`, in %; `–` where nothing is published or nothing was "
        "run; † quoted there from the method's own paper; letters mark where our protocol is "
        "another. Our ± is the standard error over training sets. The paper's is left out, as it "
        f"is not the same{f' ({spread})' if spread else ''}. Compare directions and margins rather "
        "than decimals."
    )
    parts = ["## Beside the paper", intro]
    parts += [paper_table(layout, beside) for layout in PAPER_TABLES]
    parts += ["### What TAKE gains over random rows, in points", gains_table(beside)]
    elsewhere = elsewhere_table(beside)
    parts += ["### Published elsewhere", elsewhere] if elsewhere else []
    return "\n\n".join(parts)


def _main_places(summary: pd.DataFrame) -> list[tuple[str, str, str]]:
    places = []
    for corpus, mine in summary.groupby("corpus", sort=False):
        budget = str(mine["budget"].mode().iloc[0])
        learners = mine.loc[mine["budget"] == budget, "learner"]
        places += [(str(corpus), budget, name) for name in ordered_learners(learners)]
    return places


def _at(frame: pd.DataFrame, place: tuple[str, str, str]) -> pd.DataFrame:
    names = ("corpus", "budget", "learner")
    for name, value in zip(names, place, strict=True):
        frame = frame[frame[name] == value]
    return frame
