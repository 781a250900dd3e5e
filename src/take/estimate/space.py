"""Memory and disk of each node: what was measured while calibrating, and arrays by their size."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from take.estimate.counts import distilled_rows
from take.estimate.job import Job, exam_rows, generated_rows

_MB = 1e6
_FLOAT = 4
_TABLE_ROW_BYTES = 30  # of a compressed table: an id and a number or two
_TEXT_SHARE = 0.6  # of texts, after compression
_PLOT_BYTES = 50_000


def node_megabytes(name: str, job: Job) -> float:
    """The most memory that the process holds while the node runs."""
    return _MEMORY.get(name, _resting)(job)


def node_disk_megabytes(name: str, job: Job) -> float:
    """What the node leaves under data/."""
    return _DISK[name](job) / _MB if name in _DISK else 0.0


def _table_megabytes(job: Job) -> float:
    """The corpus as a table in memory: texts, ids, and Python's share of each row."""
    return (2 * job.counts.text_bytes + 300 * job.counts.rows) / _MB


def _vectors_bytes(strings: int, job: Job) -> float:
    return _FLOAT * job.counts.dimension * strings


def _starting(job: Job) -> float:
    return job.rates.base_megabytes + _table_megabytes(job)


def _resting(job: Job) -> float:
    """After the models: what they leave behind, and the mapped embeddings."""
    vectors = _vectors_bytes(job.counts.strings.unique, job) / _MB
    return job.rates.resting_megabytes + _table_megabytes(job) + vectors


def _ingesting(job: Job) -> float:
    return _starting(job) + _table_megabytes(job)


def _embedding(job: Job) -> float:
    encoder = job.rates.encoder.peak_megabytes if job.rates.encoder else 0.0
    vectors = 2 * _vectors_bytes(job.counts.strings.unique, job) / _MB
    return max(_starting(job), encoder + _table_megabytes(job)) + vectors


def _scoring(job: Job) -> float:
    counts, scoring = job.counts, job.settings.scoring
    influence = 3 * _FLOAT * counts.rows * scoring.checkpoints
    parameters = counts.classes * (counts.features + 1)
    hessian = 3 * 8 * parameters**2
    block = 8 * _FLOAT * scoring.block_rows * counts.features
    return _embedding(job) + (influence + hessian + block) / _MB


def _tuning(job: Job) -> float:
    tuning = job.rates.tuning.peak_megabytes if job.rates.tuning else 0.0
    return max(_resting(job), tuning + _table_megabytes(job))


def _sampling(job: Job) -> float:
    counts = job.counts
    screening = 150 * counts.words_per_row * (counts.rows + counts.evaluation_rows)
    vectors = _vectors_bytes(counts.strings.unique, job)
    peak = job.writing.peak_megabytes
    # Screening comes when all rows are written; the decoder is still there.
    return max(_resting(job), peak + _table_megabytes(job) + (screening + vectors) / _MB)


def _quality(job: Job) -> float:
    vectors = _vectors_bytes(job.counts.strings.unique, job) / _MB
    return max(_resting(job), job.writing.reading_peak_megabytes + vectors + _table_megabytes(job))


def _attack(job: Job) -> float:
    """Two models at once: as it was, and as it is."""
    one_model = max(0.0, job.writing.reading_peak_megabytes - job.rates.resting_megabytes)
    return _quality(job) + one_model


def _selection(job: Job) -> float:
    counts, selection = job.counts, job.settings.selection
    pool = job.settings.sampling.rows
    corpus = _FLOAT * counts.rows * counts.features / counts.classes
    kept = _FLOAT * counts.rows * 4 * distilled_rows(counts, job.settings.budget) / counts.classes
    work = corpus + min(kept, selection.memory_bytes)
    if selection.selector == "exam":
        marks = 2 * _FLOAT * pool * exam_rows(job) * len(selection.exam.surrogates)
        work = max(work, min(marks, selection.memory_bytes))
    return _resting(job) + (work + 8 * pool * counts.features) / _MB


def _describing(job: Job) -> float:
    return _resting(job) + 200 + 16 * job.settings.sampling.rows * job.counts.features / _MB


def _ingestion_disk(job: Job) -> float:
    counts = job.counts
    share = 1 + counts.evaluation_rows / counts.rows
    return share * (_TEXT_SHARE * counts.text_bytes + 20 * counts.rows)


def _embedding_disk(job: Job) -> float:
    strings, counts = job.counts.strings, job.counts
    cache = strings.missing * (_FLOAT * counts.dimension + 17)
    return _vectors_bytes(strings.unique, job) + 8 * counts.rows * counts.texts_per_row + cache


def _tuning_disk(job: Job) -> float:
    if job.rates.tuning is None:
        return 0.0
    return 2 * job.rates.tuning.trained_bytes  # the artifact, and what a second run would find


def _sampling_disk(job: Job) -> float:
    counts, candidates = job.counts, generated_rows(job)
    text = _TEXT_SHARE * counts.text_bytes / counts.rows
    rows = candidates * (2.5 * text + _TABLE_ROW_BYTES)
    strings = candidates * counts.texts_per_row + counts.evaluation_strings.missing
    return rows + strings * (_FLOAT * counts.dimension + 17)


def _pool_disk(job: Job) -> float:
    counts, rows = job.counts, job.settings.sampling.rows
    text = _TEXT_SHARE * counts.text_bytes / counts.rows
    vectors = rows * counts.texts_per_row * (_FLOAT * counts.dimension + 8)
    return vectors + rows * (text + _TABLE_ROW_BYTES)


_MEMORY: Mapping[str, Callable[[Job], float]] = MappingProxyType(
    {
        "ingest_corpus": _ingesting,
        "profile_corpus": _embedding,  # it comes after
        "embed_corpus": _embedding,
        "train_probe": _scoring,
        "measure_influence": _scoring,
        "study_scorers": _scoring,
        "weigh_rows": _scoring,
        "show_extreme_rows": _embedding,
        "plot_scoring": _embedding,
        "fine_tune": _tuning,
        "sample_and_screen": _sampling,
        "measure_pool": _quality,
        "select_rows": _selection,
        "reselect_rows": _selection,
        "describe_distilled": _describing,
        "attack_generator": _attack,
    }
)
_DISK: Mapping[str, Callable[[Job], float]] = MappingProxyType(
    {
        "ingest_corpus": _ingestion_disk,
        "profile_corpus": lambda job: _PLOT_BYTES,
        "embed_corpus": _embedding_disk,
        "train_probe": lambda job: (
            _FLOAT * job.settings.scoring.checkpoints * job.counts.classes * job.counts.features
        ),
        "measure_influence": lambda job: (
            _FLOAT * job.counts.rows * job.settings.scoring.checkpoints
        ),
        "weigh_rows": lambda job: _TABLE_ROW_BYTES * job.counts.rows,
        "plot_scoring": lambda job: 2 * _PLOT_BYTES,
        "fine_tune": _tuning_disk,
        "sample_and_screen": _sampling_disk,
        "embed_pool": _pool_disk,
        "measure_pool": lambda job: _PLOT_BYTES,
        "plot_generation": lambda job: 3 * _PLOT_BYTES,
        "trace_rows": lambda job: _TABLE_ROW_BYTES * job.counts.rows,
        "describe_distilled": lambda job: 4 * _PLOT_BYTES,
        "render_report": lambda job: 5_000_000,
        "export_release": lambda job: 4 * _PLOT_BYTES,
    }
)
