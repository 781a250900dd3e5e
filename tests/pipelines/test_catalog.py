"""The catalog and the pipelines belong together."""

from __future__ import annotations

from graphlib import TopologicalSorter
from typing import Any

import pytest
from kedro.config import OmegaConfigLoader
from kedro.io import CatalogConfigResolver
from kedro.utils import load_obj

from take.pipeline_registry import register_pipelines
from take.settings import CONFIG_LOADER_ARGS
from tests.conftest import ROOT

PIPELINES = ("distill", "redistil", "evaluate", "benchmark")  # every node is in one of them
NOT_MADE = (
    *("raw_corpus", "encoder", "language_model", "prepared_corpora"),
    *("search_folder", "cell_folder"),  # work folders
    *("provenance", "known_cells", "known_outcomes"),  # made from other entries, if these exist
)
# Too large to keep many.
ONE_VERSION = ("adapter", "embeddings", "generation.verifier", "influence", "pool_embeddings")


def catalog() -> dict[str, dict[str, Any]]:
    """Every dataset that a pipeline names, as the catalog describes it: by entry or by factory."""
    config = OmegaConfigLoader(str(ROOT / "conf"), **CONFIG_LOADER_ARGS)["catalog"]
    resolver = CatalogConfigResolver(config)
    pipelines = register_pipelines()
    used = set().union(*(pipelines[name].datasets() for name in PIPELINES))
    names = {name for name in used if "params:" not in name}
    entries = {name for name in config if "{" not in name and not name.startswith("_")}
    assert entries <= names, "an entry that nothing uses"
    return {name: config.get(name) or resolver.resolve_pattern(name) for name in names}


CATALOG = catalog()


def layer(dataset: str) -> str:
    return CATALOG[dataset]["metadata"]["kedro-viz"]["layer"]


def test_every_node_is_in_a_pipeline_that_is_checked_here() -> None:
    pipelines = register_pipelines()
    nodes = {node.name for name in PIPELINES for node in pipelines[name].nodes}
    assert nodes == {node.name for pipeline in pipelines.values() for node in pipeline.nodes}


def test_a_node_has_the_name_of_its_function_and_of_its_pipeline() -> None:
    for node in register_pipelines()["evaluate"].nodes:
        module = node.func.__module__.split(".")[2]
        assert node.name == f"{module}.{node.func.__name__}"
        assert node.namespace == module


def test_only_what_crosses_pipelines_is_exposed() -> None:
    """An output without a namespace is read by another pipeline, or is what a user runs it for."""
    nodes = [*register_pipelines()["evaluate"].nodes, *register_pipelines()["benchmark"].nodes]
    read = {(name, node.namespace) for node in nodes for name in node.inputs}
    results = {"audit_page", "dataset_card", "release", "benchmark_cells", "benchmark_outcomes"}
    for node in nodes:
        for name in node.outputs:
            elsewhere = any(n == name and namespace != node.namespace for n, namespace in read)
            asked_for = name in results or name in NAMED_BY_OTHERS
            assert ("." not in name) == (elsewhere or asked_for), name


NAMED_BY_OTHERS = ("privacy_report", "balance_report")  # by the entry `provenance`


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
def test_every_output_is_an_artifact_keyed_by_corpus(name: str) -> None:
    entry = CATALOG[name]
    assert entry["type"].startswith("take.datasets.artifact.")
    assert entry.get("versioned", False) is (name not in ONE_VERSION)
    key = "benchmark" if name.startswith("benchmark") else "rotten_tomatoes"
    assert f"/{key}/" in entry["filepath"]
    kinds = (".parquet", ".json", ".safetensors", ".txt", ".md", ".html")
    folders = ("/adapter", "/verifier", "/release")  # peft's, ours, the `datasets` library's
    assert entry["filepath"].endswith(kinds + folders)


def test_every_class_that_the_catalog_names_is_there() -> None:
    for entry in CATALOG.values():
        inner = entry.get("dataset")
        named = [entry["type"], entry.get("model"), inner if isinstance(inner, str) else None]
        if isinstance(inner, dict):
            named += [inner["type"], inner.get("dataclass")]
        for path in filter(None, named):
            assert load_obj(path), path


@pytest.mark.parametrize("name", NOT_MADE)
def test_given_datasets_are_neither_artifacts_nor_outputs(name: str) -> None:
    assert not CATALOG[name]["type"].startswith("take.datasets.artifact.")
    for pipeline in register_pipelines().values():
        assert name not in pipeline.all_outputs()


def test_every_given_dataset_but_the_cells_has_an_identity() -> None:
    """Without one a node runs every time: a grid does, to try again what failed."""
    for name in NOT_MADE:
        has_one = hasattr(load_obj(CATALOG[name]["type"]), "identity")
        assert has_one is (name != "cell_folder"), name
    # Its content decides no result: a search that was killed is no reason to run again.
    assert CATALOG["search_folder"]["type"] == "take.datasets.folders.WorkFolderDataset"


def test_no_two_artifacts_share_a_path() -> None:
    """Two entries of one path overwrite each other, unless one of them is never saved."""
    paths: dict[str, set[str]] = {}
    for name, entry in CATALOG.items():
        paths.setdefault(entry.get("filepath", name), set()).add(name)
    shared = [names for names in paths.values() if len(names) > 1]
    assert shared == [{"distilled", "previous_distilled"}]
    for pipeline in register_pipelines().values():
        assert "previous_distilled" not in pipeline.all_outputs()


WITH_TEXTS_OR_IDS = (
    *("corpus", "evaluation_split", "weights", "scoring.scoring_examples"),
    *("generator_rows", "pool", "ledger"),
    *("generation.pool_coverage", "generation.pool_examples"),
    *("distillation.objections", "distillation.excluded"),
    *("distillation.selection", "distillation.greedy_path", "distilled", "previous_distilled"),
    *("canaries", "audit.privacy_findings", "audit.balance_terms"),
    *("audit_page", "audit.release_page", "dataset_card", "release"),
    *("lineage", "lineage_totals", "distillation.assignments", "least_covered"),
    "map_coordinates",
)


def test_tables_with_texts_never_go_to_mlflow() -> None:
    for name in WITH_TEXTS_OR_IDS:
        assert "take" not in CATALOG[name]["metadata"]


def test_a_new_table_or_file_is_one_or_the_other() -> None:
    """An artifact that holds rows has to be named above, or be known to hold numbers alone."""
    vectors = {"embeddings", "pool_embeddings", "trajectory", "influence", "distillation.trace"}
    scores = {
        *("evaluation_cells", "evaluation.summary", "evaluation.comparisons", "evaluation.table"),
        *("benchmark_cells", "benchmark.summary", "benchmark.comparisons", "benchmark.table"),
    }
    numbers = {
        *vectors,
        *scores,
        "budget_curve",
        "audit.membership_scores",
        "audit.slice_accuracy",
        "audit.accuracy_summary",
        "evaluation_outcomes",
        "benchmark_outcomes",
    }
    kinds = ("TableArtifact", "artifact.Artifact")
    rows = {name for name, entry in CATALOG.items() if entry["type"].endswith(kinds)}
    assert rows == {*WITH_TEXTS_OR_IDS, *numbers, "adapter", "generation.verifier"}
    logged = {name for name, entry in CATALOG.items() if "take" in entry["metadata"]}
    assert rows & logged == {"budget_curve", *scores} - {"evaluation_cells", "benchmark_cells"}
