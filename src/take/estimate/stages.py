"""Nodes as the stages that a user sees, and an estimate made of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from take.corpus.budget import Budget
from take.estimate.counts import distilled_rows
from take.estimate.job import Job, attacked_tokens, batches_to_write, generated_rows
from take.estimate.rates import EXAM_SWEEPS, KEEP_RATE
from take.estimate.report import Estimate, StageCost
from take.estimate.space import node_disk_megabytes, node_megabytes
from take.estimate.work import node_seconds

AUDIT = "audit"
STAGE_OF_NODE: Mapping[str, str] = MappingProxyType(
    {
        "ingest_corpus": "ingestion",
        "profile_corpus": "ingestion",
        "embed_corpus": "embedding",
        "train_probe": "scoring",
        "measure_influence": "scoring",
        "study_scorers": "scoring",
        "weigh_rows": "scoring",
        "show_extreme_rows": "scoring",
        "plot_scoring": "scoring",
        "fine_tune": "fine-tuning",
        "sample_and_screen": "sampling",
        "embed_pool": "sampling",
        "measure_pool": "pool quality",
        "plot_generation": "pool quality",
        "select_rows": "selection",
        "reselect_rows": "selection",
        "plot_search": "selection",
        "trace_rows": "description",
        "describe_distilled": "description",
        "screen_rows": AUDIT,
        "measure_distances": AUDIT,
        "attack_generator": AUDIT,
        "measure_balance": AUDIT,
        "gather_accuracy": AUDIT,
        "judge_privacy": AUDIT,
        "render_report": AUDIT,
        "write_card": AUDIT,
        "export_release": AUDIT,
    }
)
STAGES = tuple(dict.fromkeys(STAGE_OF_NODE.values()))
"""In the order they run."""


@dataclass(frozen=True)
class PlannedNode:
    """A node of the run."""

    name: str
    stage: str
    runs: bool
    """Whether it will run; else what it made before is reused."""


def stage_of(name: str, tags: Collection[str]) -> str | None:
    """The stage of a node; None for one that no estimate is made of.

    >>> stage_of("fine_tune", ["generation"]), stage_of("gate", ["audit"]), stage_of("teach", [])
    ('fine-tuning', 'audit', None)
    """
    return STAGE_OF_NODE.get(name) or (AUDIT if AUDIT in tags else None)


def estimate(corpus: str, nodes: Collection[PlannedNode], job: Job, cores: int) -> Estimate:
    """The estimate of a run of these nodes."""
    stages = []
    for stage in STAGES:
        members = [node for node in nodes if node.stage == stage]
        if not members:
            continue
        running = [node.name for node in members if node.runs]
        stages.append(_stage(stage, running, job))
    return Estimate(
        corpus=corpus,
        budget=str(Budget.parse(job.settings.budget)),
        rows=job.counts.rows,
        evaluation_rows=job.counts.evaluation_rows,
        cores=cores,
        calibration_seconds=job.rates.seconds,
        stages=stages,
    )


def _stage(stage: str, running: list[str], job: Job) -> StageCost:
    if not running:
        return StageCost(stage=stage, seconds=0, peak_megabytes=0, disk_megabytes=0, reused=True)
    return StageCost(
        stage=stage,
        seconds=sum(node_seconds(name, job) for name in running),
        peak_megabytes=max(node_megabytes(name, job) for name in running),
        disk_megabytes=sum(node_disk_megabytes(name, job) for name in running),
        decided_by=_decided_by(stage, job, running),
    )


def _decided_by(stage: str, job: Job, running: Collection[str]) -> str:
    counts, settings = job.counts, job.settings
    if stage == "embedding":
        return _strings(job)
    if stage == "scoring":
        return f"{counts.rows:,} rows of {counts.features:,} features"
    if stage == "fine-tuning":
        return _updates(job)
    if stage == "sampling":
        return _rows_to_write(job)
    if stage == "pool quality":
        return f"{2 * settings.quality.perplexity_rows} texts read by the language model"
    if stage == AUDIT and "attack_generator" in running:
        return f"{attacked_tokens(job):,} tokens read by the language model"
    if stage == "selection":
        chosen = distilled_rows(counts, settings.budget)
        limit = f", about {EXAM_SWEEPS} sweeps" if settings.selection.selector == "exam" else ""
        pool, selector = settings.sampling.rows, settings.selection.selector
        return f"{chosen:,} of {pool:,} rows by '{selector}'{limit}"
    return f"{counts.rows:,} rows"


def _strings(job: Job) -> str:
    strings = job.counts.strings
    if not strings.missing:
        return f"all {strings.unique:,} strings are in the cache"
    encoder = job.rates.encoder
    rate = 1 / float(encoder.seconds_per_string.at(strings.tokens).mean()) if encoder else 0.0
    cached = strings.unique - strings.missing
    rest = f", {cached:,} more in the cache" if cached else ""
    return f"{strings.missing:,} strings at {rate:,.0f}/s{rest}"


def _updates(job: Job) -> str:
    tokens = job.written.update_tokens
    if not len(tokens) or job.rates.tuning is None:
        return "finished before: its adapter is used"
    total = int(tokens.sum())
    rate = total / float(job.rates.tuning.update_seconds.at(tokens).sum())
    evaluations = job.settings.fine_tuning.evaluations + 1 if job.written.held_out_tokens else 0
    checks = f", {evaluations} evaluations" if evaluations else ""
    return f"{total:,} tokens at {rate:,.0f}/s{checks}"


def _rows_to_write(job: Job) -> str:
    rows, new = generated_rows(job), int(np.sum(batches_to_write(job)))
    if not new:
        return f"{rows:,} rows are on disk; screening alone"
    return f"{new:,} rows to write, if {KEEP_RATE:.0%} are kept"
