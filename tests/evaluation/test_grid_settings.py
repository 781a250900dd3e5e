from __future__ import annotations

import pytest
import yaml
from pydantic import ValidationError

from take.errors import InputError
from take.evaluation.grid_settings import (
    BenchmarkSettings,
    EvaluationSettings,
    GridSettings,
    LearnerChoices,
)
from take.learners import DEFAULTS
from tests.conftest import ROOT


def test_names_are_words_on_a_command_line() -> None:
    settings = BenchmarkSettings(
        corpora="sst2 mnli",
        methods=" random  take ",
        learners="lr textcnn",
        curve_methods="kmeans",
        curve_learners="lr",
        budgets={"sst2": "20/class 5/class"},
        methods_by_learner={"textcnn": "take"},
    )
    assert settings.corpora == ("sst2", "mnli")
    assert settings.methods == ("random", "take")
    assert settings.learners == ("lr", "textcnn")
    assert settings.curve_methods == ("kmeans",)
    assert settings.curve_learners == ("lr",)
    assert settings.budgets_of("sst2") == ("20/class", "5/class")
    assert settings.methods_by_learner == {"textcnn": ("take",)}
    assert BenchmarkSettings(corpora=["sst2"], methods=["take"]).methods == ("take",)


@pytest.mark.parametrize(
    "given",
    [
        {"methods": ["randm"]},
        {"methods": "take randm"},
        {"curve_methods": ["randm"]},
        {"quickly": {"methods": ["randm"]}},
        {"methods_by_learner": {"textcnn": ["randm"]}},
    ],
)
def test_an_unknown_method_is_refused_wherever_it_is_named(given: dict) -> None:
    with pytest.raises(ValidationError, match="no method is called 'randm'.*did you mean 'random'"):
        BenchmarkSettings(**given)


def test_an_unknown_learner_is_refused() -> None:
    with pytest.raises(InputError, match="no learner is called 'texrnn'.*did you mean 'textrnn'"):
        LearnerChoices().of("texrnn")
    with pytest.raises(ValidationError, match="no learner is called 'textcn'.*'textcnn'"):
        LearnerChoices(evaluation_rows={"textcn": 100})
    mine = {"mine": {"kind": "lr", "inverse_penalty": 3.0}}
    assert (
        LearnerChoices(settings=mine, evaluation_rows={"mine": 5}).of("mine").inverse_penalty == 3
    )


@pytest.mark.parametrize(
    "given",
    [
        {"sets": 0},
        {"trainings": 101},
        {"full_sets": 0},
        {"metrics": {"mrpc": "f1"}},
        {"metrics": {"mrpc": "accuracy_f1"}},  # DiLM's, not a headline
        {"pool": -1},
        {"set": 3},
        {"baselines": {"fiel": "rows.csv"}},
    ],
)
def test_invalid_values_are_refused(given: dict) -> None:
    with pytest.raises(ValidationError):
        EvaluationSettings(**given)


def test_a_learner_predicts_at_least_one_row() -> None:
    for rows in (0, -5):
        with pytest.raises(ValidationError, match="evaluation_rows.textcnn"):
            LearnerChoices(evaluation_rows={"textcnn": rows})


def test_word_vectors_reach_both_networks_and_no_other_setting_of_theirs() -> None:
    own = {"kind": "textcnn", "filters": 7}
    elsewhere = {"kind": "textrnn", "words": {"source": "mine.txt"}}
    choices = LearnerChoices(
        word_vectors="glove.txt", settings={"textcnn": own, "elsewhere": elsewhere}
    )
    assert choices.of("textcnn").words.source == "glove.txt"
    assert choices.of("textcnn").filters == 7
    assert choices.of("textrnn").words.source == "glove.txt"
    assert choices.of("elsewhere").words.source == "mine.txt"
    assert choices.of("textrnn").model_dump(exclude={"words"}) == DEFAULTS["textrnn"].model_dump(
        exclude={"words"}
    )
    assert LearnerChoices().of("textrnn") == DEFAULTS["textrnn"]


def test_logistic_regression_has_a_form_for_each_task() -> None:
    names = ("lr", "lr_rows", "siamese_lr", "siamese_lr_phi", "textcnn", "transformer")
    choices = LearnerChoices()
    assert choices.suited(names, pairs=False) == ("lr", "lr_rows", "textcnn", "transformer")
    assert choices.suited(names, pairs=True) == (
        *("siamese_lr", "siamese_lr_phi", "textcnn", "transformer"),
    )


def test_the_quick_grid_is_the_grid_with_less() -> None:
    given = {"full_sets": 7, "trainings": 3, "metrics": {"mrpc": "macro_f1"}, "sets": 9}
    whole, quick = BenchmarkSettings(**given), BenchmarkSettings(quick=True, **given)
    assert whole.grid.sets == 9
    assert whole.grid.methods == whole.methods
    assert (quick.grid.sets, quick.grid.trainings, quick.grid.full_sets) == (2, 3, 7)
    assert quick.grid.metrics == {"mrpc": "macro_f1"}
    assert set(quick.grid.methods) < set(whole.grid.methods)
    assert set(quick.grid.learners) < set(whole.grid.learners)
    own = BenchmarkSettings(quick=True, quickly={"methods": "take", "learners": "lr", "sets": 1})
    assert (own.grid.methods, own.grid.learners, own.grid.sets) == (("take",), ("lr",), 1)
    budgets = {"sst2": ["20/class", "5/class"]}
    assert BenchmarkSettings(budgets=budgets, quick=True).budgets_of("sst2") == ("20/class",)
    assert BenchmarkSettings(budgets=budgets).budgets_of("sst2") == ("20/class", "5/class")
    assert BenchmarkSettings(budgets=budgets).budgets_of("imdb") == ("20/class",)


def test_budgets_are_validated() -> None:
    assert BenchmarkSettings(budgets={"sst2": [40, "0.1%"]}).budgets_of("sst2") == ("40", "0.1%")
    for wrong in (["20/clas"], ["0/class"], ["200%"], [], [[5]], None):
        with pytest.raises(ValidationError, match="budgets.sst2"):
            BenchmarkSettings(budgets={"sst2": wrong})


def test_a_learner_without_a_list_of_its_own_is_trained_with_all_methods() -> None:
    settings = GridSettings(
        methods="full random take", learners="lr", methods_by_learner={"slow": "take full"}
    )
    assert settings.methods_for("lr", settings.methods) == ("full", "random", "take")
    assert settings.methods_for("slow", settings.methods) == ("full", "take")
    assert settings.methods_for("slow", ("random",)) == ()


def test_the_project_s_own_settings_are_valid() -> None:
    written = (ROOT / "conf/base/parameters_evaluation.yml").read_text(encoding="utf-8")
    settings = yaml.safe_load(written)
    settings["learners"]["word_vectors"] = "tokens"
    settings["evaluation"] |= {"corpus": "films", "pool": 0}
    choices = LearnerChoices.model_validate(settings["learners"])
    grids = (
        EvaluationSettings.model_validate(settings["evaluation"]),
        BenchmarkSettings.model_validate(settings["benchmark"]),
    )
    for grid in grids:
        for name in (*grid.learners, *grid.methods_by_learner):
            choices.of(name)
        assert "full" in grid.methods
        assert "random" in grid.methods  # what is shown is compared with it
        assert {"constant", "random_unstratified"} <= set(grid.methods)
    assert set(grids[1].quickly.methods) <= set(grids[1].methods)
    corpora = yaml.safe_load((ROOT / "conf/base/corpora.yml").read_text(encoding="utf-8"))
    named = {*grids[0].metrics, *grids[1].metrics, *grids[1].budgets}
    assert named <= set(corpora["corpora"])
