"""The real `kedro` command, end to end, on small corpora with the real encoder."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time

import pandas as pd
import pytest

from take.pipeline_registry import TO_COME, register_pipelines
from tests.conftest import CSV_CORPUS, ROOT, Project, single_text_csv

pytestmark = pytest.mark.cli

RUN = ("run", "--pipeline=embedding", "--params=corpus=films")


@pytest.fixture
def films(project: Project) -> Project:
    """A corpus of 300 rows, embedded with the real weights in torch, which is quickest to load."""
    project.add_corpora(films=CSV_CORPUS)
    project.write("data/01_raw/films.csv", single_text_csv(300))
    project.write("conf/local/globals.yml", "encoder: {backend: torch}\n")
    return project


def test_every_registered_pipeline_runs(films: Project) -> None:
    """`distill` first: the others run on their own from the artifacts before them."""
    names = sorted(register_pipelines())
    for name in ("distill", *names):
        films.kedro("run", f"--pipeline={name}", "--params=corpus=films,budget=5/class")


def test_distill_says_how_far_it_goes(films: Project) -> None:
    output = films.kedro("run", "--pipeline=distill", "--params=corpus=films")
    assert f"{', '.join(TO_COME)} are still to come" in output
    weights = pd.read_parquet(films.newest("weights.parquet"))
    corpus = pd.read_parquet(films.newest("corpus.parquet"))
    assert weights["id"].tolist() == corpus["id"].tolist()
    assert weights["weight"].sum() == pytest.approx(1)
    examples = pd.read_parquet(films.newest("scoring_examples.parquet"))
    assert examples.groupby(["label_name", "extreme"]).size().eq(10).all()


def test_the_notebook_runs_as_it_is(films: Project) -> None:
    films.kedro("run", "--pipeline=distill", "--params=corpus=films")
    notebook = json.loads((ROOT / "notebooks/corpus_and_weights.ipynb").read_text())
    cells = ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]
    options = films.options()
    options["env"]["TAKE_CORPUS"] = "films"
    done = subprocess.run([sys.executable, "-c", "\n".join(cells)], **options)
    assert done.returncode == 0, done.stderr


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


def test_odd_label_names_reach_mlflow_apart(project: Project) -> None:
    rows = [f'"text {i}",{("a//b", "C++", "C##")[i % 3]}' for i in range(90)]
    project.write("data/01_raw/odd.csv", "text,label\n" + "\n".join(rows) + "\n")
    source = {"kind": "files", "train": "data/01_raw/odd.csv"}
    project.add_corpora(
        odd={"task": "single", "source": source, "columns": {"text": "text", "label": "label"}}
    )
    # from a folder below the project: paths still start at the project
    options = {**project.options(), "cwd": project.path / "conf"}
    command = project.command("run", "--pipeline=ingestion", "--params=corpus=odd,budget=2/class")
    done = subprocess.run(command, **options)
    assert done.returncode == 0, done.stderr
    with sqlite3.connect(project.path / "mlflow.db") as database:
        keys = {key for (key,) in database.execute("select key from metrics")}
    assert len([key for key in keys if key.startswith("corpus_report.budget_by_class")]) == 3


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
    assert "Reusing the outputs of 'embed_corpus'" in other_budget


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
    assert "0 altered" in films.kedro("verify")
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
    assert "0 altered" in films.kedro("verify")


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


def test_async_is_refused(films: Project) -> None:
    assert "--async is not supported" in films.kedro(*RUN, "--async", ok=False)


def test_a_pair_corpus_by_yaml_alone(project: Project) -> None:
    rows = [
        {"question": f"what is {i} plus {i % 7}?", "answer": f"it is {i + i % 7}.", "verdict": v}
        for i in range(60)
        for v in (["yes", "no"][i % 2],)
    ]
    project.write("data/01_raw/sums.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    project.add_corpora(
        sums={
            "task": "pair",
            "source": {"kind": "files", "train": "data/01_raw/sums.jsonl"},
            "columns": {"text_a": "question", "text_b": "answer", "label": "verdict"},
        }
    )
    output = project.kedro("run", "--pipeline=embedding", "--params=corpus=sums,budget=3/class")
    assert "Corpus 'sums' (pair)" in output
    corpus = pd.read_parquet(project.newest("corpus.parquet"))
    assert list(corpus.columns) == ["id", "text_a", "text_b", "label", "label_name"]
    report = json.loads(project.newest("embedding_report.json").read_text())
    assert report["features"] == 4 * 384


def test_a_folder_of_parquet_stands_in_for_the_hub(project: Project) -> None:
    folder = project.path / "parquet" / "sst2"
    folder.mkdir(parents=True)
    rows = pd.DataFrame({"text": [f"film {i}" for i in range(60)], "label": [0, 1] * 30})
    rows.iloc[:50].to_parquet(folder / "train.parquet")
    rows.iloc[50:].rename(columns={"text": "sentence"}).to_parquet(folder / "test.parquet")
    command = (
        "run",
        "--pipeline=ingestion",
        "--params=corpus=sst2,raw_root=parquet,budget=2/class",
    )
    assert "50 train rows kept of 50 read" in project.kedro(*command)
    (folder / "labels.json").write_text('["positive", "negative"]')
    assert "labels.json" in project.kedro(*command, ok=False)


def test_one_run_is_one_mlflow_run_without_text(films: Project) -> None:
    secret = "zebrafish"
    films.write("data/01_raw/films.csv", single_text_csv(300).replace("film", secret))
    outputs = [films.kedro(*RUN) for _ in range(2)]  # the second reuses everything
    with sqlite3.connect(films.path / "mlflow.db") as database:
        runs = database.execute("select run_uuid, status from runs").fetchall()
        assert [status for _, status in runs] == ["FINISHED", "FINISHED"]
        for run, _ in runs:
            params = dict(database.execute("select key, value from params where run_uuid=?", [run]))
            tags = dict(database.execute("select key, value from tags where run_uuid=?", [run]))
            metrics = dict(
                database.execute("select key, value from metrics where run_uuid=?", [run])
            )
            assert params["corpus"] == tags["corpus"] == "films"
            assert params["ingestion.budget"] == "20/class"
            assert params["embedding.segment_strings"] == "4096"
            assert len(tags["fingerprint.embeddings"]) == 16
            assert metrics["corpus_report.train.rows_kept"] > 200
            assert metrics["embedding_report.features"] == 384
            assert tags["corpus_report.task"] == "single"
            assert (films.path / "mlartifacts" / run / "artifacts/corpus_profile.json").is_file()
    stored = [films.path / "mlflow.db", *(films.path / "mlartifacts").rglob("*.*")]
    assert all(secret.encode() not in path.read_bytes() for path in stored if path.is_file())
    assert all(secret not in output for output in outputs)


def test_listing_pipelines_imports_nothing_heavy() -> None:
    heavy = (
        "torch",
        "transformers",
        "sentence_transformers",
        "tokenizers",
        "plotly",
        "pyarrow.parquet",
    )
    code = (
        "import sys, take.pipeline_registry, take.settings, take.cli; "
        "from take.pipeline_registry import register_pipelines; register_pipelines(); "
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
