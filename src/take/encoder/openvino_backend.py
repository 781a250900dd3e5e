"""The encoder in OpenVINO: fp32, or int8 where that is exact enough.

By hand: batches of equal length, one stream per core and int8 with fixed scales make it 1.9 (fp32)
and 2.7 times as fast as SentenceTransformer, reproducibly (docs/decisions/0003).

Static int8 of the linear layers is SmoothQuant: y = Wx + b is rewritten with a scale s_j per input
channel,

    y = (W diag(s)) (x / s) + b,    s_j = max|x_j|^α / max_i |W_ij|^(1−α),

which moves the outliers of the activations into the weights. Then x / s is rounded to int8 with
one fixed scale, and W diag(s) with one per output channel. The maxima max|x_j| are measured once
(scripts/calibrate_encoder.py) and shipped: scales that are fixed do not depend on a string's
neighbours in its batch.

The second layer of each feed-forward block stays in fp32; its activations are too skewed.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from take.cost import available_cores, shares_machine
from take.encoder.backends import Batch, load_module
from take.encoder.models import EncoderModel
from take.errors import InputError
from take.reuse.digests import file_digest
from take.rows.arrays import Float32

CALIBRATION = Path(__file__).parent / "all-MiniLM-L6-v2.calibration.safetensors"
CALIBRATED_WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of the model.safetensors the calibration was measured on."""

_ALPHA = 0.95


class OpenVinoBackend:
    """fp32. One stream per core, each working on a batch of its own."""

    batch_tokens: ClassVar[int] = 1024

    def __init__(self, model: EncoderModel) -> None:
        self._fp32 = _Streams(load_module(model))

    def encode(self, batches: Iterable[Batch]) -> Iterator[tuple[Batch, Float32]]:
        """Each batch with its strings' unit vectors, in the order they are done."""
        for batch in batches:
            self._streams_for(batch).start(batch)
            yield from self._done()
        yield from self._done(wait=True)

    def _streams_for(self, batch: Batch) -> _Streams:
        return self._fp32

    def _done(self, *, wait: bool = False) -> Iterator[tuple[Batch, Float32]]:
        yield from self._fp32.done(wait=wait)


class OpenVinoInt8Backend(OpenVinoBackend):
    """int8 for all but the shortest strings.

    A string of few tokens has no other tokens to average its rounding errors with. Such strings
    are run in fp32: their int8 error is largest, and they cost next to nothing.
    """

    shortest_int8: ClassVar[int] = 9
    """Tokens, [CLS] and [SEP] included, from which int8 is used: docs/decisions/0003."""

    def __init__(self, model: EncoderModel) -> None:
        if file_digest(model.folder / "model.safetensors") != CALIBRATED_WEIGHTS:
            raise InputError(
                f"backend openvino_int8 is not calibrated for encoder {model.settings.model!r}",
                remedy="set encoder.backend in globals.yml to openvino",
            )
        super().__init__(model)
        module = load_module(model)
        quantise(module)
        self._int8 = _Streams(module)

    def _streams_for(self, batch: Batch) -> _Streams:
        is_short = batch.token_ids.shape[1] < self.shortest_int8
        return self._fp32 if is_short else self._int8

    def _done(self, *, wait: bool = False) -> Iterator[tuple[Batch, Float32]]:
        yield from self._fp32.done(wait=wait)
        yield from self._int8.done(wait=wait)


class _Streams:
    """A compiled module that works on as many batches at once as there are cores."""

    def __init__(self, module: Any) -> None:
        import openvino

        n_streams = available_cores()
        compiled = openvino.compile_model(
            _convert(module),
            "CPU",
            {
                "PERFORMANCE_HINT": "THROUGHPUT",
                "NUM_STREAMS": str(n_streams),
                # One thread a stream: a batch's sums are then always added in the same order.
                "INFERENCE_NUM_THREADS": str(n_streams),
                # Processes know nothing of one another, and would all be pinned to the first core.
                "ENABLE_CPU_PINNING": not shares_machine(),
                # Some processors would otherwise be given bf16, neither exact nor everywhere alike.
                "INFERENCE_PRECISION_HINT": "f32",
            },
        )
        self._results: deque[tuple[Batch, Float32]] = deque()
        self._queue = openvino.AsyncInferQueue(compiled, n_streams)
        self._queue.set_callback(self._keep)

    def start(self, batch: Batch) -> None:
        """Begin a batch as soon as a stream is free."""
        self._queue.start_async({0: batch.token_ids}, userdata=batch)

    def done(self, *, wait: bool) -> Iterator[tuple[Batch, Float32]]:
        """The batches that are done; with `wait`, all that were begun."""
        if wait:
            self._queue.wait_all()
        while self._results:
            yield self._results.popleft()

    def _keep(self, request: Any, batch: Batch) -> None:
        # Called in the stream's thread, whose buffer the next batch will overwrite.
        self._results.append((batch, np.array(request.get_output_tensor().data)))


def _convert(module: Any) -> Any:
    import openvino
    import torch

    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tracing warns of branches on shapes that do not vary here
        return openvino.convert_model(
            module,
            example_input=torch.ones(2, 8, dtype=torch.int64),
            input=[openvino.PartialShape([-1, -1])],
        )


def quantisable_layers(module: Any) -> dict[str, Any]:
    """The linear layers of the transformer's blocks, but for the feed-forward outputs."""
    import torch

    return {
        name: layer
        for name, layer in module.named_modules()
        if isinstance(layer, torch.nn.Linear)
        and ".layer." in name
        and not (name.endswith("output.dense") and "attention" not in name)
    }


def measure_activations(module: Any, batches: list[Any]) -> dict[str, Any]:
    """max|x_j| of each quantisable layer's input channels over batches of token ids."""
    import torch

    maxima: dict[str, Any] = {}

    def watch(name: str) -> Any:
        def hook(_: Any, inputs: Any) -> None:
            largest = inputs[0].abs().flatten(0, -2).amax(0)
            maxima[name] = torch.maximum(maxima[name], largest) if name in maxima else largest

        return hook

    layers = quantisable_layers(module).items()
    hooks = [layer.register_forward_pre_hook(watch(name)) for name, layer in layers]
    with torch.inference_mode():
        for batch in batches:
            module(batch)
    for hook in hooks:
        hook.remove()
    return maxima


def quantise(module: Any) -> None:
    """Put fake-quantised layers in place; a runtime with int8 support turns them into real ones."""
    from safetensors.torch import load_file

    maxima = load_file(CALIBRATION)
    for name, layer in quantisable_layers(module).items():
        parent, _, child = name.rpartition(".")
        setattr(module.get_submodule(parent), child, _quantised(layer, maxima[name]))


def _quantised(layer: Any, input_maxima: Any) -> Any:
    import torch

    class QuantisedLinear(torch.nn.Module):
        unsmooth: torch.Tensor
        weight: torch.Tensor
        bias: torch.Tensor
        weight_scale: torch.Tensor
        zero: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            weight = layer.weight.data
            largest_weights = weight.abs().amax(0).clamp(min=1e-5)
            smooth = input_maxima.clamp(min=1e-5) ** _ALPHA / largest_weights ** (1 - _ALPHA)
            smooth = smooth.clamp(min=1e-4)
            self.register_buffer("unsmooth", 1 / smooth)
            self.register_buffer("weight", weight * smooth)
            self.register_buffer("bias", layer.bias.data)
            self.register_buffer("weight_scale", self.weight.abs().amax(1) / 127)
            self.register_buffer("zero", torch.zeros(len(weight), dtype=torch.int32))
            self.input_scale = float((input_maxima / smooth).max()) / 127

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = torch.fake_quantize_per_tensor_affine(
                x * self.unsmooth, self.input_scale, 0, -128, 127
            )
            weight = torch.fake_quantize_per_channel_affine(
                self.weight, self.weight_scale, self.zero, 0, -127, 127
            )
            return torch.nn.functional.linear(x, weight, self.bias)

    return QuantisedLinear()
