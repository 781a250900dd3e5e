"""Hooks for any runner: they check the inputs of a run and record the origin of its outputs."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from kedro.framework.hooks import hook_impl

from take.cost import CostMeter
from take.datasets.artifact import REMAKE, Artifact, check_together
from take.errors import InputError
from take.reuse.digests import function_code, plain, value_digest
from take.reuse.records import MakingCost, Origin, stamp_origin

if TYPE_CHECKING:
    from kedro.io import CatalogProtocol
    from kedro.pipeline import Pipeline
    from kedro.pipeline.node import Node

    Catalog = CatalogProtocol[Any, Any]


@runtime_checkable
class Identified(Protocol):
    """A dataset with a digest of its contents. A node that reads any other dataset always runs."""

    def identity(self) -> str:
        """A digest of all that it contributes to a result."""
        ...


@runtime_checkable
class Checked(Protocol):
    """A dataset that is checked before a run starts, not only when a node loads it."""

    def check(self) -> None:
        """Raise an error if it cannot be used."""
        ...


@dataclass
class _Running:
    """A node that runs now."""

    meter: CostMeter
    catalog: Catalog | None = None
    origin: Origin | None = None
    saved: set[str] = field(default_factory=set)


class ProvenanceHooks:
    """Checks the inputs of a run, and stamps the origin and the cost of what it makes.

    A runner with threads calls these for several nodes at once, but for one node in one thread:
    what is known of running nodes is kept by node. A runner with processes has a copy in each.
    """

    def __init__(self) -> None:
        self._running: dict[str, _Running] = {}
        self._lock = threading.Lock()

    @hook_impl
    def before_pipeline_run(self, pipeline: Pipeline, catalog: Catalog) -> None:
        """Refuse inputs that are absent, altered, or do not belong together."""
        # Kedro reports no interrupted run: in a notebook, its nodes must not count for the next.
        self.on_pipeline_error()
        check_request(pipeline, catalog)

    @hook_impl
    def before_dataset_loaded(self, node: Node) -> None:
        """Loading the inputs is part of what a node costs."""
        self._state(node)

    @hook_impl
    def before_node_run(self, node: Node, catalog: Catalog) -> None:
        """Note what the outputs are about to be made from."""
        running = self._state(node)
        running.catalog, running.origin = catalog, node_origin(node, catalog)

    @hook_impl
    def after_dataset_saved(self, dataset_name: str, node: Node) -> None:
        """Stamp the outputs once all of them are there; a node killed before runs again."""
        running = self._running.get(node.name)
        if running is None:
            return
        running.saved.add(dataset_name)
        if running.saved < set(node.outputs):
            return
        del self._running[node.name]
        cost = running.meter.stop()
        if running.origin is None or running.catalog is None:
            return
        took = MakingCost(
            seconds=round(cost.seconds, 3), peak_megabytes=round(cost.peak_megabytes, 1)
        )
        for name in node.outputs:
            dataset = running.catalog[name]
            if isinstance(dataset, Artifact):
                stamp_origin(dataset.path, running.origin, took)

    @hook_impl
    def after_pipeline_run(self) -> None:
        """Stop measuring nodes without outputs."""
        self.on_pipeline_error()

    @hook_impl
    def on_pipeline_error(self) -> None:
        """Stop measuring what has not ended."""
        while self._running:
            self._running.popitem()[1].meter.stop()

    def _state(self, node: Node) -> _Running:
        with self._lock:
            if node.name not in self._running:
                self._running[node.name] = _Running(CostMeter())
            return self._running[node.name]


def check_request(pipeline: Pipeline, catalog: Catalog) -> None:
    """Refuse to start on inputs that are absent, altered, or do not belong together."""
    for name in sorted(pipeline.all_outputs()):
        dataset = catalog.get(name)
        if isinstance(dataset, Artifact) and dataset.is_pinned:
            raise InputError(
                f"--load-versions pins '{name}', which this run makes",
                remedy="pin what a run only reads; run a later pipeline on its own for that",
            )
    artifacts: dict[str, Artifact] = {}
    for name in sorted(pipeline.inputs()):
        dataset = catalog.get(name)
        if isinstance(dataset, Checked):
            dataset.check()
        if isinstance(dataset, Artifact):
            if not dataset.exists():
                raise InputError(
                    f"artifact '{name}' has not been made yet",
                    where=str(dataset._filepath),
                    remedy=REMAKE,
                )
            artifacts[name] = dataset
    check_together(artifacts)


def node_origin(node: Node, catalog: Catalog) -> Origin | None:
    """What the node's outputs would be made from now; None if an input has no identity."""
    parameters: dict[str, Any] = {}
    inputs: dict[str, str] = {}
    for name in sorted(node.inputs):
        dataset = catalog[name]
        if name.startswith("params:"):
            parameters[name.removeprefix("params:")] = plain(dataset.load())
        elif isinstance(dataset, Identified):
            inputs[name] = dataset.identity()
        else:
            return None
    code = function_code(node.func)
    # The same datasets given to other arguments make something else.
    wiring = {f"{node.name} (wiring)": value_digest([node._inputs, node._outputs])[:16]}
    return Origin(
        node=node.name,
        code=code.modules | wiring,
        libraries=code.libraries,
        parameters=parameters,
        inputs=inputs,
    )
