"""Passes over many rows: a function of one block of rows, computed for all blocks by the engine.

The function is given a block of rows and what belongs to them (labels, weights). What else it uses
should be small, because every worker gets it: weights of a head, distilled rows, but no column of
the corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from numpy.typing import NDArray

from take.engine import Job, current
from take.engine.threads import one_thread
from take.rows.arrays import Float32
from take.rows.blocks import DEFAULT_BLOCK_ROWS, RowBlocks, block_bounds, window

Item = TypeVar("Item")
Result = TypeVar("Result")


class Block(NamedTuple):
    """Some neighbouring rows, not read yet, and what belongs to them."""

    start: int
    rows: RowBlocks  # these rows alone
    columns: tuple[NDArray[Any], ...]  # of these rows alone

    def read(self) -> Float32:
        """The features of the rows."""
        return self.rows.read(0, self.rows.shape[0])


@dataclass(frozen=True)
class _Pass(Job[Block, Result]):
    """Reads the rows where it computes."""

    compute: Callable[..., Result]

    def __call__(self, item: Block) -> Result:
        return self.compute(item.start, item.read(), *item.columns)


def compute_blocks(
    compute: Callable[..., Result],
    rows: RowBlocks,
    *columns: NDArray[Any],
    block_rows: int = DEFAULT_BLOCK_ROWS,
) -> Iterator[Result]:
    """`compute(start, block, *columns of the block)` of each block of rows, in order.

    The engine of the run computes blocks at once, each on one thread; a single block is computed
    here. So results depend on the size of the blocks, and on nothing else.

    >>> import numpy as np
    >>> from take.rows.blocks import ArrayBlocks
    >>> rows, weights = ArrayBlocks(np.ones((5, 2), dtype=np.float32)), np.arange(5)
    >>> def weighted(start, block, w):
    ...     return start, float(w @ block.sum(axis=1))
    >>> list(compute_blocks(weighted, rows, weights, block_rows=3))
    [(0, 6.0), (3, 14.0)]
    """
    job = _Pass(compute)
    blocks = row_windows(rows, *columns, block_rows=block_rows)
    if rows.shape[0] > block_rows:
        yield from current().map(job, blocks)
        return
    for block in blocks:
        with one_thread():
            result = job(block)
        yield result


@dataclass(frozen=True)
class _Each(Job[Item, Result]):
    function: Callable[[Item], Result]

    def __call__(self, item: Item) -> Result:
        return self.function(item)


def compute_each(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """`function(item)` of each item, in order, by the engine of the run: each on one thread.

    >>> list(compute_each(abs, [-1, 2]))
    [1, 2]
    """
    return current().map(_Each(function), items)


def row_windows(
    rows: RowBlocks, *columns: NDArray[Any], block_rows: int = DEFAULT_BLOCK_ROWS
) -> Iterator[Block]:
    """The blocks of a pass, in order: items of a job of which the pickle has no row of a file."""
    for start, stop in block_bounds(rows.shape[0], block_rows):
        parts = tuple(column[start:stop] for column in columns)
        yield Block(start, window(rows, start, stop), parts)
