"""Corpora, encoders and language models of the hub, through the real `kedro` command.

The hub's own clients fetch from a server on this machine (tests/hub.py).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
import yaml

from take.corpus.spec import HubSource, select_corpus
from tests.conftest import CSV_CORPUS, ROOT, Project, single_text_csv
from tests.hub import Hub, serve
from tests.integration.conftest import GENERATION
from tests.learners import toy

pytestmark = pytest.mark.cli

CARD = """---
configs:
- config_name: mrpc
  data_files: [{split: train, path: mrpc/train-*}]
- config_name: sst2
  data_files: [{split: train, path: sst2/train-*}, {split: validation, path: sst2/validation-*}]
---
"""
COMMIT, OTHER_COMMIT = "1" * 40, "2" * 40
INGEST = ("run", "--pipeline=ingestion", "--params=corpus=sst2,budget=2/class")


@dataclass
class Online(Project):
    """A project whose processes have a hub; `None` for none."""

    hub: Hub | None = None

    def options(self) -> dict:
        options = super().options()
        options["env"] |= {"HF_HOME": str(self.path / "huggingface"), "HF_HUB_OFFLINE": "1"}
        if self.hub:
            options["env"] |= self.hub.environment(self.path / "huggingface")
        return options


@pytest.fixture
def hub() -> Iterator[Hub]:
    with serve(Hub()) as hub:
        yield hub


@pytest.fixture
def online(project: Project, hub: Hub) -> Online:
    return Online(project.path, hub)


def shipped(corpus: str) -> HubSource:
    """The source of a corpus in conf/base/corpora.yml."""
    corpora = yaml.safe_load((ROOT / "conf/base/corpora.yml").read_text(encoding="utf-8"))
    source = select_corpus(corpora["corpora"], corpus).source
    assert isinstance(source, HubSource)
    return source


def glue(folder: Path, word: str) -> Path:
    """A repository with two configurations, of which one has two splits."""
    for name, n_rows in (("sst2/train-0", 60), ("sst2/validation-0", 10), ("mrpc/train-0", 10)):
        sentences = [f"{word} {i} of {name}" for i in range(n_rows)]
        file = folder / f"{name}.parquet"
        file.parent.mkdir(parents=True, exist_ok=True)
        rows = pd.DataFrame({"sentence": sentences, "label": [0, 1] * (n_rows // 2)})
        rows.to_parquet(file)
    (folder / "README.md").write_text(CARD)
    return folder


def test_a_hub_corpus_is_fetched_by_repository_configuration_and_commit(
    online: Online, hub: Hub, tmp_path: Path
) -> None:
    source = shipped("sst2")
    assert (source.repository, source.name) == ("nyu-mll/glue", "sst2")
    assert (source.train, source.evaluation) == ("train", "validation")
    hub.add("datasets", source.repository, source.revision, glue(tmp_path / "glue", "film"))
    hub.add("datasets", source.repository, OTHER_COMMIT, glue(tmp_path / "newer", "play"))

    output = online.kedro(*INGEST)
    assert "60 train rows kept of 60 read" in output
    assert "examples/s" not in output  # a progress bar, where there is no terminal
    assert hub.fetched() == {
        (source.repository, source.revision, file)
        for file in ("README.md", "sst2/train-0.parquet", "sst2/validation-0.parquet")
    }
    corpus = pd.read_parquet(online.newest("corpus.parquet"))
    assert sorted(corpus["text"]) == sorted(f"film {i} of sst2/train-0" for i in range(60))
    assert corpus["label_name"].value_counts().to_dict() == {"negative": 30, "positive": 30}
    assert len(pd.read_parquet(online.newest("evaluation_split.parquet"))) == 10
    # No other host, by whatever client: it would be asked of this one, as a proxy.
    assert {line.split("/")[0] for line in hub.requests} <= {"HEAD ", "GET ", "POST "}
    assert not [line for line in hub.requests if source.repository not in line]

    # Without a hub: what was fetched, and no other revision instead of the one that is named.
    online.hub = None
    shutil.rmtree(online.path / "data")
    assert "60 train rows kept of 60 read" in online.kedro(*INGEST)
    made = online.artifacts()
    changed = {"source": {"kind": "hub", "revision": OTHER_COMMIT}}
    online.add_corpora(sst2=changed)
    output = online.kedro(*INGEST, ok=False)
    assert "nyu-mll/glue@22222222: the data set cannot be fetched from the hub" in output
    assert "only another revision is on this machine" in output
    assert online.artifacts() == made


def test_a_corpus_that_the_hub_does_not_give_is_named(
    online: Online, hub: Hub, tmp_path: Path
) -> None:
    source = shipped("sst2")
    hub.add("datasets", source.repository, source.revision, glue(tmp_path / "glue", "film"))
    wrong = {
        "no_revision": ({"revision": OTHER_COMMIT}, "nyu-mll/glue@22222222"),
        "no_split": ({"evaluation": "test"}, 'Unknown split "test"'),
        "no_configuration": ({"name": "cola"}, "'cola' not found"),
        "no_repository": ({"repository": "nyu-mll/glue2"}, "nyu-mll/glue2@bcdcba79"),
    }
    base = {"task": "single", "columns": {"text": "sentence", "label": "label"}}
    written = source.model_dump()
    online.add_corpora(
        **{name: {**base, "source": {**written, **change}} for name, (change, _) in wrong.items()}
    )
    runs = [["run", "--pipeline=ingestion", f"--params=corpus={name}"] for name in wrong]
    for (code, output), (_, named) in zip(online.kedro_each(*runs), wrong.values(), strict=True):
        assert code == 1, output
        assert named in output
        assert "cannot be fetched from the hub" in output
        assert "Fix: check the network, and repository, name, revision and splits" in output
    assert not online.artifacts()

    online.hub = None
    output = online.kedro("run", "--pipeline=ingestion", "--params=corpus=ag_news", ok=False)
    assert "fancyzhx/ag_news@eb185aad: the data set cannot be fetched from the hub (Conn" in output
    assert "or pass raw_root=<folder of Parquet files>" in output


def test_models_of_the_hub_are_fetched_once_and_are_what_their_files_are(
    online: Online, hub: Hub, tiny_language_model: Path, tmp_path: Path
) -> None:
    encoder = toy.bert(tmp_path / "encoder")
    (encoder / "1_Pooling").mkdir()
    (encoder / "1_Pooling/config.json").write_text('{"pooling_mode_mean_tokens": true}')
    language_model = shutil.copytree(tiny_language_model, tmp_path / "language_model")
    for folder in (encoder, language_model):
        (folder / "pytorch_model.bin").write_bytes(b"pickled")
        (folder / "modeling.py").write_text("raise SystemExit('code of a model')")
    hub.add("models", "lab/encoder", COMMIT, encoder)
    hub.add("models", "lab/writer", COMMIT, language_model)

    def use(environment: str, encoder: dict, language_model: dict) -> None:
        settings = {"encoder": {"backend": "torch", "max_tokens": 32, **encoder}}
        settings["language_model"] = language_model
        online.write(f"conf/{environment}/globals.yml", yaml.safe_dump(settings))

    online.add_corpora(films=CSV_CORPUS)
    online.write("data/01_raw/films.csv", single_text_csv(120))
    fine_tuning = {**GENERATION["fine_tuning"], "max_epochs": 1}
    settings = {"generation": {**GENERATION, "fine_tuning": fine_tuning}}
    online.write("conf/local/parameters.yml", yaml.safe_dump(settings))
    run = ("run", "--pipeline=distill", "--to-nodes=generation.fine_tune", "--params=corpus=films")
    use(
        "local",
        {"model": "lab/encoder", "revision": COMMIT},
        {"model": "lab/writer", "revision": COMMIT},
    )
    output = online.kedro(*run)
    assert "with lab/encoder (torch)" in output
    fetched = {(repository, Path(file).name) for repository, _, file in hub.fetched()}
    for repository in ("lab/encoder", "lab/writer"):
        for file in ("model.safetensors", "tokenizer.json", "config.json"):
            assert (repository, file) in fetched
    assert {commit for _, commit, _ in hub.fetched()} == {COMMIT}
    assert not [file for _, file in fetched if file.endswith((".bin", ".py"))]
    report = json.loads(online.newest("embedding_report.json").read_text())
    assert (report["encoder"], report["features"]) == ("lab/encoder", 32)
    report = json.loads(online.newest("fine_tuning_report.json").read_text())
    assert report["language_model"] == "lab/writer@11111111"

    # Without a hub: what was fetched, and folders with the same weights, are the same origin; a
    # commit that was never fetched is refused before anything runs.
    online.hub = None
    other = {"revision": OTHER_COMMIT}
    use("folders", {"model": str(encoder)}, {"model": str(language_model)})
    use("encoders", {"model": "lab/encoder", **other}, {"model": str(language_model)})
    use("writers", {"model": str(encoder)}, {"model": "lab/writer", **other})
    for name in ("folders", "encoders", "writers"):
        for file in ("corpora.yml", "parameters.yml"):
            online.write(f"conf/{name}/{file}", (online.path / "conf/local" / file).read_text())
    environments = ("local", "folders", "encoders", "writers")
    outcomes = online.kedro_each(*([*run, f"--env={name}"] for name in environments))
    assert [code for code, _ in outcomes] == [0, 0, 1, 1], outcomes
    assert "Running '" not in (online.path / "outcomes.log").read_text()
    (_, _), (_, _), (_, no_encoder), (_, no_writer) = outcomes
    assert "Encoder lab/encoder@22222222 could not be fetched" in no_encoder
    assert "Fix: check the network and the id, or set encoder.model" in no_encoder
    assert "Language model lab/writer@22222222 could not be fetched" in no_writer
    assert "Fix: check the network and the id, or set language_model.model" in no_writer
