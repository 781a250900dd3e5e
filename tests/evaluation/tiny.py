"""A corpus with all that a run makes of it, on models of a few thousand weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from take.encoder.encode import EmbeddingSettings, Encoder, embed_corpus
from take.encoder.models import EncoderSettings
from take.evaluation.grid import Experiment, Grid, shared_for
from take.evaluation.grid_settings import EvaluationSettings, GridSettings, LearnerChoices
from take.evaluation.prepared_corpus import PreparedCorpus, PreparedPool
from take.evaluation.store import CellStore
from take.generation.pool import ledger_rows, pool_rows
from take.generation.screening.reasons import Reason
from take.learners import SentenceVectors, Shared
from take.pipelines.scoring import nodes as scoring
from take.scoring.influence import InfluenceMatrix
from take.scoring.scoring_inputs import ScoringSettings
from take.selection.selection_settings import SelectionSettings
from take.text.copies import CopySettings
from tests.evaluation.methods.conftest import DATA
from tests.learners import toy

NAMES = ["bad", "good"]
BUDGET = "4/class"
SCORING = ScoringSettings(checkpoints=4, epochs=2, batch_size=32, bootstrap_resamples=100)
SELECTION = SelectionSettings(
    exam={"exam_rows": 80, "validation_rows": 40, "fewest_rows": 20, "max_sweeps": 4}
)
# These rows are near copies of each other, so that only the same words make one.
COPIES = CopySettings(near_copy_overlap=1.0)
POOL_ROWS, CONTRADICTED, SHORT = 40, 8, 4


@dataclass(frozen=True)
class World:
    """The corpus, the encoder, and settings of tiny learners."""

    prepared: PreparedCorpus
    encoder: Encoder
    choices: LearnerChoices
    baselines: dict[str, Any]

    def experiment(
        self, methods: str, learners: str, budget: str = BUDGET, name: str = "films", **parts: Any
    ) -> Experiment:
        prepared = replace(self.prepared, name=name, **parts)
        materials = prepared.materials(budget, self.encoder, SCORING, SELECTION, COPIES)
        shared = shared_for(materials[0], Shared(phi=SentenceVectors(self.encoder)))
        names = tuple(methods.split()), tuple(learners.split())
        return Experiment(name, budget, materials, prepared.split(), shared, *names)

    def grid(
        self,
        folder: Path,
        *,
        stored: bool = False,
        choices: LearnerChoices | None = None,
        **settings: Any,
    ) -> Grid:
        given = {"methods": "random", "learners": "lr", "sets": 2, **settings}
        chosen = {"selection": SELECTION, **self.baselines}
        given["baselines"] = {**chosen, **given.get("baselines", {})}
        return Grid(
            GridSettings(**given), choices or self.choices, CellStore(folder), "test", stored
        )

    def evaluation(self, **settings: Any) -> EvaluationSettings:
        given = {"corpus": "films", "sets": 2, **settings}
        given["baselines"] = {**self.baselines, **given.get("baselines", {})}
        return EvaluationSettings(**given)


def table(n_rows: int, seed: int, prefix: str) -> pd.DataFrame:
    """Sentences as a run has them; a number makes each the only one of its kind."""
    texts, labels = toy.sentences(n_rows, seed)
    return pd.DataFrame(
        {
            "id": [f"{prefix}-{row}" for row in range(n_rows)],
            "text": [f"{text} {prefix}{row}" for row, text in enumerate(texts)],
            "label": labels,
            "label_name": [NAMES[label] for label in labels],
        }
    )


def judged_samples() -> pd.DataFrame:
    """Generated rows with their verdicts: the pool, what the verifier contradicted, and others."""
    reasons = [""] * POOL_ROWS + [Reason.LABEL_CONTRADICTED.value] * CONTRADICTED
    reasons += [Reason.TOO_SHORT.value] * SHORT
    rows = table(len(reasons), 3, "made").drop(columns=["id", "label_name"])
    numbers = np.arange(len(rows)) // 2
    predicted = {"verifier_label": 0, "verifier_confidence": 0.9}
    return rows.assign(prompt_label=rows["label"], index=numbers, reason=reasons, **predicted)


def make_world(folder: Path) -> World:
    encoder_folder, wordnet = folder / "bert", folder / "wordnet"
    toy.bert(encoder_folder)
    wordnet.mkdir()
    for name, content in DATA.items():
        (wordnet / name).write_text(content, encoding="utf-8")
    settings = EncoderSettings(model=str(encoder_folder), backend="torch", max_tokens=32)
    encoder = Encoder(settings, folder / "vectors")
    corpus, samples = table(160, 1, "row"), judged_samples()
    pool = pool_rows(samples, NAMES, ["text"])

    def embedded(rows: pd.DataFrame) -> Any:
        return embed_corpus([rows["text"].tolist()], encoder, EmbeddingSettings()).embeddings

    vectors = embedded(corpus)
    trajectory = scoring.train_probe(vectors, corpus, SCORING)
    streamed = scoring.measure_influence(vectors, corpus, trajectory, SCORING)
    influence = InfluenceMatrix(np.concatenate(list(streamed.values.blocks)))
    study = scoring.study_scorers(vectors, corpus, SCORING)
    weighed = scoring.weigh_rows(vectors, corpus, trajectory, influence, study, SCORING)
    prepared = PreparedCorpus(
        name="films",
        corpus=corpus,
        evaluation_split=table(30, 2, "eval"),
        embeddings=vectors,
        weights=weighed.weights,
        trajectory=trajectory,
        influence=influence,
        study=study,
        pools=(
            PreparedPool(
                0,
                pool,
                ledger_rows(samples, NAMES),
                embedded(pool),
                pd.DataFrame({"id": corpus["id"][:40], "role": "trained"}),
            ),
        ),
        distilled=pool.groupby("label").head(4).reset_index(drop=True).assign(weight=1.0),
    )
    words = {"source": str(toy.glove(folder))}
    quick = {"updates": 3, "batch_rows": 8}
    network = {"words": words, "training": {"learning_rate": 0.01, **quick}}
    transformer = {
        "kind": "transformer",
        "model": str(encoder_folder),
        "max_tokens": 32,
        "training": {"learning_rate": 0.01, **quick},
    }
    learners = {
        "textcnn": {"kind": "textcnn", "filters": 4, **network},
        "textrnn": {"kind": "textrnn", "hidden": 4, **network},
        "transformer": transformer,
        "transformer_lpft": {**transformer, "recipe": "lpft"},
        "transformer_contrastive": {**transformer, "recipe": "contrastive"},
    }
    choices = LearnerChoices.model_validate(
        {"settings": learners, "evaluation_rows": {"textrnn": 12}}
    )
    return World(prepared, encoder, choices, {"eda": {"wordnet": str(wordnet)}})
