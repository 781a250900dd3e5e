"""The table that people read."""

from __future__ import annotations

import re

from take.estimate.report import Estimate, StageCost


def made(*stages: StageCost) -> Estimate:
    return Estimate(
        corpus="films",
        budget="20/class",
        rows=7440,
        evaluation_rows=1090,
        cores=2,
        calibration_seconds=31.4,
        stages=list(stages),
        notes=["A note."],
    )


def cost(name: str, **fields: object) -> StageCost:
    plain = {"seconds": 0, "peak_megabytes": 0, "disk_megabytes": 0}
    return StageCost(stage=name, **{**plain, **fields})


def test_the_table_has_a_line_per_stage_and_a_total():
    lines = (
        made(
            cost(
                "embedding", seconds=35, peak_megabytes=900, disk_megabytes=12, decided_by="strings"
            ),
            cost("fine-tuning", seconds=290, peak_megabytes=2700, disk_megabytes=40),
            cost("selection", reused=True),
        )
        .table()
        .splitlines()
    )
    assert lines[0] == (
        "films, 20/class: 7,440 rows, 1,090 for evaluation; calibrated in 31 s on 2 cores"
    )
    assert [re.split(r"  +", line) for line in lines[2:-2]] == [
        ["stage", "time", "memory", "disk", "decided by"],
        ["embedding", "35 s", "900 MB", "12 MB", "strings"],
        ["fine-tuning", "4 min 50 s", "2.7 GB", "40 MB"],
        ["selection", "reused"],
        ["total", "5 min 25 s", "2.7 GB", "52 MB", "± 40%"],
    ]
    assert lines[-1] == "A note."


def test_columns_stand_below_each_other():
    lines = made(cost("a", seconds=1), cost("much longer", seconds=5000)).table().splitlines()[2:5]
    assert len({re.search(r"(time|\d+ s|\d+ h)", line).start() for line in lines}) == 1


def test_where_all_is_reused_nothing_was_calibrated():
    table = made(cost("embedding", reused=True), cost("selection", reused=True)).table()
    assert "calibrated" not in table
    assert re.search(r"total +seconds +nothing changed", table)
