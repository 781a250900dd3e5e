"""Logistic regression on TF-IDF against scikit-learn's own vectorizer. No model is loaded."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from take.encoder.embeddings import sparse_pairs
from take.errors import InputError
from take.learners import (
    DEFAULTS,
    LinearSettings,
    Shared,
    Texts,
    TrainingRows,
    Vocabulary,
    WordCounts,
    make_learner,
)
from tests.learners import toy

CORPUS = Texts.of(["A good film, a GOOD plot", "it's a dull film", "naïve café über 42 x", "??"])


def test_tfidf_equals_scikit_learn() -> None:
    counts = WordCounts()
    counts(Texts.of(["words that other cells met before: zebra film"]))
    queries = Texts.of(["good film zebra", "unheard", "a dull dull café"])
    vocabulary = Vocabulary(counts, CORPUS)
    oracle = TfidfVectorizer().fit(CORPUS.columns[0])
    assert vocabulary.words == oracle.get_feature_names_out().tolist()
    for texts in (queries, CORPUS):
        expected = oracle.transform(texts.columns[0]).toarray()
        np.testing.assert_allclose(vocabulary(texts)[0].toarray(), expected, atol=1e-12)


def test_character_ngrams_equal_scikit_learn() -> None:
    rows, queries = toy.single(12), Texts.of([*CORPUS.columns[0], "unheard-of", "GOOD"])
    learner = make_learner(DEFAULTS["char_lr"], Shared())
    oracle = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5)).fit(rows.texts.columns[0])
    solver = LogisticRegression(max_iter=2000)
    solver.fit(oracle.transform(rows.texts.columns[0]), rows.labels)
    expected = solver.decision_function(oracle.transform(queries.columns[0]))
    logits = learner.fit(rows, seed=0).logits(queries)
    np.testing.assert_allclose(logits[:, 1] - logits[:, 0], expected, atol=1e-3)
    assert "2 to 5 characters" in learner.title


def test_character_ngrams_read_parts_of_words() -> None:
    """Words that are not in the training rows."""
    rows = TrainingRows(Texts.of(["unhelpful", "helpfully"]), np.array([0, 1]), 2)
    model = make_learner(DEFAULTS["char_lr"], Shared()).fit(rows, 0)
    assert model.predict(Texts.of(["unhappy", "happily"])).tolist() == [0, 1]


def test_many_rows_are_solved_to_the_optimum() -> None:
    """With scikit-learn's own tolerance, logits are off by more than is allowed here."""
    rows = toy.single(3000)
    learner = make_learner(LinearSettings(vocabulary="rows", inverse_penalty=10.0), Shared())
    oracle = TfidfVectorizer().fit(rows.texts.columns[0])
    features = oracle.transform(rows.texts.columns[0])
    solver = LogisticRegression(C=10.0, tol=1e-10, max_iter=10_000).fit(features, rows.labels)
    queries = toy.single(50, seed=1).texts
    logits = learner.fit(rows, 0).logits(queries)
    expected = solver.decision_function(oracle.transform(queries.columns[0]))
    np.testing.assert_allclose(logits[:, 1] - logits[:, 0], expected, atol=0.02)


def test_counts_of_characters_are_a_corpus_s_own() -> None:
    """A grid makes `Shared` for each corpus from one: n-grams of the last one are let go."""
    shared = Shared()
    assert replace(shared, counts=WordCounts()).characters is not shared.characters


@pytest.mark.parametrize(
    ("name", "independent"),
    [
        *(("lr", False), ("lr_rows", False), ("lr_phi", False), ("char_lr", True)),
        *(("siamese_lr", False), ("siamese_char_lr", True), ("textcnn", True), ("textrnn", True)),
        *(("transformer", False), ("e5", True), ("embedded_lm", True)),
        *(("transformer_lpft", False), ("transformer_contrastive", False), ("e5_lpft", True)),
    ],
)
def test_learners_in_a_selector_s_features_are_not_independent(
    name: str, independent: bool
) -> None:
    assert DEFAULTS[name].independent_of("embedded") is independent


def test_what_is_independent_depends_on_the_encoder_that_selects() -> None:
    own = {name for name, made in DEFAULTS.items() if not made.independent_of("embedded_e5")}
    words = {"lr", "lr_rows", "lr_phi", "siamese_lr", "siamese_lr_rows", "siamese_lr_phi"}
    assert own == words | {"e5", "e5_lpft"}


def test_what_other_cells_counted_changes_nothing() -> None:
    alone, later = WordCounts(), WordCounts()
    later(Texts.of(["film zebra unheard", "plot a good"]))
    rows = toy.single()
    one, other = Vocabulary(alone, rows.texts), Vocabulary(later, rows.texts)
    assert one.identity == other.identity
    assert (one(rows.texts)[0] != other(rows.texts)[0]).nnz == 0


@pytest.mark.parametrize("vocabulary", ["corpus", "rows"])
def test_both_protocols_equal_scikit_learn(vocabulary: str) -> None:
    rows, queries, corpus = toy.single(12), toy.single(50, seed=1), toy.single(200, seed=2)
    shared = Shared()
    shared.corpus = Vocabulary(shared.counts, corpus.texts)
    learner = make_learner(LinearSettings(vocabulary=vocabulary), shared)
    source = corpus if vocabulary == "corpus" else rows
    oracle = TfidfVectorizer().fit(source.texts.columns[0])
    solver = LogisticRegression(max_iter=2000)
    solver.fit(oracle.transform(rows.texts.columns[0]), rows.labels)
    expected = solver.decision_function(oracle.transform(queries.texts.columns[0]))
    logits = learner.fit(rows, seed=0).logits(queries.texts)
    np.testing.assert_allclose(logits[:, 1] - logits[:, 0], expected, atol=1e-3)
    assert ("corpus" in learner.title) is (vocabulary == "corpus")


def test_protocols_differ() -> None:
    shared = Shared()
    shared.corpus = Vocabulary(shared.counts, toy.single(200, seed=2).texts)
    learners = [make_learner(LinearSettings(vocabulary=v), shared) for v in ("corpus", "rows")]
    queries = toy.single(20, seed=1).texts
    one, other = (learner.fit(toy.single(12), 0).logits(queries) for learner in learners)
    assert not np.allclose(one, other)
    assert learners[0].identity != learners[1].identity


def test_missing_classes_are_never_predicted() -> None:
    learner = make_learner(LinearSettings(vocabulary="rows"), Shared())
    texts, labels = toy.sentences(12, 0)
    model = learner.fit(TrainingRows(Texts.of(texts), labels * 2, 4), 0)
    logits = model.logits(toy.single(20, seed=1).texts)
    assert np.isneginf(logits[:, [1, 3]]).all()
    assert np.isfinite(logits[:, [0, 2]]).all()
    only = learner.fit(TrainingRows(Texts.of(texts), np.full(12, 3), 4), 0)
    assert set(only.predict(Texts.of(texts))) == {3}
    assert model.logits(Texts.of([])).shape == only.logits(Texts.of([])).shape == (0, 4)


def test_weights_move_the_prediction() -> None:
    rows = toy.single(12)
    heavy = np.where(rows.labels == 1, 20.0, 1.0)
    learner = make_learner(LinearSettings(vocabulary="rows"), Shared())
    queries = Texts.of(["unheard of"])
    even = learner.fit(rows, 0).logits(queries)[0]
    tilted = learner.fit(TrainingRows(rows.texts, rows.labels, 2, heavy), 0).logits(queries)[0]
    assert tilted[1] - tilted[0] > even[1] - even[0] + 0.5


@pytest.mark.parametrize("features", ["tfidf", "characters"])
def test_siamese_lr_reads_the_relation_of_the_texts(features: str) -> None:
    """Label 1 where both texts share a telling word: neither text alone says so."""
    random = np.random.default_rng(0)
    left, right = random.integers(4, size=300), random.integers(4, size=300)
    right = np.where(random.random(300) < 0.5, left, right)
    columns = [[f"the {toy.GOOD[word]} film" for word in side] for side in (left, right)]
    rows = TrainingRows(Texts.of(*columns), (left == right).astype(np.int64), 2)
    settings = LinearSettings(kind="siamese_lr", vocabulary="rows", features=features)
    learner = make_learner(settings, Shared())
    assert toy.accuracy(learner.fit(rows, 0), rows) > 0.95
    assert "of both texts" in learner.title


def test_sparse_pairs_agree_with_the_encoders_dense_ones() -> None:
    from take.encoder.embeddings import pair_features

    columns = Vocabulary(WordCounts(), CORPUS)(CORPUS)
    u, v = columns[0], columns[0][[1, 1, 0, 3]]
    expected = pair_features(u.toarray().astype(np.float32), v.toarray().astype(np.float32))
    np.testing.assert_allclose(sparse_pairs(u, v).toarray(), expected, atol=1e-6)


def test_the_wrong_task_is_refused_and_the_right_learner_named() -> None:
    shared = Shared()
    with pytest.raises(InputError, match="use siamese_lr"):
        make_learner(LinearSettings(vocabulary="rows"), shared).fit(toy.pairs(), 0)
    siamese = LinearSettings(kind="siamese_lr", vocabulary="rows")
    with pytest.raises(InputError, match="use lr"):
        make_learner(siamese, shared).fit(toy.single(), 0)
    model = make_learner(LinearSettings(vocabulary="rows"), shared).fit(toy.single(), 0)
    with pytest.raises(InputError, match="cannot predict pairs"):
        model.predict(toy.pairs().texts)


def test_a_corpus_vocabulary_must_be_given() -> None:
    with pytest.raises(InputError, match="none was given"):
        make_learner(LinearSettings(), Shared())
    with pytest.raises(InputError, match="no encoder"):
        make_learner(LinearSettings(features="phi"), Shared())
