"""A language model that continues many rows at once, by one token each per step.

OpenVINO runs one graph that reads tokens and keeps its key-value cache as state; each step first
gathers the rows that continue. The CPU plugin recognises gather, concatenation and attention as one
operation and then never copies the cache: that, and int8 weights, makes it fast. Written by hand,
because `optimum`, which `openvino-genai` needs, pins an older transformers (docs/decisions/0005).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, Protocol

import numpy as np

from take.cost import available_cores, shares_machine
from take.errors import InputError
from take.generation.sampling.openvino_graph import round_weights, stateful_graph
from take.rows.arrays import Float32, Int64

DecoderName = Literal["openvino_int8", "openvino", "torch"]

ROW_MULTIPLE = 8
"""Batches are filled up to multiples of this: see OpenVinoDecoder."""


def filled_up(values: Int64, multiple: int = ROW_MULTIPLE) -> Int64:
    """The values of rows, with the first one repeated up to the next multiple.

    >>> filled_up(np.array([5, 6, 7]), 4).tolist()
    [5, 6, 7, 5]
    """
    return np.concatenate([values, np.repeat(values[:1], -len(values) % multiple)])


class Decoder(Protocol):
    """Rows of one length that are continued in parallel."""

    def begin(self, *prompts: Sequence[int]) -> Float32:
        """Start again with a row for each prompt; the logits (prompts, V) of the tokens after them.

        Shorter prompts are filled up on the left with tokens that no other reads.
        """
        ...

    def step(self, tokens: Int64, parents: Int64) -> Float32:
        """Append one token to each row; the logits (rows, V) of the next one, free to be changed.

        Row i continues row `parents[i]` of the previous step. So a row leaves the batch by not
        being named, and the prompt becomes many rows by being named several times.
        """
        ...


class _Visible:
    """Which tokens of each row may be read: all but those it was filled up with."""

    def __init__(self, prompts: Sequence[Sequence[int]]) -> None:
        longest = max(map(len, prompts))
        self.tokens = np.array(
            [[prompt[0]] * (longest - len(prompt)) + list(prompt) for prompt in prompts],
            dtype=np.int64,
        )
        self.mask = np.array(
            [[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts],
            dtype=np.int64,
        )

    def append(self, parents: Int64) -> None:
        """One more token of each row."""
        self.mask = np.pad(self.mask[parents], ((0, 0), (0, 1)), constant_values=1)

    def positions(self, n_new: int) -> Int64:
        """Of the last tokens of each row."""
        counted = np.maximum(self.mask.cumsum(axis=1) - 1, 0)
        return np.ascontiguousarray(counted[:, -n_new:])


def load_decoder(name: DecoderName, model: Any) -> Decoder:
    """The decoder of that name for a transformers model."""
    if name == "torch":
        return TorchDecoder(model)
    try:
        return OpenVinoDecoder(model, int8=name == "openvino_int8")
    except RuntimeError as error:  # what OpenVINO raises for an operation it cannot convert
        raise InputError(
            f"OpenVINO cannot run this language model ({type(model).__name__}): "
            f"{str(error).splitlines()[0]}",
            remedy="set generation.sampling.decoder to torch",
        ) from error


class TorchDecoder:
    """fp32 in torch: runs every transformers model, but rounding depends on the batch size."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._cache: Any = None
        self._visible: Any = None

    def begin(self, *prompts: Sequence[int]) -> Float32:
        """Read the prompts."""
        from transformers import DynamicCache

        self._cache, self._visible = DynamicCache(config=self._model.config), _Visible(prompts)
        return self._forward(self._visible.tokens)

    def step(self, tokens: Int64, parents: Int64) -> Float32:
        """Append one token to each row."""
        import torch

        self._cache.batch_select_indices(torch.from_numpy(np.ascontiguousarray(parents)))
        self._visible.append(parents)
        return self._forward(tokens[:, None])

    def _forward(self, tokens: Int64) -> Float32:
        import torch

        with torch.inference_mode():
            logits = self._model(
                input_ids=torch.from_numpy(tokens),
                attention_mask=torch.from_numpy(self._visible.mask),
                position_ids=torch.from_numpy(self._visible.positions(tokens.shape[1])),
                past_key_values=self._cache,
                use_cache=True,
                logits_to_keep=1,
            ).logits
        last: Float32 = logits[:, -1].float().clone().numpy()  # inference tensors are read-only
        return last


class OpenVinoDecoder:
    """A transformers model, converted; with `int8`, its weights rounded to 8 bits.

    A row does not depend on the others of its batch as long as batches are multiples of 8 and of
    the number of threads: OpenVINO then divides the work among its threads by whole rows. So a row
    does not depend on the number of threads either.
    """

    def __init__(self, model: Any, *, int8: bool) -> None:
        import openvino

        graph = stateful_graph(model)
        if int8:
            round_weights(graph)
        settings = {
            "PERFORMANCE_HINT": "LATENCY",  # all cores on one batch
            "INFERENCE_NUM_THREADS": str(available_cores()),
            # Processes know nothing of one another, and would all be pinned to the first core.
            "ENABLE_CPU_PINNING": not shares_machine(),
            "INFERENCE_PRECISION_HINT": "f32",  # not bf16
            "DYNAMIC_QUANTIZATION_GROUP_SIZE": "32" if int8 else "0",
            "KV_CACHE_PRECISION": "u8" if int8 else "f32",
        }
        compiled = openvino.compile_model(graph, "CPU", settings)
        self._request = compiled.create_infer_request()
        n_threads = int(compiled.get_property("INFERENCE_NUM_THREADS"))
        self._row_multiple = math.lcm(ROW_MULTIPLE, n_threads)
        self._visible: Any = None

    def begin(self, *prompts: Sequence[int]) -> Float32:
        """Read the prompts."""
        self._request.reset_state()
        self._visible = _Visible(prompts)
        return self._infer(self._visible.tokens, np.arange(len(prompts)))

    def step(self, tokens: Int64, parents: Int64) -> Float32:
        """Append one token to each row."""
        n_rows = len(tokens)
        tokens, parents = (filled_up(rows, self._row_multiple) for rows in (tokens, parents))
        self._visible.append(parents)
        return self._infer(tokens[:, None], parents)[:n_rows]

    def _infer(self, tokens: Int64, parents: Int64) -> Float32:
        outputs = self._request.infer(
            {
                "tokens": tokens,
                "visible": self._visible.mask,
                "positions": self._visible.positions(tokens.shape[1]),
                "parents": parents.astype(np.int32),
            }
        )
        logits: Float32 = outputs["logits"]
        return logits
