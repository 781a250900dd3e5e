"""A runner that reuses what still matches and says why it makes the rest anew."""

from __future__ import annotations

import logging
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Any

from kedro.runner import SequentialRunner
from kedro.runner.task import Task

from take.cost import Cost, costing
from take.datasets.artifact import REMAKE, Artifact, check_together
from take.errors import InputError
from take.reuse.digests import code_digests, plain
from take.reuse.records import MakingCost, Origin, damage, read_record, stamp_origin

if TYPE_CHECKING:
    from kedro.io import CatalogProtocol
    from kedro.pipeline import Pipeline
    from kedro.pipeline.node import Node
    from pluggy import PluginManager

_logger = logging.getLogger(__name__)


class ReusingRunner(SequentialRunner):
    """Runs nodes one after the other, skipping those whose outputs are already what they make.

    A node's outputs are reused if their files are as recorded and were made by the same code from
    the same parameters and inputs. Inputs are compared by content, so an upstream node that ran
    again and made the same bytes does not make its successors run.
    """

    def __str__(self) -> str:
        return type(self).__name__

    def _run(
        self,
        pipeline: Pipeline,
        catalog: CatalogProtocol[Any, Any],
        hook_manager: PluginManager | None = None,
        run_id: str | None = None,
    ) -> None:
        _check_request(pipeline, catalog)
        load_counts = Counter(chain.from_iterable(node.inputs for node in pipeline.nodes))
        done: set[Node] = set()
        for node in pipeline.nodes:
            origin = _origin(node, catalog)
            reason = _reason_to_run(node, catalog, origin)
            if reason:
                _logger.info("Running '%s': %s.", node.name, reason)
                with costing() as cost:
                    self._execute(node, pipeline, catalog, hook_manager, run_id, done)
                _stamp(node, catalog, origin, cost)
            else:
                _logger.info("Reusing the outputs of '%s': nothing changed.", node.name)
            done.add(node)
            self._release_datasets(node, catalog, load_counts, pipeline)

    def _execute(
        self,
        node: Node,
        pipeline: Pipeline,
        catalog: CatalogProtocol[Any, Any],
        hook_manager: PluginManager | None,
        run_id: str | None,
        done: set[Node],
    ) -> None:
        try:
            Task(
                node=node,
                catalog=catalog,
                is_async=False,
                hook_manager=hook_manager,
                run_id=run_id,
            ).execute()
        except Exception:
            self._suggest_resume_scenario(pipeline, done, catalog)
            raise


def _check_request(pipeline: Pipeline, catalog: CatalogProtocol[Any, Any]) -> None:
    """Refuse to start on inputs that are absent, altered, or do not belong together."""
    for name in sorted(pipeline.all_outputs()):
        dataset = catalog[name]
        if isinstance(dataset, Artifact) and dataset.is_pinned:
            raise InputError(
                f"--load-versions pins '{name}', which this run makes",
                remedy="pin what a run only reads; run a later pipeline on its own for that",
            )
    artifacts: dict[str, Artifact] = {}
    for name in sorted(pipeline.inputs()):
        dataset = catalog[name]
        if hasattr(dataset, "check"):
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


def _origin(node: Node, catalog: CatalogProtocol[Any, Any]) -> Origin | None:
    """What the node's outputs would be made from now; None if an input has no identity."""
    parameters: dict[str, Any] = {}
    inputs: dict[str, str] = {}
    for name in sorted(node.inputs):
        dataset = catalog[name]
        if name.startswith("params:"):
            parameters[name.removeprefix("params:")] = plain(dataset.load())
        elif hasattr(dataset, "identity"):
            inputs[name] = dataset.identity()
        else:
            return None
    code = code_digests(node.func.__module__)
    return Origin(node=node.name, code=code, parameters=parameters, inputs=inputs)


def _reason_to_run(node: Node, catalog: CatalogProtocol[Any, Any], origin: Origin | None) -> str:
    """Why the node has to run; empty if its outputs can be reused."""
    if origin is None:
        return "an input cannot be fingerprinted"
    if altered := _altered_outputs(node, catalog):
        return f"altered since the last run: {', '.join(altered)}"
    for name in node.outputs:
        dataset = catalog[name]
        if not isinstance(dataset, Artifact):
            return f"'{name}' is not kept on disk"
        if not dataset.exists():
            return f"'{name}' has not been made yet"
        record = read_record(dataset.path)
        before = record.made_from if record else None
        if before is None:
            return f"it is not recorded what '{name}' was made from"
        if changes := origin.difference(before):
            return changes
    return ""


def _altered_outputs(node: Node, catalog: CatalogProtocol[Any, Any]) -> list[str]:
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


def _stamp(
    node: Node, catalog: CatalogProtocol[Any, Any], origin: Origin | None, cost: Cost
) -> None:
    if origin is None:
        return
    took = MakingCost(seconds=round(cost.seconds, 3), peak_megabytes=round(cost.peak_megabytes, 1))
    for name in node.outputs:
        dataset = catalog[name]
        if isinstance(dataset, Artifact):
            stamp_origin(dataset.path, origin, took)
