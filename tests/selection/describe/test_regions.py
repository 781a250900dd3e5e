from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from take.rows.blocks import ArrayBlocks
from take.selection.describe.distillation import Distillation
from take.selection.describe.indicators import least_covered_regions
from take.selection.describe.map import principal_plane
from tests.selection.describe.distillations import (
    distances_of,
    make_distillation,
    rows_of,
    tables_of,
    unit,
)


def far_groups(pool_has_them):
    """A corpus round one pole with two small groups elsewhere; only the pole was distilled."""
    rng = np.random.default_rng(0)
    places = np.eye(6)[np.repeat([0, 1, 2], [970, 18, 12])]
    rows = unit(places + 0.05 * rng.standard_normal((1000, 6)))
    pool = unit(np.eye(6)[[0, 1, 2] if pool_has_them else [0, 0, 0]] + 0.01)
    labels = np.zeros(1000, dtype=np.int64)
    return Distillation(
        ArrayBlocks(rows), np.full(1000, 1e-3), labels, pool, np.zeros(3, dtype=np.int64), [0]
    )


@pytest.mark.parametrize("pool_has_them", [True, False])
def test_the_worst_regions_are_found_with_their_distance_to_the_pool(pool_has_them):
    made = far_groups(pool_has_them)
    corpus, distilled = tables_of(made)
    report, table = least_covered_regions(
        made, made.cover().allowed, corpus, distilled, share=0.03, most_regions=2, examples=4
    )
    assert sorted(round(region.share, 3) for region in report.values()) == [0.012, 0.018]
    for region in report.values():
        assert region.distance > 1.2
        assert (region.pool_distance < 0.3) == pool_has_them
    assert table["region"].tolist() == [1] * 4 + [2] * 4
    assert report["1"].distance >= report["2"].distance
    # The examples are rows of the group, next to the distilled row closest to them.
    row = int(table["id"].iloc[0].removeprefix("train-"))
    assert row >= 970
    assert table["text"].iloc[0] == f"train secret {row}"
    assert (table["closest_id"] == "made-0").all()
    distances = distances_of(made)[:, 0]
    assert table["distance"].iloc[0] == pytest.approx(distances[row], rel=1e-5)
    assert table["region_share"].iloc[0] == report["1"].share


def test_what_the_pool_has_of_another_class_does_not_count():
    made = replace(far_groups(True), pool_labels=np.array([0, 1, 1]))
    for scope, near in (("class", False), ("global", True)):
        part = replace(made, scope=scope)
        found = least_covered_regions(part, part.cover().allowed, *tables_of(part), 0.03, 2)
        assert all((each.pool_distance < 0.3) == near for each in found.report.values())


def test_fewer_rows_than_regions_make_fewer_regions():
    made = make_distillation()
    alike = replace(made, corpus=ArrayBlocks(np.tile(rows_of(made)[:1], (240, 1))))
    found = least_covered_regions(alike, alike.cover().allowed, *tables_of(alike), share=0.02)
    assert list(found.report) == ["1"]


def test_the_plane_is_that_of_the_largest_variance():
    rng = np.random.default_rng(0)
    rows = (rng.standard_normal((200, 5)) * [0.1, 3, 0.1, 1, 0.1]).astype(np.float32)
    plane = principal_plane(rows)
    np.testing.assert_allclose(np.abs(plane.axes[:, [1, 3]]), np.eye(2), atol=0.05)
    assert plane.project(rows).std(axis=0) == pytest.approx([3, 1], rel=0.2)
    assert plane.shares[0] == pytest.approx(9 / 10, abs=0.03)
