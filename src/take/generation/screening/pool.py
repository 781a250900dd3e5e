"""The rows kept so far, and the last word on the next ones."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from take.encoder.embeddings import Embeddings, MappedVectors
from take.generation.screening.reasons import Reason, Verdict
from take.generation.screening.settings import ScreeningSettings
from take.rows.arrays import Float32
from take.rows.blocks import block_bounds
from take.rows.pairs import Pairs, pairs_by_cosine
from take.text.normalise import TextRow, joined, n_words, row_key
from take.text.overlap import OverlapIndex

_BLOCK_ROWS = 1024
"""Rows compared with one another at a time: bounds memory, changes nothing else."""


@dataclass(frozen=True)
class Offer:
    """A row that may enter the pool, and what is known of it whatever the pool holds."""

    name: str
    row: TextRow
    label: int = 0
    copy: Verdict | None = None
    """Whether it copies train or evaluation rows."""
    vectors: Float32 | None = None
    """(texts, d), where it came to be embedded."""
    probabilities: NDArray[np.float64] | None = None
    """The probe's, of each class."""
    contradiction: Verdict | None = None


class Pool:
    """Kept rows, in the order they were kept.

    >>> pool = Pool(ScreeningSettings())
    >>> offers = [Offer("good 0", ("What a film!",)), Offer("bad 0", ("what a film",))]
    >>> [verdict and verdict[1] for verdict in pool.settle(offers)]
    [None, 'kept good 0']
    """

    def __init__(self, settings: ScreeningSettings) -> None:
        self._settings = settings
        self._names: list[str] = []
        self._texts: list[str] = []
        self._vectors: list[Float32] = []
        self._by_key: dict[str, str] = {}

    def holds(self, row: TextRow) -> bool:
        """Whether a kept row is equal to this one but for case, blanks and punctuation."""
        return row_key(row) in self._by_key

    def settle(
        self, offers: Sequence[Offer], room: Mapping[int, int] | None = None
    ) -> Iterator[Verdict | None]:
        """Why each row is dropped, or nothing if it is kept and counts for the rows after.

        `room` is how many more rows of each class are wanted; left out, all are.
        """
        left = None if room is None else Counter(room)
        for start, stop in block_bounds(len(offers), _BLOCK_ROWS):
            yield from self._settle_block(offers[start:stop], left)

    def _settle_block(
        self, offers: Sequence[Offer], left: Counter[int] | None
    ) -> Iterator[Verdict | None]:
        # Whether a row repeats another depends on whether that other was kept. So likeness is found
        # for the block at once, and used when a row's turn comes. Places count the pool first.
        hopeful = [offer for offer in offers if offer.copy is None]
        names = [*self._names, *(offer.name for offer in hopeful)]
        place = len(self._names)
        neighbours = self._neighbours(hopeful)
        dropped: set[int] = set()
        for offer in offers:
            verdict = self._duplicate(offer) or offer.copy
            if offer.copy is None:
                if verdict is None:
                    verdict = next(
                        (
                            (Reason.NEAR_DUPLICATE, f"kept {names[near]}, {how}")
                            for near, how in neighbours.get(place, ())
                            if near not in dropped
                        ),
                        offer.contradiction,
                    )
                if verdict is None and left is not None and not left[offer.label]:
                    verdict = (Reason.SURPLUS, "its class has its share")
                if verdict is None:
                    self._keep(offer)
                    if left is not None:
                        left[offer.label] -= 1
                else:
                    dropped.add(place)
                place += 1
            yield verdict

    def _duplicate(self, offer: Offer) -> Verdict | None:
        name = self._by_key.get(row_key(offer.row))
        return None if name is None else (Reason.DUPLICATE, f"kept {name}")

    def _keep(self, offer: Offer) -> None:
        self._names.append(offer.name)
        self._texts.append(joined(offer.row))
        self._by_key[row_key(offer.row)] = offer.name
        if offer.vectors is not None:
            self._vectors.append(offer.vectors)

    def _neighbours(self, offers: Sequence[Offer]) -> dict[int, list[tuple[int, str]]]:
        """By place: the earlier places whose rows are alike, most alike first, and how alike."""
        n_kept = len(self._texts)
        queries = [
            number
            for number, offer in enumerate(offers)
            if n_words(offer.row) >= self._settings.near_copy_words
        ]
        texts = [*self._texts, *(joined(offer.row) for offer in offers)]
        index = OverlapIndex(texts, self._settings.near_copy_overlap)
        found = {"Jaccard": index.pairs([texts[n_kept + number] for number in queries])}
        if self._settings.near_copy_cosine is not None:
            found["cosine"] = self._near_by_cosine(offers, queries)

        near: defaultdict[int, list[tuple[float, int, str]]] = defaultdict(list)
        for measure, pairs in found.items():
            for query, row, value in zip(pairs.query, pairs.row, pairs.value, strict=True):
                place = n_kept + queries[query]
                if row < place:
                    near[place].append((-value, int(row), f"{measure} {value:.2f}"))
        return {place: [(row, how) for _, row, how in sorted(near[place])] for place in near}

    def _near_by_cosine(self, offers: Sequence[Offer], queries: Sequence[int]) -> Pairs:
        # Rows that equal a kept one are not embedded. They will be dropped: any vector does.
        kept = [*self._vectors, *(o.vectors for o in offers if o.vectors is not None)]
        nothing = np.zeros_like(kept[0]) if kept else np.zeros((1, 1), dtype=np.float32)
        offered = [nothing if o.vectors is None else o.vectors for o in offers]
        threshold = self._settings.near_copy_cosine or 0.0
        return pairs_by_cosine(
            _embeddings([offered[number] for number in queries], nothing),
            _embeddings([*self._vectors, *offered], nothing),
            threshold,
        )


def _embeddings(vectors: Sequence[Float32], like: Float32) -> Embeddings:
    """Rows of vectors, each of the shape of `like`."""
    n_texts, dimension = like.shape
    strings = np.stack(vectors) if vectors else np.empty((0, n_texts, dimension), dtype=np.float32)
    rows = np.arange(len(vectors) * n_texts, dtype=np.int64).reshape(-1, n_texts)
    return Embeddings(MappedVectors(strings.reshape(-1, dimension)), rows)
