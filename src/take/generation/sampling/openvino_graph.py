"""A transformers model as an OpenVINO graph that continues many rows by one token each."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np


def stateful_graph(model: Any) -> Any:
    """The model as a graph whose inputs are one step's, and whose state is the cache."""
    import openvino
    import torch
    from openvino._offline_transformations import apply_make_stateful_transformation

    shapes = _cache_shapes(model)
    n_rows, n_past, n_new = 2, 3, 2
    example = (
        torch.ones(n_rows, n_new, dtype=torch.int64),
        torch.ones(n_rows, n_past + n_new, dtype=torch.int64),
        torch.arange(n_past, n_past + n_new).repeat(n_rows, 1),
        torch.arange(n_rows, dtype=torch.int32),
        *(torch.zeros(n_rows, heads, n_past, width) for heads, width in shapes),
    )
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tracing warns of branches on shapes that do not vary here
        graph = openvino.convert_model(_one_step(model, len(shapes)), example_input=example)
    past = [f"past.{i}" for i in range(len(shapes))]
    present = [f"present.{i}" for i in range(len(shapes))]
    for port, name in zip(
        graph.inputs, ["tokens", "visible", "positions", "parents", *past], strict=True
    ):
        port.get_tensor().set_names({name})
    for port, name in zip(graph.outputs, ["logits", *present], strict=True):
        port.get_tensor().set_names({name})
    free = openvino.PartialShape([-1, -1])
    dimensions = {"tokens": free, "visible": free, "positions": free}
    dimensions["parents"] = openvino.PartialShape([-1])
    for name, (heads, width) in zip(past, shapes, strict=True):
        dimensions[name] = openvino.PartialShape([-1, heads, -1, width])
    graph.reshape(dimensions)
    apply_make_stateful_transformation(graph, dict(zip(past, present, strict=True)))
    _start_empty(graph)
    return graph


def _one_step(model: Any, n_tensors: int) -> Any:
    import torch
    from transformers.cache_utils import DynamicCache, DynamicLayer

    def layer(keys: Any, values: Any) -> Any:
        # Filled by hand: an update of an empty layer would be traced as a concatenation.
        filled = DynamicLayer()
        filled.dtype, filled.device = keys.dtype, keys.device
        filled.keys, filled.values, filled.is_initialized = keys, values, True
        return filled

    class OneStep(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(
            self, tokens: Any, visible: Any, positions: Any, parents: Any, *past: Any
        ) -> Any:
            rows = [tensor.index_select(0, parents) for tensor in past]
            cache = DynamicCache()
            cache.layers = [layer(rows[i], rows[i + 1]) for i in range(0, n_tensors, 2)]
            n_new, n_all = tokens.shape[1], visible.shape[1]
            at, now = torch.arange(n_all), torch.arange(n_new)[:, None] + (n_all - n_new)
            # A token that fills a row up reads itself: of nothing, attention is not a number.
            mask = ((at <= now)[None, None] & (visible[:, None, None, :] > 0)) | (at == now)
            done = self.model(
                input_ids=tokens,
                attention_mask=mask,
                position_ids=positions,
                past_key_values=cache,
                use_cache=True,
                logits_to_keep=1,
            )
            layers = done.past_key_values.layers
            present = [tensor for filled in layers for tensor in (filled.keys, filled.values)]
            return (done.logits[:, -1], *present)

    return OneStep()


def _cache_shapes(model: Any) -> list[tuple[int, int]]:
    """(heads, width) of each key and value tensor, as a run of the model shows them."""
    import torch

    with torch.no_grad():
        cache = model(input_ids=torch.ones(1, 2, dtype=torch.int64), use_cache=True).past_key_values
    tensors = [tensor for layer in cache.layers for tensor in (layer.keys, layer.values)]
    return [(tensor.shape[1], tensor.shape[3]) for tensor in tensors]


def _start_empty(graph: Any) -> None:
    """Let the state begin as a cache of length 0 for as many rows as the first input has."""
    from openvino import opset13 as ops

    shape = ops.shape_of(graph.input("tokens"), output_type="i64")
    n_rows = ops.gather(shape, ops.constant([0]), ops.constant(0))
    for node in graph.get_ordered_ops():
        if node.get_type_name() == "ReadValue":
            heads, _, width = list(node.get_output_partial_shape(0))[1:]
            rest = np.array([heads.get_length(), 0, width.get_length()], dtype=np.int64)
            empty = ops.concat([n_rows, ops.constant(rest)], 0)
            zero = ops.constant(0.0, dtype=node.get_output_element_type(0))
            node.set_arguments([ops.broadcast(zero, empty)])
    graph.validate_nodes_and_infer_types()


def round_weights(graph: Any) -> None:
    """Write each constant matrix W of a product as int8 times one scale per output channel.

    OpenVINO then rounds the activations, too, per row and group of 32 channels, and multiplies
    integers. The rounding of a row depends on that row only.
    """
    from openvino import opset13 as ops

    for node in list(graph.get_ordered_ops()):
        if node.get_type_name() != "MatMul":
            continue
        source = node.input(1).get_source_output().get_node()
        if source.get_type_name() != "Constant" or source.data.ndim != 2:
            continue
        weights = np.asarray(source.data)
        axis = 1 if node.get_attributes()["transpose_b"] else 0
        scale = np.abs(weights).max(axis=axis, keepdims=True).astype(np.float32) / 127
        scale[scale == 0] = 1
        rounded = np.round(weights / scale).astype(np.int8)
        product = ops.multiply(ops.convert(ops.constant(rounded), "f32"), ops.constant(scale))
        node.input(1).replace_source_output(product.output(0))
