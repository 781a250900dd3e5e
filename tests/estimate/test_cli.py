"""`kedro estimate`: the real command, a tiny model."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from kedro.framework.project import configure_project

from take import cli
from tests.conftest import ROOT, Project, single_text_csv
from tests.generation import tiny
from tests.integration.conftest import set_up_films

pytestmark = [pytest.mark.cli, pytest.mark.encoder]

STAGES = [
    "ingestion",
    "embedding",
    "scoring",
    "fine-tuning",
    "verifier",
    "sampling",
    "pool quality",
    "selection",
    "description",
    "audit",
]


@pytest.fixture
def films(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    folder = tmp_path_factory.mktemp("language_model")
    tiny.saved("llama", folder)
    set_up_films(project, folder / "llama", single_text_csv(300))
    return project


def lines_of(output: str) -> dict[str, list[str]]:
    """The table's lines by stage."""
    split = [re.split(r"  +", line) for line in output.splitlines()]
    return {line[0]: line[1:] for line in split if len(line) > 1}


def test_an_estimate_is_printed_and_nothing_is_made(films: Project):
    shown = films.kedro("estimate", "--params=corpus=films,budget=5/class")
    table = lines_of(shown)
    assert "films, 5/class: " in shown
    assert [stage for stage in table if stage in STAGES] == STAGES
    assert "reused" not in shown
    assert table["total"][-1] == "± 40%"
    assert films.artifacts() == {}
    again = films.kedro("estimate", "--pipeline=embedding", "--params=corpus=films")
    assert set(lines_of(again)) & set(STAGES) == {"ingestion", "embedding"}
    assert films.artifacts() == {}


def test_no_option_turns_an_estimate_into_a_run(monkeypatch: pytest.MonkeyPatch):
    given = {}
    configure_project("take")
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(cli.kedro_run, "callback", lambda **options: given.update(options))
    estimate = cli.cli.commands["estimate"]
    assert "runner" not in {parameter.name for parameter in estimate.params}
    estimate.main(["--pipeline=embedding"], standalone_mode=False)
    assert given["runner"] == "take.hooks.EstimateRunner"
    cli.run.main(["--runner=ThreadRunner"], standalone_mode=False)
    assert given["runner"] == "ThreadRunner"


def test_what_is_there_is_reused(films: Project):
    films.kedro("run", "--pipeline=embedding", "--params=corpus=films")
    made = films.artifacts()
    table = lines_of(films.kedro("estimate", "--pipeline=embedding", "--params=corpus=films"))
    assert table["ingestion"] == table["embedding"] == ["reused"]
    assert table["total"][-1] == "nothing changed"
    # The strings are in the cache: embedding them again for another setting costs nothing.
    films.write(
        "conf/local/parameters_embedding.yml",
        yaml.safe_dump({"embedding": {"segment_strings": 100}}),
    )
    table = lines_of(films.kedro("estimate", "--params=corpus=films"))
    assert table["ingestion"] == ["reused"]
    assert "are in the cache" in table["embedding"][-1]
    assert films.artifacts() == made


REFUSED = {
    "corpus=flims": "there is no corpus 'flims'. Fix: did you mean 'films'?",
    "corpus=films,bugdet=3": "there is no parameter 'bugdet'",
    "corpus=films,budget=400/class": "budget 400/class asks for 400",
    "corpus=films,scoring.epochs=0": "greater than or equal to 1",
}


def test_bad_input_is_refused_as_a_run_refuses_it(films: Project):
    commands = (["estimate"], ["run", "--pipeline=distill"])
    outcomes = films.kedro_each(
        *([*command, f"--params={params}"] for params in REFUSED for command in commands)
    )
    estimates, runs = outcomes[::2], outcomes[1::2]
    for message, (code, refused), (_, run) in zip(REFUSED.values(), estimates, runs, strict=True):
        assert code == 1, refused
        assert message in refused
        assert refused[refused.index("Error:") :].strip() in run
        assert "Traceback" not in refused
    assert films.artifacts() == {}


def test_a_corpus_file_that_is_not_there_is_named(films: Project):
    Path(films.path / "data/01_raw/films.csv").unlink()
    refused = films.kedro("estimate", "--params=corpus=films", ok=False)
    assert "films.csv" in refused
    assert "Traceback" not in refused


def test_a_run_has_no_parameter_estimate(films: Project):
    refused = films.kedro("run", "--params=corpus=films,estimate=true", ok=False)
    assert "there is no parameter 'estimate'" in refused
