"""The nodes of `distillation` on made-up rows, without a Kedro run and without any model."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from take.distillation.settings import DescriptionSettings
from take.encoder.embeddings import Embeddings, MappedVectors
from take.errors import InputError
from take.knowledge.trajectory import ProbeTrajectory
from take.pipelines.distillation import nodes
from take.selection.exam import selector as exam_module
from take.selection.exam.store import StateStore
from take.selection.settings import SelectionSettings
from take.selection.tables import unseen_rows
from tests.conftest import ROOT

NAMES = ["bad", "good", "odd"]
N_FEATURES = 12
EXAM = {"exam_rows": 200, "watched_rows": 100, "max_sweeps": 5, "patience": 9}
KILLED_AFTER = 2
DESCRIPTION = DescriptionSettings(sample_rows=100, lineage_rows=5)


@dataclass(frozen=True)
class Made:
    """What the stages before have made."""

    corpus: pd.DataFrame
    embeddings: Embeddings
    weights: pd.DataFrame
    trajectory: ProbeTrajectory
    pool: pd.DataFrame
    pool_embeddings: Embeddings
    generator_rows: pd.DataFrame

    def chosen(
        self,
        work: Path,
        previous: pd.DataFrame | None = None,
        budget: str | int = 15,
        evaluation_split: pd.DataFrame | None = None,
        **options: Any,
    ) -> nodes.ChosenRows:
        settings = SelectionSettings(**{"exam": EXAM, **options})
        inputs = [getattr(self, name) for name in self.__dataclass_fields__]
        return nodes.chosen_rows(*inputs, work, budget, settings, previous, evaluation_split)

    def traced(self, selection: pd.DataFrame, **description: Any) -> nodes.TracedRows:
        settings = DESCRIPTION.model_copy(update=description)
        return nodes.traced_rows(selection, *self._both(), SelectionSettings(exam=EXAM), settings)

    def described(
        self, distilled: pd.DataFrame, chosen: nodes.ChosenRows, **choice: Any
    ) -> nodes.Description:
        settings = SelectionSettings(**{"exam": EXAM, **choice})
        return nodes.description(distilled, *chosen, *self._both(), settings, DESCRIPTION)

    def _both(self) -> tuple[Any, ...]:
        return self.pool, self.pool_embeddings, self.corpus, self.embeddings, self.weights


def rows(n: int, prefix: str, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Three classes that overlap in vectors and in words; more rows begin with the same ones."""
    centres = np.random.default_rng(0).standard_normal((3, N_FEATURES)) * 0.5
    noise = np.random.default_rng([seed, 0]).standard_normal((n, N_FEATURES))
    words = np.random.default_rng([seed, 1]).integers(0, 30, (n, 4))
    labels = np.arange(n) % 3
    phi = centres[labels] + noise
    phi /= np.linalg.norm(phi, axis=1, keepdims=True)
    texts = [
        f"{prefix} {i} c{y} w{'x w'.join(map(str, w))}"
        for i, (y, w) in enumerate(zip(labels, words, strict=True))
    ]
    table = pd.DataFrame(
        {
            "id": [f"{prefix}-{i}" for i in range(n)],
            "text": texts,
            "label": labels,
            "label_name": [NAMES[label] for label in labels],
        }
    )
    return table, phi.astype(np.float32)


def embedded(phi: np.ndarray) -> Embeddings:
    return Embeddings(MappedVectors(phi), np.arange(len(phi))[:, None])


def make(n_rows: int = 600) -> Made:
    corpus, phi = rows(n_rows, "row", 1)
    pool, pool_phi = rows(90, "candidate", 2)
    weights = np.random.default_rng(3).gamma(2.0, 1.0, n_rows)
    rng, empty = np.random.default_rng(4), np.zeros(1)
    probe = rng.standard_normal((1, 3, N_FEATURES)).astype(np.float32)
    return Made(
        corpus,
        embedded(phi),
        pd.DataFrame({"id": corpus["id"], "weight": weights / weights.sum()}),
        ProbeTrajectory(
            probe,
            np.zeros((1, 3), np.float32),
            np.zeros(1, np.int64),
            empty,
            empty,
            np.zeros(1, np.int64),
            empty,
            empty,
        ),
        pool,
        embedded(pool_phi),
        pd.DataFrame(
            {
                "id": corpus["id"],
                "role": ["trained" if i < 200 else "held_out" for i in range(n_rows)],
            }
        ),
    )


@pytest.fixture(scope="module")
def made() -> Made:
    return make()


@pytest.fixture(scope="module")
def exam_choice(made: Made, tmp_path_factory: pytest.TempPathFactory) -> nodes.ChosenRows:
    return made.chosen(tmp_path_factory.mktemp("searches"))


# --- choosing


@pytest.mark.filterwarnings("ignore::take.selection.problem.SelectionWarning")
@pytest.mark.parametrize(
    "name", ["exam", "facility", "swap", "semi_relaxed", "kmeans", "random", "received_mass"]
)
def test_every_selector_fills_the_budget_of_each_class(
    made: Made, tmp_path: Path, name: str
) -> None:
    selection, report, path = made.chosen(tmp_path, budget="4/class", selector=name)
    assert selection["label"].tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert selection["id"].is_unique
    pool = made.pool.set_index("id").loc[selection["id"]]
    assert pool["label_name"].tolist() == selection["label_name"].tolist()
    assert (report.selector, report.budget, report.rows) == (name, "4/class", 12)
    assert report.pool_rows == 90
    assert report.kept_rows is None
    assert bool(report.steps) == (name == "exam")
    assert path.empty == (name not in ("exam", "facility"))


def test_the_exam_asks_only_rows_that_no_candidate_was_learnt_from(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = []

    def seen(task: Any, *arguments: Any, **options: Any) -> Any:
        tasks.append(task)
        return exam_module_best_taught(task, *arguments, **options)

    exam_module_best_taught = exam_module.best_taught
    monkeypatch.setattr(exam_module, "best_taught", seen)
    made.chosen(tmp_path)
    trained = set(made.corpus["text"][:200])
    (task,) = tasks
    asked = [*task.examined.texts[0], *task.watched.texts[0]]
    assert len(set(asked)) == len(asked) == 300
    assert not trained & set(asked)


def test_tempering_and_geometry_reach_the_choice(made: Made, tmp_path: Path) -> None:
    def ids(**options: Any) -> list[str]:
        return sorted(made.chosen(tmp_path, selector="facility", **options).selection["id"])

    plain = ids()
    assert ids() == plain
    assert ids(tempering=0.0) != plain
    assert ids(geometry={"margin": 5.0}) != plain
    assert ids(geometry={"lexical": 5.0}) != plain


def test_a_budget_beyond_the_pool_names_the_class(made: Made, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="class 0: .*30 candidates.*at least 31"):
        made.chosen(tmp_path, budget="31/class", selector="facility")


# --- a search that is killed


def killed_search(folder: str) -> None:
    """Run in a child process: dies by SIGKILL, as of a machine out of memory, in mid-search."""
    save, saved = StateStore.save, []

    def save_and_die(store: StateStore, state: Any) -> None:
        save(store, state)
        saved.append(state)
        if len(saved) == KILLED_AFTER:
            os.kill(os.getpid(), signal.SIGKILL)

    StateStore.save = save_and_die  # type: ignore[method-assign]
    make().chosen(Path(folder))


def test_a_killed_search_goes_on_to_the_same_rows(
    made: Made, exam_choice: nodes.ChosenRows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = f"from {__name__} import killed_search; killed_search({str(tmp_path)!r})"
    child = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True)
    assert child.returncode == -signal.SIGKILL, child.stderr.decode()
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
    # Its limit of sweeps ended it: who allows more goes on from here.
    assert state.exists()
    sweeps.clear()
    made.chosen(tmp_path)
    assert sweeps == []


def test_a_search_with_other_settings_does_not_take_the_state_up(
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
    anew = made.chosen(tmp_path, seed=1)
    assert anew.selection.equals(made.chosen(tmp_path / "other", seed=1).selection)
    assert list(tmp_path.glob("exam-*")) == []  # done: what others left is of no use any more


# --- distilling again


@pytest.mark.parametrize("name", ["exam", "facility"])
def test_rows_distilled_before_stay_where_they_still_stand(
    made: Made, tmp_path: Path, name: str
) -> None:
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
    # Another pool: of the rows distilled before one is gone, and one says something else now.
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
    assert "2 of 15 rows distilled before are not in the pool any more" in caplog.text
    assert "something else" not in caplog.text
    assert again.report.kept_rows == 13
    assert len(again.selection) == 15
    assert set(previous["id"][2:]) <= set(again.selection["id"])
    assert gone not in set(again.selection["id"])


def test_candidates_that_copy_a_row_that_has_come_in_are_left_out(
    made: Made, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = made.chosen(tmp_path, selector="facility")
    previous = made.traced(first.selection).distilled
    in_corpus, in_evaluation = previous["text"][0], previous["text"][1]
    corpus = made.corpus.copy()
    corpus.loc[0, "text"] = in_corpus
    evaluation = made.corpus.head(3).assign(text=["a", f" {in_evaluation} ", "b"])
    with caplog.at_level(logging.INFO):
        again = replace(made, corpus=corpus).chosen(
            tmp_path, previous, evaluation_split=evaluation, selector="facility"
        )
    assert "2 candidates copy a row that has come in" in caplog.text
    assert not set(previous["id"][:2]) & set(again.selection["id"])
    assert len(again.selection) == 15


@pytest.mark.parametrize("name", ["kmeans", "swap", "random", "semi_relaxed", "received_mass"])
def test_a_selector_that_cannot_begin_from_rows_is_refused(
    made: Made, exam_choice: nodes.ChosenRows, tmp_path: Path, name: str
) -> None:
    previous = made.traced(exam_choice.selection).distilled
    with pytest.raises(InputError, match=f"'{name}' cannot begin from rows chosen before.*exam or"):
        made.chosen(tmp_path, previous, selector=name)


# --- what is said of the rows


def test_weights_by_mass_have_mean_one_and_change_no_row(
    made: Made, exam_choice: nodes.ChosenRows
) -> None:
    uniform, mass = (
        made.traced(exam_choice.selection, sample_weights=how) for how in ("uniform", "mass")
    )
    assert (uniform.distilled["weight"] == 1).all()
    assert mass.distilled["weight"].mean() == pytest.approx(1)
    expected = mass.lineage_totals["assigned_mass"] * len(mass.distilled)
    np.testing.assert_allclose(mass.distilled["weight"], expected)
    assert mass.distilled["weight"].std() > 0.1
    columns = ["id", "text", "label", "label_name"]
    assert mass.distilled[columns].equals(uniform.distilled[columns])
    assert mass.lineage.equals(uniform.lineage)


@pytest.mark.parametrize("plan", ["nearest", "entropic"])
def test_masses_add_up_and_every_row_is_assigned_once(
    made: Made, exam_choice: nodes.ChosenRows, plan: str
) -> None:
    found = made.traced(exam_choice.selection, plan=plan, lineage_rows=7)
    totals = found.lineage_totals.set_index("id")["assigned_mass"]
    assert totals.sum() == pytest.approx(1, abs=1e-6)
    listed = found.lineage.groupby("id")["mass"].sum().reindex(totals.index, fill_value=0)
    unlisted = found.lineage_totals.set_index("id")["unlisted_mass"]
    assert (listed + unlisted - totals).abs().max() < 1e-6
    assert found.lineage.groupby("id").size().max() == 7
    assert found.assignments["source_id"].tolist() == made.corpus["id"].tolist()
    # The nearest row of the same class, by brute force.
    chosen = made.pool.set_index("id").index.get_indexer(exam_choice.selection["id"])
    phi = made.embeddings.read(0, len(made.corpus)).astype(np.float64)
    targets = made.pool_embeddings.read(0, len(made.pool))[chosen].astype(np.float64)
    distance = np.sqrt(((phi[:, None] - targets) ** 2).sum(axis=2))
    other_class = (
        made.corpus["label"].to_numpy()[:, None] != exam_choice.selection["label"].to_numpy()
    )
    distance[other_class] = np.inf
    if plan == "nearest":
        expected = exam_choice.selection["id"].to_numpy()[distance.argmin(axis=1)]
        assert found.assignments["id"].tolist() == expected.tolist()
        np.testing.assert_allclose(found.assignments["distance"], distance.min(axis=1), atol=1e-5)
    else:  # all rows of a class stand for equally much
        per_class = found.lineage_totals.groupby("label_name")["assigned_mass"]
        assert per_class.std().max() < 1e-5


def test_the_description_counts_what_the_tables_say(
    made: Made, exam_choice: nodes.ChosenRows
) -> None:
    found = made.traced(exam_choice.selection)
    described = made.described(found.distilled, exam_choice)
    report = described.report
    assert (report.rows, report.pool_rows, report.run.budget) == (15, 90, "15")
    cost = float(made.weights["weight"] @ found.assignments["distance"].to_numpy() ** 2)
    assert report.cost == pytest.approx(cost, rel=1e-4)
    mean = float(found.assignments["distance"].mean())
    assert report.coverage.own_class is not None
    assert report.coverage.own_class.mean == pytest.approx(mean, rel=1e-4)
    assert described.budget_curve["rows_per_class"].tolist() == list(range(1, 11))  # 2 × budget
    assert described.least_covered["id"].isin(made.corpus["id"]).all()
    pictures = (described.transport_map, described.coverage_plot, described.budget_plot)
    texts = [*made.corpus["text"], *made.pool["text"]]
    for figure in (*pictures, nodes.search_plot(exam_choice.report)):
        drawn = figure.to_json()
        assert not any(text in drawn for text in texts)
    written = report.model_dump_json()
    assert not any(text in written for text in texts)


def test_the_curve_along_the_path_taken_is_the_one_found_anew(
    made: Made, exam_choice: nodes.ChosenRows
) -> None:
    path = exam_choice.greedy_path
    assert path.groupby("part")["rank"].apply(list).tolist() == [list(range(1, 11))] * 3
    labels = path["id"].map(made.pool.set_index("id")["label"])
    assert (labels == path["part"]).all()
    distilled = made.traced(exam_choice.selection).distilled
    along = made.described(distilled, exam_choice).budget_curve
    anew = made.described(distilled, exam_choice._replace(greedy_path=path.iloc[:0])).budget_curve
    pd.testing.assert_frame_equal(along, anew)


def test_a_global_choice_is_traced_and_described(made: Made, tmp_path: Path) -> None:
    chosen = made.chosen(tmp_path, selector="facility", scope="global")
    settings = SelectionSettings(selector="facility", scope="global")
    traced = nodes.traced_rows(chosen.selection, *made._both(), settings, DESCRIPTION)
    assert len(traced.distilled) == 15
    assert traced.lineage_totals["assigned_mass"].sum() == pytest.approx(1, abs=1e-6)
    described = made.described(traced.distilled, chosen, selector="facility", scope="global")
    assert described.report.run.scope == "global"
    assert described.budget_curve["rows"].tolist() == list(range(1, 31))


def test_pairs_go_all_the_way(made: Made, tmp_path: Path) -> None:
    def paired(table: pd.DataFrame) -> pd.DataFrame:
        pair = table.rename(columns={"text": "text_a"})
        pair.insert(2, "text_b", table["text"].to_numpy()[::-1])
        return pair

    def pair_vectors(embeddings: Embeddings) -> Embeddings:
        n_rows = len(embeddings.rows)
        index = np.stack([np.arange(n_rows), np.arange(n_rows)[::-1]], axis=1)
        return Embeddings(embeddings.strings, index)

    probe = np.zeros((1, 3, 4 * N_FEATURES), np.float32)
    pairs = replace(
        made,
        corpus=paired(made.corpus),
        pool=paired(made.pool),
        embeddings=pair_vectors(made.embeddings),
        pool_embeddings=pair_vectors(made.pool_embeddings),
        trajectory=replace(made.trajectory, weights=probe),
    )
    chosen = pairs.chosen(tmp_path, geometry={"lexical": 0.2})
    traced = pairs.traced(chosen.selection)
    assert list(traced.distilled) == ["id", "text_a", "text_b", "label", "label_name", "weight"]
    assert {"source_text_a", "source_text_b"} <= set(traced.lineage)
    described = pairs.described(traced.distilled, chosen)
    assert {"text_a", "closest_text_b"} <= set(described.least_covered)
    again = pairs.chosen(tmp_path, traced.distilled, most_replaced=0.0)
    assert again.report.kept_rows == 15


def test_the_exports_say_how_many_cells_were_neutralised(
    made: Made, exam_choice: nodes.ChosenRows, caplog: pytest.LogCaptureFixture
) -> None:
    distilled = made.traced(exam_choice.selection).distilled
    distilled.loc[3, "text"] = "=1+1 secret"
    with caplog.at_level(logging.INFO):
        found = nodes.exports(distilled, made.corpus)
    assert "1 cells of the CSV could be read as formulas" in caplog.text
    assert "secret" not in caplog.text
    assert "'=1+1 secret" in found.csv
    assert '"=1+1 secret"' in found.jsonl
    assert found.dataset.class_names == NAMES
    assert found.dataset.rows is distilled


# --- what the exam may ask


def test_the_exam_asks_no_text_the_generator_has_learnt_or_was_stopped_by(made: Made) -> None:
    corpus = made.corpus.copy()
    corpus.loc[1, "text"] = corpus["text"][0]  # one text under two ids
    used = pd.DataFrame({"id": corpus["id"][[0, 2]], "role": ["trained", "held_out"]})
    some = unseen_rows(corpus, used, wanted=10)
    assert {0, 1, 2}.isdisjoint(some)
    assert len(some) == len(corpus) - 3
    # Where rows are short, those that only stopped the training may be asked.
    all_that_can = unseen_rows(corpus, used, wanted=len(corpus))
    assert 2 in all_that_can
    assert {0, 1}.isdisjoint(all_that_can)


def test_too_few_rows_for_an_exam_are_said_aloud(
    made: Made, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    used = pd.DataFrame({"id": made.corpus["id"][30:], "role": "trained"})
    with caplog.at_level(logging.WARNING):
        found = replace(made, generator_rows=used).chosen(tmp_path)
    assert "Only 30 training rows are left" in caplog.text
    assert "'facility' chooses instead" in caplog.text
    assert found.report.figures["exam_rows"] == 0
    expected = made.chosen(tmp_path, selector="facility").selection
    assert found.selection.equals(expected)
