"""Scoring, nearest rows, Gram matrices: the same bytes on workers, and φ stays in its file."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from typing import Any

import cloudpickle
import numpy as np
import pytest
from scipy.sparse import random as random_sparse

from take.encoder.embeddings import Embeddings, MappedVectors
from take.engine import Engine, engine_of_run
from take.engine.cluster import RayEngine
from take.engine.local import LocalEngine
from take.engine.threads import one_thread
from take.rows.blocks import ArrayBlocks, RowBlocks, rows_at
from take.rows.nearest import closest_rows, nearest, nearest_by_class, nearest_rows
from take.rows.passes import row_windows
from take.scoring.diagnostics import study_scorers
from take.scoring.influence import influence_matrix
from take.scoring.scorers import SCORERS, Evidence, score
from take.scoring.scoring_inputs import ScoringError, ScoringSettings, check_features
from take.selection.describe.distillation import Distillation
from take.selection.describe.lineage import trace
from take.selection.exam import surrogates
from take.selection.exam.search import ExamProblem, begin, search
from take.selection.exam.surrogates import Pool, ScoredRows, Surrogate
from take.selection.exam.views import Views
from take.selection.selection_settings import ExamSettings

pytest.importorskip("ray")

N, C, WIDTH = 3000, 3, 48
SETTINGS = ScoringSettings(checkpoints=4, epochs=2, batch_size=64, block_rows=256)


@pytest.fixture(scope="module")
def engines(cluster: RayEngine) -> dict[str, Engine]:
    return {
        "a core": LocalEngine(1),
        "two cores": LocalEngine(2),
        **{f"{n} workers": RayEngine(cluster.workers[:n]) for n in (1, 2, 4)},
    }


def unit_rows(n_rows: int, width: int, seed: int) -> Any:
    rows = np.random.default_rng(seed).standard_normal((n_rows, width)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Embeddings:
    """Pairs of strings in a file; some rows are equal."""
    path = tmp_path_factory.mktemp("vectors") / "embeddings.safetensors"
    rows = np.random.default_rng(1).integers(0, 900, size=(N, 2))
    rows[N // 2 : N // 2 + 40] = rows[:40]
    Embeddings(MappedVectors(unit_rows(900, WIDTH // 4, 2)), rows).save(path)
    return Embeddings.load(path)


@pytest.fixture(scope="module")
def labels() -> Any:
    return np.random.default_rng(3).integers(0, C, size=N)


def digest(value: Any) -> str:
    """Of all arrays in a value."""
    if isinstance(value, np.ndarray):
        return hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
    if isinstance(value, (list, tuple)):
        return hashlib.sha256("".join(map(digest, value)).encode()).hexdigest()
    if hasattr(value, "__dict__"):
        return digest([part for _, part in sorted(vars(value).items())])
    return repr(value)


def same_everywhere(engines: dict[str, Engine], compute: Callable[[], Any]) -> None:
    found = {}
    for name, engine in engines.items():
        with engine_of_run(engine):
            found[name] = digest(compute())
    assert len(set(found.values())) == 1, found


def heads(width: int) -> tuple[Any, Any]:
    random = np.random.default_rng(4)
    weights = random.standard_normal((5, C, width)).astype(np.float32)
    return weights, random.standard_normal((5, C)).astype(np.float32)


def test_influence(engines, corpus, labels):
    same_everywhere(engines, lambda: influence_matrix(corpus, labels, *heads(WIDTH), 256))


@pytest.mark.parametrize("scorer", sorted(SCORERS))
def test_weights(engines, corpus, labels, scorer):
    def weights() -> Any:
        scored = score(Evidence(corpus, labels, SETTINGS, n_classes=C), scorer)
        return scored.scores, scored.weights

    same_everywhere(engines, weights)


def test_diagnostics(engines, corpus, labels):
    same_everywhere(engines, lambda: repr(study_scorers(corpus, labels, C, SETTINGS)))


def test_the_first_bad_row_is_named(engines):
    rows = unit_rows(2000, 8, 0)
    rows[[700, 1900]] *= 2
    for engine in engines.values():
        with engine_of_run(engine), pytest.raises(ScoringError, match="embeddings, row 700"):
            check_features(ArrayBlocks(rows), 64)


@pytest.mark.parametrize("blocked", ["queries", "references", "both"])
def test_nearest(engines, corpus, blocked):
    array = rows_at(corpus, np.arange(0, N, 3)).read(0, N // 3)
    queries = array if blocked == "references" else corpus
    references = array if blocked == "queries" else corpus
    itself = np.arange(0, N, 3) if blocked == "references" else np.arange(N) // 3
    same_everywhere(engines, lambda: nearest(queries, references, 256))
    same_everywhere(engines, lambda: nearest(queries, references, 256, exclude=itself))


def test_of_equal_references_the_first_is_found(engines):
    row = unit_rows(1, 8, 0)
    references = ArrayBlocks(np.repeat(row, 1000, axis=0))
    for engine in engines.values():
        with engine_of_run(engine):
            assert nearest(row, references, 100).row.tolist() == [0]
            assert closest_rows(row, references, np.full(1000, -1)).second.row.tolist() == [1]


def test_nearest_by_class(engines, corpus, labels):
    targets = corpus.read(0, 30)
    same_everywhere(engines, lambda: nearest_by_class(corpus, labels, targets, labels[:30], 256))


def test_closest_rows(engines, corpus, monkeypatch):
    monkeypatch.setattr("take.rows.nearest._BLOCK_ENTRIES", 100 * 256)
    draws, queries = np.arange(N) % 7 - 1, corpus.read(0, 100)
    same_everywhere(engines, lambda: closest_rows(queries, corpus, draws))
    same_everywhere(engines, lambda: nearest_rows(queries, corpus, 9))


@pytest.mark.parametrize("plan", ["nearest", "entropic"])
def test_lineage(engines, corpus, labels, plan):
    weights = np.random.default_rng(5).random(N)
    weights /= weights.sum()
    pool = corpus.read(0, 60)
    made = Distillation(corpus, weights, labels, pool, labels[:60], np.arange(0, 60, 2))
    same_everywhere(engines, lambda: trace(made, plan, top=4))


@pytest.mark.parametrize("surrogate", ["phi", "tfidf", "joint"])
def test_gram(engines, surrogate, monkeypatch):
    monkeypatch.setattr(surrogates, "_LARGE_ENTRIES", 10_000)
    random = np.random.default_rng(6)
    lexical = [random_sparse(n, 400, density=0.05, format="csr", rng=random) for n in (1300, 50)]
    rows, others = (
        Views({"phi": unit_rows(part.shape[0], 32, 7), "lexical": part.astype(np.float32)})
        for part in lexical
    )
    same_everywhere(engines, lambda: Surrogate(surrogate).gram(rows, others))


def test_exam_search(engines):
    """One thread or two, and Gram matrices on workers: the same rows and the same losses."""
    same_everywhere(engines, searched)


def searched() -> Any:
    random, n_classes = np.random.default_rng(8), 4
    labels = [np.sort(random.integers(0, n_classes, n)) for n in (1500, 3000, 200)]
    means = unit_rows(n_classes, 64, 9)
    pool, exam, validation = (
        Views({"phi": (means[y] + unit_rows(len(y), 64, len(y))) / 2}) for y in labels
    )
    scored = [
        ScoredRows(views, y, np.full(len(y), 1 / len(y)))
        for views, y in ((exam, labels[1]), (validation, labels[2]))
    ]
    problem = ExamProblem(
        (Surrogate("phi", temperature=0.1),), Pool(pool, labels[0], n_classes), *scored
    )
    start = np.concatenate([np.flatnonzero(labels[0] == c)[:3] for c in range(n_classes)])
    with one_thread():
        found = search(problem, begin(problem, start), ExamSettings(max_sweeps=1))
    return found.rows, found.history


def test_rows_of_a_file_are_not_in_items(corpus, labels):
    assert isinstance(corpus.strings, MappedVectors)
    assert corpus.strings.is_mapped
    several: list[RowBlocks] = [corpus, corpus.subset(np.arange(0, N, 2)), corpus.strings]
    for rows in [*several, rows_at(corpus.strings, np.arange(899))]:
        block = next(row_windows(rows, labels[: rows.shape[0]], block_rows=256))
        pickled = pickle.dumps(block)
        read = pickle.loads(pickled).read()
        np.testing.assert_array_equal(read, block.read())
        assert len(pickled) < 10_000 < read.nbytes


def test_of_rows_in_memory_a_block_travels_alone(corpus):
    strings = corpus.strings.take(np.arange(900))
    embeddings = Embeddings(MappedVectors(strings), corpus.rows)
    subset = rows_at(ArrayBlocks(strings), np.arange(0, 900, 2))
    for rows in (ArrayBlocks(strings), embeddings, subset):
        block = next(row_windows(rows, block_rows=64))
        pickled = pickle.dumps(block)
        np.testing.assert_array_equal(pickle.loads(pickled).read(), block.read())
        assert len(pickled) < strings.nbytes / 2


def test_the_corpus_is_not_in_a_job(corpus, labels, monkeypatch):
    sizes = []

    class Weighing(LocalEngine):
        def map(self, job: Any, items: Any) -> Any:
            sizes.append(len(cloudpickle.dumps(job)))
            return super().map(job, items)

    with engine_of_run(Weighing(1)):
        influence_matrix(corpus, labels, *heads(WIDTH), 256)
        nearest(corpus, corpus.read(0, 10), 256)
        nearest_by_class(corpus, labels, corpus.read(0, 10), labels[:10], 256)
        score(Evidence(corpus, labels, SETTINGS, n_classes=C), "influence_self_ekfac")
    assert len(sizes) >= 6
    assert max(sizes) < 60_000  # rows of strings are 48 kB, labels 24 kB, φ 576 kB
