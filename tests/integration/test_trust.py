"""What runs can be trusted with: reuse, resumption, damage, bad input. The real `kedro` command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time

import pytest

from take.pipeline_registry import register_pipelines
from tests.conftest import Project, single_text_csv

pytestmark = pytest.mark.cli

RUN = ("run", "--pipeline=embedding", "--params=corpus=films")


def test_scoring_without_embeddings_says_what_to_run(films: Project) -> None:
    output = films.kedro("run", "--pipeline=scoring", "--params=corpus=films", ok=False)
    assert "has not been made yet" in output
    assert "kedro run --pipeline=distill" in output


def test_scoring_refuses_embeddings_of_another_corpus(films: Project) -> None:
    films.kedro(*RUN)
    films.write("data/01_raw/films.csv", single_text_csv(290))
    films.kedro("run", "--pipeline=ingestion", "--params=corpus=films")
    output = films.kedro("run", "--pipeline=scoring", "--params=corpus=films", ok=False)
    assert "artifact 'embeddings' was made from another 'corpus'" in output


def test_a_version_that_the_run_makes_cannot_be_pinned(films: Project) -> None:
    ingestion = ("run", "--pipeline=ingestion", "--params=corpus=films")
    films.kedro(*ingestion)
    version = films.newest("corpus.parquet").parent.name
    output = films.kedro(*ingestion, f"--load-versions=corpus:{version}", ok=False)
    assert "--load-versions pins 'corpus'" in output


def test_scoring_refuses_an_altered_input(films: Project) -> None:
    films.kedro(*RUN)
    embeddings = films.newest("embeddings.safetensors")
    embeddings.write_bytes(embeddings.read_bytes()[:-1])
    output = films.kedro("run", "--pipeline=scoring", "--params=corpus=films", ok=False)
    assert f"{embeddings} was altered" in output


def test_what_still_matches_is_reused_and_the_rest_says_why(films: Project) -> None:
    films.kedro(*RUN)
    again = films.kedro(*RUN)
    assert again.count("nothing changed") == len(register_pipelines()["embedding"].nodes)
    assert "Running" not in again

    other_budget = films.kedro("run", "--pipeline=embedding", "--params=corpus=films,budget=7")
    assert "parameter ingestion.budget changed from '20/class' to 7" in other_budget
    # the corpus came out the same, so what is made from it is not made again
    assert "Reusing the outputs of 'embedding.embed_corpus'" in other_budget


def test_a_grown_corpus_encodes_only_its_new_strings(films: Project) -> None:
    films.kedro(*RUN)
    films.write("data/01_raw/films.csv", single_text_csv(330))
    output = films.kedro(*RUN)
    assert "input raw_corpus changed" in output
    report = json.loads(films.newest("embedding_report.json").read_text())
    assert report["reused_strings"] >= 250
    assert report["encoded_strings"] <= 30
    assert f"{report['reused_strings']} reused from the cache" in output


def test_a_killed_run_resumes_to_the_same_bytes(films: Project) -> None:
    (films.path / "conf/local/globals.yml").unlink()  # the default backend, whatever it is
    films.write("data/01_raw/films.csv", single_text_csv(800))
    small_segments = "--params=corpus=films,embedding.segment_strings=32"
    command = ("run", "--pipeline=embedding", small_segments)
    running = films.start(*command)
    cache = films.path / "data/04_feature/embedding_cache"
    deadline = time.monotonic() + 300
    while len(list(cache.rglob("segment-*.record.json"))) < 3:
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    assert not list(films.path.rglob("embeddings.safetensors"))
    kept = len(list(cache.rglob("segment-*.record.json")))

    resumed = films.kedro(*command)
    assert f"{kept * 32:,} reused from the cache" in resumed
    interrupted = films.newest("embeddings.safetensors").read_bytes()

    for folder in ("04_feature", "02_intermediate", "08_reporting"):
        subprocess.run(["rm", "-r", str(films.path / "data" / folder)], check=True)
    assert " 0 reused from the cache" in films.kedro(*command)
    assert films.newest("embeddings.safetensors").read_bytes() == interrupted


def test_an_altered_artifact_is_named_by_verify_and_by_the_next_run(films: Project) -> None:
    films.kedro(*RUN)
    assert "0 problems" in films.kedro("verify")
    for path in films.artifacts():
        if path.endswith(".record.json"):
            continue
        file = films.path / path
        whole = file.read_bytes()
        flipped = bytearray(whole)
        flipped[len(flipped) // 2] ^= 1
        file.write_bytes(flipped)
        assert path in films.kedro("verify", ok=False)
        file.write_bytes(whole)

    embeddings = films.newest("embeddings.safetensors")
    whole = embeddings.read_bytes()
    embeddings.write_bytes(whole[:-1])
    output = films.kedro(*RUN)
    assert f"{embeddings} was altered" in output
    assert embeddings.read_bytes() == whole
    # what was there is kept beside, and the tree verifies
    assert [path.read_bytes() for path in embeddings.parent.glob("*.altered-*")] == [whole[:-1]]
    assert "0 problems" in films.kedro("verify")


def test_the_next_run_names_every_altered_artifact(films: Project) -> None:
    films.kedro(*RUN)
    files = [films.path / path for path in films.artifacts() if not path.endswith(".record.json")]
    for file in files:
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(content)
    output = films.kedro(*RUN)
    assert len(files) >= 7
    assert [str(file) for file in files if f"{file} was altered" not in output] == []


def test_a_damaged_cache_is_named_even_when_nothing_has_to_be_encoded(films: Project) -> None:
    films.kedro(*RUN)
    segment = next((films.path / "data").rglob("segment-*.safetensors"))
    segment.write_bytes(segment.read_bytes()[:-1])
    assert f"{segment} was altered" in films.kedro(*RUN)


def test_bad_input_leaves_everything_as_it_was(films: Project) -> None:
    films.kedro(*RUN)
    before = films.artifacts()
    films.write("data/01_raw/films.csv", single_text_csv(300) + "broken\n")
    output = films.kedro(*RUN, ok=False)
    assert "films.csv, line 302" in output
    assert "Traceback" not in output
    for arguments in (
        "corpus=fims",
        "corpus=../films",
        "corpsu=films",
        "corpus=films,budget=0",
        "corpus=films,budget=-5",
        "corpus=films,budget=200%",
        "corpus=films,budget=abc",
        "corpus=films,embedding.segment_strings=0",
        "corpus=films,raw_root=data",
    ):
        output = films.kedro("run", f"--params={arguments}", ok=False)
        assert "Error: " in output
        assert "Traceback" not in output
    assert films.artifacts() == before
