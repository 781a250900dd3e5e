"""Selectors and their options, by the accuracy of models trained on the chosen rows.

    python benchmarks/selection.py sst2 --budget 20/class [--seeds 5] [--only exam] [--ablate]

Reads what `kedro run` made of the corpus (weights, pool, embeddings). For each seed some training
rows that the generator never saw are removed from the corpus for testing, and four fifths of the
pool are drawn; every selector then chooses from the same candidates and is tested on the same rows.
The evaluation split is never read. None of the tested models is a surrogate of `exam`. A line is a
mean over seeds with its standard error; the margin is over `random`, seed by seed.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from take.corpus.budget import Budget
from take.encoder.embeddings import Embeddings
from take.rows.arrays import Float32, Int64
from take.rows.blocks import rows_at
from take.rows.labelled import LabelledRows, class_ids, class_sizes, text_columns
from take.selection.exam.surrogates import Pool, ScoredRows, independent_accuracies
from take.selection.exam.views import fitted_tfidf, make_viewer
from take.selection.problem import SelectionProblem, selection_weights
from take.selection.selection_settings import SelectionSettings
from take.selection.selectors import selector

TEST_ROWS = 3000
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
    "exam, α = 0": {"tempering": 0.0},
    "exam, α = 0.5": {"tempering": 0.5},
    "exam, φ alone": {"exam": {"surrogates": ("phi",)}},
}


class Made(NamedTuple):
    """What the pipeline has made of a corpus."""

    corpus: pd.DataFrame
    embeddings: Embeddings
    weights: np.ndarray
    unseen: Int64
    pool: pd.DataFrame
    pool_embeddings: Embeddings


def load(corpus: str) -> Made:
    from kedro.framework.session import KedroSession
    from kedro.framework.startup import bootstrap_project

    root = Path(__file__).resolve().parents[1]
    bootstrap_project(root)
    with KedroSession.create(root, runtime_params={"corpus": corpus}) as session:
        get = session.load_context().catalog.load  # type: ignore[attr-defined]
        table, used = get("corpus"), get("generator_rows")
        trained = set(used.loc[used["role"] == "trained", "id"])
        return Made(
            table,
            get("embeddings"),
            get("weights")["weight"].to_numpy(),
            np.flatnonzero(~table["id"].isin(trained).to_numpy()),
            get("pool"),
            get("pool_embeddings"),
        )


class Trial:
    """One seed: the candidates, the corpus and the test rows."""

    def __init__(self, made: Made, budget: Budget, seed: int) -> None:
        rng = np.random.default_rng([seed, 99])
        self._test = np.sort(rng.permutation(made.unseen)[:TEST_ROWS])
        self._kept = np.setdiff1d(np.arange(len(made.corpus)), self._test)
        size = int(POOL_SHARE * len(made.pool))
        self._drawn = np.sort(rng.permutation(len(made.pool))[:size])
        self._made, self._budget, self._seed = made, budget, seed
        self._texts = text_columns(made.corpus.iloc[self._kept])
        self._pool_texts = text_columns(made.pool.iloc[self._drawn])
        view = make_viewer(
            fitted_tfidf(self._texts), np.zeros(made.embeddings.shape[1], dtype=np.float32)
        )
        self._view = view
        self._n_classes = len(class_sizes(made.corpus))
        self._pool = Pool(
            view(self._phi(made.pool_embeddings, self._drawn), self._pool_texts),
            class_ids(made.pool)[self._drawn],
            self._n_classes,
        )
        test = made.corpus.iloc[self._test]
        views = view(self._phi(made.embeddings, self._test), text_columns(test))
        even = np.full(len(test), 1 / len(test))
        self._scored = ScoredRows(views, class_ids(test), even)

    def accuracies(self, settings: SelectionSettings) -> dict[str, float]:
        """Accuracy of each model, and the seconds that selection took."""
        problem = self._problem(settings)
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = selector(settings.selector)(problem, settings)
        seconds = time.perf_counter() - start
        found_accuracies = independent_accuracies(self._pool, found.rows, self._scored)
        return {**{name: 100 * a for name, a in found_accuracies.items()}, "seconds": seconds}

    def ceiling(self) -> dict[str, float]:
        """Accuracy of logistic regression trained on many rows of the corpus itself."""
        from sklearn.linear_model import LogisticRegression

        made = self._made
        rows = np.sort(np.random.default_rng(0).permutation(self._kept)[:CEILING_ROWS])
        table = made.corpus.iloc[rows]
        views = self._view(self._phi(made.embeddings, rows), text_columns(table))
        accuracies = {}
        for name in ("phi", "lexical"):
            learner = LogisticRegression(max_iter=1000)
            learner.fit(views[name], class_ids(table))
            right = learner.predict(self._scored.views[name]) == self._scored.labels
            accuracies[f"logistic regression, {name}"] = 100 * float(right.mean())
        return accuracies

    def _problem(self, settings: SelectionSettings) -> SelectionProblem:
        made = self._made
        corpus, pool = made.corpus.iloc[self._kept], made.pool.iloc[self._drawn]
        return SelectionProblem(
            LabelledRows.of(corpus, rows_at(made.embeddings, self._kept)),
            selection_weights(made.weights[self._kept], class_ids(corpus), settings),
            LabelledRows.of(pool, rows_at(made.pool_embeddings, self._drawn)),
            self._budget.split(class_sizes(made.corpus)),
            np.flatnonzero(np.isin(self._kept, made.unseen)),
            settings.scope,
        )

    @staticmethod
    def _phi(embeddings: Embeddings, rows: Int64) -> Float32:
        return rows_at(embeddings, rows).read(0, len(rows))


def ceiling_line(trials: list[Trial], columns: list[str]) -> str:
    found = [trial.ceiling() for trial in trials]
    means = {key: float(np.mean([each[key] for each in found])) for key in found[0]}
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
    options = parser.parse_args()
    made, budget = load(options.corpus), Budget.parse(options.budget)
    trials = [Trial(made, budget, seed) for seed in range(options.seeds)]
    chosen = {**SELECTORS, **(ABLATIONS if options.ablate else {})}
    if options.only:
        chosen = {name: each for name, each in chosen.items() if name in options.only}
    chosen = {"random": {}, **chosen}
    base: list[dict[str, float]] = []
    for name, changes in chosen.items():
        runs = [
            trial.accuracies(SelectionSettings(selector=name.split(",")[0], seed=seed, **changes))
            for seed, trial in enumerate(trials)
        ]
        if not base:
            base = runs
            print(f"{options.corpus}, {options.budget}, {options.seeds} seeds\n")
            print(f"| selector | {' | '.join(runs[0])} | mean margin over random |")
            print("|---" * (len(runs[0]) + 2) + "|")
        print(line(name, runs, base), flush=True)
    print(ceiling_line(trials, list(base[0])))


if __name__ == "__main__":
    main()
