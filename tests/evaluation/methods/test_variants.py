from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from take.errors import InputError
from take.evaluation.methods import METHODS, method
from take.evaluation.methods import selection as selection_module
from take.evaluation.methods.material import BaselineSettings, NotApplicableError, TrainingSet
from take.evaluation.methods.selection import corpus_rows
from take.rows.blocks import ArrayBlocks
from take.scoring.weights import kernel_values
from take.selection.selection_settings import ExamSettings, SelectionSettings
from take.selection.selectors import SELECTORS
from tests.evaluation.methods.conftest import kernel_weights, labelled, make_material

FACILITY = BaselineSettings(selection=SelectionSettings(selector="facility"))
EXAM = BaselineSettings(
    selection=SelectionSettings(exam=ExamSettings(exam_rows=40, validation_rows=20, fewest_rows=10))
)
KERNELS = [name.removeprefix("take_kernel_") for name in METHODS if "kernel" in name]


def training_set(count=12):
    texts = [[f"a distilled row {i}" for i in range(count)]]
    return TrainingSet(texts, np.arange(count) % 3, np.linspace(0.5, 1.5, count), "pool")


def test_every_kernel_is_a_method_and_no_selector_hides_another_method():
    assert len(KERNELS) == 5
    for name in KERNELS:
        assert len(kernel_values(name, checkpoints=4, decay=1.0)) == 4
    for name in SELECTORS:
        assert METHODS[f"take_{name}"].selector == name
    assert not {"real", "unfiltered", "without_kappa"} & set(SELECTORS)
    assert not any(name.startswith("kernel_") for name in SELECTORS)


@pytest.mark.parametrize("name", KERNELS)
def test_only_the_weights_of_the_named_kernel_are_computed(name):
    queries = []

    def weights(kernel):
        queries.append(kernel)
        return kernel_weights(kernel)

    made = method(f"take_kernel_{name}")(make_material(kernel_weights=weights), FACILITY, 0)
    as_weights = make_material(weights=kernel_weights(name), kernel_weights=None)
    assert queries == [name]
    assert made.digest == method("take")(as_weights, FACILITY, 0).digest


def test_only_take_itself_has_a_playoff(monkeypatch):
    """Each variant makes one search, as `take_exam` does: compared with it, one part differs."""
    playoff = {"sets": 2, "learners": ("char_lr",), "recipes": ("transformer",)}
    exam = EXAM.selection.exam.model_dump() | {"playoff": playoff}
    settings = BaselineSettings(selection=SelectionSettings(exam=exam))
    assert settings.selection.playoff_learners == ("char_lr",)
    playoffs = []

    def choose(name):
        def chosen(problem, choice, work):
            found = SELECTORS[name](problem, choice, work)
            playoffs.append(found.playoff)
            return found

        return chosen

    monkeypatch.setattr(selection_module, "selector", choose)
    for name in ("take", "take_exam", "take_without_kappa"):
        method(name)(make_material(), settings, 0)
    assert [found is not None for found in playoffs] == [True, False, False]
    assert playoffs[0].recipes == ()  # a grid trains learners of its own
    one = method("take_exam")(make_material(), EXAM, 0)
    assert method("take_exam")(make_material(), settings, 0).digest == one.digest


def test_take_long_draws_long_exam_rows(monkeypatch):
    quantiles = []

    def choose(name):
        def chosen(problem, choice, work):
            quantiles.append(choice.exam.length_quantiles)
            return SELECTORS[name](problem, choice, work)

        return chosen

    monkeypatch.setattr(selection_module, "selector", choose)
    for name in ("take_exam", "take_long"):
        method(name)(make_material(), EXAM, 0)
    assert quantiles == [(0.0, 1.0), (0.5, 1.0)]


def test_variants_are_computed_on_demand():
    def never(*_):
        raise AssertionError

    material = make_material(kernel_weights=never, unfiltered=never)
    assert len(method("take")(material, FACILITY, 0)) == 12
    assert len(method("take_real")(material, FACILITY, 0)) == 12


MISSING = {
    "take_kernel_last": (
        {"kernel_weights": None},
        r"corpus films, kernel 'last': the weights by other kernels are not available.*leave "
        "'take_kernel_last' out",
    ),
    "take_kernel_linear": (
        {"kernel_weights": lambda name: np.full(7, 1 / 7)},
        r"kernel 'linear': there are 7 weights. Allowed: one for each of 90 rows",
    ),
    "take_unfiltered": ({"unfiltered": None}, "before the label filter is not available"),
    "take_real": ({"pool": None}, "there is no pool"),
    "distilled": ({"distilled": None}, r"no distilled rows. Fix: run the pipeline 'distilla"),
}


@pytest.mark.parametrize("name", MISSING)
def test_a_missing_variant_is_refused(name):
    changes, message = MISSING[name]
    with pytest.raises(InputError, match=message) as caught:
        method(name)(make_material(**changes), FACILITY, 0)
    # What a corpus does not have is left out of a grid; what is wrong is not.
    assert isinstance(caught.value, NotApplicableError) == (name != "take_kernel_linear")


def test_distilled_rows_are_the_run_s_own():
    rows = training_set()
    material = make_material(distilled=rows)
    assert all(method("distilled")(material, FACILITY, seed) is rows for seed in (0, 1))


def test_distilled_rows_of_another_budget_are_refused():
    material = make_material(distilled=training_set(9))
    with pytest.raises(InputError, match="distilled 9 rows. Allowed: 12, the budget"):
        method("distilled")(material, FACILITY, 0)


def test_unfiltered_candidates_are_those_of_the_unfiltered_pool():
    material = make_material()
    made = method("take_unfiltered")(material, FACILITY, 0)
    as_pool = make_material(pool=labelled(75, 3))
    assert made.digest == method("take")(as_pool, FACILITY, 0).digest
    assert made.source == "unfiltered"


def classes_of(candidates):
    return np.bincount(candidates.table.labels, minlength=3).tolist()


def test_real_candidates_are_as_many_as_the_pool_s_and_known_rows_first():
    known = np.flatnonzero(np.arange(90) % 5 < 4)  # 72 rows
    unseen = np.setdiff1d(np.arange(90), known)
    material = make_material(unseen=unseen, pool=labelled(45, 2))
    candidates = corpus_rows(material, seed=0)
    assert classes_of(candidates) == [15, 15, 15]
    assert not set(candidates.numbers.tolist()) & set(unseen.tolist())
    assert candidates.unseen.tolist() == unseen.tolist()
    assert candidates.numbers.tolist() == corpus_rows(material, seed=0).numbers.tolist()
    assert candidates.numbers.tolist() != corpus_rows(material, seed=1).numbers.tolist()


def test_unseen_rows_that_become_candidates_are_not_exam_rows():
    unseen = np.arange(10, 90)
    material = make_material(unseen=unseen)
    candidates = corpus_rows(material, seed=0)
    numbers = set(candidates.numbers.tolist())
    assert set(range(10)) <= numbers
    assert set(candidates.unseen.tolist()) == set(unseen.tolist()) - numbers
    assert len(candidates.unseen) >= 40  # half of them at least, for the exam
    texts = [material.corpus.texts[0][row] for row in candidates.numbers]
    assert candidates.table.texts == [texts]
    rows = material.corpus.phi.read(0, 90)[candidates.numbers]
    assert (candidates.table.phi.read(0, len(rows)) == rows).all()


def test_no_exam_row_has_the_text_of_a_candidate():
    corpus = labelled(90, 1)
    texts = [text.upper() for text in corpus.texts[0]]
    texts[50] = f" {texts[3]}"  # the same row but for a blank, and perhaps another label
    corpus = replace(corpus, texts=[texts])
    material = make_material(corpus=corpus, unseen=np.arange(45, 90), pool=labelled(90, 2))
    candidates = corpus_rows(material, seed=0)
    assert 3 in candidates.numbers
    assert 50 not in candidates.unseen


def test_real_candidates_are_enough_for_the_budget():
    """Half of the unseen rows stay exam rows, unless the budget needs them."""
    candidates = corpus_rows(make_material(budgets=(28, 4, 4), pool=labelled(30, 2)), seed=0)
    assert classes_of(candidates) == [28, 10, 10]
    candidates = corpus_rows(make_material(pool=labelled(600, 2), unseen=None), seed=0)
    assert classes_of(candidates) == [30, 30, 30]
    assert candidates.unseen is None


def test_exam_rows_are_never_candidates(monkeypatch):
    given = []
    inner = SELECTORS["exam"]

    def spied(problem, settings, work=None):
        given.append(problem)
        return inner(problem, settings, work)

    monkeypatch.setitem(SELECTORS, "exam", spied)
    material = make_material()
    made = method("take_real")(material, EXAM, 0)
    candidates = {text for column in given[0].pool.texts for text in column}
    queries = {material.corpus.texts[0][row] for row in given[0].unseen}
    assert queries
    assert not queries & candidates
    assert made.texts == [[material.corpus.texts[0][row] for row in made.rows]]


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("name", ["take", "take_real", "take_unfiltered", "take_facility"])
def test_variants_fill_the_budget_of_single_texts_and_pairs(name, pairs):
    material = make_material(
        pairs,
        corpus=labelled(90, 1, pairs),
        pool=labelled(60, 2, pairs),
        unfiltered=lambda: labelled(75, 3, pairs),
    )
    made = method(name)(material, EXAM, 0)
    assert np.bincount(made.labels).tolist() == [4, 4, 4]


CHANGES = {
    "name": {"name": "movies"},
    "budgets": {"budgets": (4, 4, 3)},
    "class names": {"class_names": ("bad", "fair", "fine")},
    "weights": {"weights": np.full(90, 1 / 90)},
    "unseen": {"unseen": np.arange(89)},
    "no unseen": {"unseen": None},
    "pool": {"pool": labelled(60, 9)},
    "no pool": {"pool": None},
    "corpus": {"corpus": labelled(90, 9)},
    "distilled": {"distilled": training_set()},
    "labels": {"corpus": replace(labelled(90, 1), labels=labelled(90, 1).labels[::-1].copy())},
    "encoder": {"pool": replace(labelled(60, 2), phi=ArrayBlocks(np.ones((60, 6), np.float32)))},
}


@pytest.mark.parametrize("what", CHANGES)
def test_materials_that_make_other_sets_have_other_identities(what):
    assert make_material(**CHANGES[what]).identity != make_material().identity


def test_equal_materials_have_one_identity(tmp_path):
    first = make_material()
    assert len(first.identity) == 64
    others = {"work": tmp_path, "kernel_weights": None, "unfiltered": None, "evaluation": None}
    assert make_material(**others).identity == first.identity


def test_digests_depend_on_texts_labels_and_weights():
    rows = training_set()
    other_text = [["A", *rows.texts[0][1:]]]
    moved = [["ab", "c", *rows.texts[0][2:]]], [["a", "bc", *rows.texts[0][2:]]]
    sets = [
        rows,
        replace(rows, texts=other_text),
        replace(rows, labels=rows.labels[::-1].copy()),
        replace(rows, weights=np.ones(12)),
        replace(rows, texts=[*rows.texts, *rows.texts]),
        *(replace(rows, texts=texts) for texts in moved),
    ]
    assert max(Counter(made.digest for made in sets).values()) == 1
    assert replace(rows, source="made", rows=None).digest == rows.digest
