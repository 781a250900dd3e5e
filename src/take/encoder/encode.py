"""Encoding a corpus's strings, once each, through the cache."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from take.encoder.backends import (
    Backend,
    Tokenizer,
    equal_length_batches,
    load_backend,
    runtime_version,
)
from take.encoder.cache import CachedVectors, VectorCache, string_keys
from take.encoder.embeddings import Embeddings, unique_strings
from take.encoder.models import EncoderModel, EncoderSettings
from take.frozen import Frozen
from take.rows.blocks import block_bounds

_logger = logging.getLogger(__name__)


class EmbeddingSettings(Frozen):
    """`params:embedding`."""

    segment_strings: Annotated[int, Field(ge=1)] = 4096
    """Strings encoded between two writes to the cache: what a killed run loses at most."""


class EmbeddingReport(BaseModel):
    """What was encoded, by what, how fast."""

    encoder: str
    backend: str
    encoder_digest: str
    rows: int
    features: int
    unique_strings: int
    reused_strings: int
    encoded_strings: int
    truncated_strings: int
    max_tokens: int
    strings_per_second: float


class Embedded(NamedTuple):
    """The outputs of embedding."""

    embeddings: Embeddings
    report: EmbeddingReport


class Encoder:
    """φ, with its cache. Nothing heavy is loaded until a string has to be encoded."""

    def __init__(self, settings: EncoderSettings, cache_root: Path) -> None:
        self.settings = settings
        self.model = EncoderModel(settings, converted=cache_root)
        self._cache_root = cache_root

    def __reduce__(self) -> tuple[type[Encoder], tuple[EncoderSettings, Path]]:
        """Another process loads the transformer itself."""
        return Encoder, (self.settings, self._cache_root.absolute())

    @cached_property
    def identity(self) -> str:
        """A digest of all that decides a string's vector."""
        parts = [
            self.model.digest,
            self.settings.backend,
            runtime_version(self.settings.backend),
            str(self.settings.max_tokens),
        ]
        return hashlib.sha256("|".join(parts).encode()).hexdigest()

    @property
    def cache_folder(self) -> Path:
        """Where the vectors of this very encoder are kept."""
        return self._cache_root / self.identity[:16]

    def open_cache(self) -> VectorCache:
        """The vectors kept so far."""
        return VectorCache(self.cache_folder, self.model.dimension)

    def tokenise(self, strings: Sequence[str]) -> tuple[list[list[int]], NDArray[np.uint8]]:
        """Token ids of each string after the encoder's prefix, and whether it was cut."""
        return self._tokenizer([self.model.prefix + text for text in strings])

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return Tokenizer(self.model.folder / "tokenizer.json", self.settings.max_tokens)

    @cached_property
    def backend(self) -> Backend:
        """The transformer, loaded when first used and kept: later nodes embed, too."""
        return load_backend(self.settings.backend, self.model)


def embed_corpus(
    columns: Sequence[Sequence[str]], encoder: Encoder, settings: EmbeddingSettings
) -> Embedded:
    """Features of each row of a corpus, given its text columns."""
    strings, rows = unique_strings(columns)
    cache = encoder.open_cache()
    keys = string_keys(strings)
    missing = cache.missing(keys)
    _logger.info(
        "%s unique strings: %s reused from the cache, %s to encode with %s (%s).",
        f"{len(strings):,}",
        f"{len(strings) - len(missing):,}",
        f"{len(missing):,}",
        encoder.settings.model,
        encoder.settings.backend,
    )
    started = time.perf_counter()
    if len(missing):
        encode_missing(
            [strings[index] for index in missing], encoder, cache, settings.segment_strings
        )
    seconds = time.perf_counter() - started
    vectors = cache.select(keys)
    embeddings = Embeddings(vectors, rows)
    return Embedded(embeddings, _report(encoder, embeddings, vectors, len(missing), seconds))


def encode_missing(
    strings: Sequence[str], encoder: Encoder, cache: VectorCache, segment_strings: int
) -> None:
    """Encode strings that are not in the cache, segment by segment.

    Strings are taken by length and then by key, so that a segment's strings are alike in length
    and a run that was killed goes on with the very segments it would have made: its vectors are
    the same to the bit as those of a run that was not.
    """
    from tqdm import tqdm

    backend = encoder.backend
    all_keys = string_keys(strings)
    lengths = np.fromiter(map(len, strings), dtype=np.int64, count=len(strings))
    order = np.lexsort((all_keys, -lengths))
    bar = tqdm(
        total=sum(map(len, strings)), unit="char", unit_scale=True, desc="embedding", disable=None
    )
    started, encoded = time.perf_counter(), 0
    for start, stop in block_bounds(len(order), segment_strings):
        chosen = order[start:stop]
        texts = [strings[index] for index in chosen.tolist()]
        token_ids, truncated = encoder.tokenise(texts)
        vectors = np.empty((len(texts), encoder.model.dimension), dtype=np.float32)
        batches = equal_length_batches(token_ids, backend.batch_tokens)
        for batch, batch_vectors in backend.encode(batches):
            vectors[batch.indices] = batch_vectors
            encoded += len(batch.indices)
            bar.update(sum(len(texts[index]) for index in batch.indices))
            bar.set_postfix_str(f"{encoded / (time.perf_counter() - started):,.0f} strings/s")
        cache.add(all_keys[chosen], vectors, truncated)
    bar.close()


def _report(
    encoder: Encoder, embeddings: Embeddings, vectors: CachedVectors, n_encoded: int, seconds: float
) -> EmbeddingReport:
    n_rows, n_features = embeddings.shape
    n_strings = vectors.shape[0]
    rate = n_encoded / seconds if n_encoded else 0.0
    if n_encoded:
        _logger.info("Encoded %s strings in %.1f s (%.0f/s).", f"{n_encoded:,}", seconds, rate)
    if vectors.n_truncated:
        _logger.warning(
            "%s of %s strings are longer than %s tokens; only their beginnings are embedded.",
            f"{vectors.n_truncated:,}",
            f"{n_strings:,}",
            encoder.settings.max_tokens,
        )
    return EmbeddingReport(
        encoder=encoder.settings.model,
        backend=encoder.settings.backend,
        encoder_digest=encoder.identity,
        rows=n_rows,
        features=n_features,
        unique_strings=n_strings,
        reused_strings=n_strings - n_encoded,
        encoded_strings=n_encoded,
        truncated_strings=vectors.n_truncated,
        max_tokens=encoder.settings.max_tokens,
        strings_per_second=round(rate, 1),
    )
