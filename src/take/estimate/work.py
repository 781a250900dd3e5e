"""Seconds of each node, from counts and rates.

What dominates (encoder, updates, held-out losses, decoder) is measured on this machine. The rest
are constants: seconds on two cores of an AMD EPYC, fitted to runs on rotten_tomatoes, sst2,
ag_news, mnli and mrpc, and scaled by how this machine compares in matrix products or plain Python
(docs/estimate.md has the runs).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from take.estimate.counts import CorpusCounts, distilled_rows
from take.estimate.job import (
    Job,
    attacked_tokens,
    batches_to_write,
    exam_rows,
    generated_rows,
    writing_seconds,
)
from take.estimate.rates import EXAM_SWEEPS, LENGTH_SHARE
from take.rows.arrays import Int64

_NARROW = 0.5  # of the time in float32 that the audit's bfloat16 products take
_CANDIDATES_ENCODED = 0.95  # of the generated rows; the others are dropped at sight


def node_seconds(name: str, job: Job) -> float:
    """Seconds of a node of `distill`; 0 for one that is not known."""
    return _WORK[name](job) if name in _WORK else 0.0


def encoding_seconds(job: Job, count: int, tokens: Int64) -> float:
    """Seconds to encode so many strings with lengths like these."""
    if not count or job.rates.encoder is None or not len(tokens):
        return 0.0
    return count * float(job.rates.encoder.seconds_per_string.at(tokens).mean())


def _ingestion(job: Job) -> float:
    if job.ingestion_seconds is not None:
        return job.ingestion_seconds
    return job.rates.pace.interpreter * (0.5 + 1.2e-5 * job.counts.rows)


def _profile(job: Job) -> float:
    return job.rates.pace.interpreter * (0.7 + 3e-6 * job.counts.rows)


def _embedding(job: Job) -> float:
    strings = job.counts.strings
    copying = job.rates.pace.interpreter * 1e-5 * strings.unique
    seconds = encoding_seconds(job, strings.missing, strings.tokens) + copying
    if strings.missing and job.rates.encoder is not None:
        seconds += job.rates.encoder.load_seconds
    return seconds


def _probe(job: Job) -> float:
    counts, scoring = job.counts, job.settings.scoring
    passes = scoring.epochs + scoring.checkpoints
    updates = scoring.epochs * counts.rows / scoring.batch_size
    per_update = 4e-4 + 6e-8 * counts.features * counts.classes
    per_feature = 1e-9 if counts.texts_per_row == 1 else 3e-9  # a pair's are made when read
    return job.rates.pace.interpreter * (
        updates * per_update + per_feature * passes * counts.rows * counts.features
    )


def _influence(job: Job) -> float:
    counts, scoring = job.counts, job.settings.scoring
    products = counts.rows * counts.features * counts.classes * scoring.checkpoints
    return job.rates.pace.arithmetic * 2e-10 * products


def _study(job: Job) -> float:
    counts, scoring = job.counts, job.settings.scoring
    parameters = counts.classes * (counts.features + 1)
    hessian = 2e-11 * counts.rows * parameters**2 + 6e-11 * parameters**3
    resampling = 0.3 + 3e-8 * counts.rows * scoring.bootstrap_resamples
    return (
        _probe(job)
        + 2 * _influence(job)
        + job.rates.pace.arithmetic * hessian
        + job.rates.pace.interpreter * resampling
    )


def _weights(job: Job) -> float:
    return job.rates.pace.interpreter * (0.1 + 3e-6 * job.counts.rows)


def _fine_tuning(job: Job) -> float:
    tuning, generation, settings = job.rates.tuning, job.written, job.settings.fine_tuning
    if tuning is None or not len(generation.update_tokens):
        return job.rates.pace.interpreter * 2.0  # the adapter of an earlier run is taken
    evaluations = settings.evaluations + 1 if generation.held_out_tokens else 0
    return (
        tuning.load_seconds
        + float(tuning.update_seconds.at(generation.update_tokens).sum())
        + evaluations * generation.held_out_tokens * tuning.evaluation_seconds_per_token
    )


def _sampling(job: Job) -> float:
    counts, generation = job.counts, job.written
    batches = batches_to_write(job)
    lengths = np.clip(LENGTH_SHARE * generation.row_lengths, 1, generation.longest)
    seconds = writing_seconds(job.writing.step_seconds, lengths, batches, generation.longest)
    if batches:
        seconds += job.writing.load_seconds
    return seconds + _screening(job, counts)


def _screening(job: Job, counts: CorpusCounts) -> float:
    candidates = generated_rows(job)
    strings = int(_CANDIDATES_ENCODED * candidates * counts.texts_per_row)
    tokens = np.maximum(3, LENGTH_SHARE * counts.strings.tokens).astype(np.int64)
    if not len(tokens):
        tokens = counts.evaluation_strings.tokens
    seconds = encoding_seconds(job, strings, tokens)
    seconds += encoding_seconds(
        job, counts.evaluation_strings.missing, counts.evaluation_strings.tokens
    )
    if not job.encoder_is_loaded and job.rates.encoder is not None:
        seconds += job.rates.encoder.load_seconds
    known = counts.rows + counts.evaluation_rows
    words = counts.words_per_row * (known + 2 * candidates)
    cosines = candidates * (known + candidates) * counts.dimension * counts.texts_per_row
    pace = job.rates.pace
    reading = 5e-4 * candidates + 6e-6 * words
    return seconds + pace.interpreter * reading + pace.arithmetic * 3e-11 * cosines


def _pool(job: Job) -> float:
    return job.rates.pace.interpreter * (0.3 + 1e-5 * generated_rows(job))


def _quality(job: Job) -> float:
    counts, quality, generation = job.counts, job.settings.quality, job.written
    pool = job.settings.sampling.rows
    compared = min(pool, counts.rows // 2)
    length = float(np.minimum(generation.row_lengths, 256).mean())
    tokens = min(compared, quality.perplexity_rows) * length * (1 + LENGTH_SHARE)
    distances = counts.rows * 3 * pool * counts.features
    hypotheses = min(compared, quality.bleu_hypotheses)
    sentences = hypotheses * min(compared, quality.bleu_references) * counts.words_per_row
    clustered = min(compared, quality.mauve_rows)
    pace = job.rates.pace
    return (
        job.writing.model_seconds
        + tokens * job.writing.loss_seconds_per_token
        + pace.arithmetic * (8e-12 * distances + 2.5e-10 * clustered * 500 * counts.features)
        + pace.interpreter * (2e-3 * clustered + 3.5e-6 * sentences)
    )


def _attack(job: Job) -> float:
    writing, tuning = job.writing, job.rates.tuning
    per_token = tuning.evaluation_seconds_per_token if tuning else 0.0
    seconds = attacked_tokens(job) * (per_token or writing.loss_seconds_per_token)
    return 2 * writing.model_seconds + _NARROW * seconds


def _audit_copies(job: Job) -> float:
    counts = job.counts
    rows = counts.rows + counts.evaluation_rows + 2 * job.settings.sampling.rows
    return job.rates.pace.interpreter * (0.5 + 2.5e-6 * counts.words_per_row * rows)


def _audit_distances(job: Job) -> float:
    counts = job.counts
    products = counts.rows * job.settings.sampling.rows * counts.features
    return job.rates.pace.arithmetic * (0.5 + 3e-11 * products)


def _selection(job: Job) -> float:
    counts, selection = job.counts, job.settings.selection
    chosen, pool = distilled_rows(counts, job.settings.budget), job.settings.sampling.rows
    by_class = 1 if selection.scope == "global" else counts.classes
    start = 4e-11 * counts.rows * pool / by_class * counts.features
    seconds = 0.3 + 1e-4 * pool + start
    if selection.selector == "exam":
        exam = selection.exam
        sweeps = min(EXAM_SWEEPS, exam.max_sweeps)
        parts = [min(1.0, 2**sweep / exam.parts) for sweep in range(sweeps)]
        whole = sum(parts) if exam.schedule == "growing" else float(sweeps)
        swaps = chosen * pool / counts.classes
        outputs = max(1, counts.classes - 1)
        asked = exam_rows(job) * whole * outputs * len(exam.surrogates) / 2
        seconds += 2.2e-9 * swaps * asked
        if exam.max_seconds is not None:
            seconds = min(seconds, exam.max_seconds + start)
    return job.rates.pace.arithmetic * seconds


def _trace(job: Job) -> float:
    chosen = distilled_rows(job.counts, job.settings.budget)
    return job.rates.pace.interpreter * (
        0.2 + 1e-5 * job.counts.rows + 1e-10 * job.counts.rows * chosen
    )


def _description(job: Job) -> float:
    counts, sampled = job.counts, min(job.counts.rows, job.settings.sample_rows)
    chosen = distilled_rows(counts, job.settings.budget)
    exact = 2.5e-7 * sampled * min(job.settings.sampling.rows, 10_000)
    along = 3e-10 * counts.rows * chosen * counts.features / counts.classes
    pace = job.rates.pace
    return pace.interpreter * (0.5 + exact) + pace.arithmetic * along


_WORK: Mapping[str, Callable[[Job], float]] = MappingProxyType(
    {
        "ingest_corpus": _ingestion,
        "profile_corpus": _profile,
        "embed_corpus": _embedding,
        "train_probe": _probe,
        "measure_influence": _influence,
        "study_scorers": _study,
        "weigh_rows": _weights,
        "show_extreme_rows": lambda job: 0.1 * job.rates.pace.interpreter,
        "plot_scoring": lambda job: 0.2 * job.rates.pace.interpreter,
        "fine_tune": _fine_tuning,
        "sample_and_screen": _sampling,
        "embed_pool": _pool,
        "measure_pool": _quality,
        "plot_generation": lambda job: 0.2 * job.rates.pace.interpreter,
        "select_rows": _selection,
        "reselect_rows": _selection,
        "plot_search": lambda job: 0.1 * job.rates.pace.interpreter,
        "trace_rows": _trace,
        "describe_distilled": _description,
        "screen_rows": _audit_copies,
        "measure_distances": _audit_distances,
        "attack_generator": _attack,
        "measure_balance": lambda job: job.rates.pace.interpreter * (0.5 + 2e-5 * job.counts.rows),
        "gather_accuracy": lambda job: 0.2 * job.rates.pace.interpreter,
        "judge_privacy": lambda job: 0.2 * job.rates.pace.interpreter,
        "render_report": lambda job: 2.0 * job.rates.pace.interpreter,
        "write_card": lambda job: 0.2 * job.rates.pace.interpreter,
        "export_release": lambda job: 0.5 * job.rates.pace.interpreter,
    }
)
