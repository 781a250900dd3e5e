"""A corpus of templated pairs: what is distilled from it is released, not blocked (issue 15, 18).

Screening, selection and the gate are the real ones; candidates come from the templates instead of a
language model, and vectors are made up.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from take.audit.privacy.pii import PiiSettings
from take.audit.privacy.report import Check, MembershipReport, ScreeningCounts
from take.audit.privacy.screening import screened
from take.audit.privacy.verdict import GateSettings, judge
from take.encoder.embeddings import Embeddings, MappedVectors
from take.encoder.encode import Encoder
from take.encoder.models import EncoderSettings
from take.errors import InputError
from take.generation.screening.reasons import ScreeningSettings
from take.generation.screening.screen import Reference, Screen
from take.generation.verifier.verifier import Probe
from take.pipelines.distillation.nodes import ChosenRows, screen_candidates, select_rows
from take.rows.labelled import class_names
from take.selection.selection_settings import SelectionSettings
from take.text.copies import CopySettings
from tests.audit.release.released import filled
from tests.audit.templated import templated_pairs

CORPUS, EVALUATION = templated_pairs(200, seed=1), templated_pairs(100, seed=2)
CANDIDATES = templated_pairs(600, seed=3)
BUDGET = 60


def embedded(rows: pd.DataFrame) -> Embeddings:
    vectors = np.random.default_rng(len(rows)).standard_normal((2 * len(rows), 8))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return Embeddings(
        MappedVectors(vectors.astype(np.float32)), np.arange(len(vectors)).reshape(-1, 2)
    )


def screened_pool(folder: Path) -> pd.DataFrame:
    embeddings = embedded(CORPUS)
    reference = Reference(
        corpus=CORPUS,
        evaluation_split=EVALUATION,
        embeddings=embeddings,
        encoder=Encoder(EncoderSettings(backend="torch"), folder / "never"),
        verifier=Probe(tuple(class_names(CORPUS)), np.zeros((2, embeddings.shape[1])), np.zeros(2)),
        min_tokens=0,
        max_tokens=100,
        markers=(),
    )
    settings = ScreeningSettings(near_copy_cosine=None, contradiction_threshold=None)
    made = CANDIDATES.assign(index=range(len(CANDIDATES)), raw="", finished=True, tokens=10)
    judged = Screen(reference, settings, CopySettings()).judge(made)
    assert (judged["reason"] == "near_copy_of_train").sum() > 100
    return CANDIDATES[judged["reason"] == ""].reset_index(drop=True)


def chosen(pool: pd.DataFrame, folder: Path, budget: int = BUDGET) -> ChosenRows:
    return select_rows(
        CORPUS,
        embedded(CORPUS),
        pd.DataFrame({"id": CORPUS["id"], "weight": 1 / len(CORPUS)}),
        pool,
        embedded(pool),
        pd.DataFrame({"id": CORPUS["id"], "role": "trained"}),
        screen_candidates(pool, CORPUS, EVALUATION, CopySettings(), PiiSettings()),
        folder,
        budget,
        SelectionSettings(selector="facility"),
        CopySettings(),
    )


def audited(
    distilled: pd.DataFrame, pool: pd.DataFrame, corpus: pd.DataFrame = CORPUS
) -> tuple[ScreeningCounts, Check]:
    """What the gate finds, and its verdict on near copies with the built-in limits."""
    counts = screened(
        {"distilled": distilled, "pool": pool},
        corpus,
        EVALUATION,
        pd.DataFrame({"id": corpus["id"], "role": "unread"}),
        CopySettings(),
        PiiSettings(),
    ).counts
    membership = filled(MembershipReport, canaries=None, rows=None, extracted_secrets=0)
    checks = judge(counts, {}, membership, None, GateSettings()).checks
    return counts, next(check for check in checks if check.name == "near_copies")


def rows_of(selection: pd.DataFrame, pool: pd.DataFrame) -> pd.DataFrame:
    return pool.set_index("id").loc[selection["id"]].reset_index()


def test_screening_leaves_no_candidate_that_the_gate_calls_a_copy(tmp_path: Path) -> None:
    pool = screened_pool(tmp_path)
    found = chosen(pool, tmp_path)
    counts, near_copies = audited(rows_of(found.selection, pool), pool)
    real = counts.real_rows
    assert real is not None
    assert 0.2 < real.near_copies / real.rows < 0.4  # real rows of this corpus often are
    for table in ("distilled", "pool"):
        train = counts.copies[table].train
        assert (train.verbatim, train.near_copies) == (0, 0)
    assert near_copies.verdict == "pass"
    assert not set(found.report.excluded) & {"copy_of_train", "near_copy_of_train"}


def test_candidates_that_were_not_screened_are_exchanged_and_listed(tmp_path: Path) -> None:
    """As from a pool that was screened with other settings, or before the corpus grew."""
    found = chosen(CANDIDATES, tmp_path)
    assert len(found.selection) == BUDGET
    counts, near_copies = audited(rows_of(found.selection, CANDIDATES), CANDIDATES)
    assert counts.copies["pool"].train.near_copies > 100
    assert counts.copies["distilled"].train.near_copies == 0
    assert counts.copies["distilled"].evaluation.near_copies == 0
    assert near_copies.verdict != "block"
    excluded = found.excluded
    assert found.report.excluded == excluded["reason"].value_counts().to_dict()
    assert found.report.excluded["near_copy_of_train"] > 100
    assert excluded["detail"].str.fullmatch(r"(train|evaluation) row s[12]-\d+").all()
    assert not set(excluded["id"]) & set(found.selection["id"])
    assert found.report.pool_rows == len(CANDIDATES)


def test_too_few_candidates_that_pass_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        chosen(CANDIDATES, tmp_path, budget=500)
    message = str(error.value)
    assert "class 'follows': " in message
    assert "the others may never be chosen" in message
    assert "(near_copy_of_train " in message
    assert "Allowed: at least 250 candidates (the budget)" in message
    assert "generation.sampling.rows" in message


def test_near_copies_no_more_frequent_than_among_real_rows_do_not_block() -> None:
    """Rows like the real ones, which nobody checked: a person should look, nothing more."""
    counts, near_copies = audited(CANDIDATES[::10], CANDIDATES, templated_pairs(1000, seed=4))
    assert counts.copies["distilled"].train.near_copies > 5
    assert near_copies.verdict == "review"
    assert " are expected in such a corpus)" in near_copies.sentence


def test_more_near_copies_than_among_real_rows_block() -> None:
    near = CORPUS[:BUDGET].assign(text_a=CORPUS["text_a"] + " today")
    assert audited(near, CANDIDATES)[1].verdict == "block"
