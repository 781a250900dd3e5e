"""Encoding a corpus's strings, once each, through the cache."""

from __future__ import annotations

import hashlib
import logging
import socket
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar, NamedTuple

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
from take.encoder.cache import CachedVectors, VectorCache, string_keys, write_segment
from take.encoder.embeddings import Embeddings, unique_strings
from take.encoder.models import EncoderModel, EncoderSettings
from take.engine import Job, Threads, current, load
from take.errors import InputError
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


class EncodeSegment(Job[list[str], str]):
    """Encode strings and write their vectors to the cache as a segment; its file's name.

    Vectors do not travel: a worker writes them, and the caller maps the file.
    """

    threads: ClassVar[Threads] = "own"

    def __init__(
        self,
        encoder: Encoder,
        identity: str,
        on_batch: Callable[[Sequence[str]], None] = lambda strings: None,
    ) -> None:
        """`identity`: the encoder's, where the job is made. `on_batch` is for this process only."""
        self._encoder, self._identity, self._on_batch = encoder, identity, on_batch

    @classmethod
    def of(cls, encoder: Encoder, on_batch: Callable[[Sequence[str]], None]) -> EncodeSegment:
        """The job of an encoder. PyTorch adds in another order with another number of threads."""
        kind = _EncodeSegmentInTorch if encoder.settings.backend == "torch" else cls
        return kind(encoder, encoder.identity, on_batch)

    def __reduce__(self) -> tuple[type[EncodeSegment], tuple[Encoder, str]]:
        """The encoder pickles as its settings."""
        return type(self), (self._encoder, self._identity)

    def prepare(self) -> None:
        """Load the transformer; refuse one that would give other vectors than the caller's."""
        if self._encoder.identity != self._identity:
            raise InputError(
                f"encoder {self._encoder.settings.model!r} has other weights or libraries here "
                "than in the process that asks for vectors",
                where=f"worker {socket.gethostname()}",
                remedy="install the same lock and the same weights on all machines",
            )
        _ = self._encoder.backend

    def __call__(self, item: list[str]) -> str:
        """The name of the segment of these strings."""
        encoder = self._encoder
        token_ids, truncated = encoder.tokenise(item)
        vectors = np.empty((len(item), encoder.model.dimension), dtype=np.float32)
        batches = equal_length_batches(token_ids, encoder.backend.batch_tokens)
        for batch, batch_vectors in encoder.backend.encode(batches):
            vectors[batch.indices] = batch_vectors
            self._on_batch([item[index] for index in batch.indices])
        return write_segment(encoder.cache_folder, string_keys(item), vectors, truncated)


class _EncodeSegmentInTorch(EncodeSegment):
    threads: ClassVar[Threads] = "run"


def encode_missing(
    strings: Sequence[str], encoder: Encoder, cache: VectorCache, segment_strings: int
) -> None:
    """Encode strings that are not in the cache, segment by segment, where the run's engine does.

    Strings are taken by length and then by key, so that a segment's strings are alike in length
    and a run that was killed goes on with the very segments it would have made: its vectors are
    the same to the bit as those of a run that was not.
    """
    lengths = np.fromiter(map(len, strings), dtype=np.int64, count=len(strings))
    order = np.lexsort((string_keys(strings), -lengths))
    characters = np.cumsum(lengths[order])
    bounds = list(block_bounds(len(order), segment_strings))
    segments = ([strings[index] for index in order[start:stop].tolist()] for start, stop in bounds)
    progress = _Progress(int(characters[-1]))
    job = EncodeSegment.of(encoder, progress.add)
    load(job)
    with progress:
        for (_, stop), segment in zip(bounds, current().map(job, segments), strict=True):
            cache.include(segment)
            progress.reach(stop, int(characters[stop - 1]))


class _Progress:
    """A bar of the characters encoded, by batch in this process and by segment elsewhere."""

    def __init__(self, n_characters: int) -> None:
        self._total = n_characters
        self._strings = self._characters = 0

    def __enter__(self) -> None:
        from tqdm import tqdm

        self._bar = tqdm(
            total=self._total, unit="char", unit_scale=True, desc="embedding", disable=None
        )
        self._started = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def add(self, strings: Sequence[str]) -> None:
        """A batch of the next segment is done."""
        self.reach(self._strings + len(strings), self._characters + sum(map(len, strings)))

    def reach(self, n_strings: int, n_characters: int) -> None:
        """So many are done altogether, those counted by batch among them."""
        self._bar.update(n_characters - self._characters)
        self._strings, self._characters = n_strings, n_characters
        rate = n_strings / (time.perf_counter() - self._started)
        self._bar.set_postfix_str(f"{rate:,.0f} strings/s")


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
