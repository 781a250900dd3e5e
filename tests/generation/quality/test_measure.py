"""Pools whose faults are known must show them, and a pool of real rows must show none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from take.encoder.embeddings import Embeddings, MappedVectors
from take.errors import InputError
from take.generation.quality.evidence import PoolEvidence
from take.generation.quality.measure import measure_pool
from take.generation.verifier.verifier_settings import Scores
from tests.generation.quality.conftest import NAMES, as_embeddings, embed, sentences


@pytest.fixture(scope="module")
def real(evidence_of, settings):
    """Fresh rows from the source of the corpus: what a perfect generator would write."""
    return measure_pool(evidence_of(sentences(400, seed=2)), settings)


@pytest.fixture(scope="module")
def memorised(evidence_of, corpus, seen, settings):
    """Training rows with their last two words swapped."""
    rows = corpus[seen].iloc[:400].copy()
    words = [text.split() for text in rows["text"]]
    rows["text"] = [" ".join([*row[:-2], row[-1], row[-2]]) for row in words]
    return measure_pool(evidence_of(rows), settings)


@pytest.fixture(scope="module")
def collapsed(evidence_of, settings):
    """One row of each class, over and over, with one word changed."""
    rows = sentences(400, seed=2)
    base = rows["text"].iloc[:2].str.split().tolist()
    rows["text"] = [" ".join([*base[i % 2], f"w{i // 40}"]) for i in range(400)]
    return measure_pool(evidence_of(rows), settings)


def test_a_pool_of_real_rows_scores_like_the_corpus(real):
    report = real.report
    assert report.uniqueness.kept == 1
    assert report.coverage.any_class.ratio == pytest.approx(1, abs=0.03)
    assert report.coverage.own_class.ratio == pytest.approx(1, abs=0.03)
    assert report.coverage.any_class.unseen_ratio == pytest.approx(1, abs=0.05)
    assert report.coverage.equivalent_rows > 0.6 * report.compared
    assert report.mauve.pool == pytest.approx(report.mauve.corpus, abs=0.07)
    assert report.closest_record.below_real_p1 < 0.04
    assert report.closest_record.below_real_p5 < 0.11
    assert report.diversity.pool.distinct_2 == pytest.approx(
        report.diversity.corpus.distinct_2, abs=0.03
    )
    assert report.diversity.pool.self_bleu == pytest.approx(
        report.diversity.corpus.self_bleu, abs=0.03
    )
    assert report.words.ks < 0.1
    assert report.agreement.after == pytest.approx(report.agreement.corpus, abs=0.05)
    assert report.agreement.corpus > 0.8


def test_memorising_shows_in_the_distance_to_training_rows(real, memorised):
    closest = memorised.report.closest_record
    assert closest.below_real_p1 > 0.95
    assert closest.pool.p50 < 0.1 < closest.real.p1
    assert closest.unseen_share == 1
    # Copies cover what they were copied from; over rows never seen they gain nothing.
    assert memorised.report.coverage.any_class.ratio < 0.9
    assert memorised.report.coverage.any_class.unseen_ratio == pytest.approx(1, abs=0.05)


def test_collapse_shows_in_wording_coverage_and_mauve(real, collapsed):
    report, reference = collapsed.report, real.report
    assert report.uniqueness.kept == 0.05  # 20 different rows of 400
    assert report.diversity.pool.distinct_2 < 0.2 * report.diversity.corpus.distinct_2
    assert report.diversity.pool.self_bleu > 0.8 > report.diversity.corpus.self_bleu
    assert report.coverage.any_class.ratio > 1.3
    assert report.coverage.equivalent_rows < 20
    assert report.mauve.pool < 0.1
    assert report.mauve.corpus > 0.8
    assert report.classes["negative"].self_bleu_pool > 0.8
    assert report.classes["positive"].coverage_ratio > 1.3
    assert reference.classes["positive"].coverage_ratio == pytest.approx(1, abs=0.05)


def test_coverage_is_assumption_1(evidence_of, settings, corpus_vectors, corpus):
    evidence = evidence_of(sentences(60, seed=5))
    report = measure_pool(evidence, settings).report
    pool = evidence.pool_features.astype(float)
    distances = np.linalg.norm(corpus_vectors[:, None].astype(float) - pool[None], axis=2)
    assert report.coverage.any_class.pool.mean == pytest.approx(distances.min(axis=1).mean())
    labels = corpus["label"].to_numpy()
    distances[labels[:, None] != evidence.pool_labels] = np.inf
    assert report.coverage.own_class.pool.mean == pytest.approx(distances.min(axis=1).mean())


def test_agreement_and_uniqueness_count_what_they_say(evidence_of, settings):
    rows = sentences(4, seed=2)
    judged = pd.DataFrame(
        {
            "label": [0, 1, 0, 0, 0, 1, 1, 0],  # the fourth was relabelled
            "prompt_label": [0, 1, 0, 1, 0, 1, 1, 0],
            "reason": ["", "", "", "", "surplus", "label_contradicted", "duplicate", "unparsed"],
            "verifier_label": pd.array([0, 1, 0, 0, 0, 0, 1, None], dtype="Int64"),
            "text": ["a", "b", "c", "d", "e", "f", " A ", None],
        }
    )
    report = measure_pool(evidence_of(rows, judged), settings).report
    assert report.agreement.before == pytest.approx(4 / 6)  # 4 kept, surplus, contradicted
    assert report.classes["negative"].agreement.before == 1
    assert report.classes["positive"].agreement.before == pytest.approx(1 / 3)
    assert report.uniqueness.generated == pytest.approx(6 / 7)
    assert sum(report.outcomes.values()) == report.generated == 8
    assert report.outcomes["kept"] == 4
    assert report.mauve is None  # four rows are too few


def test_perplexity_is_of_the_sampled_texts(evidence_of, settings):
    scored = []

    def loss_of_texts(texts):
        scored.append(list(texts))
        return np.array([np.nan, *[np.log(3 * len(scored))] * (len(texts) - 1)])

    evidence = evidence_of(sentences(300, seed=2))
    perplexity = measure_pool(evidence, settings, loss_of_texts).report.perplexity
    assert (perplexity.pool, perplexity.corpus) == (pytest.approx(3), pytest.approx(6))
    assert (perplexity.pool_rows, perplexity.corpus_rows) == (127, 127)
    assert set(scored[0]) <= {*evidence.pool["text"]}
    assert set(scored[1]) <= {*evidence.corpus["text"]}


def test_without_unseen_rows_each_row_is_left_out_of_its_own_reference(evidence_of, settings):
    evidence = evidence_of(sentences(400, seed=2))
    all_seen = replace(evidence, seen=np.ones(len(evidence.corpus), dtype=np.bool_))
    closest = measure_pool(all_seen, settings).report.closest_record
    assert closest.unseen_share == 0
    assert closest.real.p1 > 0.05  # itself would be at 0
    assert closest.below_real_p5 < 0.12
    none_seen = replace(evidence, seen=np.zeros(len(evidence.corpus), dtype=np.bool_))
    assert measure_pool(none_seen, settings).report.closest_record is None


def test_a_class_missing_in_the_pool_and_a_pool_larger_than_the_corpus(evidence_of, settings):
    rows = sentences(3000, seed=2)
    report = measure_pool(evidence_of(rows[rows["label"] == 1]), settings).report
    assert (report.rows, report.compared) == (1500, 300)
    assert report.coverage.uncovered_share == 0.5
    assert report.classes["negative"].coverage_ratio is None
    assert report.classes["negative"].words_pool is None
    assert report.coverage.any_class.ratio == pytest.approx(1, abs=0.1)


def test_tables_show_regions_and_examples(real, corpus):
    coverage = real.coverage
    assert coverage["region"].unique().tolist() == [1, 2, 3]
    assert coverage["region_distance"].is_monotonic_decreasing
    assert {*coverage["id"]} <= {*corpus["id"]}
    assert {"text", "closest_text", "label_name", "closest_label_name"} <= {*coverage.columns}
    again = np.linalg.norm(embed(coverage["text"]) - embed(coverage["closest_text"]), axis=1)
    np.testing.assert_allclose(coverage["distance"], again, atol=1e-5)
    assert real.examples["label_name"].value_counts().to_dict() == dict.fromkeys(NAMES, 20)


def test_the_same_seed_gives_the_same_report_for_any_block_size(evidence_of, settings, real):
    evidence = evidence_of(sentences(400, seed=2))
    again = measure_pool(evidence, settings.model_copy(update={"block_rows": 1000}))
    assert again.report.diversity == real.report.diversity
    assert again.report.mauve == real.report.mauve
    assert again.report.coverage.any_class.ratio == pytest.approx(
        real.report.coverage.any_class.ratio, rel=1e-6
    )
    pd.testing.assert_frame_equal(again.examples, real.examples)


def test_agreement_of_real_rows_is_on_held_out_rows_with_the_pool_s_mix(evidence_of, settings):
    """A verifier that is right on every negative row, and on half of the positive ones."""
    rows = sentences(40, seed=2)
    pool = pd.concat([rows[rows["label"] == 0], rows[rows["label"] == 1].head(5)])
    evidence = evidence_of(pool)
    scores = Scores.of(np.arange(8) % 2, np.array([0, 1, 0, 1, 0, 0, 0, 0]), 2, seconds=0.0)
    report = evidence.verifier.model_copy(update={"probe": scores})
    quality = measure_pool(replace(evidence, verifier=report), settings).report
    assert quality.verifier.accuracy == pytest.approx(6 / 8)
    assert quality.agreement.corpus == pytest.approx((20 * 1 + 5 * 0.5) / 25)
    assert quality.classes["positive"].agreement.corpus == pytest.approx(0.5)
    assert quality.classes["negative"].agreement.corpus == 1
    assert quality.labels_summary() == (
        "labels: verifier (probe, 75.0% on held-out train rows) agrees with "
        f"{quality.agreement.before:.1%} of generated rows, 90.0% of real held-out rows"
    )


def test_rows_that_were_not_verified_have_no_agreement(evidence_of, settings):
    evidence = evidence_of(sentences(40, seed=2))
    nothing = pd.array([None] * 40, dtype="Int64")
    pool = evidence.pool.assign(verifier_label=nothing)
    judged = evidence.judged.assign(verifier_label=nothing)
    quality = measure_pool(replace(evidence, pool=pool, judged=judged), settings).report
    assert quality.agreement.before is None
    assert quality.agreement.after is None
    assert quality.labels_summary() == "labels: not verified"


def test_pairs(settings):
    rows = sentences(600, seed=1)
    rows = rows.assign(text_a=rows["text"], text_b=rows["text"].to_numpy()[::-1])
    pairs = rows.drop(columns="text").assign(
        prompt_label=rows["label"], verifier_label=rows["label"]
    )
    strings = MappedVectors(embed(rows["text"]))
    both = np.stack([np.arange(600), np.arange(600)[::-1]], axis=1)
    evidence = PoolEvidence(
        pool=pairs.iloc[:100].reset_index(drop=True),
        judged=pairs.iloc[:100].assign(reason=""),
        pool_embeddings=Embeddings(strings, both[:100]),
        corpus=pairs.iloc[100:].reset_index(drop=True),
        embeddings=Embeddings(strings, both[100:]),
        seen=np.arange(500) < 250,
    )
    measured = measure_pool(evidence, settings)
    assert measured.report.coverage.any_class.ratio == pytest.approx(1, abs=0.1)
    assert measured.report.agreement.corpus is None  # no verifier was given
    assert {"text_a", "text_b", "closest_text_a"} <= {*measured.coverage.columns}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seen": np.ones(3, bool)}, "seen: 3 rows. Allowed: 1200 rows"),
        ({"pool_embeddings": as_embeddings(np.eye(9, dtype=np.float32)[:4])}, "9 columns"),
        ({"judged": pd.DataFrame({"label": [0]})}, "judged: no column"),
    ],
)
def test_evidence_that_does_not_fit_is_refused(evidence_of, change, message):
    evidence = evidence_of(sentences(4, seed=2))
    with pytest.raises(InputError, match=message):
        replace(evidence, **change)


def test_an_empty_pool_and_an_unknown_label_are_refused(evidence_of):
    evidence = evidence_of(sentences(4, seed=2))
    with pytest.raises(InputError, match="pool: it has no rows"):
        replace(evidence, pool=evidence.pool.iloc[:0])
    with pytest.raises(InputError, match="label"):
        replace(evidence, pool=evidence.pool.assign(label=7))
