"""A playoff prefers rows that train better models, and says by how much it was lucky."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from take.learners import DEFAULTS, Learner, Shared, Texts, TrainingRows, make_learner
from take.learners.base import Model
from take.rows.labelled import LabelledRows
from take.selection.exam import selector as selector_module
from take.selection.exam import task as task_module
from take.selection.exam.playoff import Trainers, calibrated_loss, playoff
from take.selection.exam.selector import exam
from take.selection.selection_settings import ExamSettings, PlayoffSettings, SelectionSettings
from tests.selection.conftest import labelled_rows, make_selection_problem

PLAYOFF = {
    "sets": 3,
    "learners": ("char_lr",),
    "recipes": (),
    "validation_rows": 40,
    "fresh_rows": 60,
}
EXAM = {"exam_rows": 150, "validation_rows": 80, "fewest_rows": 20, "max_sweeps": 30}
SETTINGS = SelectionSettings(exam=ExamSettings(**EXAM, playoff=PLAYOFF))


@dataclass
class Counted:
    """A real learner that counts its trainings, and may be killed in one."""

    learner: Learner
    killed_in: int | None = None
    fits: list[int] = field(default_factory=list)

    name, title = "char_lr", "counted"

    @property
    def identity(self) -> str:
        return self.learner.identity

    def fit(self, rows: TrainingRows, seed: int, updates: int | None = None) -> Model:
        if len(self.fits) == self.killed_in:
            raise KeyboardInterrupt
        self.fits.append(seed)
        return self.learner.fit(rows, seed)

    fit_to_convergence = None


def trainers(killed_in: int | None = None, validation: int = 5) -> Trainers:
    rows = [labelled_rows(90, 3, np.random.default_rng(seed)) for seed in (validation, 6)]
    learner = make_learner(DEFAULTS["char_lr"], Shared())
    return Trainers({"char_lr": Counted(learner, killed_in)}, *rows)


def counted(of: Trainers) -> list[int]:
    return of.learners["char_lr"].fits


@pytest.fixture(scope="module")
def sets() -> list[TrainingRows]:
    """Five sets with more and more wrong labels; the fourth has none."""
    found = []
    for number, wrong in enumerate((0.3, 0.5, 0.7, 0.0, 0.9)):
        rows = labelled_rows(30, 3, np.random.default_rng(10 + number))
        labels = rows.labels.copy()
        labels[: int(wrong * 30)] = (labels[: int(wrong * 30)] + 1) % 3
        found.append(TrainingRows(Texts.of(*rows.texts), labels, 3))
    return found


def test_the_set_with_right_labels_wins(sets):
    for order in ([0, 1, 2, 3, 4], [3, 4, 0, 1, 2]):
        result = playoff([sets[number] for number in order], trainers(), settings())
        assert order[result.winner] == 3
        assert result.mean("fresh_accuracy", result.winner) > result.mean("fresh_accuracy") + 0.1


@pytest.mark.parametrize(
    ("rounds", "times"), [(1, [1] * 5), (2, [1, 1, 2, 2, 2]), (3, [1, 1, 2, 3, 3])]
)
def test_the_better_half_is_trained_again(sets, rounds, times):
    result = playoff(sets, trainers(), settings(rounds=rounds))
    trained = Counter(trial.set for trial in result.trials)
    assert sorted(trained.values()) == times
    assert trained[result.winner] == rounds
    assert {trial.training for trial in result.trials if trial.set == result.winner} == set(
        range(rounds)
    )


def test_killed_it_resumes_with_the_trainings_that_are_done(sets, tmp_path: Path):
    whole = playoff(sets, trainers(), settings())
    with pytest.raises(KeyboardInterrupt):
        playoff(sets, trainers(killed_in=4), settings(), tmp_path)
    rest = trainers()
    assert playoff(sets, rest, settings(), tmp_path) == whole
    assert len(counted(rest)) == len(whole.trials) - 4
    again = trainers()
    assert playoff(sets, again, settings(), tmp_path) == whole
    assert counted(again) == []
    other = trainers(validation=7)  # other validation rows are another playoff
    playoff(sets, other, settings(), tmp_path)
    assert len(counted(other)) == len(whole.trials)


def test_the_summary_is_of_the_winner_and_the_best_recipe(sets):
    result = playoff(sets[:3], trainers(), settings(rounds=1))
    assert (result.validation_rows, result.fresh_rows) == (90, 90)
    won = result.trials[result.winner]
    figures = {name: {"char_lr": getattr(won, name)} for name in ("accuracy", "fresh_accuracy")}
    assert result.summary == figures
    recipes = [won.model_copy(update={"learner": f"r{n}", "accuracy": n / 4}) for n in (1, 3, 2)]
    tried = result.model_copy(update={"recipes": tuple(recipes)})
    assert tried.summary == figures | {"recipe": "r3"}


def test_the_loss_does_not_depend_on_how_sure_a_learner_is():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 200)
    logits = rng.standard_normal((200, 3)) + np.eye(3)[labels]
    weights = np.full(200, 1 / 200)
    loss = calibrated_loss(logits, labels, weights)
    assert calibrated_loss(1000 * logits, labels, weights) == pytest.approx(loss, rel=1e-9)
    assert loss < np.log(3)
    shuffled = calibrated_loss(logits[rng.permutation(200)], labels, weights)
    assert shuffled == pytest.approx(np.log(3), abs=0.05)
    assert np.isfinite(calibrated_loss(np.where([0, 0, 1], -np.inf, logits), labels, weights))


def test_exam_takes_the_rows_that_won(monkeypatch):
    problem = make_selection_problem((4, 4, 4))
    found_by = []
    real = task_module.best_rows

    def kept(*args):
        found_by.append(real(*args))
        return found_by[-1]

    monkeypatch.setattr(selector_module, "best_rows", kept)
    found = exam(problem, SETTINGS)
    assert {trial.set for trial in found.playoff.trials} == {0, 1, 2}
    sets = [np.concatenate(result.rows).tolist() for result in found_by]
    assert len({tuple(rows) for rows in sets}) > 1  # else any winner would do
    assert found.rows.tolist() == sets[found.playoff.winner]
    assert exam(problem, SETTINGS).rows.tolist() == found.rows.tolist()
    assert exam(problem, replaced(sets=0)).playoff is None


def test_exam_rows_have_the_lengths_asked_for(monkeypatch):
    problem = make_selection_problem((4, 4, 4))
    padded = [text + " x" * (row % 7) for row, text in enumerate(problem.corpus.texts[0])]
    problem = replace(problem, corpus=replace(problem.corpus, texts=[padded]))
    seen = []
    real = task_module.best_rows
    monkeypatch.setattr(
        selector_module, "best_rows", lambda task, *rest: (seen.append(task), real(task, *rest))[1]
    )
    quantiles = {"length_quantiles": (0.5, 1.0), "exam_rows": 60, "validation_rows": 30}
    exam(problem, SelectionSettings(exam=ExamSettings(**{**EXAM, **quantiles})))
    exam(problem, SelectionSettings(exam=ExamSettings(**EXAM)))
    middle = np.median([len(padded[row]) for row in problem.unseen])
    shortest = [min(len(text) for text in task.exam.texts[0]) for task in seen]
    assert shortest[0] >= middle > shortest[1]


@pytest.mark.encoder
def test_recipes_are_tried_on_the_only_set():
    problem = make_selection_problem((4, 4, 4))
    one = exam(problem, replaced(sets=1, recipes=("transformer_lpft",)))
    (tried,) = one.playoff.recipes
    assert (tried.learner, tried.set, one.playoff.trials) == ("transformer_lpft", 0, ())
    assert one.playoff.recipe == tried
    assert one.playoff.summary["recipe"] == "transformer_lpft"
    assert exam(problem, replaced(sets=1)).playoff is None


def test_fresh_rows_decide_nothing(monkeypatch):
    """With the labels of fresh rows changed, the same set wins, and only its report differs."""
    problem = make_selection_problem((4, 4, 4))
    found = exam(problem, SETTINGS)
    real = LabelledRows.take

    def shifted(rows: LabelledRows, index) -> LabelledRows:
        taken = real(rows, index)
        if len(index) == EXAM["validation_rows"] // 4:  # fresh rows
            return replace(taken, labels=(taken.labels + 1) % 3)
        return taken

    monkeypatch.setattr(LabelledRows, "take", shifted)
    other = exam(problem, SETTINGS)
    assert other.rows.tolist() == found.rows.tolist()
    pairs = list(zip(found.playoff.trials, other.playoff.trials, strict=True))
    assert all(a.loss == b.loss for a, b in pairs)
    assert any(a.fresh_accuracy != b.fresh_accuracy for a, b in pairs)


def test_killed_in_a_playoff_the_searches_are_kept(tmp_path: Path, monkeypatch):
    problem = make_selection_problem((4, 4, 4))
    whole = exam(problem, SETTINGS)

    def killed(*_args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Trainers, "trial", killed)
        with pytest.raises(KeyboardInterrupt):
            exam(problem, SETTINGS, tmp_path)
    assert len(list(tmp_path.glob("exam-*.safetensors"))) == 3
    assert exam(problem, SETTINGS, tmp_path).rows.tolist() == whole.rows.tolist()
    assert not list(tmp_path.glob("exam-*.safetensors"))


def settings(**changes) -> PlayoffSettings:
    return PlayoffSettings(**{**PLAYOFF, **changes})


def replaced(**playoff_settings) -> SelectionSettings:
    settings = {**PLAYOFF, **playoff_settings}
    return SelectionSettings(exam=ExamSettings(**EXAM, playoff=settings))
