"""The nodes of `benchmark` on tiny models: no Kedro run."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from take.datasets.sources import PreparedCorpora
from take.errors import InputError
from take.evaluation.grid_settings import BenchmarkSettings
from take.evaluation.prepared_corpus import PreparedCorpus
from take.pipelines.evaluation import nodes
from tests.evaluation.tiny import COPIES, SCORING, SELECTION, World


class Corpora(PreparedCorpora):
    """Prepared corpora that are in memory already."""

    def __init__(self, corpora: Mapping[str, PreparedCorpus]) -> None:
        super().__init__({name: {} for name in corpora})
        self._corpora = corpora

    def __getitem__(self, name: str) -> PreparedCorpus:
        return self._corpora[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._corpora)

    def check(self, names: Sequence[str]) -> None:
        for name in names:
            if name not in self._corpora:
                self.refuse(name)

    def labels(self, name: str) -> dict[str, int]:
        return self._corpora[name].corpus["label_name"].value_counts(sort=False).to_dict()


def corpora(world: World) -> Corpora:
    films = dataclasses.replace(world.prepared, distilled=None)
    other = films.corpus.assign(text=[f"{text} again" for text in films.corpus["text"]])
    return Corpora(
        {"films": films, "plays": dataclasses.replace(films, name="plays", corpus=other)}
    )


def settings(world: World, **changes: Any) -> BenchmarkSettings:
    given = {
        "budgets": {"films": ["4/class", "2/class"], "plays": ["3/class"]},
        "methods": "full random take dilm",
        "learners": "lr textcnn",
        "curve_methods": "random take",
        "curve_learners": "lr",
        "sets": 2,
        "baselines": world.baselines,
    }
    return BenchmarkSettings(**{**given, **changes})


def benchmarked(world: World, folder: Path, **changes: Any) -> nodes.Evaluated:
    return nodes.run_benchmark(
        corpora(world),
        world.encoder,
        folder,
        SCORING,
        SELECTION,
        COPIES,
        world.choices,
        settings(world, **changes),
    )


def benchmarked_cells(*given: Any, **changes: Any) -> pd.DataFrame:
    return benchmarked(*given, **changes).cells


def test_a_benchmark_of_two_corpora_with_a_curve(world: World, tmp_path: Path) -> None:
    cells, outcomes = benchmarked(world, tmp_path)
    assert cells["error"].isna().all()
    counted = cells.groupby(["corpus", "budget"], sort=False)
    assert {key: len(rows) for key, rows in counted} == {
        ("films", "4/class"): 2 * (1 + 2 + 2),  # learners × (full, random, take); no DiLM here
        ("films", "2/class"): 1 * (2 + 2),
        ("plays", "3/class"): 2 * (1 + 2 + 2),
    }
    assert set(cells.query("budget == '2/class'")["rows"]) == {4}

    found = nodes.summarise_cells(cells, outcomes)
    assert set(found.report.scores) == {"films 4/class", "films 2/class", "plays 3/class"}
    assert set(found.comparisons["method"]) == {"take"}
    assert "films" in found.table
    assert "plays" in found.table
    for plot in (found.scores_plot, found.margins_plot, nodes.plot_budgets(found.summary)):
        assert plot.to_json()

    shown = benchmarked_cells(world, tmp_path, stored=True)
    assert len(shown) == len(cells)
    nothing = benchmarked(world, tmp_path / "empty", stored=True)
    assert nothing.cells.empty
    assert nodes.summarise_cells(*nothing).report.cells == 0


def test_a_quick_benchmark_runs_part_of_the_grid(world: World, tmp_path: Path) -> None:
    quick = {"methods": "random take", "learners": "lr", "sets": 1}
    cells = benchmarked_cells(world, tmp_path, quick=True, quickly=quick, corpora="plays")
    assert cells[["corpus", "budget", "method", "learner"]].values.tolist() == [
        ["plays", "3/class", method, "lr"] for method in ("random", "take")
    ]


def test_bad_requests_are_refused_first(world: World, tmp_path: Path) -> None:
    command = "kedro run --pipeline=distill --params=corpus=imdb"
    with pytest.raises(
        InputError, match=f"'imdb' has no pool yet; ready are films, plays.*{command}"
    ):
        benchmarked_cells(world, tmp_path, corpora="films imdb")
    with pytest.raises(InputError, match="no learner is called 'siamese'"):
        benchmarked_cells(world, tmp_path, curve_learners="siamese", corpora="plays")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"budgets": {"plays": ["4000/class"]}}, "budget 4000/class asks for 4000"),
        ({"methods": "random distilled"}, "distilled.*pipeline 'evaluation'"),
    ],
)
def test_mistakes_about_the_last_corpus_are_refused_before_the_first_is_run(
    world: World, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        benchmarked_cells(world, tmp_path, **changes)
    assert list(tmp_path.iterdir()) == []
