"""Running the encoder: batches of strings of one length, the PyTorch backend, backends by name.

Strings of one length need no padding, and nothing is computed on padding. The names of the
backends are `models.BackendName`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from take.encoder.models import BackendName, EncoderModel
from take.model_files import LOADING, hush_transformers
from take.reuse.digests import file_digest, module_code, value_digest
from take.rows.arrays import Float32, Int64


@dataclass(frozen=True)
class Batch:
    """Strings of equal length in tokens."""

    indices: Int64
    """Positions of the strings in the sequence they came from."""
    token_ids: Int64
    """(strings, tokens)."""


class Tokenizer:
    """A fast tokenizer that truncates at the encoder's length and reports which strings it cut."""

    def __init__(self, file: Path, max_tokens: int) -> None:
        from tokenizers import Tokenizer as FastTokenizer

        self._tokenizer: Any = FastTokenizer.from_file(str(file))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_tokens)

    def __call__(self, strings: Sequence[str]) -> tuple[list[list[int]], NDArray[np.uint8]]:
        """Token ids of each string, and whether it was cut."""
        encodings = self._tokenizer.encode_batch(list(strings))
        truncated = np.array([bool(encoding.overflowing) for encoding in encodings], dtype=np.uint8)
        return [encoding.ids for encoding in encodings], truncated


def equal_length_batches(token_ids: Sequence[Sequence[int]], max_tokens: int) -> Iterator[Batch]:
    """Batches of strings of one length, shortest first, of at most `max_tokens` tokens each.

    >>> token_ids = [[1, 2], [3], [4, 5], [6, 7]]
    >>> [batch.indices.tolist() for batch in equal_length_batches(token_ids, max_tokens=4)]
    [[1], [0, 2], [3]]
    """
    by_length: dict[int, list[int]] = defaultdict(list)
    for index, ids in enumerate(token_ids):
        by_length[len(ids)].append(index)
    for length in sorted(by_length):
        indices = by_length[length]
        size = max(1, max_tokens // max(1, length))
        for start in range(0, len(indices), size):
            chosen = indices[start : start + size]
            yield Batch(
                np.array(chosen, dtype=np.int64),
                np.array([token_ids[index] for index in chosen], dtype=np.int64),
            )


class Backend(Protocol):
    """Runs the transformer over batches of strings of equal length."""

    batch_tokens: ClassVar[int]
    """Tokens in a batch: enough for the matrix products, few enough for the caches."""

    def encode(self, batches: Iterable[Batch]) -> Iterator[tuple[Batch, Float32]]:
        """Each batch with its strings' unit vectors, in any order."""
        ...


class TorchBackend:
    """Plain PyTorch, fp32: the reference, and the backend that runs anywhere."""

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
    with LOADING:
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


def load_backend(name: BackendName, model: EncoderModel) -> Backend:
    """The backend of that name with the model's weights."""
    from take.encoder.openvino_backend import OpenVinoBackend, OpenVinoInt8Backend

    if name == "torch":
        return TorchBackend(model)
    if name == "openvino":
        return OpenVinoBackend(model)
    return OpenVinoInt8Backend(model)


def runtime_version(name: BackendName) -> str:
    """What besides the weights decides the bits of a vector: code, libraries, calibration."""
    from take.encoder.openvino_backend import CALIBRATION

    # Only these modules: the rest of what they import handles files and messages.
    modules = ["take.encoder.backends"]
    if name != "torch":
        modules += ["take.encoder.openvino_backend"]
    calibration = file_digest(CALIBRATION) if name == "openvino_int8" else ""
    return value_digest([name, module_code(*modules, follow=False), calibration])
