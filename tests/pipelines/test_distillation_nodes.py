"""Choosing and describing, node by node, on made-up rows."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from take.encoder.embeddings import Embeddings
from take.errors import InputError
from take.pipelines.distillation import nodes
from take.selection.exam import selector as exam_module
from take.selection.selection_settings import CouplingSettings, SelectionSettings
from take.selection.tables import unseen_rows
from take.text.related import RelatedRows
from tests.pipelines.distillation_data import COPIES, DESCRIPTION, Made

# --- choosing


@pytest.mark.filterwarnings("ignore::take.selection.problem.SelectionWarning")
@pytest.mark.parametrize(
    "name", ["exam", "facility", "swap", "semi_relaxed", "kmeans", "random", "received_mass"]
)
def test_every_selector_fills_the_budget_of_each_class(
    made: Made, tmp_path: Path, name: str
) -> None:
    selection, report, path, excluded = made.chosen(tmp_path, budget="4/class", selector=name)
    assert selection["label"].tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert selection["id"].is_unique
    pool = made.pool.set_index("id").loc[selection["id"]]
    assert pool["label_name"].tolist() == selection["label_name"].tolist()
    assert (report.selector, report.budget, report.rows) == (name, "4/class", 12)
    assert (report.pool_rows, report.excluded, len(excluded)) == (90, {}, 0)
    assert report.kept_rows is None
    assert bool(report.steps) == (name == "exam")
    assert path.empty == (name not in ("exam", "facility"))


def test_exam_rows_are_rows_the_generator_was_not_trained_on(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = []

    def seen(task: Any, *arguments: Any, **options: Any) -> Any:
        tasks.append(task)
        return original(task, *arguments, **options)

    original = exam_module.best_rows
    monkeypatch.setattr(exam_module, "best_rows", seen)
    made.chosen(tmp_path)
    trained = set(made.corpus["text"][:200])
    (task,) = tasks
    scored = [*task.exam.texts[0], *task.validation.texts[0]]
    assert len(set(scored)) == len(scored) == 300
    assert not trained & set(scored)


def test_tempering_changes_the_choice(made: Made, tmp_path: Path) -> None:
    def ids(**options: Any) -> list[str]:
        return sorted(made.chosen(tmp_path, selector="facility", **options).selection["id"])

    plain = ids()
    assert ids() == plain
    assert ids(tempering=0.0) != plain


def test_a_budget_beyond_the_pool_names_the_class(made: Made, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="class 0: .*30 candidates.*at least 31"):
        made.chosen(tmp_path, budget="31/class", selector="facility")


# --- exam rows


def test_exam_rows_have_no_text_the_generator_was_trained_on_or_stopped_by(made: Made) -> None:
    corpus = made.corpus.copy()
    corpus.loc[1, "text"] = corpus["text"][0]  # one text under two ids
    corpus.loc[3, "text"] = f"{corpus['text'][0]} , they say"
    corpus.loc[4, "text"] = " ".join(corpus["text"][0].split()[:-1])
    used = pd.DataFrame({"id": corpus["id"][[0, 2]], "role": ["trained", "validation"]})
    related = RelatedRows([(text,) for text in corpus["text"]], COPIES)
    some = unseen_rows(corpus, used, related, wanted=10)
    assert {0, 1, 2, 3, 4}.isdisjoint(some)
    assert len(some) == len(corpus) - 5
    # Where rows are short, those that only stopped the training may be used.
    all_that_can = unseen_rows(corpus, used, related, wanted=len(corpus))
    assert 2 in all_that_can
    assert {0, 1, 3, 4}.isdisjoint(all_that_can)


def test_too_few_rows_for_an_exam_are_logged(
    made: Made, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    used = pd.DataFrame({"id": made.corpus["id"][30:], "role": "trained"})
    with caplog.at_level(logging.WARNING):
        found = replace(made, generator_rows=used).chosen(tmp_path)
    assert "Only 30 training rows are left" in caplog.text
    assert "'facility' selects instead" in caplog.text
    assert found.report.figures["exam_rows"] == 0
    expected = made.chosen(tmp_path, selector="facility").selection
    assert found.selection.equals(expected)


# --- what is reported about the rows


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
    described = made.described(found, exam_choice)
    report = described.report
    assert (report.rows, report.pool_rows, report.run.budget) == (15, 90, "15")
    labels, weights = made.corpus["label"], made.weights["weight"]
    weights = weights / weights.groupby(labels).transform("sum") / labels.nunique()
    cost = float(weights @ found.assignments["distance"].to_numpy() ** 2)
    assert report.cost == pytest.approx(cost, rel=1e-4)
    mean = float(found.assignments["distance"].mean())
    assert report.coverage.own_class is not None
    assert report.coverage.own_class.mean == pytest.approx(mean, rel=1e-4)
    assert described.budget_curve["rows_per_class"].tolist() == list(range(1, 11))  # 2 × budget
    assert described.least_covered["id"].isin(made.corpus["id"]).all()
    pictures = (described.transport_plot, described.coverage_plot, described.budget_plot)
    texts = [*made.corpus["text"], *made.pool["text"]]
    for figure in (*pictures, nodes.plot_search(exam_choice.report)):
        drawn = figure.to_json()
        assert not any(text in drawn for text in texts)
    written = report.model_dump_json()
    assert not any(text in written for text in texts)


def test_the_curve_along_the_path_taken_is_the_one_computed_again(
    made: Made, exam_choice: nodes.ChosenRows
) -> None:
    path = exam_choice.greedy_path
    assert path.groupby("part")["rank"].apply(list).tolist() == [list(range(1, 11))] * 3
    labels = path["id"].map(made.pool.set_index("id")["label"])
    assert (labels == path["part"]).all()
    traced = made.traced(exam_choice.selection)
    along = made.described(traced, exam_choice).budget_curve
    again = made.described(traced, exam_choice._replace(greedy_path=path.iloc[:0])).budget_curve
    pd.testing.assert_frame_equal(along, again)


def test_a_global_choice_is_traced_and_described(made: Made, tmp_path: Path) -> None:
    chosen = made.chosen(tmp_path, selector="facility", scope="global")
    settings = SelectionSettings(selector="facility", scope="global")
    traced = nodes.trace_rows(chosen.selection, *made._both(), settings, DESCRIPTION)
    assert len(traced.distilled) == 15
    assert traced.lineage_totals["assigned_mass"].sum() == pytest.approx(1, abs=1e-6)
    described = made.described(traced, chosen, selector="facility", scope="global")
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

    pairs = replace(
        made,
        corpus=paired(made.corpus),
        pool=paired(made.pool),
        embeddings=pair_vectors(made.embeddings),
        pool_embeddings=pair_vectors(made.pool_embeddings),
    )
    chosen = pairs.chosen(tmp_path)
    traced = pairs.traced(chosen.selection)
    assert list(traced.distilled) == ["id", "text_a", "text_b", "label", "label_name", "weight"]
    assert {"source_text_a", "source_text_b"} <= set(traced.lineage)
    described = pairs.described(traced, chosen)
    assert {"text_a", "closest_text_b"} <= set(described.least_covered)
    again = pairs.chosen(tmp_path, traced.distilled, most_replaced=0.0)
    assert again.report.kept_rows == 15


def test_a_coupling_is_reported_and_acts_on_the_entropic_lineage(
    made: Made, tmp_path: Path
) -> None:
    side = made.embeddings.read(0, len(made.corpus))[:, 0] > 0
    grouped = replace(made, corpus=made.corpus.assign(group=np.where(side, "a", "b")))
    coupling = CouplingSettings(by="group", strength=0.9)
    found = grouped.chosen(tmp_path, selector="facility", coupling=coupling)
    figures = found.report.figures
    assert 0 < figures["within_groups_by_chance"] < figures["within_groups"] <= 1
    assert "within_groups" not in made.chosen(tmp_path, selector="facility").report.figures
    inputs = found.selection, *grouped._both()
    entropic = DESCRIPTION.model_copy(update={"plan": "entropic"})
    masses = [
        nodes.trace_rows(*inputs, SelectionSettings(coupling=given), entropic).trace.mass
        for given in (CouplingSettings(), coupling)
    ]
    assert masses[0].shape != masses[1].shape or not np.allclose(*masses)
    # A corpus without the column, and the column without the setting, change nothing.
    rows = made.chosen(tmp_path, selector="facility").selection
    assert rows.equals(grouped.chosen(tmp_path, selector="facility").selection)
