"""What distance means to transport: φ, and φ joined with what else should count.

With s_margin and s_lexical the shares of a user's choosing, rows are seen as

    [φ ; √s_margin · m ; √s_lexical · t],

so that C_nc = ‖φ_n − φ_c‖² + s_margin ‖m_n − m_c‖² + s_lexical ‖t_n − t_c‖². m are the probe's
logits, centred and scaled to a mean squared norm of 1 over the corpus: rows on two sides of the
decision boundary grow apart. t are unit TF-IDF vectors, projected: rows of other words grow apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from pydantic import Field

from take.frozen import Frozen
from take.rows.arrays import Float32
from take.rows.blocks import RowBlocks, map_blocks
from take.selection.rows import JoinedBlocks


class GeometrySettings(Frozen):
    """What is joined to φ, and how much it counts; 0 leaves it out."""

    margin: float = Field(default=0.0, ge=0, le=100, description="s of the probe's logits")
    lexical: float = Field(default=0.0, ge=0, le=100, description="s of TF-IDF")
    lexical_dimensions: int = Field(default=128, ge=1, le=4096)

    @property
    def is_joined(self) -> bool:
        """Whether there is more than φ."""
        return bool(self.margin or self.lexical)


class Seen(NamedTuple):
    """Rows before the geometry is applied."""

    phi: RowBlocks
    texts: Sequence[Sequence[str]]


class Probe(NamedTuple):
    """A linear classifier on φ."""

    weights: Float32  # (C, d)
    biases: Float32  # (C,)


def joined_features(
    corpus: Seen, pool: Seen, probe: Probe, settings: GeometrySettings, seed: int
) -> tuple[RowBlocks, RowBlocks]:
    """Features of corpus and pool; φ itself where nothing is joined."""
    parts: list[tuple[Float32, Float32]] = []
    if settings.margin:
        parts.append(_margins(corpus.phi, pool.phi, probe, settings.margin))
    if settings.lexical:
        parts.append(_lexical(corpus.texts, pool.texts, settings, seed))
    if not parts:
        return corpus.phi, pool.phi
    columns = [np.concatenate(side, axis=1) for side in zip(*parts, strict=True)]
    return JoinedBlocks(corpus.phi, columns[0]), JoinedBlocks(pool.phi, columns[1])


def _margins(
    corpus: RowBlocks, pool: RowBlocks, probe: Probe, share: float
) -> tuple[Float32, Float32]:
    def logits(rows: RowBlocks) -> Float32:
        blocks = map_blocks(lambda _, block: block @ probe.weights.T + probe.biases, rows)
        scores: Float32 = np.concatenate(list(blocks))
        # What all classes have in common decides nothing.
        scores -= scores.mean(axis=1, keepdims=True)
        return scores

    ours, theirs = logits(corpus), logits(pool)
    mean = ours.mean(axis=0)
    size = float(np.sqrt(((ours - mean) ** 2).sum(axis=1).mean())) or 1.0
    scale = np.float32(np.sqrt(share) / size)
    return (ours - mean) * scale, (theirs - mean) * scale


def _lexical(
    corpus: Sequence[Sequence[str]],
    pool: Sequence[Sequence[str]],
    settings: GeometrySettings,
    seed: int,
) -> tuple[Float32, Float32]:
    """TF-IDF by its leading singular vectors; of pairs, both texts side by side."""
    from scipy.sparse import hstack
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize

    words = TfidfVectorizer(dtype=np.float32).fit(chain.from_iterable(corpus))
    sides = [hstack([words.transform(c) for c in texts], format="csr") for texts in (corpus, pool)]
    dimensions = min(settings.lexical_dimensions, sides[0].shape[1])
    projection = TruncatedSVD(dimensions, random_state=seed).fit(sides[0])
    ours, theirs = (
        normalize(projection.transform(side)).astype(np.float32) * np.sqrt(settings.lexical)
        for side in sides
    )
    return ours.astype(np.float32), theirs.astype(np.float32)
