"""Which corpus rows are on which side of the comparison; made-up vectors."""

from __future__ import annotations

import numpy as np
import pandas as pd

from take.audit.privacy.distances import DistanceSettings, measure_tables
from take.audit.privacy.report import DistancesReport
from take.encoder.embeddings import Embeddings, MappedVectors

N, TRAINED, POOL = 400, 150, 200


def unit(rng: np.random.Generator, rows: int) -> np.ndarray:
    vectors = rng.standard_normal((rows, 24))
    return (vectors / np.linalg.norm(vectors, axis=1)[:, None]).astype(np.float32)


def embedded(vectors: np.ndarray) -> Embeddings:
    return Embeddings(MappedVectors(vectors), np.arange(len(vectors))[:, None])


def table(rows: int, mark: str) -> pd.DataFrame:
    labels = np.arange(rows) % 2
    return pd.DataFrame(
        {
            "id": [f"{mark}{i}" for i in range(rows)],
            "text": [f"{mark} text {i}" for i in range(rows)],
            "label": labels,
            "label_name": np.array(["bad", "good"])[labels],
        }
    )


def near(copied_share: float, trained: int = TRAINED, rest: str = "unread") -> DistancesReport:
    rng = np.random.default_rng(0)
    corpus, pool = unit(rng, N), unit(rng, POOL)
    copied = int(copied_share * POOL)
    noisy = corpus[:copied] + 0.02 * rng.standard_normal((copied, 24))
    pool[:copied] = noisy / np.linalg.norm(noisy, axis=1)[:, None]
    read = np.arange(N) < trained
    used = pd.DataFrame(
        {
            "id": [f"c{i}" for i in range(N)],
            "role": np.where(read, "trained", rest),
            "read": read.astype(int),
        }
    )
    return measure_tables(
        {"pool": np.arange(POOL), "distilled": np.arange(20)},
        embedded(pool),
        table(N, "c"),
        embedded(corpus),
        used,
        DistanceSettings(),
    )


def test_rows_that_copy_nothing_are_equally_close_to_both_sides() -> None:
    found = near(0.0).tables["pool"]
    assert found.closer_to_members.low < 0.5 < found.closer_to_members.high
    assert (found.members, found.non_members) == (TRAINED, N - TRAINED)


def test_copies_of_a_fifth_are_detected() -> None:
    found = near(0.2).tables
    assert found["pool"].closer_to_members.low > 0.5
    assert found["distilled"].closer_to_members.low > 0.6  # all of them are copies


def test_where_everything_was_read_there_is_nothing_to_compare() -> None:
    assert near(0.0, trained=N).tables == {}


def test_rows_excluded_by_their_weights_are_no_reference() -> None:
    assert near(0.0, rest="excluded").tables == {}


def test_a_text_that_was_read_under_another_label_is_no_reference() -> None:
    corpus = table(4, "c")
    corpus["text"] = ["a", "a", "b", "c"]
    rng = np.random.default_rng(0)
    found = measure_tables(
        {"pool": np.arange(4)},
        embedded(unit(rng, 4)),
        corpus,
        embedded(unit(rng, 4)),
        pd.DataFrame(
            {
                "id": ["c0", "c1", "c2"],  # c3 has come in since
                "role": ["trained", "unread", "unread"],
                "read": [1, 0, 0],
            }
        ),
        DistanceSettings(),
    )
    assert found.tables["pool"].non_members == 1
