"""Nodes of `embedding`."""

from __future__ import annotations

import pandas as pd

from take.corpus.spec import TEXT_COLUMNS, Task
from take.encoder.encode import Embedded, EmbeddingSettings, Encoder, embed_corpus


def embedded_corpus(
    corpus: pd.DataFrame, encoder: Encoder, settings: EmbeddingSettings
) -> Embedded:
    """The features of every row, and the report on how they were made."""
    task: Task = "single" if "text" in corpus else "pair"
    columns = [corpus[column].tolist() for column in TEXT_COLUMNS[task]]
    return embed_corpus(columns, encoder, settings)
