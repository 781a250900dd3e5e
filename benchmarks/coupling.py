"""What a prior coupling does to a selection: mass within groups, distances, accuracy.

    python benchmarks/coupling.py <folder of ag_news>/train.parquet

The column is the news agency that an ag_news text names (Reuters, AP, AFP, or none). Per seed,
corpus, pool and held-out rows are disjoint draws of train rows without related rows between them.
The pool is of real rows, so the agency of a chosen row is known; selection does not see it.
Weights are equal. "In the plan": in the entropic lineage, solved with the line's coupling.
A line is a mean over seeds, in brackets its standard error.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from take.encoder.encode import EmbeddingSettings, Encoder, embed_corpus
from take.encoder.models import EncoderSettings
from take.learners import LinearSettings, Shared, Texts, TrainingRows, make_learner
from take.rows.arrays import Float64, Int64
from take.rows.blocks import ArrayBlocks
from take.rows.labelled import LabelledRows
from take.selection.describe.distillation import Distillation
from take.selection.groups import mass_within, row_groups
from take.selection.problem import SelectionProblem
from take.selection.selection_settings import CouplingSettings, SelectionSettings
from take.selection.selectors import selector
from take.text.related import RelatedRows
from take.transport.exact import draw_by_weight, wasserstein, wasserstein_within
from take.transport.sinkhorn import conditional_plan, entropic_plan

CORPUS, POOL, HELD_OUT, SAMPLE = 4000, 3000, 1000, 1000
AGENCIES = ("Reuters", "AFP", "AP")
SMALLEST = "AFP"
PER_CLASS = 20
COUPLINGS: dict[str, dict[str, Any]] = {
    "none": {},
    "group, s = 0.5": {"by": "group"},
    "group, s = 0.9": {"by": "group", "strength": 0.9},
    "clusters, s = 0.5": {"by": "clusters"},
    "clusters, s = 0.9": {"by": "clusters", "strength": 0.9},
}
SELECTORS = ("facility", "semi_relaxed", "swap", "exam")


def agency(text: str) -> str:
    return next((name for name in AGENCIES if re.search(rf"\b{name}\b", text)), "none")


class Trial:
    """One seed: the corpus, the pool and the held-out rows."""

    def __init__(self, rows: LabelledRows, related: RelatedRows, seed: int) -> None:
        order = np.random.default_rng([seed, 5]).permutation(len(rows))
        corpus, pool = np.sort(order[:CORPUS]), np.sort(order[CORPUS : CORPUS + POOL])
        held_out = np.sort(order[CORPUS + POOL :][:HELD_OUT])
        pool = pool[~related.to(corpus)[pool]]
        held_out = held_out[~related.to(np.union1d(corpus, pool))[held_out]]
        self.corpus, self.pool, self.held_out = map(rows.take, (corpus, pool, held_out))
        counts = np.bincount(self.corpus.labels)
        self.weights: Float64 = 1 / (len(counts) * counts[self.corpus.labels])
        budgets = (PER_CLASS,) * len(counts)
        unseen = np.arange(CORPUS)
        self.problem = SelectionProblem(self.corpus, self.weights, self.pool, budgets, unseen)
        self.agencies = np.array(self.corpus.groups)
        self.pool_agencies = np.array(self.pool.groups)

    def figures(self, settings: SelectionSettings) -> dict[str, float]:
        """What a selection of the pool keeps within groups, costs, and trains."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = selector(settings.selector)(self.problem, settings).rows
        made = Distillation(
            self.corpus.phi,
            self.weights,
            self.corpus.labels,
            self.problem.pool_features,
            self.pool.labels,
            rows,
        )
        covered = made.cover().allowed
        same = self.agencies == self.pool_agencies[rows[covered.row]]
        sampled, shares = draw_by_weight(self.weights, SAMPLE, 0)
        sample = self.corpus.take(sampled)
        phi, equal = sample.phi.read(0, len(sample)), np.full(len(rows), 1 / len(rows))
        clusters = CouplingSettings(by="clusters")
        found = row_groups(self.corpus, self.weights, "class", clusters, 0)
        assert found is not None
        chosen = self.pool.take(rows)
        in_cluster = mass_within(self.corpus, self.weights, chosen, "class", found)
        return {
            "within agency, %": 100 * float(self.weights @ same),
            "in the plan, %": 100 * self._within_plan(made, settings),
            "within cluster, %": 100 * in_cluster["within_groups"],
            "cost": float(self.weights @ covered.distance.astype(np.float64) ** 2),
            "W1": wasserstein(phi, shares, made.targets, equal),
            "W1 within classes": wasserstein_within(
                phi, shares, sample.labels, made.targets, equal, made.target_labels
            )
            or np.nan,
            f"r of {SMALLEST}": float(covered.distance[self.agencies == SMALLEST].mean()),
            f"{SMALLEST} rows": float((self.pool_agencies[rows] == SMALLEST).sum()),
            **self._accuracies(rows),
        }

    def _within_plan(self, made: Distillation, settings: SelectionSettings) -> float:
        """The mass that the entropic lineage leaves within the agency of the row."""
        coupling, seed = settings.coupling, settings.seed
        groups = row_groups(self.corpus, self.weights, "class", coupling, seed)
        mass = 0.0
        for part in made.parts():
            phi, targets = self.corpus.take(part.rows).phi, made.targets[part.targets]
            w = self.weights[part.rows] / self.weights[part.rows].sum()
            prior = groups.couple(part.rows, phi, w, targets) if groups else None
            plan = entropic_plan(phi, w, targets, epsilon=settings.epsilon, prior=prior)
            theirs = self.pool_agencies[made.chosen[part.targets]]
            for start, shares, _ in conditional_plan(
                phi, targets, plan.theta, settings.epsilon, prior
            ):
                members = part.rows[start : start + len(shares)]
                same = self.agencies[members, None] == theirs
                mass += float(self.weights[members] @ (shares * same).sum(axis=1))
        return mass

    def _accuracies(self, rows: Int64) -> dict[str, float]:
        from sklearn.linear_model import LogisticRegression

        chosen = self.pool.take(rows)
        learner = make_learner(LinearSettings(vocabulary="rows"), Shared())
        n_classes = len(self.problem.budgets)
        made = TrainingRows(Texts.of(*chosen.texts), chosen.labels, n_classes=n_classes)
        trained = learner.fit(made, 0)
        right = trained.predict(Texts.of(*self.held_out.texts)) == self.held_out.labels
        on_phi = LogisticRegression(max_iter=1000)
        on_phi.fit(chosen.phi.read(0, len(chosen)), chosen.labels)
        phi = self.held_out.phi.read(0, len(self.held_out))
        right_phi = on_phi.predict(phi) == self.held_out.labels
        return {"lr, %": 100 * float(right.mean()), "lr on φ, %": 100 * float(right_phi.mean())}


def shown(column: str, values: list[float]) -> str:
    """The mean over seeds and its standard error."""
    digits = 1 if "%" in column else 3
    error = np.std(values, ddof=1) / len(values) ** 0.5
    return f"{np.mean(values):.{digits}f} ({error:.{digits}f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("table", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--selectors", nargs="+", default=SELECTORS, choices=SELECTORS)
    arguments = parser.parse_args()
    table = pd.read_parquet(arguments.table)
    table = table.sample(CORPUS + POOL + HELD_OUT, random_state=0).reset_index(drop=True)
    table["group"] = table["text"].map(agency)
    print(table["group"].value_counts(normalize=True).round(3).to_dict())
    with tempfile.TemporaryDirectory() as folder:
        encoder = Encoder(EncoderSettings(), Path(folder))
        embedded = embed_corpus([table["text"].tolist()], encoder, EmbeddingSettings()).embeddings
        rows = LabelledRows.of(table, ArrayBlocks(embedded.read(0, len(table))))
    related = RelatedRows([(text,) for text in table["text"]])
    trials = [Trial(rows, related, seed) for seed in range(arguments.seeds)]
    lines = []
    for name in arguments.selectors:
        for coupling, given in COUPLINGS.items():
            settings = SelectionSettings(selector=name, coupling=CouplingSettings(**given))
            found = [trial.figures(settings) for trial in trials]
            cells = {column: shown(column, [each[column] for each in found]) for column in found[0]}
            lines.append({"selector": name, "coupling": coupling, **cells})
            print(" | ".join([name, coupling, *cells.values()]), flush=True)
    print(pd.DataFrame(lines).to_markdown(index=False))


if __name__ == "__main__":
    main()
