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


def test_scoring_refuses_embeddings_of_another_corpus(embedded: Project) -> None:
    embedded.write("data/01_raw/films.csv", single_text_csv(290))
    embedded.kedro("run", "--pipeline=ingestion", "--params=corpus=films")
    output = embedded.kedro("run", "--pipeline=scoring", "--params=corpus=films", ok=False)
    assert "artifact 'embeddings' was made from another version of 'corpus'" in output


def test_a_version_that_the_run_makes_cannot_be_pinned(films: Project) -> None:
    ingestion = ("run", "--pipeline=ingestion", "--params=corpus=films")
    films.kedro(*ingestion)
    version = films.newest("corpus.parquet").parent.name
    output = films.kedro(*ingestion, f"--load-versions=corpus:{version}", ok=False)
    assert "--load-versions pins 'corpus'" in output


def test_scoring_refuses_an_altered_input(embedded: Project) -> None:
    embeddings = embedded.newest("embeddings.safetensors")
    embeddings.write_bytes(embeddings.read_bytes()[:-1])
    output = embedded.kedro("run", "--pipeline=scoring", "--params=corpus=films", ok=False)
    assert f"{embeddings} was altered" in output


def test_what_still_matches_is_reused_and_the_rest_says_why(embedded: Project) -> None:
    again = embedded.kedro(*RUN)
    assert again.count("nothing changed") == len(register_pipelines()["embedding"].nodes)
    assert "Running" not in again

    other_budget = embedded.kedro("run", "--pipeline=embedding", "--params=corpus=films,budget=7")
    assert "parameter ingestion.budget changed from '20/class' to 7" in other_budget
    # the corpus came out the same, so what is made from it is not made again
    assert "Reusing the outputs of 'embedding.embed_corpus'" in other_budget


def test_a_grown_corpus_encodes_only_its_new_strings(embedded: Project) -> None:
    embedded.write("data/01_raw/films.csv", single_text_csv(330))
    output = embedded.kedro(*RUN)
    assert "input raw_corpus changed" in output
    report = json.loads(embedded.newest("embedding_report.json").read_text())
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


def test_every_altered_artifact_is_named_by_verify_and_by_the_next_run(embedded: Project) -> None:
    assert "0 problems" in embedded.kedro("verify")
    names = [name for name in embedded.artifacts() if not name.endswith(".record.json")]
    assert len(names) >= 7
    for name in names:
        content = bytearray((embedded.path / name).read_bytes())
        content[len(content) // 2] ^= 1
        (embedded.path / name).write_bytes(content)
    verified = embedded.kedro("verify", ok=False)
    assert f"{len(names)} problems" in verified
    output = embedded.kedro(*RUN)
    for shown in (verified, output):
        assert [name for name in names if f"{embedded.path / name} was altered" not in shown] == []


def test_an_altered_artifact_is_made_again_and_kept(embedded: Project) -> None:
    embeddings = embedded.newest("embeddings.safetensors")
    whole = embeddings.read_bytes()
    embeddings.write_bytes(whole[:-1])
    output = embedded.kedro(*RUN)
    assert f"{embeddings} was altered" in output
    assert embeddings.read_bytes() == whole
    assert [path.read_bytes() for path in embeddings.parent.glob("*.altered-*")] == [whole[:-1]]
    assert "0 problems" in embedded.kedro("verify")


def test_a_damaged_cache_is_named_even_when_nothing_has_to_be_encoded(embedded: Project) -> None:
    segment = next((embedded.path / "data").rglob("segment-*.safetensors"))
    segment.write_bytes(segment.read_bytes()[:-1])
    assert f"{segment} was altered" in embedded.kedro(*RUN)


def test_bad_input_leaves_everything_as_it_was(embedded: Project) -> None:
    before = embedded.artifacts()
    embedded.write("data/01_raw/films.csv", single_text_csv(300) + "broken\n")
    output = embedded.kedro(*RUN, ok=False)
    assert "films.csv, line 302" in output
    assert "Traceback" not in output
    arguments = (
        "corpus=fims",
        "corpus=../films",
        "corpsu=films",
        "corpus=films,budget=0",
        "corpus=films,budget=-5",
        "corpus=films,budget=200%",
        "corpus=films,budget=abc",
        "corpus=films,embedding.segment_strings=0",
        "corpus=films,raw_root=data",
    )
    for code, output in embedded.kedro_each(*(["run", f"--params={each}"] for each in arguments)):
        assert code == 1, output
        assert "Error: " in output
        assert "Traceback" not in output
    assert embedded.artifacts() == before
