"""What a run would take: time, memory and disk of each stage, before anything is computed.

What dominates a run (encoder, fine-tuning, decoder) is measured on this machine for about half a
minute (`rates`). Any other node takes what the records say it took before on this corpus; if it
has not run yet, a small table of seconds per row applies (`costs`, docs/estimate.md).
"""

from __future__ import annotations

import gc
import logging
import time
from collections.abc import Iterator
from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from take.corpus.budget import Budget
from take.corpus.ingest import IngestionSettings, ingest
from take.cost import available_cores, resident_megabytes
from take.datasets.artifact import Artifact
from take.encoder.cache import string_keys
from take.encoder.embeddings import unique_strings
from take.encoder.encode import Encoder
from take.errors import InputError
from take.estimate.costs import READS, STAGES, Job, StageCost, Step, stage_of
from take.estimate.rates import GenerationPlan, Rates
from take.frozen import Frozen
from take.generation.finetuning.fine_tuning_settings import FineTuningSettings
from take.generation.quality.evidence import QualitySettings
from take.generation.sampling.rows import SamplingSettings
from take.generation.verifier.verifier_settings import VerifierSettings
from take.reuse.digests import plain
from take.reuse.hooks import check_request
from take.reuse.records import Record, read_record
from take.reuse.runner import reason_to_run
from take.rows.labelled import class_sizes, text_columns
from take.selection.selection_settings import SelectionSettings
from take.text.format import duration, plural, size

if TYPE_CHECKING:
    from kedro.io import CatalogProtocol
    from kedro.pipeline import Pipeline
    from kedro.pipeline.node import Node

    Catalog = CatalogProtocol[Any, Any]

TOLERANCE = 0.4
"""A run should take no more than this share longer or shorter than the total."""
_SAMPLED_STRINGS = 4000


class Estimate(Frozen):
    """What a run will take, stage by stage."""

    corpus: str
    budget: str
    rows: int
    evaluation_rows: int
    calibration_seconds: float = 0.0
    stages: list[StageCost]
    notes: tuple[str, ...] = ()

    @property
    def total(self) -> StageCost:
        """All stages, one after the other."""
        return StageCost(
            stage="total",
            seconds=sum(stage.seconds for stage in self.stages),
            peak_megabytes=max(stage.peak_megabytes for stage in self.stages),
            disk_megabytes=sum(stage.disk_megabytes for stage in self.stages),
            decided_by=f"± {TOLERANCE:.0%}",
        )

    def table(self) -> str:
        """The estimate as text, a line per stage."""
        from rich.console import Console
        from rich.table import Table

        rows = f"{self.rows:,} rows, {self.evaluation_rows:,} for evaluation"
        head = f"{self.corpus}, {self.budget}: {rows}"
        table = Table("stage", "time", "memory", "disk", "decided by", box=None, pad_edge=False)
        table.padding = (0, 2, 0, 0)
        for stage in self.stages:
            table.add_row(stage.stage, *(["reused"] if stage.reused else _cells(stage)))
        if all(stage.reused for stage in self.stages):
            table.add_row("total", "seconds", "", "", "nothing changed")
        else:
            cores = plural(available_cores(), "core")
            head += f"; calibrated in {duration(self.calibration_seconds)} on {cores}"
            table.add_row("total", *_cells(self.total))
        text = StringIO()
        Console(file=text, width=200, color_system=None).print(table)
        lines = [line.rstrip() for line in text.getvalue().splitlines()]
        return "\n".join([head, "", *lines, *(["", *self.notes] if self.notes else [])])


def estimate_run(
    pipeline: Pipeline, catalog: Catalog, corpus: str, *, from_scratch: bool = False
) -> Estimate:
    """What a run of the pipeline would take; `from_scratch`: as if nothing had been made before.

    What cannot be run is refused as the run would refuse it. One thing is written if it does not
    exist yet: the language model from its package, converted, which every run needs.
    """
    begun = time.perf_counter()
    logging.disable(logging.INFO)  # of the steps that are only measured
    try:
        check_request(pipeline, catalog)
        steps = list(planned_steps(pipeline, catalog, from_scratch=from_scratch))
        if not any(step.stage for step in steps):
            raise InputError(
                "these nodes cannot be estimated",
                where="kedro estimate",
                allowed="`distill` and its parts, and nodes that ran before on this corpus",
                remedy="use --pipeline=distill",
            )
        running = frozenset(step.name for step in steps if step.runs and step.stage)
        reader = _Reader(catalog, running, from_scratch=from_scratch)
        job = reader.job()
    finally:
        logging.disable(logging.NOTSET)
    by_stage = {stage: [step for step in steps if step.stage == stage] for stage in STAGES}
    unknown = [step.name for step in steps if not step.stage]
    return Estimate(
        corpus=corpus,
        budget=str(reader.budget),
        rows=job.rows,
        evaluation_rows=len(reader.evaluation_split),
        calibration_seconds=time.perf_counter() - begun,
        stages=[job.cost(stage, members) for stage, members in by_stage.items() if members],
        notes=(f"Not estimated: {', '.join(unknown)}.",) if unknown else (),
    )


def planned_steps(
    pipeline: Pipeline, catalog: Catalog, *, from_scratch: bool = False
) -> Iterator[Step]:
    """The nodes, and which of them will run.

    A node that reads what another one makes again counts as running, too; if that comes out as it
    was before, the run reuses it after all.
    """
    changing: set[str] = set()
    for node in pipeline.nodes:
        runs = from_scratch or bool(changing & set(node.inputs))
        runs = runs or bool(reason_to_run(node, catalog))
        if runs:
            changing |= set(node.outputs)
        records = [] if from_scratch else _records(node, catalog)
        stage = stage_of(node.name) or ("other nodes" if records else None)
        yield Step(node.name.rpartition(".")[2], stage, runs, records)


def _records(node: Node, catalog: Catalog) -> list[Record]:
    """Of the node's outputs, if they were made with the parameters that it has now."""
    names = [name for name in node.inputs if name.startswith("params:")]
    now = {name.removeprefix("params:"): plain(catalog.load(name)) for name in names}
    datasets = [catalog[name] for name in node.outputs]
    found = [read_record(d.path) for d in datasets if isinstance(d, Artifact) and d.exists()]
    return [r for r in found if r and r.cost and r.made_from and r.made_from.parameters == now]


class _Reader:
    """Reads from the catalog what the costs of a run depend on, and measures what it needs."""

    def __init__(self, catalog: Catalog, running: frozenset[str], *, from_scratch: bool) -> None:
        self._catalog, self._running, self._from_scratch = catalog, running, from_scratch
        self._ingestion_seconds: float | None = None
        self.budget = Budget.parse(self._parameters("distillation.budget"))
        self.corpus, self.evaluation_split = self._ingested()

    def _parameters(self, name: str) -> Any:
        return plain(self._catalog.load(f"params:{name}"))

    def _made(self, name: str, maker: str) -> Any:
        """An artifact that the run reuses; None where it is made again or does not exist."""
        reused = maker not in self._running and self._catalog.exists(name)
        return self._catalog.load(name) if reused else None

    def _ingested(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """The corpus as it is, or as ingestion would make it, which takes little time."""
        corpus = self._made("corpus", "ingest_corpus")
        if corpus is not None:
            evaluation_split = self._made("evaluation_split", "ingest_corpus")
            return corpus, corpus.iloc[:0] if evaluation_split is None else evaluation_split
        begun = time.perf_counter()
        settings = IngestionSettings.model_validate(self._parameters("ingestion"))
        ingested = ingest(self._catalog.load("raw_corpus"), settings)
        self._ingestion_seconds = time.perf_counter() - begun
        return ingested.corpus, ingested.evaluation_split

    def job(self) -> Job:
        """The run in numbers; measures what its nodes need, and nothing else."""
        rates, running = Rates(peaks={"base": resident_megabytes()}), self._running
        encoder: Encoder = self._catalog.load("encoder")
        columns, sizes = text_columns(self.corpus), class_sizes(self.corpus)
        strings, missing = self._strings(columns, encoder)
        _, evaluation_missing = self._strings(text_columns(self.evaluation_split), encoder)
        sampling = SamplingSettings.model_validate(self._parameters("generation.sampling"))
        fine_tuning = FineTuningSettings.model_validate(self._parameters("generation.fine_tuning"))
        quality = QualitySettings.model_validate(self._parameters("generation.quality"))
        verifier = VerifierSettings.model_validate(self._parameters("generation.verifier"))
        writes = "sample_and_screen" in running
        selection = SelectionSettings.model_validate(self._parameters("distillation.selection"))
        playoff = selection.exam.playoff
        if selection.selector != "exam":
            playoff = selection.exam.without_playoff().playoff
        if writes or ("embed_corpus" in running and missing):
            sample = (missing or strings)[:: 1 + len(missing or strings) // _SAMPLED_STRINGS]
            token_ids, _ = encoder.tokenise(sample)
            rates.measure_encoder(encoder, np.array([len(ids) for ids in token_ids]))
        plan = None
        if running & {"fine_tune", "sample_and_screen", *READS}:
            plan = GenerationPlan.of(
                self.corpus,
                self._catalog.load("language_model"),
                fine_tuning,
                sampling,
                adapter=self._made("adapter", "fine_tune"),
                from_scratch=self._from_scratch,
            )
            trains = "fine_tune" in running and plan.rows is not None
            if trains or writes or running & READS:
                rates.measure_language_model(plan, trains=trains, writes=writes)
        gc.collect()
        rates.peaks["resting"] = resident_megabytes()
        if running:
            rates.measure_machine()
        canaries = fine_tuning.canaries
        report = self._made("corpus_report", "")  # of the rows that the records were made from
        return Job(
            rates=rates,
            rows=len(self.corpus),
            classes=len(sizes),
            texts_per_row=len(columns),
            dimension=encoder.model.dimension,
            text_bytes=sum(len(text) for column in columns for text in column),
            strings=len(strings),
            missing=len(missing),
            evaluation_missing=len(evaluation_missing),
            pool=sum(Budget.parse(sampling.rows).split(sizes)),
            chosen=sum(self.budget.split(sizes)),
            batch_rows=sampling.batch_rows,
            canaries=canaries.planted + canaries.controls if canaries.planted else 0,
            texts_read=2 * quality.perplexity_rows,
            evaluations=fine_tuning.evaluations,
            searches=max(1, playoff.sets),
            trainings=playoff.transformer_trainings,
            tuned_rows=verifier.likely_reads(len(self.corpus), pairs=len(columns) > 1),
            plan=plan,
            ingestion_seconds=self._ingestion_seconds,
            growth=len(self.corpus) / report.train.rows_kept if report else 1.0,
        )

    def _strings(self, columns: list[list[str]], encoder: Encoder) -> tuple[list[str], list[str]]:
        """The unique strings, and those of them that are not in the encoder's cache."""
        strings, _ = unique_strings(columns)
        if self._from_scratch:
            return strings, strings
        missing = encoder.open_cache().missing(string_keys(strings))
        return strings, [strings[index] for index in missing]


def _cells(cost: StageCost) -> list[str]:
    memory, disk = size(1e6 * cost.peak_megabytes), size(1e6 * cost.disk_megabytes)
    return [duration(cost.seconds), memory, disk, cost.decided_by]
