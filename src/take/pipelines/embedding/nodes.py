"""Nodes of `embedding`."""

from __future__ import annotations

import pandas as pd

from take.encoder.encode import Embedded, EmbeddingSettings, Encoder
from take.encoder.encode import embed_corpus as embed
from take.rows.labelled import text_columns


def embed_corpus(corpus: pd.DataFrame, encoder: Encoder, settings: EmbeddingSettings) -> Embedded:
    """The features of every row, and the report on how they were made."""
    return embed(text_columns(corpus), encoder, settings)
