"""Static int8 for the encoder's linear layers (SmoothQuant).

A linear layer y = Wx + b is rewritten with a scale s_j per input channel,

    y = (W diag(s)) (x / s) + b,    s_j = max|x_j|^α / max_i |W_ij|^(1−α),

which moves the outliers of the activations into the weights. Then x / s is rounded to int8 with
one fixed scale, and W diag(s) with one per output channel. The maxima max|x_j| are measured once
(scripts/calibrate_encoder.py) and shipped: scales that are fixed do not depend on a string's
neighbours in its batch.

The second layer of each feed-forward block stays in fp32; its activations are too skewed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

CALIBRATION = Path(__file__).parent / "all-MiniLM-L6-v2.calibration.safetensors"
CALIBRATED_WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of the model.safetensors the calibration was measured on."""

_ALPHA = 0.95


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
    """Put fake-quantised layers in place; a runtime that knows int8 turns them into real ones."""
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
