"""How learners, the transformers above all, are best trained: accuracy by recipe and protocol.

    python benchmarks/transformer.py sst2 transformer,batch_rows=8 transformer_lpft,updates=50

Each protocol is a learner and its changed settings (of `TransformerSettings`, or of its
`training`). Models are trained on several draws of random training rows and predict others that are
not related to these, the same for every protocol; the evaluation split is never read. Reads the
artifacts of `ingestion`. Seconds are of processor time, for training.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from take.encoder.encode import Encoder
from take.encoder.models import EncoderSettings
from take.learners import (
    DEFAULTS,
    Learner,
    SentenceVectors,
    Shared,
    Texts,
    TrainingRows,
    TransformerSettings,
    make_learner,
)
from take.rows.labelled import class_ids, text_columns
from take.text.related import RelatedRows

ROOT = Path(__file__).resolve().parents[1]


def load(corpus: str) -> pd.DataFrame:
    from kedro.framework.session import KedroSession
    from kedro.framework.startup import bootstrap_project

    bootstrap_project(ROOT)
    with KedroSession.create(ROOT, runtime_params={"corpus": corpus}) as session:
        get = session.load_context().catalog.load  # type: ignore[attr-defined]
        table: pd.DataFrame = get("corpus")
    return table


def learner_of(protocol: str, shared: Shared) -> Learner:
    name, *changes = protocol.split(",")
    settings = DEFAULTS[name]
    if changes and isinstance(settings, TransformerSettings):
        given: dict[str, Any] = dict(change.split("=") for change in changes)
        own = {
            key: given.pop(key) for key in list(given) if key in TransformerSettings.model_fields
        }
        training = settings.training.model_dump() | given
        settings = TransformerSettings.model_validate(
            settings.model_dump() | own | {"training": training}
        )
    return make_learner(settings, shared)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("corpus")
    parser.add_argument("protocols", nargs="+")
    parser.add_argument("--per-class", type=int, default=20)
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--predicted", type=int, default=1000)
    options = parser.parse_args()
    table = load(options.corpus)
    labels, random = class_ids(table), np.random.default_rng(0)
    n_classes = int(labels.max()) + 1
    related = RelatedRows(list(zip(*text_columns(table), strict=True)))
    others = random.permutation(np.flatnonzero(~related.common))[: options.predicted]
    rest = np.flatnonzero(~related.to(others) & ~related.common)

    def texts_at(rows: np.ndarray) -> Texts:
        return Texts.of(*text_columns(table.iloc[rows]))

    members = [rest[labels[rest] == label] for label in range(n_classes)]
    sets = []
    for _ in range(options.draws):
        drawn = [random.choice(of, options.per_class, replace=False) for of in members]
        chosen = np.concatenate(drawn)
        sets.append(TrainingRows(texts_at(chosen), labels[chosen].copy(), n_classes))
    texts = texts_at(others)
    print("| protocol | seconds | right | by draw |\n|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as cache:
        phi = SentenceVectors(Encoder(EncoderSettings(backend="torch"), Path(cache)))
        shared = Shared(phi=phi, language_models=ROOT / "data/06_models/language_models")
        for protocol in options.protocols:
            learner = learner_of(protocol, shared)
            seconds, right = [], []
            for seed, rows in enumerate(sets):
                begun = time.process_time()
                model = learner.fit(rows, seed)
                seconds.append(time.process_time() - begun)
                right.append(100 * float((model.predict(texts) == labels[others]).mean()))
            marks = ", ".join(f"{mark:.1f}" for mark in right)
            took, mean = np.mean(seconds), np.mean(right)
            print(f"| `{protocol}` | {took:.1f} | {mean:.1f} | {marks} |", flush=True)


if __name__ == "__main__":
    main()
