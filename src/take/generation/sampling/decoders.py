"""A language model as something that writes many rows at once, one token each at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from take.errors import InputError
from take.generation.sampling.settings import DecoderName
from take.rows.arrays import Float32, Int64


class Decoder(Protocol):
    """Rows that began with one prompt and go on side by side."""

    def begin(self, prompt: Sequence[int]) -> Float32:
        """Read a prompt, forgetting all before; the logits (1, V) of the token after it."""
        ...

    def step(self, tokens: Int64, parents: Int64) -> Float32:
        """Write one token on each row; the logits (rows, V) of the token after it, to be altered.

        Row i continues row `parents[i]` of the step before. So rows leave a batch by not being
        named, and the prompt's one row becomes many by being named as often.
        """
        ...


def load_decoder(name: DecoderName, model: Any) -> Decoder:
    """The decoder of that name for a transformers model."""
    if name == "torch":
        return TorchDecoder(model)
    from take.generation.sampling.openvino_decoder import OpenVinoDecoder

    try:
        return OpenVinoDecoder(model, int8=name == "openvino_int8")
    except RuntimeError as error:  # what OpenVINO raises for an operation it cannot convert
        raise InputError(
            f"OpenVINO cannot run this language model ({type(model).__name__}): "
            f"{str(error).splitlines()[0]}",
            remedy="set generation.sampling.decoder to torch",
        ) from error


class TorchDecoder:
    """fp32 in torch. Runs whatever transformers runs; the size of a batch shows in its rounding."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._cache: Any = None
        self._length = 0

    def begin(self, prompt: Sequence[int]) -> Float32:
        """Read the prompt."""
        from transformers import DynamicCache

        self._cache = DynamicCache(config=self._model.config)
        self._length = 0
        return self._forward(np.array([prompt], dtype=np.int64))

    def step(self, tokens: Int64, parents: Int64) -> Float32:
        """Write one token on each row."""
        import torch

        self._cache.batch_select_indices(torch.from_numpy(np.ascontiguousarray(parents)))
        return self._forward(tokens[:, None])

    def _forward(self, tokens: Int64) -> Float32:
        import torch

        positions = torch.arange(self._length, self._length + tokens.shape[1])
        self._length += tokens.shape[1]
        with torch.inference_mode():
            logits = self._model(
                input_ids=torch.from_numpy(tokens),
                position_ids=positions.expand(len(tokens), -1),
                past_key_values=self._cache,
                use_cache=True,
                logits_to_keep=1,
            ).logits
        last: Float32 = logits[:, -1].float().clone().numpy()  # inference tensors are read-only
        return last
