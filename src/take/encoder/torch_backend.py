"""The encoder in plain PyTorch, fp32: the reference, and the backend that runs anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from take.encoder.batching import Batch
from take.encoder.models import EncoderModel
from take.model_files import hush_transformers
from take.rows.arrays import Float32


class TorchBackend:
    """Mean-pooled, L2-normalised token states of a transformer."""

    batch_tokens: ClassVar[int] = 2048

    def __init__(self, model: EncoderModel) -> None:
        self._module = load_module(model)

    def encode(self, batches: Iterable[Batch]) -> Iterator[tuple[Batch, Float32]]:
        """Each batch with its strings' unit vectors."""
        import torch

        for batch in batches:
            with torch.inference_mode():
                vectors = self._module(torch.from_numpy(batch.token_ids))
            yield batch, vectors.numpy()


def load_module(model: EncoderModel) -> Any:
    """A torch module: token ids of equal length → unit vectors. Strings need no mask then."""
    import torch
    from transformers import AutoModel

    hush_transformers()
    transformer = AutoModel.from_pretrained(
        model.folder,
        local_files_only=True,
        use_safetensors=True,
        dtype=torch.float32,
        attn_implementation="sdpa",
    ).eval()

    class UnitVectors(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.transformer = transformer

        def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
            mask = torch.ones_like(input_ids)
            states = self.transformer(input_ids=input_ids, attention_mask=mask).last_hidden_state
            return torch.nn.functional.normalize(states.mean(dim=1), dim=1)

    return UnitVectors().eval()
