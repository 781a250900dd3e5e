"""The ways of running the encoder, by name: the names are `models.BackendName`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar, Protocol

from take.encoder.batching import Batch
from take.encoder.models import BackendName, EncoderModel
from take.encoder.quantisation import CALIBRATION
from take.reuse.digests import code_digests, file_digest, value_digest
from take.rows.arrays import Float32

# The modules that decide a vector; the rest of what they import handles files and messages.
_DECISIVE_CODE = ("batching", "torch_backend", "openvino_backend", "quantisation")


class Backend(Protocol):
    """Runs the transformer over batches of strings of equal length."""

    batch_tokens: ClassVar[int]
    """Tokens in a batch: enough for the matrix products, few enough for the caches."""

    def encode(self, batches: Iterable[Batch]) -> Iterator[tuple[Batch, Float32]]:
        """Each batch with its strings' unit vectors, in any order."""
        ...


def load_backend(name: BackendName, model: EncoderModel) -> Backend:
    """The backend of that name with the model's weights."""
    from take.encoder.openvino_backend import OpenVinoBackend, OpenVinoInt8Backend
    from take.encoder.torch_backend import TorchBackend

    if name == "torch":
        return TorchBackend(model)
    if name == "openvino":
        return OpenVinoBackend(model)
    return OpenVinoInt8Backend(model)


def runtime_version(name: BackendName) -> str:
    """What besides the weights decides the bits of a vector."""
    from importlib.metadata import version

    package = "torch" if name == "torch" else "openvino"
    calibration = file_digest(CALIBRATION) if name == "openvino_int8" else ""
    code = {
        module: digest
        for module, digest in code_digests(f"take.encoder.{package}_backend").items()
        if module.removeprefix("take.encoder.") in _DECISIVE_CODE
    }
    return f"{package}-{version(package)}-{calibration}-{value_digest(code)}"
