"""The page of results, docs/results.md, made from cells, outcomes and published figures alone."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from bench.ceilings import ceilings_section
from bench.details import (
    cost_section,
    failures_section,
    grid_sections,
    missing_section,
    parts_section,
)
from bench.in_short import budget_in_words, in_short
from bench.markdown import code, table
from bench.paper_comparison import Comparison, Provenance
from bench.paper_tables import PAPER_TABLES, elsewhere_table, gains_table, paper_table
from bench.published import Published
from take.evaluation.names import (
    CONSTANT,
    FULL,
    meaning,
    ordered_budgets,
    ordered_corpora,
    ordered_methods,
)
from take.evaluation.outcomes import Outcomes
from take.evaluation.summary import comparisons_table, summary_table
from take.evaluation.tables import METRICS
from take.text.format import MISSING


def results_page(
    cells: pd.DataFrame,
    outcomes: pd.DataFrame,
    published: Published,
    provenance: Provenance,
    compared: str = "take",
) -> str:
    """Everything that was measured, in Markdown; what TAKE is not shown to do comes first.

    `outcomes` are the predictions of the cells (`take.evaluation.outcomes`).
    """
    known, rows = Outcomes.of(outcomes), provenance.training_rows
    summary = summary_table(cells, known, compared)
    comparisons = comparisons_table(cells, known, compared)
    paper = Comparison(cells, known, published, provenance, compared)
    sections = [
        "# Results",
        in_short(summary, comparisons, rows, compared),
        _how_to_regenerate(cells, provenance),
        _what_was_run(cells, summary, paper),
        ceilings_section(cells, rows),
        _compared_with_the_paper(paper, published),
        *grid_sections(summary, comparisons, rows),
        parts_section(cells, known, comparisons, compared),
        cost_section(summary),
        failures_section(cells),
        missing_section(summary),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _how_to_regenerate(cells: pd.DataFrame, provenance: Provenance) -> str:
    versions = sorted({str(version) for version in cells["code_version"] if version})
    facts = [f"Made on {provenance.date}", *(f"by take {version}" for version in versions)]
    facts += [f"on {provenance.machine}"] if provenance.machine else []
    return (
        f"## How to regenerate\n\n```\n{provenance.command}\n```\n\n{' '.join(facts)}. The command "
        "writes this page: do not edit it. `make results` writes it again from the stored cells."
    )


def _what_was_run(cells: pd.DataFrame, summary: pd.DataFrame, paper: Comparison) -> str:
    if cells.empty:
        return ""
    header = ["corpus", "training rows", "evaluation rows", "metric", "budgets", "sets", "pools"]
    corpora = []
    for corpus in ordered_corpora(cells["corpus"]):
        mine, found = cells[cells["corpus"] == corpus], summary[summary["corpus"] == corpus]
        rows, metric = paper.provenance.training_rows, str(found["metric"].iloc[0])
        budgets = ordered_budgets(mine.loc[~mine["method"].isin([FULL, CONSTANT]), "budget"])
        words = [budget_in_words(summary, corpus, budget, rows) for budget in budgets]
        line = [
            code(corpus),
            f"{rows[corpus]:,}" if corpus in rows else MISSING,
            f"{paper.whole_split(corpus):,}",
            METRICS.get(metric, metric),
            "; ".join(words),
            f"{mine['set_seed'].nunique()} × {mine['training_seed'].nunique()}",
            str(mine["pool"].nunique()),
        ]
        corpora.append([*line, f"{len(mine):,}", paper.corpus_note(corpus)])
    learners = [
        [code(name), *_learner(summary[summary["learner"] == name])]
        for name in summary["learner"].drop_duplicates()
    ]
    methods = [[code(name), meaning(name) or MISSING] for name in ordered_methods(cells["method"])]
    return "\n\n".join(
        [
            "## What was run",
            table([*header, "cells", "note"], corpora, left=9),
            "*Sets* are training sets × trainings on each. *Pools* were generated again, each with "
            "its own seed, and the sets of `take` are spread over them.",
            table(["learner", "kind", "what it is", "updates"], learners, left=3),
            "Independent learners share no features and no weights with the selector. The "
            "selector `exam` looks for rows on which ridge regressions on φ and TF-IDF predict "
            "other training rows well, so logistic regression on these, and the transformer that "
            "φ was made from, see texts as it does. TF-IDF comes in two protocols: words and idf "
            "of the whole corpus, as in the paper (`lr`, `siamese_lr`), and of the training rows "
            "alone, which is all that someone has who received only those (`lr_rows`, "
            "`siamese_lr_rows`).",
            table(["method", "what it is"], methods, left=2),
        ]
    )


def _learner(mine: pd.DataFrame) -> Iterator[str]:
    yield "independent" if mine["independent"].all() else "in the selector's feature spaces"
    titles = [str(title) for title in mine["learner_title"].dropna().unique() if title]
    yield "; or ".join(titles) or MISSING
    counts = sorted({int(n) for n in mine.loc[mine["method"] != FULL, "updates"].dropna()})
    yield " to ".join(f"{n:,}" for n in dict.fromkeys(counts[:1] + counts[-1:])) or MISSING


def _compared_with_the_paper(paper: Comparison, published: Published) -> str:
    spread = published.sources["take"].spread if "take" in published.sources else None
    intro = (
        "Each cell is `published → **our accuracy** / our macro F1`, in %; `–` where nothing is "
        "published or nothing was run; † quoted there from the method's own paper; letters mark "
        "where our protocol differs. Our ± is the standard error over training sets and "
        "evaluation rows. The paper's is left out, as it "
        f"is not the same{f' ({spread})' if spread else ''}. Compare directions and margins rather "
        "than decimals."
    )
    parts = ["## Compared with the paper", intro]
    parts += [paper_table(layout, paper) for layout in PAPER_TABLES]
    parts += ["### What TAKE gains over random rows, in points", gains_table(paper)]
    elsewhere = elsewhere_table(paper)
    parts += ["### Published elsewhere", elsewhere] if elsewhere else []
    return "\n\n".join(parts)
