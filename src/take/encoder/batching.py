"""Tokenised strings in batches of one length each: no padding, and nothing computed on padding."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Batch:
    """Strings of equal length in tokens."""

    indices: NDArray[np.int64]
    """Where the strings stand in the sequence they came from."""
    token_ids: NDArray[np.int64]
    """(strings, tokens)."""


class Tokenizer:
    """A fast tokenizer that cuts at the encoder's length and tells which strings it cut."""

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
