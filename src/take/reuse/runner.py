"""A runner that skips the nodes whose outputs are up to date, and logs why it runs the others."""

from __future__ import annotations

import logging
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Any

from kedro.runner import SequentialRunner
from kedro.runner.task import Task

from take.datasets.artifact import Artifact
from take.reuse.hooks import node_origin
from take.reuse.records import Origin, damage, read_record

if TYPE_CHECKING:
    from kedro.io import CatalogProtocol
    from kedro.pipeline import Pipeline
    from kedro.pipeline.node import Node
    from pluggy import PluginManager

    Catalog = CatalogProtocol[Any, Any]

_logger = logging.getLogger(__name__)


class ReusingRunner(SequentialRunner):
    """Runs nodes one after the other, skipping those whose outputs are already what they make.

    A node's outputs are reused if their files are as recorded and were made by the same code from
    the same parameters and inputs, by whichever runner. Inputs are compared by content, so an
    upstream node that ran again and made the same bytes does not make its successors run.
    """

    def __str__(self) -> str:
        return type(self).__name__

    def _run(
        self,
        pipeline: Pipeline,
        catalog: Catalog,
        hook_manager: PluginManager | None = None,
        run_id: str | None = None,
    ) -> None:
        load_counts = Counter(chain.from_iterable(node.inputs for node in pipeline.nodes))
        for node in pipeline.nodes:
            reason = reason_to_run(node, catalog)
            if reason:
                _logger.info("Running '%s': %s.", node.name, reason)
                Task(node, catalog, False, hook_manager, run_id).execute()
            else:
                _logger.info("Reusing the outputs of '%s': nothing changed.", node.name)
            self._release_datasets(node, catalog, load_counts, pipeline)


def reason_to_run(node: Node, catalog: Catalog) -> str:
    """Why the node has to run; empty if its outputs can be reused."""
    origin = node_origin(node, catalog)
    if origin is None:
        return "an input cannot be fingerprinted"
    if altered := _altered_outputs(node, catalog):
        return f"altered since the last run: {', '.join(altered)}"
    for name in node.outputs:
        if reason := _out_of_date(name, catalog, origin):
            return reason
    return ""


def _out_of_date(name: str, catalog: Catalog, origin: Origin) -> str:
    dataset = catalog[name]
    if not isinstance(dataset, Artifact):
        return f"'{name}' is not kept on disk"
    if not dataset.exists():
        return f"'{name}' has not been made yet"
    record = read_record(dataset.path)
    if record is None or record.made_from is None:
        return f"it is not recorded what '{name}' was made from"
    return origin.difference(record.made_from)


def _altered_outputs(node: Node, catalog: Catalog) -> list[str]:
    """The outputs whose files are not as they were written, each file named in the log."""
    altered = []
    for name in node.outputs:
        dataset = catalog[name]
        if not isinstance(dataset, Artifact) or not dataset.exists():
            continue
        if problem := damage(dataset.path):
            _logger.warning("%s.", problem)
            altered.append(f"'{name}'")
    return altered
