"""The estimate of a `kedro run`, from the very pipeline and catalog that would run."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from take.corpus.ingest import IngestionSettings, ingest
from take.errors import InputError
from take.estimate.counts import RunSettings
from take.estimate.measure import Given, calibrated
from take.estimate.report import Estimate
from take.estimate.stages import PlannedNode, estimate, stage_of
from take.generation.finetuning.fine_tuning_settings import FineTuningSettings
from take.generation.quality.evidence import QualitySettings
from take.generation.sampling.rows import SamplingSettings
from take.reuse.digests import plain
from take.reuse.hooks import check_request
from take.reuse.runner import reason_to_run
from take.scoring.scoring_settings import ScoringSettings
from take.selection.selection_settings import DescriptionSettings, SelectionSettings

if TYPE_CHECKING:
    from kedro.io import CatalogProtocol
    from kedro.pipeline import Pipeline

    Catalog = CatalogProtocol[Any, Any]


def estimate_run(
    pipeline: Pipeline, catalog: Catalog, corpus: str, *, anew: bool = False
) -> Estimate:
    """What a run of the pipeline would take; with `anew`, if nothing had been made before.

    What cannot be run is refused as the run would refuse it. One thing is written where it is not
    there yet: the embedded language model, converted, which every run needs.
    """
    with _only_warnings():
        check_request(pipeline, catalog)
        nodes = planned_nodes(pipeline, catalog, anew=anew)
        running = frozenset(node.name for node in nodes if node.runs)
        read = _corpus(catalog, running)
        given = Given(
            running=running,
            settings=_settings(catalog),
            corpus=read.corpus,
            evaluation_split=read.evaluation_split,
            encoder=catalog.load("encoder"),
            language_model=catalog.load("language_model"),
            ingestion_seconds=read.seconds,
            weights=_weights(catalog, running),
            adapter=None if "fine_tune" in running else _made(catalog, "adapter"),
            trained_rows=_trained_rows(catalog, running),
            anew=anew,
        )
        job, notes = calibrated(given)
    made = estimate(corpus, nodes, job, _cores())
    return made.model_copy(update={"notes": [*notes, *_not_estimated(pipeline)]})


def planned_nodes(pipeline: Pipeline, catalog: Catalog, *, anew: bool = False) -> list[PlannedNode]:
    """The nodes an estimate knows, and which of them will run; all of them with `anew`.

    A node that reads what another one makes anew counts as running, too; should that come out as
    it was before, the run will reuse it after all.
    """
    changing: set[str] = set()
    nodes = []
    for node in pipeline.nodes:
        runs = anew or bool(changing & set(node.inputs))
        if not runs:
            runs = bool(reason_to_run(node, catalog))
        if runs:
            changing |= set(node.outputs)
        name = node.name.rpartition(".")[2]
        stage = stage_of(name, node.tags)
        if stage is not None:
            nodes.append(PlannedNode(name, stage, runs))
    if not nodes:
        raise InputError(
            "no estimate is made of these nodes",
            where="kedro estimate",
            allowed="`distill` and its parts",
            remedy="ask with --pipeline=distill",
        )
    return nodes


class _Read(NamedTuple):
    corpus: pd.DataFrame
    evaluation_split: pd.DataFrame
    seconds: float | None


def _corpus(catalog: Catalog, running: frozenset[str]) -> _Read:
    """The corpus as it is, or as ingestion would make it, and what that took."""
    if "ingest_corpus" not in running:
        corpus, split = catalog.load("corpus"), _made(catalog, "evaluation_split")
        return _Read(corpus, corpus.iloc[:0] if split is None else split, None)
    begun = time.perf_counter()
    settings = IngestionSettings.model_validate(plain(catalog.load("params:ingestion")))
    ingested = ingest(catalog.load("raw_corpus"), settings)
    return _Read(ingested.corpus, ingested.evaluation_split, time.perf_counter() - begun)


def _settings(catalog: Catalog) -> RunSettings:
    def read(name: str) -> Any:
        return plain(catalog.load(f"params:{name}"))

    return RunSettings(
        budget=read("distillation.budget"),
        scoring=ScoringSettings.model_validate(read("scoring")),
        fine_tuning=FineTuningSettings.model_validate(read("generation.fine_tuning")),
        sampling=SamplingSettings.model_validate(read("generation.sampling")),
        quality=QualitySettings.model_validate(read("generation.quality")),
        selection=SelectionSettings.model_validate(read("distillation.selection")),
        sample_rows=DescriptionSettings.model_validate(
            read("distillation.description")
        ).sample_rows,
    )


def _made(catalog: Catalog, name: str) -> Any:
    """An artifact, or None where it has not been made."""
    return catalog.load(name) if catalog.exists(name) else None


def _weights(catalog: Catalog, running: frozenset[str]) -> Any:
    table = None if "weigh_rows" in running else _made(catalog, "weights")
    return None if table is None else table["weight"].to_numpy()


def _trained_rows(catalog: Catalog, running: frozenset[str]) -> int:
    table = None if "fine_tune" in running else _made(catalog, "generator_rows")
    return 0 if table is None else int((table["role"] == "trained").sum())


def _not_estimated(pipeline: Pipeline) -> list[str]:
    names = [
        node.name
        for node in pipeline.nodes
        if stage_of(node.name.rpartition(".")[2], node.tags) is None
    ]
    return [f"Not estimated: {', '.join(names)}."] if names else []


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def _only_warnings() -> Iterator[None]:
    """What a run says of its steps is not said of trying them."""
    logger = logging.getLogger("take")
    before = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(before)
