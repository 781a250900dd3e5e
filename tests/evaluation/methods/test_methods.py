from __future__ import annotations

import numpy as np
import pytest

from take.errors import InputError
from take.evaluation.methods import method
from take.evaluation.methods.corpus_rows import farthest_first, herd, nearest_rows
from take.evaluation.methods.material import BaselineSettings, EdaSettings
from take.rows.blocks import ArrayBlocks
from take.rows.labelled import LabelledRows, text_lengths
from take.selection.selection_settings import ExamSettings, SelectionSettings
from take.selection.selectors import SELECTORS
from tests.evaluation.methods.conftest import labelled, make_material

SETTINGS = BaselineSettings(
    selection=SelectionSettings(exam=ExamSettings(exam_rows=40, validation_rows=20, fewest_rows=10))
)
FROM_CORPUS = ["random", "random_long", "kmeans_long", "herding", "kcenters", "kmeans", "take_real"]
FROM_POOL = ["kmeans_pool", "take", "take_without_kappa", "take_kernel_last"]
SOURCES = {
    **dict.fromkeys(FROM_CORPUS, "corpus"),
    **dict.fromkeys(FROM_POOL, "pool"),
    **{f"take_{name}": "pool" for name in SELECTORS},
    "take_unfiltered": "unfiltered",
}
quiet = pytest.mark.filterwarnings("ignore::take.selection.problem.SelectionWarning")


def phi_of(material, rows):
    return material.corpus.phi.read(0, len(material.corpus))[rows]


@quiet
@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("name", SOURCES)
def test_rows_are_distinct_fill_the_budget_and_come_from_the_source(name, pairs):
    material = make_material(pairs, budgets=(2, 0, 3))
    made = method(name)(material, SETTINGS, seed=3)
    assert made.source == SOURCES[name]
    source = getattr(material, made.source)
    source = source() if callable(source) else source
    assert len(set(made.rows.tolist())) == 5
    assert np.bincount(made.labels, minlength=3).tolist() == [2, 0, 3]
    assert (made.labels == source.labels[made.rows]).all()
    assert made.texts == [[column[row] for row in made.rows] for column in source.texts]
    assert made.weights.tolist() == [1.0] * 5


@quiet
@pytest.mark.parametrize("name", [*SOURCES, "random_unstratified"])
def test_the_same_seed_makes_the_same_rows(name, material):
    first, again = (method(name)(material, SETTINGS, seed=7) for _ in range(2))
    assert first.rows.tolist() == again.rows.tolist()


@pytest.mark.parametrize("name", ["random", "random_unstratified", "kcenters"])
def test_another_seed_makes_other_rows(name, material):
    first, other = (method(name)(material, SETTINGS, seed=seed) for seed in (0, 1))
    assert set(first.rows.tolist()) != set(other.rows.tolist())


def test_full_is_the_corpus_as_it_is(material):
    made = method("full")(material, SETTINGS, seed=0)
    assert made.texts == material.corpus.texts
    assert made.labels.tolist() == material.corpus.labels.tolist()


def test_unstratified_rows_have_random_classes(material):
    counts = [
        np.bincount(method("random_unstratified")(material, SETTINGS, seed).labels, minlength=3)
        for seed in range(200)
    ]
    assert all(count.sum() == 12 for count in counts)
    assert any(count.tolist() != [4, 4, 4] for count in counts)
    assert np.mean(counts, axis=0) == pytest.approx([4, 4, 4], abs=0.4)


def test_unstratified_rows_may_miss_a_class():
    material = make_material(budgets=(1, 1, 1))
    made = [method("random_unstratified")(material, SETTINGS, seed) for seed in range(20)]
    assert all(len(rows) == 3 for rows in made)
    assert {len(set(rows.labels.tolist())) for rows in made} >= {2, 3}


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("name", ["random_long", "kmeans_long"])
def test_long_rows_are_of_the_longer_half_of_their_class(name, pairs):
    material = make_material(pairs, budgets=(2, 1, 3))
    lengths = text_lengths(material.corpus.texts)
    made = method(name)(material, SETTINGS, seed=3)
    for label in range(3):
        median = np.median(lengths[material.members(label)])
        assert (lengths[made.rows[made.labels == label]] >= median).all()
    everything = make_material(pairs, budgets=tuple(np.bincount(material.corpus.labels)))
    assert len(method(name)(everything, SETTINGS, seed=3)) == len(everything.corpus)


def one_class(points, budget):
    count = len(points)
    texts = [[f"row {i}" for i in range(count)]]
    phi = ArrayBlocks(points.astype(np.float32))
    corpus = LabelledRows(phi, texts, np.zeros(count, dtype=np.int64))
    weights = np.full(count, 1 / count)
    return make_material(corpus=corpus, weights=weights, class_names=("all",), budgets=(budget,))


@pytest.mark.parametrize("name", ["random", "random_unstratified", "herding", "kcenters", "kmeans"])
@pytest.mark.parametrize("budget", [1, 3, 8])
def test_rows_are_distinct_even_if_all_are_equal_or_all_are_taken(name, budget):
    """K-means then has clusters without rows, and k-centres no row that is farther than another."""
    points = np.tile(np.eye(1, 4), (8, 1))
    rows = method(name)(one_class(points, budget), SETTINGS, seed=1).rows
    assert len(set(rows.tolist())) == len(rows) == budget


@pytest.mark.parametrize("name", ["herding", "kcenters", "kmeans"])
def test_rows_are_the_same_if_they_do_not_fit_into_memory(name, material, monkeypatch):
    """16 MB is the least that can be set."""
    held = method(name)(material, SETTINGS, 0)
    read = type(material).vectors
    monkeypatch.setattr(
        type(material), "vectors", lambda self, members, _: read(self, members, memory_bytes=0)
    )
    assert method(name)(material, SETTINGS, 0).rows.tolist() == held.rows.tolist()


def test_centres_are_the_farthest_by_plain_distances():
    rows = labelled(60, 4).phi.read(0, 60)
    chosen = [11]
    for _ in range(9):
        distances = ((rows[:, None] - rows[chosen][None]) ** 2).sum(axis=2).min(axis=1)
        chosen.append(int(distances.argmax()))
    assert farthest_first(ArrayBlocks(rows), 10, first=11).tolist() == chosen


@pytest.mark.parametrize("name", ["random", "herding", "kcenters"])
def test_a_smaller_budget_makes_the_first_rows_of_a_larger(name):
    small, large = (
        method(name)(make_material(budgets=(k, 0, 0)), SETTINGS, seed=2).rows for k in (3, 9)
    )
    assert small.tolist() == large[:3].tolist()


def test_herding_follows_welling_s_equations():
    rows = labelled(40, 3).phi.read(0, 40)
    mean, pull, expected = rows.mean(axis=0), rows.mean(axis=0), []
    for _ in range(8):
        order = [row for row in np.argsort(-(rows @ pull)) if row not in expected]
        expected.append(int(order[0]))
        pull = pull + mean - rows[order[0]]
    assert herd(ArrayBlocks(rows), 8).tolist() == expected


def test_a_herd_is_nearer_to_the_mean_than_random_rows(material):
    mean = phi_of(material, material.members(0)).mean(axis=0)

    def distance(name, seed):
        made = method(name)(material, SETTINGS, seed)
        return np.linalg.norm(phi_of(material, made.rows[made.labels == 0]).mean(axis=0) - mean)

    random = [distance("random", seed) for seed in range(40)]
    assert distance("herding", 0) < np.quantile(random, 0.1)


def test_centres_leave_no_row_farther_than_twice_the_least_possible():
    # Four far clusters of five: with four centres, each cluster must have one.
    rng = np.random.default_rng(0)
    points = np.repeat(10 * np.eye(4), 5, axis=0) + rng.uniform(-1, 1, (20, 4))
    for first in range(20):
        chosen = farthest_first(ArrayBlocks(points.astype(np.float32)), 4, first)
        assert chosen[0] == first
        assert sorted(chosen // 5) == [0, 1, 2, 3]


def test_centres_of_equal_rows_are_still_distinct():
    rows = ArrayBlocks(np.ones((4, 2), dtype=np.float32))
    assert sorted(farthest_first(rows, 4, first=2).tolist()) == [0, 1, 2, 3]


def test_nearest_rows_are_the_best_assignment_of_all(monkeypatch):
    from scipy.optimize import linear_sum_assignment

    rng = np.random.default_rng(1)
    rows, centres = rng.standard_normal((70, 3)), rng.standard_normal((6, 3)) * 0.2
    costs = ((centres[:, None] - rows[None]) ** 2).sum(axis=2)
    best = costs[linear_sum_assignment(costs)].sum()
    monkeypatch.setattr(
        "take.evaluation.methods.corpus_rows.block_bounds",
        lambda n: [(i, min(i + 16, n)) for i in range(0, n, 16)],
    )
    found = nearest_rows(ArrayBlocks(rows.astype(np.float32)), centres.astype(np.float32))
    assert len(set(found.tolist())) == 6
    assert costs[np.arange(6), found].sum() == pytest.approx(best, rel=1e-5)


def test_kmeans_spreads_over_clusters():
    points = np.repeat(np.eye(6, dtype=np.float32)[:3], 10, axis=0)
    points += np.random.default_rng(0).normal(0, 0.02, points.shape).astype(np.float32)
    texts, labels = labelled(30, 1).texts, np.zeros(30, dtype=np.int64)
    clustered = LabelledRows(ArrayBlocks(points), texts, labels)
    material = make_material(
        corpus=clustered, weights=np.full(30, 1 / 30), class_names=("all",), budgets=(3,)
    )
    for seed in range(5):
        rows = method("kmeans")(material, SETTINGS, seed).rows
        assert sorted(rows // 10) == [0, 1, 2]


def test_without_kappa_weights_count_for_nothing(material):
    skewed = np.where(material.corpus.phi.read(0, 90)[:, 3] > 0.3, 1.0, 1e-4)
    other = make_material(weights=skewed / skewed.sum())
    settings = BaselineSettings(selection=SelectionSettings(selector="facility"))

    def rows(name, given):
        return method(name)(given, settings, 0).rows.tolist()

    assert rows("take_without_kappa", material) == rows("take_without_kappa", other)
    assert rows("take", material) != rows("take", other)
    assert rows("take", material) == rows("take_facility", material)


def test_eda_augments_the_rows_that_random_draws(material, wordnet):
    settings = BaselineSettings(eda=EdaSettings(wordnet=wordnet))
    drawn = method("random")(material, settings, 5)
    made = method("eda")(material, settings, 5)
    assert len(made) == 10 * len(drawn)
    assert made.texts[0][::10] == drawn.texts[0]
    assert made.labels.tolist() == np.repeat(drawn.labels, 10).tolist()
    assert made.rows is None
    assert made.weights.tolist() == [1.0] * len(made)
    again = method("eda")(material, settings, 5)
    assert made.digest == again.digest
    assert made.digest != method("eda")(material, settings, 6).digest


def test_eda_augments_both_texts_of_a_pair(wordnet):
    settings = BaselineSettings(eda=EdaSettings(wordnet=wordnet))
    material = make_material(pairs=True)
    made = method("eda")(material, settings, 5)
    drawn = method("random")(material, settings, 5)
    assert [column[::10] for column in made.texts] == drawn.texts
    pairs = list(zip(*made.texts, strict=True))
    for number, (text_a, text_b) in enumerate(zip(*drawn.texts, strict=True)):
        copies = pairs[10 * number : 10 * number + 10]
        assert any(a != text_a for a, _ in copies)
        assert any(b != text_b for _, b in copies)
        # None has a text of another row: "row 7 of 1" loses a number at most.
        assert all(set(a.split()) & set(text_a.split()) for a, _ in copies)


def test_budgets_beyond_a_class_are_refused_by_its_name():
    with pytest.raises(InputError, match=r"class 'fair': the budget is 31. Allowed: 0 … 30"):
        make_material(budgets=(1, 31, 1))


def test_a_missing_pool_and_unknown_unseen_rows_are_refused(material):
    with pytest.raises(InputError, match="no pool"):
        method("take_facility")(make_material(pool=None), SETTINGS, 0)
    with pytest.raises(InputError, match="was not trained on"):
        method("take_exam")(make_material(unseen=None), SETTINGS, 0)
