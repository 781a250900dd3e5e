"""Material for methods out of what a run has made."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from take.errors import InputError
from take.evaluation.methods import method
from take.evaluation.methods.material import BaselineSettings, Material
from take.generation.pool import all_rows
from take.generation.screening.reasons import Reason
from tests.evaluation.tiny import BUDGET, CONTRADICTED, COPIES, POOL_ROWS, SCORING, SELECTION, World

KERNELS = ("exponential", "linear", "cosine", "constant", "last")


def material(world: World, budget: str = BUDGET, scoring: Any = SCORING, **parts: Any) -> Material:
    (pool,) = world.prepared.pools
    of_pool = {name: parts.pop(name) for name in pool._fields if name in parts}
    prepared = replace(world.prepared, pools=(pool._replace(**of_pool),), **parts)
    (found,) = prepared.materials(budget, world.encoder, scoring, SELECTION, COPIES)
    return found


def test_material_is_the_run_s_rows_weights_and_pool(world: World) -> None:
    found, prepared = material(world), world.prepared
    assert found.corpus.texts == [prepared.corpus["text"].tolist()]
    assert found.corpus.labels.tolist() == prepared.corpus["label"].tolist()
    assert found.weights.tolist() == prepared.weights["weight"].tolist()
    assert found.pool.texts == [prepared.pools[0].rows["text"].tolist()]
    np.testing.assert_array_equal(
        found.pool.phi.read(0, POOL_ROWS), prepared.pools[0].embeddings.read(0, POOL_ROWS)
    )
    assert found.class_names == ("bad", "good")
    assert found.budgets == (4, 4)
    assert material(world, "10").budgets == (5, 5)
    assert set(found.unseen) == set(range(40, 160))  # the generator has learnt the first sixty
    assert found.evaluation.of([[f"  {prepared.evaluation_split['text'][3].upper()}!"]]) == [
        (0, "eval-3")
    ]


def test_a_budget_beyond_the_corpus_is_refused(world: World) -> None:
    with pytest.raises(InputError, match="corpus films, class 'bad': the budget is 81.*0 … 80"):
        material(world, "81/class")


def test_weights_by_the_scored_kernel_are_the_scored_ones(world: World) -> None:
    found = material(world)
    by_kernel = {kernel: found.kernel_weights(kernel) for kernel in KERNELS}
    scored = world.prepared.weights["weight"].to_numpy()
    np.testing.assert_allclose(by_kernel[SCORING.kernel], scored, rtol=1e-12)
    for kernel, weights in by_kernel.items():
        assert weights.sum() == pytest.approx(1)
        assert (weights >= 0).all()
        for other in KERNELS[: KERNELS.index(kernel)]:
            assert np.abs(weights - by_kernel[other]).max() > 1e-6, (kernel, other)
    assert found.kernel_weights("last") is by_kernel["last"]  # computed once, used for each set


def test_kernel_weights_are_of_the_trajectory_whichever_scorer_was_used(
    world: World,
) -> None:
    other = SCORING.model_copy(update={"scorer": "uniform", "kernel": (0.0, 1.0, 0.0, 0.0)})
    found = material(world, scoring=other).kernel_weights("exponential")
    np.testing.assert_array_equal(found, material(world).kernel_weights("exponential"))


def test_the_unfiltered_pool_adds_the_contradicted_rows_only(world: World) -> None:
    pool = world.prepared.pools[0]
    found, ledger = material(world).unfiltered(), pool.ledger
    contradicted = ledger.loc[ledger["reason"] == Reason.LABEL_CONTRADICTED, "text"]
    assert len(contradicted) == CONTRADICTED
    assert sorted(found.texts[0]) == sorted([*pool.rows["text"], *contradicted])
    samples = all_rows(pool.rows, ledger)
    labels = dict(zip(samples["text"], samples["label"], strict=True))
    assert [labels[text] for text in found.texts[0]] == found.labels.tolist()
    assert len(ledger) > CONTRADICTED  # the run's own table is not changed
    # A row has the vectors it has in the pool.
    place = {text: row for row, text in enumerate(found.texts[0])}
    rows = [place[text] for text in pool.rows["text"]]
    np.testing.assert_allclose(
        found.phi.read(0, len(found))[rows],
        pool.embeddings.read(0, POOL_ROWS),
        atol=1e-6,
    )


def test_distilled_rows_are_those_of_the_run(world: World) -> None:
    rows = world.prepared.distilled.assign(weight=[1, 2, 3, 4, 1, 2, 3, 4])
    found = method("distilled")(material(world, distilled=rows), BaselineSettings(), 0)
    assert found.texts == [rows["text"].tolist()]
    assert found.labels.tolist() == rows["label"].tolist()
    np.testing.assert_allclose(found.weights, rows["weight"] / 2.5)  # mean 1
    assert material(world, distilled=None).distilled is None


def test_the_identity_covers_what_decides_the_sets_but_not_the_split(world: World) -> None:
    known, prepared, pool = material(world).identity, world.prepared, world.prepared.pools[0]
    assert material(world).identity == known
    others = {
        "budget": material(world, "5/class"),
        "weights": material(world, weights=prepared.weights.assign(weight=1 / 160)),
        "pool": material(world, rows=pool.rows.assign(text=pool.rows["text"] + " .")),
        "generator": material(world, generator_rows=pool.generator_rows.iloc[:30]),
        "distilled": material(world, distilled=prepared.distilled.iloc[::-1]),
    }
    assert len({known, *(other.identity for other in others.values())}) == 6
    split = prepared.evaluation_split.iloc[:5]
    assert material(world, evaluation_split=split).identity == known


def test_the_split_is_sealed_with_the_corpus_s_classes(world: World) -> None:
    split = world.prepared.split()
    assert (len(split), split.n_classes) == (30, 2)
    one_class = world.prepared.evaluation_split.query("label == 1").reset_index(drop=True)
    assert replace(world.prepared, evaluation_split=one_class).split().n_classes == 2


def test_labels_that_the_corpus_does_not_have_are_refused(world: World) -> None:
    split = world.prepared.evaluation_split
    strange = split.assign(label=2, label_name="odd")
    with pytest.raises(InputError, match="corpus films: .*'odd'.*Allowed: 'bad', 'good'.*ingest"):
        replace(world.prepared, evaluation_split=strange).split()
