"""The stages that `scale.py` measures: what nodes do with the files of `scale_inputs.py`."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from scale_inputs import (
    CLASSES,
    DISTILLED,
    NAMES,
    PER_CLASS,
    POOL_LABELS,
    SEED,
    Inputs,
    arrays,
    labels_of,
    phi_of,
    pool_phi,
    table,
    weights_of,
)

from take.audit.balance.measure import measure_balance
from take.audit.balance.terms import BalanceSettings
from take.audit.privacy.distances import DistanceSettings, measure_tables
from take.audit.privacy.objections import OBJECTION_COLUMNS
from take.audit.privacy.pii import PiiSettings
from take.audit.privacy.screening import screened
from take.corpus.ingest import IngestionSettings, ingest
from take.corpus.sources import CorpusSource
from take.corpus.spec import Columns, CorpusSpec, FilesSource
from take.encoder.cache import VectorCache
from take.encoder.encode import EmbeddingSettings, embed_corpus
from take.generation.screening.copies import KnownRows
from take.pipelines.distillation.nodes import select_rows
from take.pipelines.scoring.nodes import measure_influence, show_extreme_rows, weigh_rows
from take.rows.arrays import Float32
from take.rows.labelled import LabelledRows, text_columns
from take.scoring.diagnostics import study_scorers
from take.scoring.scoring_inputs import ScoringSettings
from take.scoring.trajectory import ProbeTrajectory, train_probe
from take.selection.describe.curve import CurveOptions, budget_curve
from take.selection.describe.distillation import Distillation
from take.selection.describe.distillation_report import RunFacts
from take.selection.describe.figures import coverage_figure
from take.selection.describe.indicators import least_covered_regions, measure, random_choice
from take.selection.describe.lineage import lineage_tables, trace
from take.selection.describe.map import map_coordinates
from take.selection.problem import SelectionProblem
from take.selection.selection_settings import SelectionSettings
from take.selection.selectors import selector
from take.text.copies import CopySettings
from take.text.normalise import text_rows
from take.transport.sinkhorn import SinkhornOptions, entropic_plan

SCORING = ScoringSettings()
PASSES = 10
"""Of Sinkhorn at every size; how many convergence takes is in docs/distillation.md."""
BUDGETS = (PER_CLASS,) * CLASSES


def ingestion(inputs: Inputs) -> None:
    raw = inputs.folder / "raw"
    source = FilesSource(kind="files", train=str(raw / "train"), evaluation=str(raw / "evaluation"))
    spec = CorpusSpec(task="single", source=source, columns=Columns(text="text", label="label"))
    found = ingest(CorpusSource("scale", spec).read(), IngestionSettings(budget="20/class"))
    found.corpus.to_parquet(inputs.folder / "ingested.parquet")


class HashedEncoder:
    """Stands for the encoder: vectors are a function of the words, and no transformer is run."""

    identity = "hashed"
    batch_tokens = 16_384

    def __init__(self, width: int, cache_folder: Path) -> None:
        self.model = SimpleNamespace(dimension=width)
        self.settings = SimpleNamespace(model="hashed", backend="hashed", max_tokens=256)
        self.backend, self.cache_folder = self, cache_folder
        self._words = np.random.default_rng(SEED).standard_normal((4096, width), np.float32)

    def open_cache(self) -> VectorCache:
        """The real cache."""
        return VectorCache(self.cache_folder, self.model.dimension)

    def tokenise(self, strings: Any) -> tuple[list[list[int]], Any]:
        """A number for each word."""
        ids = [[hash(word) % 4096 for word in text.split()] for text in strings]
        return ids, np.zeros(len(ids), dtype=np.uint8)

    def encode(self, batches: Any) -> Iterator[tuple[Any, Float32]]:
        """Unit vectors."""
        for batch in batches:
            vectors = self._words[batch.token_ids].sum(axis=1)
            yield batch, vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def embedding(inputs: Inputs) -> None:
    cache = inputs.folder / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    encoder: Any = HashedEncoder(inputs.width, cache)
    found = embed_corpus(text_columns(table(inputs, "corpus")), encoder, EmbeddingSettings())
    found.embeddings.save(inputs.folder / "embedded.safetensors")
    shutil.rmtree(cache)


def trajectory(inputs: Inputs) -> None:
    train_probe(phi_of(inputs), labels_of(inputs), CLASSES, SCORING)


def random_trajectory(inputs: Inputs) -> ProbeTrajectory:
    """Stands for the stored trajectory: T heads from zero towards the centres of the classes."""
    centres = np.random.default_rng(SEED).standard_normal((CLASSES, inputs.width), np.float32)
    steps = np.linspace(0, 0.3, SCORING.checkpoints, dtype=np.float32)
    figures = np.zeros(SCORING.checkpoints)
    return ProbeTrajectory(
        weights=steps[:, None, None] * centres,
        biases=np.zeros((SCORING.checkpoints, CLASSES), np.float32),
        steps=np.arange(SCORING.checkpoints),
        train_loss=figures,
        train_accuracy=figures,
        validation_rows=np.empty(0, np.int64),
        validation_loss=figures,
        validation_accuracy=figures,
    )


def labelled(inputs: Inputs) -> pd.DataFrame:
    """Stands for the corpus where only its labels are read."""
    return pd.DataFrame({"label": labels_of(inputs)})


def influence(inputs: Inputs) -> None:
    found = measure_influence(phi_of(inputs), labelled(inputs), random_trajectory(inputs), SCORING)
    arrays(inputs, "influence").save(found)


def study(inputs: Inputs) -> None:
    study_scorers(phi_of(inputs), labels_of(inputs), CLASSES, SCORING)


def weights(inputs: Inputs) -> None:
    corpus, matrix = table(inputs, "corpus"), arrays(inputs, "influence").load()
    known: Any = SimpleNamespace(decay=1.0)
    probe = random_trajectory(inputs)
    found = weigh_rows(phi_of(inputs), corpus, probe, matrix, known, SCORING)
    show_extreme_rows(corpus, found.weights)
    found.weights.to_parquet(inputs.folder / "weighed.parquet")


def problem_of(inputs: Inputs) -> SelectionProblem:
    """Without texts, which transport does not read."""
    corpus = LabelledRows(phi_of(inputs), [], labels_of(inputs))
    pool = LabelledRows(pool_phi(inputs), [], POOL_LABELS)
    return SelectionProblem(corpus, weights_of(inputs), pool, BUDGETS, np.empty(0, np.int64))


def transport(inputs: Inputs, **limits: int) -> None:
    options = SinkhornOptions(max_iterations=PASSES, raise_unless_converged=False, **limits)
    for part in problem_of(inputs).parts():
        problem = part.problem
        entropic_plan(problem.corpus, problem.weights, problem.pool, options=options)


def transport_unkept(inputs: Inputs) -> None:
    """As where next to none of the kernel fits its limit: computed again in every pass."""
    transport(inputs, memory_bytes=0)


def facility(inputs: Inputs) -> None:
    # Greedy, as `exam` begins; the number of swaps after it differs from size to size.
    settings = SelectionSettings(selector="facility", refine=False)
    selector("facility")(problem_of(inputs), settings)


def exam(inputs: Inputs) -> None:
    settings = SelectionSettings()
    settings = settings.model_copy(update={"exam": settings.exam.without_playoff()})
    found = select_rows(
        table(inputs, "corpus"),
        phi_of(inputs),
        pd.DataFrame({"weight": weights_of(inputs)}),
        table(inputs, "pool"),
        pool_phi(inputs),
        table(inputs, "generator_rows"),
        pd.DataFrame(columns=list(OBJECTION_COLUMNS)).astype(OBJECTION_COLUMNS),
        inputs.folder / "search",
        f"{PER_CLASS}/class",
        settings,
        CopySettings(),
    )
    assert len(found.selection) == sum(BUDGETS)


def distillation(inputs: Inputs) -> Distillation:
    """Rows chosen from the pool."""
    pool = pool_phi(inputs).strings.read(0, len(POOL_LABELS))
    weighted = phi_of(inputs), weights_of(inputs), labels_of(inputs)
    return Distillation(*weighted, pool, POOL_LABELS, DISTILLED)


def distilled_rows(inputs: Inputs) -> pd.DataFrame:
    return table(inputs, "pool").iloc[DISTILLED].reset_index(drop=True)


def lineage(inputs: Inputs) -> None:
    arrays(inputs, "lineage").save(trace(distillation(inputs)))


def tables(inputs: Inputs) -> None:
    found = arrays(inputs, "lineage").load()
    made = lineage_tables(found, table(inputs, "corpus"), distilled_rows(inputs))
    for name, frame in made._asdict().items():
        frame.to_parquet(inputs.folder / f"{name}.parquet")


def description(inputs: Inputs) -> None:
    made, found = distillation(inputs), arrays(inputs, "lineage").load()
    covered, random = made.cover(), made.cover(random_choice(made, SEED))
    facts = RunFacts(selector="facility", scope="class", budget="20/class", seed=0, tempering=1.0)
    measure(made, found, covered, random, NAMES, facts)
    budget_curve(made, CurveOptions(largest=2 * PER_CLASS))
    map_coordinates(made, found)
    coverage_figure(covered, random, made.labels, NAMES)
    if (inputs.folder / "corpus.parquet").exists():
        corpus, distilled = table(inputs, "corpus"), distilled_rows(inputs)
        least_covered_regions(made, covered.allowed, corpus, distilled)


def screening(inputs: Inputs) -> None:
    known = KnownRows("train", table(inputs, "corpus"), ["text"], CopySettings())
    candidates = text_rows(table(inputs, "pool"), ["text"])
    known.copied(candidates)
    known.resembled(candidates, pool_phi(inputs), phi_of(inputs), 0.85)


def audit(inputs: Inputs) -> None:
    audited: Any = {"distilled": distilled_rows(inputs), "pool": table(inputs, "pool")}
    splits = table(inputs, "corpus"), table(inputs, "evaluation")
    screened(audited, *splits, table(inputs, "generator_rows"), CopySettings(), PiiSettings())


def distances(inputs: Inputs) -> None:
    audited: Any = {"distilled": DISTILLED, "pool": np.arange(len(POOL_LABELS))}
    corpus, roles = table(inputs, "corpus"), table(inputs, "generator_rows")
    measure_tables(audited, pool_phi(inputs), corpus, phi_of(inputs), roles, DistanceSettings())


def balance(inputs: Inputs) -> None:
    pool, corpus = table(inputs, "pool"), table(inputs, "corpus")
    equal = [1 / CLASSES] * CLASSES
    measure_balance(distilled_rows(inputs), pool, corpus, equal, BalanceSettings())


_WITH_TEXTS = (ingestion, embedding, weights, exam, tables, screening, audit, distances, balance)
TEXT_STAGES = {stage.__name__ for stage in _WITH_TEXTS}
_IN_ORDER = (
    *(ingestion, embedding, trajectory, influence, study, weights, transport, transport_unkept),
    *(facility, exam, lineage, tables, description, screening, audit, distances, balance),
)
STAGES: dict[str, Callable[[Inputs], None]] = {stage.__name__: stage for stage in _IN_ORDER}
