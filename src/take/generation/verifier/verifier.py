"""A trained verifier: probabilities of labels, and its folder.

verifier.json                                       which kind, its classes, how it reads texts
weights.safetensors                                 W and b of a probe, or of the last layer
config.json, tokenizer.json, model.safetensors      the rest of a cross-encoder
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from take.errors import InputError
from take.generation.verifier.verifier_settings import VerifierKind
from take.learners.base import Texts
from take.learners.pretrained import Pretrained, TransformerSettings
from take.learners.transformer import TransformerModel, build_classifier
from take.reuse.tensors import TensorStream, map_tensors, write_tensors
from take.rows.arrays import Float64, Int64
from take.rows.blocks import RowBlocks, map_blocks

_DESCRIPTION, _WEIGHTS = "verifier.json", "weights.safetensors"
_TOKENIZER, _TRANSFORMER = "tokenizer.json", "model.safetensors"


class Verifier(Protocol):
    """Predicts the labels of rows, given their texts and φ of them."""

    @property
    def kind(self) -> VerifierKind:
        """Which."""
        ...

    @property
    def classes(self) -> Sequence[str]:
        """Label names by id."""
        ...

    def probabilities(self, texts: Texts, phi: RowBlocks) -> Float64:
        """(rows, C), each row of sum 1."""
        ...

    def save(self, folder: Path) -> None:
        """Write a new folder: the same bytes for the same weights."""
        ...


def predicted_labels(verifier: Verifier, texts: Texts, phi: RowBlocks) -> Int64:
    """The likeliest label of each row."""
    labels: Int64 = verifier.probabilities(texts, phi).argmax(axis=1).astype(np.int64)
    return labels


@dataclass(frozen=True)
class Probe:
    """softmax(W φ + b): a logistic regression on φ.

    >>> from take.rows.blocks import ArrayBlocks
    >>> probe = Probe(("bad", "good"), weights=np.array([[-1.0], [1.0]]), biases=np.zeros(2))
    >>> phi = ArrayBlocks(np.array([[2.0]], dtype=np.float32))
    >>> probe.probabilities(Texts.of(["fine"]), phi).round(3).tolist()
    [[0.018, 0.982]]
    """

    classes: tuple[str, ...]
    weights: Float64
    """(C, features)."""
    biases: Float64
    """(C,)."""

    kind: VerifierKind = "probe"

    def probabilities(self, texts: Texts, phi: RowBlocks) -> Float64:
        """(rows, C), of φ alone."""
        width = self.weights.shape[1]
        if phi.shape != (len(texts), width):
            raise InputError(
                f"{len(texts)} rows have vectors of shape {phi.shape}",
                where="verifier",
                allowed=f"({len(texts)}, {width})",
                remedy="train the verifier with the encoder that embedded them",
            )
        parts = map_blocks(
            lambda _, block: block.astype(np.float64) @ self.weights.T + self.biases, phi
        )
        return _softmax(np.concatenate([np.empty((0, len(self.biases))), *parts]))

    def save(self, folder: Path) -> None:
        """Write a new folder."""
        _write(folder, self, {})
        arrays = {"weights": self.weights, "biases": self.biases}
        write_tensors(
            folder / _WEIGHTS, {name: TensorStream.of(array) for name, array in arrays.items()}
        )


@dataclass(frozen=True)
class CrossEncoder:
    """A fine-tuned transformer, which reads a row whole: both texts of a pair at once.

    It may be trained with bfloat16 products, but predicts with float32: what it predicts for a row
    then hardly depends on the rows in the same batch.
    """

    classes: tuple[str, ...]
    pretrained: Pretrained
    """Its tokenizer and architecture."""
    model: TransformerModel

    kind: VerifierKind = "cross_encoder"

    @classmethod
    def of(
        cls, classes: tuple[str, ...], pretrained: Pretrained, tuned: Any, *, pairs: bool
    ) -> CrossEncoder:
        """A classifier of `build_classifier`, from now on with float32 products."""
        exact = pretrained.settings.model_copy(update={"precision": "float32"})
        module = build_classifier(exact, pretrained, len(classes))
        module.load_state_dict(tuned.state_dict())
        model = TransformerModel(module.eval(), pretrained, pairs=pairs, n_classes=len(classes))
        return cls(classes, pretrained, model)

    def probabilities(self, texts: Texts, phi: RowBlocks) -> Float64:
        """(rows, C), of the texts alone."""
        return _softmax(self.model.logits(texts))

    def save(self, folder: Path) -> None:
        """Write a new folder, with all that predicting needs."""
        from safetensors.torch import save_file

        settings = self.pretrained.settings
        more = {
            "pairs": self.model.pairs,
            "max_tokens": settings.max_tokens,
            "prefix": self.pretrained.prefix,
        }
        _write(folder, self, more)
        config = {key: v for key, v in self.pretrained.config.items() if key != "_name_or_path"}
        _write_json(folder / "config.json", config)
        shutil.copyfile(self.pretrained.folder / _TOKENIZER, folder / _TOKENIZER)
        module = self.model.module
        for part, file in ((module.transformer, _TRANSFORMER), (module.head, _WEIGHTS)):
            weights = {name: tensor.contiguous() for name, tensor in part.state_dict().items()}
            save_file(weights, folder / file, metadata={"format": "pt"})


def load_verifier(folder: Path) -> Verifier:
    """The verifier that was saved: it gives the same probabilities."""
    file = folder / _DESCRIPTION
    if not file.is_file():
        raise InputError(
            f"this is no verifier: it has no {_DESCRIPTION}",
            where=str(folder),
            remedy="run `kedro run --to-nodes=generation.train_verifier`",
        )
    description = json.loads(file.read_bytes())
    classes = tuple(description["classes"])
    if description["kind"] == "probe":
        weights = map_tensors(folder / _WEIGHTS)
        return Probe(classes, np.array(weights["weights"]), np.array(weights["biases"]))
    from safetensors.torch import load_file

    settings = TransformerSettings(
        model=str(folder), max_tokens=description["max_tokens"], precision="float32"
    )
    pretrained = Pretrained(settings, None, prefix=description["prefix"])
    module = build_classifier(settings, pretrained, len(classes))
    module.head.load_state_dict(load_file(folder / _WEIGHTS))
    return CrossEncoder(
        classes,
        pretrained,
        TransformerModel(
            module.eval(), pretrained, pairs=description["pairs"], n_classes=len(classes)
        ),
    )


def _write(folder: Path, verifier: Verifier, more: dict[str, Any]) -> None:
    folder.mkdir(parents=True)
    description = {"kind": verifier.kind, "classes": list(verifier.classes), **more}
    _write_json(folder / _DESCRIPTION, description)


def _write_json(file: Path, value: dict[str, Any]) -> None:
    file.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _softmax(logits: Float64) -> Float64:
    from scipy.special import softmax

    probabilities: Float64 = softmax(logits, axis=1)
    return probabilities
