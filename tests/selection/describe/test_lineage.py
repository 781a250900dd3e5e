"""Which training rows each distilled row stands for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from take.errors import InputError
from take.rows.blocks import ArrayBlocks
from take.selection.describe.lineage import (
    _check,
    lineage_tables,
    trace,
)
from take.transport.costs import TransportError
from tests.selection.describe.distillations import (
    distances_of,
    make_distillation,
    rows_of,
    tables_of,
)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 1000),
    scope=st.sampled_from(["class", "global"]),
    plan=st.sampled_from(["nearest", "entropic"]),
    top=st.integers(1, 90),
)
def test_no_mass_is_lost_and_every_row_is_assigned_once(seed, scope, plan, top):
    made = make_distillation(scope=scope, seed=seed)
    corpus, distilled = tables_of(made)
    lineage, totals, assignments = lineage_tables(
        trace(made, plan, top, epsilon=0.2), corpus, distilled
    )
    listed = lineage.groupby("id")["mass"].sum().reindex(totals["id"]).fillna(0).to_numpy()
    np.testing.assert_allclose(listed, totals["listed_mass"], atol=1e-6)
    np.testing.assert_allclose(
        totals["listed_mass"] + totals["unlisted_mass"], totals["assigned_mass"], atol=1e-6
    )
    assert totals["assigned_mass"].sum() == pytest.approx(1, abs=1e-6)
    assert assignments["source_id"].tolist() == corpus["id"].tolist()
    assert assignments["id"].isin(totals["id"]).all()
    assert totals["rows"].sum() == len(corpus)
    assert (lineage.groupby("id").size() <= top).all()
    if scope == "class":
        names = distilled.set_index("id")["label_name"]
        assert (lineage["id"].map(names) == lineage["source_label_name"]).all()
        assert (assignments["id"].map(names).to_numpy() == corpus["label_name"].to_numpy()).all()


@pytest.mark.parametrize("scope", ["class", "global"])
def test_each_row_goes_whole_to_its_nearest_allowed_row(scope):
    made = make_distillation(scope=scope)
    distances = distances_of(made)
    if scope == "class":
        distances[made.labels[:, None] != made.target_labels[None]] = np.inf
    found = trace(made, top=5)
    np.testing.assert_array_equal(found.main_target, distances.argmin(axis=1))
    np.testing.assert_allclose(found.main_distance, distances.min(axis=1), rtol=1e-5)
    expected = np.bincount(found.main_target, weights=made.weights, minlength=12)
    np.testing.assert_allclose(found.assigned, expected, atol=1e-12)
    for target in range(12):
        mine = np.flatnonzero(found.main_target == target)
        heaviest = mine[np.argsort(-made.weights[mine], kind="stable")][:5]
        entries = found.target == target
        np.testing.assert_array_equal(found.row[entries], heaviest)
        np.testing.assert_allclose(found.distance[entries], distances[heaviest, target], rtol=1e-5)


def test_the_tables_hold_the_lineage():
    made = make_distillation()
    corpus, distilled = tables_of(made)
    found = trace(made, top=3)
    lineage, totals, assignments = lineage_tables(found, corpus, distilled)
    assert list(lineage) == [
        *("id", "rank", "source_id", "mass", "share", "distance"),
        *("source_text", "source_label_name"),
    ]
    # In the order of the distilled table, heaviest first.
    order = lineage["id"].map({name: place for place, name in enumerate(distilled["id"])})
    assert order.is_monotonic_increasing
    for _, part in lineage.groupby("id"):
        assert part["rank"].tolist() == list(range(1, len(part) + 1))
        assert part["mass"].is_monotonic_decreasing
    first = lineage.iloc[0]
    row = int(first["source_id"].removeprefix("train-"))
    assert first["source_text"] == f"train secret {row}"
    assert first["mass"] == pytest.approx(made.weights[row])
    total = totals.set_index("id").loc[first["id"]]
    assert first["share"] == pytest.approx(first["mass"] / total["assigned_mass"])
    mine = assignments[assignments["id"] == first["id"]]
    assert total["rows"] == len(mine)
    assert total["mean_distance"] == pytest.approx(mine["distance"].mean(), rel=1e-5)


def test_totals_name_and_quote_no_training_row():
    made = make_distillation()
    released = lineage_tables(trace(made), *tables_of(made)).totals
    assert "train" not in released.to_csv()
    assert "secret" not in released.to_csv()


def test_pairs_keep_both_texts():
    made = make_distillation()
    lineage = lineage_tables(trace(made), *tables_of(made, pair=True)).lineage
    row = lineage["source_id"].iloc[0].removeprefix("train-")
    assert lineage["source_text_a"].iloc[0] == f"train secret a {row}"
    assert lineage["source_text_b"].iloc[0] == f"train secret b {row}"


@pytest.mark.parametrize("plan", ["nearest", "entropic"])
def test_a_class_of_weight_0_is_assigned_to_its_own_rows_with_no_mass(plan):
    made = make_distillation()
    weights = np.where(made.labels == 1, 0, made.weights)
    made = replace(made, weights=weights / weights.sum())
    found = trace(made, plan, epsilon=0.2)
    members = made.labels == 1
    assert (made.target_labels[found.main_target[members]] == 1).all()
    assert found.assigned[made.target_labels == 1].sum() == 0
    assert not np.isin(found.target, np.flatnonzero(made.target_labels == 1)).any()
    assert found.assigned.sum() == pytest.approx(1)
    assert len(found.strays) == 0


@pytest.mark.parametrize("plan", ["nearest", "entropic"])
def test_rows_of_a_class_without_distilled_rows_go_to_the_nearest_of_any(plan):
    made = make_distillation()
    made = replace(made, chosen=made.chosen[made.target_labels != 2])
    found = trace(made, plan, top=1, epsilon=0.2)
    strays = np.flatnonzero(made.labels == 2)
    np.testing.assert_array_equal(found.strays, strays)
    np.testing.assert_array_equal(
        found.main_target[strays], distances_of(made)[strays].argmin(axis=1)
    )
    assert found.assigned.sum() == pytest.approx(1, abs=1e-6)
    assert len(trace(replace(made, scope="global"), plan, epsilon=0.2).strays) == 0


def test_the_heaviest_row_without_its_class_is_listed_first():
    made = make_distillation()
    made = replace(made, chosen=made.chosen[made.target_labels != 2])
    heavy = int(np.flatnonzero(made.labels == 2)[0])
    weights = made.weights.copy()
    weights[heavy] = 1
    found = trace(replace(made, weights=weights / weights.sum()), top=2)
    target = found.main_target[heavy]
    assert found.row[found.target == target][0] == heavy
    assert (np.bincount(found.target) <= 2).all()


def test_an_entropic_plan_gives_rows_of_a_class_equal_shares_of_its_mass():
    made = make_distillation()
    found = trace(made, "entropic", epsilon=0.1)
    for label in range(3):
        mass = made.weights[made.labels == label].sum()
        mine = found.assigned[made.target_labels == label]
        np.testing.assert_allclose(mine, mass / 4, atol=1e-5)


def test_a_row_without_mass_has_no_mean_distance():
    made = make_distillation()
    twin = replace(
        made,
        pool=np.vstack([made.pool, made.pool[made.chosen[:1]]]),
        pool_labels=np.append(made.pool_labels, made.target_labels[0]),
        chosen=np.append(made.chosen, len(made.pool)),
    )
    totals = lineage_tables(trace(twin), *tables_of(twin)).totals
    assert totals["rows"].iloc[-1] == 0
    assert totals["assigned_mass"].iloc[-1] == 0
    assert np.isnan(totals["mean_distance"].iloc[-1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda made: {"weights": made.weights * 2}, "weights: the sum is 2"),
        (lambda made: {"weights": np.where(made.labels, -1.0, 1.0)}, "some are negative"),
        (lambda made: {"labels": made.labels[1:]}, r"labels: shape is \(239,\)"),
        (lambda made: {"chosen": made.chosen[[0, 0]]}, "chosen: 2 rows, 1 of them different"),
        (lambda made: {"chosen": np.array([60])}, "0 … 59"),
        (lambda made: {"chosen": np.array([], dtype=np.int64)}, "chosen: 0 rows"),
        (lambda made: {"pool": made.pool * 2}, "pool: ‖φ‖ is off by 1"),
        (lambda made: {"corpus": ArrayBlocks(rows_of(made) * np.nan)}, "corpus: ‖φ‖ is off"),
        (lambda made: {"scope": "klass"}, "scope: 'klass'.*'class', 'global'"),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    made = make_distillation()
    with pytest.raises(InputError, match=message):
        replace(made, **change(made))


def test_tables_that_do_not_fit_and_unknown_plans_are_refused():
    made = make_distillation()
    corpus, distilled = tables_of(made)
    found = trace(made)
    with pytest.raises(InputError, match="distilled: 11 rows"):
        lineage_tables(found, corpus, distilled.iloc[1:])
    with pytest.raises(InputError, match="corpus, column 'id': ids repeat"):
        lineage_tables(found, corpus.assign(id="same"), distilled)
    with pytest.raises(InputError, match="plan: 'best'"):
        trace(made, "best")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="top: 0"):
        trace(made, top=0)


@pytest.mark.parametrize(
    ("field", "message"),
    [("assigned", "sum to 1 ± 0.0"), ("main_target", "1 rows are not assigned")],
)
def test_a_lineage_that_does_not_add_up_is_never_returned(field, message):
    found = trace(make_distillation())
    values = getattr(found, field).copy()
    values[0] = -1 if field == "main_target" else values[0] + 0.01
    with pytest.raises(TransportError, match=message):
        _check(replace(found, **{field: values}))
