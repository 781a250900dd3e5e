"""What `kedro run` runs: the wiring of each stage, and its thin typed nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from kedro.pipeline import Pipeline, node
from kedro.pipeline.node import Node


def step(
    function: Callable[..., Any], inputs: list[str] | dict[str, str], outputs: str | list[str]
) -> Node:
    """A node with the name of its function."""
    return node(function, inputs, outputs, name=function.__name__)


def stage(namespace: str, nodes: Iterable[Node], exposed: Iterable[str]) -> Pipeline:
    """A modular pipeline: its inputs and `exposed` outputs keep their names, the rest is internal.

    kedro-viz then shows it as one box, and `kedro run --namespaces=…` runs it alone.
    """
    nodes = list(nodes)
    read = Pipeline(nodes).inputs()
    parameters = {name for name in read if name.startswith("params:")}
    return Pipeline(
        nodes,
        namespace=namespace,
        inputs=read - parameters,
        outputs=set(exposed),
        parameters=parameters,
        tags=namespace,
    )
