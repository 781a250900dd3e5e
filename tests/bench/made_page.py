"""Pages of results made from invented cells, and how tests read them."""

from __future__ import annotations

import re
from functools import cache
from zlib import crc32

import numpy as np
from sklearn.metrics import f1_score

from bench.page import results_page
from bench.paper_comparison import Provenance
from bench.published import read_published
from take.evaluation.cells import CellResult, cells_table
from take.evaluation.outcomes import EvaluatedOn, Outcomes

PUBLISHED = read_published()
PROVENANCE = Provenance(command="make benchmark", date="2026-01-02", machine="2 cores")
MEANS = {
    "full": 0.80,
    "constant": 0.50,
    "random": 0.55,
    "random_unstratified": 0.54,
    "kmeans": 0.60,
    "eda": 0.56,
    "take": 0.66,
    "take_without_kappa": 0.64,
    "take_kernel_last": 0.62,
    "take_exam": 0.70,
}
SINGLE = ("full", "constant")
TITLES = {"transformer": "MiniLM, fully fine-tuned", "textcnn": "TextCNN on token vectors"}
INDEPENDENT = ("textcnn", "textrnn", "e5", "char_lr")
ROWS = 1000


def predicted(accuracy, fingerprint, rows):
    """As many wrong rows as the accuracy says, all of class 0; another draw for each cell."""
    truth = np.arange(rows) % 2
    draw = np.random.default_rng(crc32(fingerprint.encode()))
    wrong = draw.permutation(np.flatnonzero(truth == 0))[: round((1 - accuracy) * rows)]
    return truth, np.where(np.isin(np.arange(rows), wrong), 1, truth)


def scores(accuracy, fingerprint="", rows=ROWS):
    truth, found = predicted(accuracy, fingerprint, rows)
    f1 = f1_score(truth, found, average=None)
    right = float((truth == found).mean())
    return {"accuracy": right, "macro_f1": f1.mean(), "accuracy_f1": (right + f1[1]) / 2}


def shown(mean, *, single=False):
    """Accuracy / macro F1 of a method with this mean."""
    each = [scores(mean + by)["macro_f1"] for by in ((0,) if single else (0.01, -0.01))]
    return f"{100 * mean:.1f} / {100 * np.mean(each):.1f}"


def macro(mean, *, single=False):
    return shown(mean, single=single).split(" / ")[1]


def cells(corpus, learner="lr", budget="20/class", means=MEANS, **options):
    """Four seeds move each method by a point, take in another pattern than the others."""
    wobble = {name: (1, 1, -1, -1) if name == "take" else (1, -1, 1, -1) for name in means}
    rows = options.get("evaluation_rows", ROWS)
    made = []
    for method, mean in means.items():
        for seed in range(1 if method in SINGLE else 4):
            fingerprint = f"{corpus}{budget}{method}{learner}{seed}"
            accuracy = mean + (0 if method in SINGLE else wobble[method][seed] / 100)
            values = {
                "corpus": corpus,
                "budget": budget,
                "method": method,
                "learner": learner,
                "set_seed": seed,
                "training_seed": 0,
                **scores(accuracy, fingerprint, rows),
                "set_digest": f"{corpus}{budget}{method}{seed}",
                "fingerprint": fingerprint,
                "rows": {"constant": 0, "full": 1000}.get(method, 40),
                "evaluation_rows": rows,
                "independent": learner in INDEPENDENT,
                "pool": seed % 2 if method.startswith("take") else None,
                "updates": 200,
                "learner_title": TITLES.get(learner, f"title of {learner}"),
                "code_version": "0.1.0 (1a2b3c4)",
            }
            made.append(CellResult(**{**values, **options}))
    return made


def outcomes(table):
    labels, predictions = {}, {}
    for cell in table[table["error"].isna()].to_dict("records"):
        fingerprint, rows = cell["fingerprint"], cell["evaluation_rows"]
        truth, found = predicted(cell["accuracy"], fingerprint, rows)
        labels[EvaluatedOn(cell["corpus"], rows)] = truth
        predictions[fingerprint] = found
    return Outcomes(labels, predictions).table()


def page(made, published=PUBLISHED, **known):
    table = cells_table(made)
    provenance = PROVENANCE.model_copy(update=known)
    return results_page(table, outcomes(table), published, provenance)


@cache
def usual():
    """The page of one corpus and one learner."""
    return page(cells("sst2"))


def figures(text):
    """Without errors, which are those of a bootstrap."""
    return re.sub(r" ± [0-9.]+", "", text)


def section(text, title):
    """What stands under a heading, up to the next."""
    start = text.index(f"{title}\n")
    rest = text[start + len(title) :]
    ends = [rest.find(mark) for mark in ("\n## ", "\n### ") if mark in rest]
    return rest[: min(ends)] if ends else rest


def table_2(text):
    return section(text, "### Table 2. Classification accuracy (%) on AG News, IMDb, and SST-2")


def line(text, *names):
    """The cells of the one line of a table that has these names."""
    lines = [one for one in text.splitlines() if one.startswith("|")]
    (found,) = [one for one in lines if all(name in one for name in names)]
    return [part.strip() for part in found.strip("|").split(" | ")]


def rows_of(text, corpus):
    """The rows of a corpus in a stacked table: its name stands in the first of them."""
    rows = [
        [part.strip() for part in one[1:-1].split("|")] for one in text.splitlines() if "|" in one
    ]
    start = next(n for n, row in enumerate(rows) if row[0].startswith(corpus))
    end = next((n for n in range(start + 1, len(rows)) if rows[n][0]), len(rows))
    return {row[1]: row for row in rows[start:end]}


def short(text):
    """The whole first section."""
    return text[text.index("## In short") : text.index("## How to regenerate")]
