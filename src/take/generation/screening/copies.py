"""Whether a candidate copies a row of a split, or repeats a row that was kept before it.

Copies of a split are found by the privacy gate's own rule, so that the pool has none that the gate
would object to, and by the cosine of embeddings.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from take.encoder.embeddings import Embeddings, MappedVectors
from take.generation.screening.reasons import Reason, Verdict
from take.rows.arrays import Float32, Float64
from take.rows.blocks import block_bounds
from take.rows.pairs import Pairs, nearest_by_cosine, pairs_by_cosine
from take.text.copies import CopyIndex, CopySettings
from take.text.normalise import TextRow, joined, n_words, row_key, text_rows
from take.text.overlap import OverlapIndex

Details = list[str | None]
"""For each candidate which row it copies, or None."""

_LEAST_WORDS = 6
"""Shorter rows repeat a kept row only if they are equal, and are compared by words alone."""
_BLOCK_ROWS = 1024
"""Candidates compared with one another at a time: bounds memory, does not change a verdict."""


class KnownRows:
    """The rows of one split, which candidates must not copy.

    >>> rows = pd.DataFrame({"id": ["3f2a"], "text": ["a dull film about a long war"]})
    >>> known = KnownRows("train", rows, ["text"], CopySettings())
    >>> known.copied([("A DULL film about a long war!",), ("a dull film about the long war",)])
    (['train row 3f2a', None], [None, 'train row 3f2a, overlap 0.75'])
    """

    def __init__(
        self,
        name: str,
        rows: pd.DataFrame,
        columns: Sequence[str],
        settings: CopySettings,
        others: Sequence[TextRow] = (),
    ) -> None:
        self.name = name
        self._ids: list[str] = rows["id"].tolist()
        self.rows = text_rows(rows, columns)
        self._index = CopyIndex(self.rows, settings, others)

    def copied(self, candidates: Sequence[TextRow]) -> tuple[Details, Details]:
        """Which rows are copied word for word, and which nearly: what the privacy gate would say.

        A long run of words in an otherwise different row is none of them.
        """
        verbatim: Details = [None] * len(candidates)
        nearly: Details = [None] * len(candidates)
        for finding in self._index.find(candidates).findings:
            row = f"{self.name} row {self._ids[finding.reference]}"
            if finding.kind == "verbatim":
                verbatim[finding.query] = row
            elif finding.kind == "near_copy":
                nearly[finding.query] = f"{row}, overlap {finding.overlap:.2f}"
        return verbatim, nearly

    def resembled(
        self,
        candidates: Sequence[TextRow],
        embedded: Embeddings,
        known: Embeddings,
        threshold: float,
    ) -> Details:
        """Which rows are near by their embeddings."""
        found = nearest_by_cosine(embedded, known)
        is_long = [n_words(row) >= _LEAST_WORDS for row in candidates]
        is_near = np.array(is_long, dtype=np.bool_) & (found.value >= threshold)
        return [
            f"{self.name} row {self._ids[row]}, cosine {value:.2f}" if near else None
            for near, row, value in zip(is_near, found.row, found.value, strict=True)
        ]


@dataclass(frozen=True)
class Candidate:
    """A row that may be kept, and what is known of it without regard to the other candidates."""

    name: str
    row: TextRow
    label: int = 0
    """Of its prompt, or the verifier's if it was relabelled: it counts for that class's share."""
    copy: Verdict | None = None
    """Whether it copies train or evaluation rows."""
    vectors: Float32 | None = None
    """(texts, d), if it was embedded."""
    probabilities: Float64 | None = None
    """The verifier's, of each class."""
    contradiction: Verdict | None = None


class KeptRows:
    """The rows kept so far, in order.

    >>> kept = KeptRows(0.65, near_cosine=None)
    >>> rows = [Candidate("good 0", ("What a film!",)), Candidate("bad 0", ("what a film",))]
    >>> [verdict and verdict[1] for verdict in kept.decide(rows)]
    [None, 'kept good 0']
    """

    def __init__(self, near_overlap: float, near_cosine: float | None) -> None:
        self._near_overlap, self._near_cosine = near_overlap, near_cosine
        self._names: list[str] = []
        self._texts: list[str] = []
        self._vectors: list[Float32] = []
        self._by_key: dict[str, str] = {}

    def holds(self, row: TextRow) -> bool:
        """Whether a kept row equals this one but for case, blanks and punctuation."""
        return row_key(row) in self._by_key

    def decide(
        self, candidates: Sequence[Candidate], room: Mapping[int, int] | None = None
    ) -> Iterator[Verdict | None]:
        """Why each row is dropped, or None if it is kept; later rows are compared with it then.

        `room` is how many more rows of each class are wanted; without it, all are.
        """
        left = None if room is None else Counter(room)
        for start, stop in block_bounds(len(candidates), _BLOCK_ROWS):
            yield from self._decide_block(candidates[start:stop], left)

    def _decide_block(
        self, candidates: Sequence[Candidate], left: Counter[int] | None
    ) -> Iterator[Verdict | None]:
        # Whether a row repeats another depends on whether that other one was kept. So neighbours
        # are found for the whole block, and used row by row. Places count the kept rows first.
        original = [each for each in candidates if each.copy is None]
        names = [*self._names, *(each.name for each in original)]
        place = len(self._names)
        neighbours = self._neighbours(original)
        dropped: set[int] = set()
        for each in candidates:
            verdict = self._duplicate(each) or each.copy
            if each.copy is None:
                if verdict is None:
                    verdict = next(
                        (
                            (Reason.NEAR_DUPLICATE, f"kept {names[near]}, {how}")
                            for near, how in neighbours.get(place, ())
                            if near not in dropped
                        ),
                        each.contradiction,
                    )
                if verdict is None and left is not None and not left[each.label]:
                    verdict = (Reason.SURPLUS, "its class has its share")
                if verdict is None:
                    self._keep(each)
                    if left is not None:
                        left[each.label] -= 1
                else:
                    dropped.add(place)
                place += 1
            yield verdict

    def _duplicate(self, candidate: Candidate) -> Verdict | None:
        name = self._by_key.get(row_key(candidate.row))
        return None if name is None else (Reason.DUPLICATE, f"kept {name}")

    def _keep(self, candidate: Candidate) -> None:
        self._names.append(candidate.name)
        self._texts.append(joined(candidate.row))
        self._by_key[row_key(candidate.row)] = candidate.name
        if candidate.vectors is not None:
            self._vectors.append(candidate.vectors)

    def _neighbours(self, candidates: Sequence[Candidate]) -> dict[int, list[tuple[int, str]]]:
        """By place: the earlier places with similar rows, most similar first, and how similar."""
        n_kept = len(self._texts)
        queries = [i for i, each in enumerate(candidates) if n_words(each.row) >= _LEAST_WORDS]
        texts = [*self._texts, *(joined(each.row) for each in candidates)]
        index = OverlapIndex(texts, self._near_overlap)
        found = {"Jaccard": index.pairs([texts[n_kept + query] for query in queries])}
        if self._near_cosine is not None:
            found["cosine"] = self._near_by_cosine(candidates, queries, self._near_cosine)

        near: defaultdict[int, list[tuple[float, int, str]]] = defaultdict(list)
        for measure, pairs in found.items():
            for query, row, value in zip(pairs.query, pairs.row, pairs.value, strict=True):
                place = n_kept + queries[query]
                if row < place:
                    near[place].append((-value, int(row), f"{measure} {value:.2f}"))
        return {place: [(row, how) for _, row, how in sorted(near[place])] for place in near}

    def _near_by_cosine(
        self, candidates: Sequence[Candidate], queries: Sequence[int], threshold: float
    ) -> Pairs:
        # Rows that equal a kept one are not embedded: they are dropped whatever their vector.
        known = [*self._vectors, *(c.vectors for c in candidates if c.vectors is not None)]
        nothing = np.zeros_like(known[0]) if known else np.zeros((1, 1), dtype=np.float32)
        vectors = [nothing if c.vectors is None else c.vectors for c in candidates]
        return pairs_by_cosine(
            _embeddings([vectors[query] for query in queries], nothing),
            _embeddings([*self._vectors, *vectors], nothing),
            threshold,
        )


def _embeddings(vectors: Sequence[Float32], like: Float32) -> Embeddings:
    """Rows of vectors, each of the shape of `like`."""
    n_texts, dimension = like.shape
    strings = np.stack(vectors) if vectors else np.empty((0, n_texts, dimension), dtype=np.float32)
    rows = np.arange(len(vectors) * n_texts, dtype=np.int64).reshape(-1, n_texts)
    return Embeddings(MappedVectors(strings.reshape(-1, dimension)), rows)
