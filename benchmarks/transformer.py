"""How the learner `transformer` is trained: accuracy by precision, batch rows and updates.

    python benchmarks/transformer.py sst2 float32,16,40,1 bfloat16,8,200,3

Each protocol is precision, batch rows, updates, seeds. Models are trained on forty random training
rows and predict 1,500 others; the evaluation split is never read. Reads the artifacts of
`ingestion`.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd

from take.learners import Shared, Texts, TrainingRows, TransformerSettings, make_learner
from take.learners.training import UpdateSettings
from take.rows.labelled import class_ids, text_columns

ROWS_PER_CLASS, PREDICTED = 20, 1500


def load(corpus: str) -> pd.DataFrame:
    from kedro.framework.session import KedroSession
    from kedro.framework.startup import bootstrap_project

    root = Path(__file__).resolve().parents[1]
    bootstrap_project(root)
    with KedroSession.create(root, runtime_params={"corpus": corpus}) as session:
        get = session.load_context().catalog.load  # type: ignore[attr-defined]
        table: pd.DataFrame = get("corpus")
    return table


def texts_at(table: pd.DataFrame, rows: np.ndarray) -> Texts:
    return Texts.of(*text_columns(table.iloc[rows]))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("corpus")
    parser.add_argument("protocols", nargs="+")
    options = parser.parse_args()
    table = load(options.corpus)
    labels, rng = class_ids(table), np.random.default_rng(0)
    n_classes = int(labels.max()) + 1
    members = (np.flatnonzero(labels == label) for label in range(n_classes))
    chosen = np.concatenate([rng.choice(of, ROWS_PER_CLASS, replace=False) for of in members])
    others = rng.permutation(np.setdiff1d(np.arange(len(table)), chosen))[:PREDICTED]
    rows = TrainingRows(texts_at(table, chosen), labels[chosen].copy(), n_classes)
    texts, shared = texts_at(table, others), Shared()
    print("| products | batch | updates | seconds | right |\n|---|---|---|---|---|")
    for protocol in options.protocols:
        precision, batch, updates, seeds = protocol.split(",")
        training = UpdateSettings(
            learning_rate=1e-4, warmup_share=0.5, batch_rows=int(batch), updates=int(updates)
        )
        settings = {"precision": precision, "training": training}
        learner = make_learner(TransformerSettings.model_validate(settings), shared)
        seconds, right = [], []
        for seed in range(int(seeds)):
            begun = time.perf_counter()
            model = learner.fit(rows, seed)
            seconds.append(time.perf_counter() - begun)
            right.append(100 * float((model.predict(texts) == labels[others]).mean()))
        marks = ", ".join(f"{mark:.1f}" for mark in right)
        print(f"| {precision} | {batch} | {updates} | {seconds[-1]:.0f} | {marks} |", flush=True)


if __name__ == "__main__":
    main()
