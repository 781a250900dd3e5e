from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError

from take.rows.blocks import ArrayBlocks
from take.scoring.scorers import Evidence
from take.scoring.scoring_inputs import ScoringError, ScoringSettings

settings = ScoringSettings(scorer="uniform", block_rows=4)
good_labels = np.arange(10) % 2


def unit_rows() -> np.ndarray:
    return np.eye(10, dtype=np.float32)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.nan, r"embeddings, row 6: .*NaN or infinite values"),
        (np.inf, r"embeddings, row 6: .*NaN or infinite values"),
        (2.0, r"embeddings, row 6: .*norm is 2.*norm 1 ± 0.001.*L2-normalise"),
        (0.0, r"embeddings, row 6: .*norm is 0"),
    ],
)
def test_bad_embeddings_are_refused_by_their_first_row(value, message):
    rows = unit_rows()
    rows[6, 6] = rows[8, 8] = value
    with pytest.raises(ScoringError, match=message):
        Evidence(ArrayBlocks(rows), good_labels, settings)


@pytest.mark.parametrize(
    ("labels", "n_classes", "message"),
    [
        (np.where(np.arange(10) == 7, -1, good_labels), None, r"labels, row 7: .*label is -1"),
        (np.where(np.arange(10) == 7, 2, good_labels), 2, r"labels, row 7: .*label is 2.*0 … 1"),
        (np.zeros(10, dtype=np.int64), None, "every row has label 0.*two classes"),
        (good_labels[:9], None, r"shape \(9,\).*shape \(10,\)"),
        (good_labels.astype(float), None, "float64 .*integers"),
    ],
)
def test_bad_labels_are_refused(labels, n_classes, message):
    with pytest.raises(ScoringError, match=message):
        Evidence(ArrayBlocks(unit_rows()), labels, settings, n_classes=n_classes)


def test_an_empty_corpus_is_refused():
    with pytest.raises(ScoringError, match=r"shape \(0, 4\)"):
        Evidence(ArrayBlocks(np.empty((0, 4), np.float32)), np.empty(0, np.int64), settings)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("checkpoints", 1, "greater than or equal to 2"),
        ("scorer", "nonsense", "registered scorers are trajectory, uniform"),
        ("floor", 0, "greater than 0"),
        ("cap", 1, "greater than 1"),
        ("kernel", (1.0, 0.5), "2 values but there are 20"),
        ("kernel", (0.0,) * 20, "zero everywhere"),
        ("kernel_decay", -1, "greater than 0"),
        ("noise_share", 0.6, "less than or equal to 0.5"),
        ("learning_rat", 0.1, "Extra inputs"),
    ],
)
def test_bad_settings_are_refused(field, value, message):
    with pytest.raises(ValidationError, match=message):
        ScoringSettings(**{field: value})


def test_settings_cannot_change():
    with pytest.raises(ValidationError, match="frozen"):
        settings.floor = 0.5
