"""The encoder in plain PyTorch, fp32: the reference, and the backend that runs anywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from take.blocks import Float32
from take.encoder.models import EncoderModel


class TorchBackend:
    """Mean-pooled, L2-normalised token states of a transformer."""

    batch_tokens = 4096
    """Tokens in a batch: large enough for the matrix products, small enough for the caches."""

    def __init__(self, model: EncoderModel) -> None:
        import torch
        from transformers import AutoModel

        self._torch = torch
        self._model: Any = AutoModel.from_pretrained(
            model.folder, local_files_only=True, use_safetensors=True, dtype=torch.float32
        ).eval()

    @staticmethod
    def version() -> str:
        """What else decides the bits of a vector."""
        import torch

        return f"torch-{torch.__version__}"

    def encode(self, token_ids: NDArray[np.int64]) -> Float32:
        """The unit vectors of strings of equal length."""
        with self._torch.inference_mode():
            ids = self._torch.from_numpy(token_ids)
            states = self._model(input_ids=ids).last_hidden_state
            vectors = self._torch.nn.functional.normalize(states.mean(dim=1), dim=1)
        result: Float32 = vectors.numpy()
        return result
