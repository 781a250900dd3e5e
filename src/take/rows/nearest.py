"""The closest reference of each query, without ever holding the queries × references matrix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from take.rows.arrays import Float32, Int64
from take.rows.blocks import ArrayBlocks, RowBlocks, map_blocks

BLOCK_ROWS = 2048


class Nearest(NamedTuple):
    """For each query, how far its closest reference is and which one; infinity and −1 if none."""

    distance: Float32
    row: Int64


class NearestByClass(NamedTuple):
    """The closest reference of any class, and the closest of the query's own class."""

    any_class: Nearest
    own_class: Nearest


def nearest(
    queries: RowBlocks | Float32,
    references: RowBlocks | Float32,
    block_rows: int = BLOCK_ROWS,
    exclude: Int64 | None = None,
) -> Nearest:
    """min_c ‖q_n − r_c‖ and its c, for queries and references of unit length.

    The closest of unit vectors is the one of largest inner product, so a block costs one matrix
    product. The distance itself is then taken from the difference: √(2 − 2⟨q, r⟩) would turn
    fp32's rounding of an inner product into 0.0003 between two equal vectors.

    Either side may be a `RowBlocks`, which is then read once, and the other an array; two
    `RowBlocks` work too, at the price of reading the queries once per block of references.
    `exclude` names for each query one reference that does not count (−1: none), such as itself.

    >>> points = np.array([[1, 0], [0, 1], [0.6, 0.8]], dtype=np.float32)
    >>> nearest(points[2:], points[:2])
    Nearest(distance=array([0.6324555], dtype=float32), row=array([1]))
    >>> nearest(points, points, exclude=np.arange(3)).row.tolist()
    [2, 2, 1]
    """
    query_rows, reference_rows = _as_blocks(queries), _as_blocks(references)
    n_queries = query_rows.shape[0]
    best = Nearest(np.full(n_queries, np.inf, np.float32), np.full(n_queries, -1, np.int64))
    best_product = np.full(n_queries, -np.inf, np.float32)

    def compare(q_start: int, q_block: Float32, r_start: int, r_block: Float32) -> None:
        window = slice(q_start, q_start + len(q_block))
        products = q_block @ r_block.T
        if exclude is not None:
            column = exclude[window] - r_start
            inside = (exclude[window] >= 0) & (column >= 0) & (column < len(r_block))
            products[inside, column[inside]] = -np.inf
        column = products.argmax(axis=1)
        product = np.take_along_axis(products, column[:, None], axis=1)[:, 0]
        # Strictly better: of equals the first reference wins, whatever the block size.
        better = np.flatnonzero(product > best_product[window])
        rows = q_start + better
        best_product[rows] = product[better]
        best.row[rows] = r_start + column[better]
        best.distance[rows] = _lengths(q_block[better] - r_block[column[better]])

    if isinstance(references, np.ndarray):
        for q_start, q_block in _blocks(query_rows, block_rows):
            for r_start, r_block in _blocks(reference_rows, block_rows):
                compare(q_start, q_block, r_start, r_block)
    else:
        for r_start, r_block in _blocks(reference_rows, block_rows):
            for q_start, q_block in _blocks(query_rows, block_rows):
                compare(q_start, q_block, r_start, r_block)
    return best


def nearest_by_class(
    queries: RowBlocks,
    query_labels: Int64,
    references: Float32,
    reference_labels: Int64,
    block_rows: int = BLOCK_ROWS,
) -> NearestByClass:
    """`nearest` over all references and over those of the query's class, from one matrix product.

    >>> queries = ArrayBlocks(np.array([[1, 0]], dtype=np.float32))
    >>> references = np.array([[1, 0], [0, 1]], dtype=np.float32)
    >>> found = nearest_by_class(queries, np.array([1]), references, np.array([0, 1]))
    >>> found.any_class.row.tolist(), found.own_class.row.tolist()
    ([0], [1])
    """
    members = {int(label): np.flatnonzero(reference_labels == label) for label in {*query_labels}}

    def compare(start: int, block: Float32) -> NearestByClass:
        products = block @ references.T
        labels = query_labels[start : start + len(block)]
        own = np.full(len(block), -1, np.int64)
        for label in np.unique(labels):
            columns, rows = members[int(label)], np.flatnonzero(labels == label)
            if len(columns):
                own[rows] = columns[products[np.ix_(rows, columns)].argmax(axis=1)]
        found = (products.argmax(axis=1), own)
        return NearestByClass(*(Nearest(_distances(block, references, i), i) for i in found))

    parts = list(map_blocks(compare, queries, block_rows))
    return NearestByClass(
        _joined([part.any_class for part in parts]), _joined([part.own_class for part in parts])
    )


def _as_blocks(rows: RowBlocks | Float32) -> RowBlocks:
    return ArrayBlocks(rows) if isinstance(rows, np.ndarray) else rows


def _blocks(rows: RowBlocks, block_rows: int) -> Iterator[tuple[int, Float32]]:
    return map_blocks(lambda start, block: (start, block), rows, block_rows)


def _lengths(vectors: Float32) -> Float32:
    lengths: Float32 = np.sqrt(np.einsum("nd,nd->n", vectors, vectors))
    return lengths


def _distances(block: Float32, references: Float32, index: Int64) -> Float32:
    distances = _lengths(block - references[index])
    return np.where(index >= 0, distances, np.float32(np.inf))


def _joined(parts: list[Nearest]) -> Nearest:
    return Nearest(
        np.concatenate([part.distance for part in parts]),
        np.concatenate([part.row for part in parts]),
    )
