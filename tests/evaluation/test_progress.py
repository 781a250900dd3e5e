from __future__ import annotations

import logging

import pytest

from take.cost import costing, resident_megabytes
from take.evaluation.progress import Progress

LEARNERS = ["lr"] * 4 + ["textcnn"] * 10


def test_time_left_is_estimated_for_each_learner() -> None:
    progress = Progress(LEARNERS)
    assert progress.seconds_left == 0  # nothing is known yet
    progress.done("lr", 1.0)
    assert progress.seconds_left == pytest.approx(3 * 1.0 + 10 * 1.0)
    progress.done("textcnn", 20.0)
    progress.done("textcnn", 40.0)
    assert progress.seconds_left == pytest.approx(3 * 1.0 + 8 * 30.0)
    assert progress.cells_done == 3


def test_training_sets_count_too() -> None:
    progress = Progress(["lr"], methods=["take", "take", "random"])
    progress.made("take", 100.0)
    progress.made("random", 0.5)
    assert progress.seconds_left == pytest.approx(100.0)
    progress.made("take", None)
    assert progress.seconds_left == 0


def test_stored_and_failed_cells_count_as_done_but_not_for_the_rate() -> None:
    progress = Progress(LEARNERS)
    progress.done("textcnn", 30.0)
    for _ in range(6):
        progress.done("textcnn", None)
    for _ in range(4):
        progress.done("lr", None)
    assert progress.cells_done == 11
    assert progress.seconds_left == pytest.approx(3 * 30.0)


def test_progress_is_logged_from_time_to_time(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    often, seldom = Progress(["textcnn"] * 1500, every=0.0), Progress(LEARNERS, every=3600.0)
    often.done("textcnn", 5.0, "films 4/class, textcnn trained on 'random'")
    seldom.done("textcnn", 5.0)
    assert caplog.messages == [
        "1 of 1,500 cells done, about 2 h 5 min left. Last: films 4/class, textcnn trained on "
        "'random'."
    ]
    often.done("textcnn", None)  # stored cells are not logged
    assert len(caplog.messages) == 1


def test_the_peak_memory_counts_what_was_freed_again() -> None:
    import mmap
    import time

    before = resident_megabytes()
    with costing() as cost:
        # New pages from the operating system: a freed block of an earlier test may be resident.
        block = mmap.mmap(-1, 200_000_000)
        for page in range(0, len(block), mmap.PAGESIZE):
            block[page] = 1
        time.sleep(0.2)
        block.close()
    assert cost.peak_megabytes > before + 150
    assert cost.seconds >= 0.2


def test_failed_work_is_measured_and_its_watcher_stops() -> None:
    import threading

    with pytest.raises(ValueError, match="no"), costing() as cost:
        raise ValueError("no")
    assert cost.peak_megabytes > 0
    assert cost.seconds > 0
    assert not [one for one in threading.enumerate() if "_sample" in one.name]
