"""Hooks for any runner: they check the inputs of a run and record the origin of its outputs."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

from kedro.framework.hooks import hook_impl
from kedro.io.core import generate_timestamp

from take.cost import CostMeter
from take.datasets.artifact import REMAKE, Artifact, check_together
from take.datasets.sources import CATALOG_READERS, CatalogReader
from take.errors import InputError
from take.reuse.digests import edited_assets, load_code, plain, value_digest
from take.reuse.locks import LOCK_FOLDER, RunLock
from take.reuse.provenance import code_version
from take.reuse.records import MakingCost, Origin, stamp_origin

if TYPE_CHECKING:
    from kedro.framework.context import KedroContext
    from kedro.io import CatalogProtocol, DataCatalog
    from kedro.pipeline import Pipeline
    from kedro.pipeline.node import Node

    Catalog = CatalogProtocol[Any, Any]

_logger = logging.getLogger(__name__)


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
    """Locks the corpus of a run, checks its inputs, and stamps origin and cost of what it makes.

    A runner with threads calls these for several nodes at once, but for one node in one thread:
    what is known of running nodes is kept by node. A runner with processes has a copy in each.
    """

    def __init__(self) -> None:
        self._running: dict[str, _Running] = {}
        self._lock = threading.Lock()
        self._project: Path | None = None
        self._folder = ""
        self._wait_minutes = 0.0
        self._held: list[RunLock] = []

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Keep what the locks of a run depend on."""
        from take.hooks import chosen_folder, wait_minutes

        self._project, self._folder = Path(context.project_path), chosen_folder(context)
        self._wait_minutes = wait_minutes(context)

    @hook_impl
    def after_catalog_created(self, catalog: DataCatalog) -> None:
        """Let datasets that read others read them by the versions of this run."""
        for name in list(catalog.keys()):
            if catalog.get_type(name) in CATALOG_READERS:
                cast("CatalogReader[Any]", catalog[name]).bind(catalog)

    @hook_impl
    def before_pipeline_run(self, pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Refuse inputs that are absent, altered, or do not belong together."""
        # Kedro reports no interrupted run: in a notebook, its nodes must not count for the next,
        # and its lock must not stop it.
        self.on_pipeline_error()
        # What runs is what is recorded, even if a module is edited while this run waits or runs.
        code_version()
        for node in pipeline.nodes:
            load_code(node.func)
        try:
            self._acquire(pipeline, catalog)
            # Another run may have saved since this one was given its version, whether or not this
            # one had to wait for it.
            set_save_version(catalog, generate_timestamp())
            check_versions(pipeline, catalog)
            check_request(pipeline, catalog)
        except BaseException:
            self.on_pipeline_error()
            raise

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
        if edited := edited_assets(load_code(node.func)):
            _logger.warning(
                "%s was edited while '%s' ran: the next run makes its outputs again.",
                edited[0],
                node.name,
            )
            return
        for name in node.outputs:
            dataset = running.catalog[name]
            if isinstance(dataset, Artifact):
                stamp_origin(dataset.path, running.origin, took)

    @hook_impl(trylast=True)
    def after_pipeline_run(self) -> None:
        """Stop measuring nodes without outputs; release the corpus, after all other hooks."""
        self.on_pipeline_error()

    @hook_impl(trylast=True)
    def on_pipeline_error(self) -> None:
        """Stop measuring what has not ended; release the corpus, after all other hooks."""
        while self._running:
            self._running.popitem()[1].meter.stop()
        while self._held:
            self._held.pop().release()

    def _acquire(self, pipeline: Pipeline, catalog: Catalog) -> None:
        """Wait for other runs that write what this one writes."""
        if self._project is None:  # hooks without a project
            return
        for name in sorted(self._lock_names(pipeline, catalog)):
            lock = RunLock(self._project / "data" / LOCK_FOLDER, name)
            lock.acquire(self._wait_minutes)
            self._held.append(lock)

    def _lock_names(self, pipeline: Pipeline, catalog: Catalog) -> set[str]:
        """The corpus (and its pool), and `_shared` for what is written for all corpora."""
        outputs = (catalog.get(name) for name in pipeline.all_outputs())
        paths = [str(dataset._filepath) for dataset in outputs if isinstance(dataset, Artifact)]
        root = str(self._project)
        return {
            self._folder if f"/{self._folder}/" in path.removeprefix(root) else "_shared"
            for path in paths
        }

    def _state(self, node: Node) -> _Running:
        with self._lock:
            if node.name not in self._running:
                self._running[node.name] = _Running(CostMeter())
            return self._running[node.name]


def set_save_version(catalog: DataCatalog, version: str) -> None:
    """Give what the run saves another version."""
    # Kedro has no public way to change it once the catalog is there.
    catalog._save_version = version
    for lazy in catalog._lazy_datasets.values():
        lazy.save_version = version
    for dataset in catalog._datasets.values():
        if isinstance(dataset, Artifact):
            dataset.save_version = version


def check_versions(pipeline: Pipeline, catalog: Catalog) -> None:
    """Refuse a run that would save a version older than the newest: the next run would not see it.

    Versions are moments: the clock was set back since.
    """
    for name in sorted(pipeline.all_outputs()):
        dataset = catalog.get(name)
        if not isinstance(dataset, Artifact) or not dataset.save_version:
            continue
        if (newest := dataset.newest_version()) >= dataset.save_version:
            raise InputError(
                f"version {newest} of '{name}' is not older than this run "
                f"({dataset.save_version}): the clock was set back",
                where=str(dataset._filepath),
                remedy="set the clock right, or delete the folders of versions that are later "
                "than now",
            )


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
    code = load_code(node.func)
    # The same datasets given to other arguments make something else.
    wiring = {f"{node.name} (wiring)": value_digest([node._inputs, node._outputs])[:16]}
    return Origin(
        node=node.name,
        code=code.modules | wiring,
        libraries=code.libraries,
        parameters=parameters,
        inputs=inputs,
    )
