"""What runs do: the real `kedro` command, end to end, with the real encoder."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from take.pipeline_registry import register_pipelines
from tests.conftest import ROOT, Project, single_text_csv

pytestmark = pytest.mark.cli

RUN = ("run", "--pipeline=embedding", "--params=corpus=films")


def test_every_registered_pipeline_runs(distilled_films: Project) -> None:
    """After `distill` they run on their own, from the artifacts before them."""
    few = "evaluation.learners=lr,benchmark.quick=true,benchmark.quickly.learners=lr"
    params = f"--params=corpus=films,budget=5/class,{few}"
    names = sorted(register_pipelines())
    commands = (["run", f"--pipeline={name}", params] for name in names)
    for name, (code, output) in zip(names, distilled_films.kedro_each(*commands), strict=True):
        assert code == 0, f"{name}: {output}"


def test_weights_and_examples_are_there(distilled_once: Project) -> None:
    films = distilled_once
    weights = pd.read_parquet(films.newest("weights.parquet"))
    corpus = pd.read_parquet(films.newest("corpus.parquet"))
    assert weights["id"].tolist() == corpus["id"].tolist()
    assert weights["weight"].sum() == pytest.approx(1)
    examples = pd.read_parquet(films.newest("scoring_examples.parquet"))
    assert examples.groupby(["label_name", "extreme"]).size().eq(10).all()


def test_the_notebooks_run_as_they_are(distilled_once: Project) -> None:
    options = distilled_once.options()
    options["env"]["TAKE_CORPUS"] = "films"
    notebooks = sorted((ROOT / "notebooks").glob("*.ipynb"))
    assert len(notebooks) == 3
    for path in notebooks:
        notebook = json.loads(path.read_text())
        assert not any(c.get("outputs") or c.get("execution_count") for c in notebook["cells"])
        cells = ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]
        done = subprocess.run([sys.executable, "-c", "\n".join(cells)], **options)
        assert done.returncode == 0, done.stderr


def test_odd_label_names_stay_distinct_in_mlflow(project: Project) -> None:
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


def test_async_is_refused(films: Project) -> None:
    assert "--async is not supported" in films.kedro(*RUN, "--async", ok=False)


def test_a_budget_beyond_the_pool_is_refused_before_anything_runs(project: Project) -> None:
    output = project.kedro("run", "--pipeline=distill", "--params=budget=3000/class", ok=False)
    assert "asks for 3000 rows of a class, but the pool will have 2500 of each" in output
    assert "generate at least 6000 rows" in output
    assert not project.artifacts()
    with sqlite3.connect(project.path / "mlflow.db") as database:
        assert database.execute("select count(*) from runs").fetchone() == (0,)


def test_one_setting_of_a_stage_leaves_the_others_as_they_are(project: Project) -> None:
    """A user's conf/local/parameters.yml and `--params` both add to conf/base."""
    project.write("conf/local/parameters.yml", "distillation: {selection: {seed: 3}}")
    wrong = "--params=distillation.selection.selector=facilty"
    output = project.kedro("run", "--pipeline=distill", wrong, ok=False)
    assert "selector is 'facilty'; registered are random, kmeans" in output


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


def test_a_folder_of_parquet_replaces_the_hub(project: Project) -> None:
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
            assert (films.path / "mlartifacts" / run / "artifacts/corpus_plot.json").is_file()
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
        "peft",
        "opacus",
        "openvino",
        "sklearn",
        "scipy",
        "pyarrow.parquet",
    )
    code = (
        "import sys, take.pipeline_registry, take.settings, take.cli; "
        "from take.pipeline_registry import register_pipelines; register_pipelines(); "
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_telemetry_even_without_the_project_s_files(tmp_path: Path) -> None:
    """As in a packaged run, which has no .telemetry file."""
    code = (
        "import take.__main__; "
        "from kedro_telemetry.plugin import _check_for_telemetry_consent; "
        "from mlflow.telemetry.utils import is_telemetry_disabled; "
        "print(_check_for_telemetry_consent(None), is_telemetry_disabled())"
    )
    environment = {"PYTHONPATH": str(ROOT / "src"), "HOME": str(tmp_path)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=True
    )
    assert done.stdout.split()[-2:] == ["False", "True"]
