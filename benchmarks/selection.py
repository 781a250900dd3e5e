"""Selectors and their options, by what learners taught with the chosen rows get right.

    python benchmarks/selection.py sst2 --budget 20/class [--seeds 5] [--only exam] [--ablate]

Reads what `kedro run` made of the corpus (weights, pool, embeddings). For each seed some train rows
that the generator never saw are set aside for marking and taken out of the corpus, and four fifths
of the pool are drawn; every selector then chooses from the same candidates and is marked on the
same rows. The evaluation split is never read. Learners that are not in exam's panel stand apart.
A line is a mean over seeds with its standard error; the margin is over `random`, seed by seed.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from take.selection.exam.outside import outside_marks
from take.selection.exam.panel import Views, make_viewer
from take.selection.exam.sitting import Asked, Pool
from take.selection.geometry import Probe, Seen, joined_features

from take.corpus.budget import Budget
from take.encoder.embeddings import Embeddings
from take.rows.arrays import Float32, Int64
from take.rows.blocks import rows_at
from take.rows.labelled import LabelledRows, class_ids, class_sizes, text_columns
from take.selection.problem import SelectionProblem, tempered
from take.selection.selection_settings import SelectionSettings
from take.selection.selectors import selector

MARKED_ROWS = 3000
POOL_SHARE = 0.8
CEILING_ROWS = 20_000
SELECTORS: dict[str, dict[str, Any]] = {
    "random": {},
    "kmeans": {},
    "received_mass": {},
    "semi_relaxed": {},
    "swap": {},
    "facility": {},
    "exam": {},
}
ABLATIONS: dict[str, dict[str, Any]] = {
    "facility, α = 0": {"tempering": 0.0},
    "facility, not refined": {"refine": False},
    "facility, margin 0.3": {"geometry": {"margin": 0.3}},
    "facility, margin 1": {"geometry": {"margin": 1.0}},
    "facility, lexical 0.3": {"geometry": {"lexical": 0.3}},
    "facility, lexical 1": {"geometry": {"lexical": 1.0}},
    "exam, α = 0": {"tempering": 0.0},
    "exam, α = 0.5": {"tempering": 0.5},
    "exam, β = 0.1": {"exam": {"coverage": 0.1}},
    "exam, φ alone": {"exam": {"members": ("phi",)}},
    "exam, φ + TF-IDF + gaussian": {"exam": {"members": ("phi", "tfidf", "gaussian")}},
}


class Made(NamedTuple):
    """What the pipeline has made of a corpus."""

    corpus: pd.DataFrame
    embeddings: Embeddings
    weights: np.ndarray
    unseen: Int64
    pool: pd.DataFrame
    pool_embeddings: Embeddings
    probe: Probe


def load(corpus: str) -> Made:
    from kedro.framework.session import KedroSession
    from kedro.framework.startup import bootstrap_project

    root = Path(__file__).resolve().parents[1]
    bootstrap_project(root)
    with KedroSession.create(root, runtime_params={"corpus": corpus}) as session:
        get = session.load_context().catalog.load  # type: ignore[attr-defined]
        table, used, trajectory = get("corpus"), get("generator_rows"), get("trajectory")
        trained = set(used.loc[used["role"] == "trained", "id"])
        return Made(
            table,
            get("embeddings"),
            get("weights")["weight"].to_numpy(),
            np.flatnonzero(~table["id"].isin(trained).to_numpy()),
            get("pool"),
            get("pool_embeddings"),
            Probe(trajectory.weights[-1], trajectory.biases[-1]),
        )


class Trial:
    """One seed: the rows to choose from, to learn from and to be marked on."""

    def __init__(self, made: Made, budget: Budget, seed: int) -> None:
        rng = np.random.default_rng([seed, 99])
        self._marked = np.sort(rng.permutation(made.unseen)[:MARKED_ROWS])
        self._kept = np.setdiff1d(np.arange(len(made.corpus)), self._marked)
        size = int(POOL_SHARE * len(made.pool))
        self._drawn = np.sort(rng.permutation(len(made.pool))[:size])
        self._made, self._budget, self._seed = made, budget, seed
        self._texts = text_columns(made.corpus.iloc[self._kept])
        self._pool_texts = text_columns(made.pool.iloc[self._drawn])
        view = make_viewer(self._texts, np.zeros(made.embeddings.shape[1], dtype=np.float32))
        self._view = view
        self._n_classes = len(class_sizes(made.corpus))
        self._pool = Pool(
            view(self._phi(made.pool_embeddings, self._drawn), self._pool_texts),
            class_ids(made.pool)[self._drawn],
            self._n_classes,
        )
        marked = made.corpus.iloc[self._marked]
        views: Views = view(self._phi(made.embeddings, self._marked), text_columns(marked))
        even = np.full(len(marked), 1 / len(marked))
        self._asked = Asked(views, class_ids(marked), even)

    def marks(self, settings: SelectionSettings) -> dict[str, float]:
        """Accuracy of each learner, and what it took to choose."""
        problem = self._problem(settings)
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = selector(settings.selector)(problem, settings)
        seconds = time.perf_counter() - start
        figures = {
            f"{mark.learner}, {mark.features}": 100 * mark.accuracy
            for mark in outside_marks(self._pool, found.rows, self._asked)
        }
        return {**figures, "seconds": seconds}

    def ceiling(self) -> dict[str, float]:
        """Logistic regression taught with rows of the corpus itself, many of them."""
        from sklearn.linear_model import LogisticRegression

        made = self._made
        rows = np.sort(np.random.default_rng(0).permutation(self._kept)[:CEILING_ROWS])
        table = made.corpus.iloc[rows]
        views = self._view(self._phi(made.embeddings, rows), text_columns(table))
        marks = {}
        for name in ("phi", "lexical"):
            learner = LogisticRegression(max_iter=1000)
            learner.fit(getattr(views, name), class_ids(table))
            right = learner.predict(getattr(self._asked.views, name)) == self._asked.labels
            marks[f"logistic regression, {name}"] = 100 * float(right.mean())
        return marks

    def _problem(self, settings: SelectionSettings) -> SelectionProblem:
        made = self._made
        phi, pool_phi = (
            rows_at(made.embeddings, self._kept),
            rows_at(made.pool_embeddings, self._drawn),
        )
        features, pool_features = joined_features(
            Seen(phi, self._texts),
            Seen(pool_phi, self._pool_texts),
            made.probe,
            settings.geometry,
            self._seed,
        )
        corpus = made.corpus.iloc[self._kept]
        unseen = np.flatnonzero(np.isin(self._kept, made.unseen))
        return SelectionProblem(
            LabelledRows(features, phi, self._texts, class_ids(corpus)),
            tempered(made.weights[self._kept], settings.tempering),
            LabelledRows(pool_features, pool_phi, self._pool_texts, self._pool.labels),
            self._budget.split(class_sizes(made.corpus)),
            unseen,
        )

    @staticmethod
    def _phi(embeddings: Embeddings, rows: Int64) -> Float32:
        return rows_at(embeddings, rows).read(0, len(rows))


def ceiling_line(trials: list[Trial], columns: list[str]) -> str:
    marks = [trial.ceiling() for trial in trials]
    means = {key: float(np.mean([mark[key] for mark in marks])) for key in marks[0]}
    cells = [f"{means[key]:.1f}" if key in means else "–" for key in columns]
    return f"| {CEILING_ROWS:,} corpus rows, or all | {' | '.join(cells)} | – |"


def line(name: str, runs: list[dict[str, float]], base: list[dict[str, float]]) -> str:
    cells = []
    for key in runs[0]:
        values = np.array([run[key] for run in runs])
        if key == "seconds":
            cells.append(f"{values.mean():.1f}")
            continue
        error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
        cells.append(f"{values.mean():.1f} ± {error:.1f}")
    keys = [key for key in runs[0] if key != "seconds"]
    margins = np.array(
        [np.mean([a[k] - b[k] for k in keys]) for a, b in zip(runs, base, strict=True)]
    )
    return f"| {name} | {' | '.join(cells)} | {margins.mean():+.1f} (least {margins.min():+.1f}) |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("corpus")
    parser.add_argument("--budget", default="20/class")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--ablate", action="store_true")
    asked = parser.parse_args()
    made, budget = load(asked.corpus), Budget.parse(asked.budget)
    trials = [Trial(made, budget, seed) for seed in range(asked.seeds)]
    chosen = {**SELECTORS, **(ABLATIONS if asked.ablate else {})}
    if asked.only:
        chosen = {name: options for name, options in chosen.items() if name in asked.only}
    chosen = {"random": {}, **chosen}
    base: list[dict[str, float]] = []
    for name, options in chosen.items():
        runs = [
            trial.marks(SelectionSettings(selector=name.split(",")[0], seed=seed, **options))
            for seed, trial in enumerate(trials)
        ]
        if not base:
            base = runs
            print(f"{asked.corpus}, {asked.budget}, {asked.seeds} seeds\n")
            print(f"| selector | {' | '.join(runs[0])} | mean margin over random |")
            print("|---" * (len(runs[0]) + 2) + "|")
        print(line(name, runs, base), flush=True)
    print(ceiling_line(trials, list(base[0])))


if __name__ == "__main__":
    main()
