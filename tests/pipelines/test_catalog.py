from __future__ import annotations

from graphlib import TopologicalSorter

import pytest
import yaml
from kedro.utils import load_obj

from take.pipeline_registry import register_pipelines
from tests.conftest import ROOT

CATALOG = {
    name: entry
    for name, entry in yaml.safe_load((ROOT / "conf/base/catalog.yml").read_text()).items()
    if not name.startswith("_")
}

PIPELINES = ("distill", "redistil", "evaluate", "benchmark")  # every node is in one of them
NOT_MADE = (
    *("raw_corpus", "encoder", "language_model", "published", "prepared_corpora"),
    *("search_folder", "cell_folder", "prediction_folder"),  # places to work in
    *("provenance", "known_cells"),  # of other entries, if made
)
ONE_VERSION = ("adapter", "embeddings", "influence", "pool_embeddings")  # too large to keep many


def layer(dataset: str) -> str:
    return CATALOG[dataset]["metadata"]["kedro-viz"]["layer"]


def test_every_dataset_is_in_the_catalog_and_used() -> None:
    pipelines = register_pipelines()
    used = set().union(*(pipelines[name].datasets() for name in PIPELINES))
    assert {name for name in used if "params:" not in name} == set(CATALOG)
    nodes = {node.name for name in PIPELINES for node in pipelines[name].nodes}
    assert nodes == {node.name for pipeline in pipelines.values() for node in pipeline.nodes}


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_layers_have_an_order(pipeline: str) -> None:
    """kedro-viz shows no layers at all if they form a circle."""
    before: dict[str, set[str]] = {}
    for node in register_pipelines()[pipeline].nodes:
        for made in node.outputs:
            sources = {layer(name) for name in node.inputs if "params:" not in name}
            before.setdefault(layer(made), set()).update(sources - {layer(made)})
    assert list(TopologicalSorter(before).static_order())


@pytest.mark.parametrize("name", sorted(set(CATALOG) - set(NOT_MADE)))
def test_what_a_run_makes_is_an_artifact_keyed_by_corpus(name: str) -> None:
    entry = CATALOG[name]
    assert entry["type"].startswith("take.datasets.artifact.")
    assert entry.get("versioned", False) is (name not in ONE_VERSION)
    key = "benchmark" if name.startswith("benchmark_") else "${_corpus}"  # of all corpora at once
    assert f"/{key}/" in entry["filepath"]
    kinds = (".parquet", ".json", ".safetensors", ".txt", ".md", ".html")
    folders = ("/adapter", "/release")  # peft's own, and that of the `datasets` library
    assert entry["filepath"].endswith(kinds + folders)


@pytest.mark.parametrize("name", NOT_MADE)
def test_what_no_run_makes_is_no_artifact_and_no_output(name: str) -> None:
    assert not CATALOG[name]["type"].startswith("take.datasets.artifact.")
    for pipeline in register_pipelines().values():
        assert name not in pipeline.all_outputs()


def test_what_decides_results_has_an_identity() -> None:
    """Without one a node runs every time: a grid does, to try again what failed."""
    for name in NOT_MADE:
        has_one = hasattr(load_obj(CATALOG[name]["type"]), "identity")
        assert has_one is (name != "cell_folder"), name
    assert CATALOG["search_folder"]["type"] == "take.datasets.folders.WorkFolderDataset"


def test_evaluation_makes_what_is_named_after_it_and_benchmark_too() -> None:
    for name in ("evaluation", "benchmark"):
        made = register_pipelines()[name].all_outputs()
        assert made == {entry for entry in CATALOG if entry.startswith(f"{name}_")} - {
            "evaluation_split"  # the rows held out, made by ingestion
        }


def test_only_what_redistil_reads_stands_where_another_is_written() -> None:
    """Two entries of one path overwrite each other, unless one of them is never saved."""
    paths: dict[str, list[str]] = {}
    for name, entry in CATALOG.items():
        paths.setdefault(entry.get("filepath", name), []).append(name)
    shared = [names for names in paths.values() if len(names) > 1]
    assert shared == [["distilled", "previous_distilled"], ["cell_folder", "prediction_folder"]]
    for pipeline in register_pipelines().values():
        assert "previous_distilled" not in pipeline.all_outputs()


WITH_TEXTS_OR_IDS = (
    *("corpus", "evaluation_split", "weights", "scoring_examples"),
    *("generator_rows", "samples", "pool", "ledger", "pool_coverage", "pool_examples"),
    *("selection", "greedy_path", "distilled", "previous_distilled"),
    *("canaries", "privacy_findings", "balance_terms"),
    *("audit_page", "release_page", "dataset_card", "release"),
    *("lineage", "lineage_totals", "assignments", "least_covered"),
)


def test_tables_with_texts_never_go_to_mlflow() -> None:
    for name in WITH_TEXTS_OR_IDS:
        assert "take" not in CATALOG[name]["metadata"]


def test_a_new_table_or_file_is_one_or_the_other() -> None:
    """An artifact that holds rows has to be named above, or be known to hold numbers alone."""
    vectors = {"embeddings", "pool_embeddings", "trajectory", "influence", "trace"}
    scores = {
        *("evaluation_cells", "evaluation_summary", "evaluation_comparisons", "evaluation_table"),
        *("benchmark_cells", "benchmark_summary", "benchmark_comparisons", "benchmark_table"),
        "benchmark_page",
    }
    numbers = {
        *vectors,
        *scores,
        "budget_curve",
        "membership_scores",
        "slice_accuracy",
        "accuracy_summary",
    }
    kinds = ("TableArtifact", "artifact.Artifact")
    rows = {name for name, entry in CATALOG.items() if entry["type"].endswith(kinds)}
    assert rows == {*WITH_TEXTS_OR_IDS, *numbers, "adapter"}
    logged = {name for name, entry in CATALOG.items() if "take" in entry["metadata"]}
    assert rows & logged == {"budget_curve", *scores} - {"evaluation_cells", "benchmark_cells"}
