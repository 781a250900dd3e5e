"""A search that is killed, and rows that were distilled before, on made-up rows."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from take.errors import InputError
from take.pipelines.distillation import nodes
from take.selection.exam.store import StateStore
from tests.pipelines.distillation_data import EXAM, Made, embedded, make

KILLED_AFTER = 2


# --- a search that is killed


def killed_search(folder: Path) -> None:
    """Run in a child process: dies by SIGKILL in mid-search, as when memory runs out."""
    save, saved = StateStore.save, []

    def save_and_die(store: StateStore, state: Any) -> None:
        save(store, state)
        saved.append(state)
        if len(saved) == KILLED_AFTER:
            os.kill(os.getpid(), signal.SIGKILL)

    StateStore.save = save_and_die  # type: ignore[method-assign]
    make().chosen(folder)


def test_a_killed_search_resumes_to_the_same_rows(
    made: Made, exam_choice: nodes.ChosenRows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Forked: a new interpreter would spend seconds on imports.
    child = multiprocessing.get_context("fork").Process(target=killed_search, args=(tmp_path,))
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL
    (state,) = tmp_path.glob("exam-*.safetensors")

    sweeps = []
    save = StateStore.save
    monkeypatch.setattr(
        StateStore, "save", lambda store, state: (sweeps.append(state.sweep), save(store, state))
    )
    resumed = made.chosen(tmp_path)
    assert sweeps[0] == KILLED_AFTER + 1  # the sweeps before were not made again
    assert resumed.selection.equals(exam_choice.selection)
    assert resumed.report.steps == exam_choice.report.steps
    assert resumed.report.figures["swaps"] == exam_choice.report.figures["swaps"] > 0
    # It converged: nothing is left to resume.
    assert not state.exists()


def test_a_search_that_its_limit_has_ended_is_not_made_again(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = {**EXAM, "max_sweeps": 3}
    first = made.chosen(tmp_path, exam=few)
    (state,) = tmp_path.glob("exam-*.safetensors")  # a higher limit resumes from here
    sweeps: list[int] = []
    monkeypatch.setattr(StateStore, "save", lambda store, state: sweeps.append(state.sweep))
    again = made.chosen(tmp_path, exam=few)
    assert sweeps == []
    assert again.selection.equals(first.selection)
    assert state.exists()


def test_a_search_with_other_settings_does_not_use_the_state(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = StateStore.save

    def save_and_fail(store: StateStore, state: Any) -> None:
        save(store, state)
        raise RuntimeError("out of disk")

    with monkeypatch.context() as patched:
        patched.setattr(StateStore, "save", save_and_fail)
        with pytest.raises(RuntimeError, match="out of disk"):
            made.chosen(tmp_path)
    left = list(tmp_path.glob("exam-*"))
    assert len(left) == 2  # the state and its record
    again = made.chosen(tmp_path, seed=3)
    assert again.selection.equals(made.chosen(tmp_path / "other", seed=3).selection)
    assert list(tmp_path.glob("exam-*")) == []  # done: states of other searches are removed, too


# --- distilling again


@pytest.mark.parametrize("name", ["exam", "facility"])
def test_rows_distilled_before_are_kept(made: Made, tmp_path: Path, name: str) -> None:
    first = made.chosen(tmp_path, budget=30, selector=name)
    previous = made.traced(first.selection).distilled
    grown = make(660)
    again = grown.chosen(tmp_path, previous, budget=30, selector=name)
    kept = previous["id"].isin(again.selection["id"]).sum()
    assert kept == again.report.kept_rows >= 24  # `most_replaced` is a fifth
    frozen = grown.chosen(tmp_path, previous, budget=30, selector=name, most_replaced=0.0)
    assert sorted(frozen.selection["id"]) == sorted(previous["id"])
    assert frozen.report.kept_rows == 30


def test_previous_rows_that_left_the_pool_are_counted_and_replaced(
    made: Made, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = made.chosen(tmp_path, selector="facility")
    previous = made.traced(first.selection).distilled
    # Another pool: of the rows distilled before one is gone, and one has another text now.
    gone, reworded = previous["id"][0], previous["id"][1]
    pool = made.pool.copy()
    pool.loc[pool["id"] == reworded, "text"] = "something else"
    stays = (pool["id"] != gone).to_numpy()
    vectors = made.pool_embeddings.read(0, len(pool))[stays]
    smaller = replace(
        made, pool=pool[stays].reset_index(drop=True), pool_embeddings=embedded(vectors)
    )
    with caplog.at_level(logging.WARNING):
        again = smaller.chosen(tmp_path, previous, selector="facility", most_replaced=0.0)
    assert "2 of 15 rows distilled before are no longer candidates" in caplog.text
    assert "something else" not in caplog.text
    assert again.report.kept_rows == 13
    assert len(again.selection) == 15
    assert set(previous["id"][2:]) <= set(again.selection["id"])
    assert gone not in set(again.selection["id"])


def test_candidates_that_copy_a_row_of_the_grown_corpus_are_exchanged(
    made: Made, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = made.chosen(tmp_path, selector="facility")
    previous = made.traced(first.selection).distilled
    in_corpus, in_evaluation = previous["text"][0], previous["text"][1]
    corpus = made.corpus.copy()
    corpus.loc[0, "text"] = in_corpus
    evaluation = made.corpus.head(3).assign(text=["a", f" {in_evaluation} ", "b"])
    grown = replace(made, corpus=corpus)
    with caplog.at_level(logging.INFO):
        again = grown.chosen(
            tmp_path, previous, objections=grown.objections(evaluation), selector="facility"
        )
    reasons = {"copy_of_train": 1, "copy_of_evaluation": 1}
    assert again.report.excluded == reasons
    assert set(again.excluded["id"]) == set(previous["id"][:2])
    assert "2 of 90 candidates are excluded: copy_of_" in caplog.text
    assert not set(previous["id"][:2]) & set(again.selection["id"])
    assert len(again.selection) == 15


@pytest.mark.parametrize("name", ["kmeans", "swap", "random", "semi_relaxed", "received_mass"])
def test_a_selector_that_cannot_begin_from_rows_is_refused(
    made: Made, exam_choice: nodes.ChosenRows, tmp_path: Path, name: str
) -> None:
    previous = made.traced(exam_choice.selection).distilled
    with pytest.raises(InputError, match=f"'{name}' cannot begin from rows chosen before.*exam or"):
        made.chosen(tmp_path, previous, selector=name)
