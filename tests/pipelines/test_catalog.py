from __future__ import annotations

from graphlib import TopologicalSorter

import pytest
import yaml

from take.pipeline_registry import register_pipelines
from tests.conftest import ROOT

CATALOG = {
    name: entry
    for name, entry in yaml.safe_load((ROOT / "conf/base/catalog.yml").read_text()).items()
    if not name.startswith("_")
}


def layer(dataset: str) -> str:
    return CATALOG[dataset]["metadata"]["kedro-viz"]["layer"]


def test_every_dataset_is_in_the_catalog_and_used() -> None:
    used = {name for name in register_pipelines()["distill"].datasets() if "params:" not in name}
    assert used == set(CATALOG)


def test_layers_have_an_order() -> None:
    """kedro-viz shows no layers at all if they form a circle."""
    before: dict[str, set[str]] = {}
    for node in register_pipelines()["distill"].nodes:
        for made in node.outputs:
            sources = {layer(name) for name in node.inputs if "params:" not in name}
            before.setdefault(layer(made), set()).update(sources - {layer(made)})
    assert list(TopologicalSorter(before).static_order())


@pytest.mark.parametrize("name", sorted(CATALOG))
def test_what_a_run_makes_is_an_artifact_keyed_by_corpus(name: str) -> None:
    entry = CATALOG[name]
    if name in ("raw_corpus", "encoder", "language_model"):  # read, never made
        return
    assert entry["type"].startswith("take.datasets.artifact.")
    assert "/${_corpus}/" in entry["filepath"]
    kinds = (".parquet", ".json", ".safetensors", "/adapter")  # an adapter is peft's own folder
    assert entry["filepath"].endswith(kinds)


def test_tables_with_texts_never_go_to_mlflow() -> None:
    with_texts = ("corpus", "evaluation_split", "scoring_examples", "samples", "pool", "ledger")
    for name in (*with_texts, "pool_coverage", "pool_examples"):
        assert "take" not in CATALOG[name]["metadata"]
