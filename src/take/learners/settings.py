"""Which learner, and how it learns."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from take.frozen import Frozen

Share = Annotated[float, Field(ge=0, lt=1)]
Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=1)]


class UpdateSettings(Frozen):
    """How the weights of a network are changed: AdamW, a linear rise, then a cosine to 0.

    The number of updates does not depend on the number of rows, so that methods are compared at
    equal training. Nothing is stopped early: there are no rows to watch.
    """

    learning_rate: Positive
    updates: Count = 200
    warmup_share: Share = 0.0
    weight_decay: Annotated[float, Field(ge=0)] = 0.01
    batch_rows: Count = 64
    clip_norm: Positive = 1.0


class LinearSettings(Frozen):
    """Logistic regression: `lr` for single texts, `siamese_lr` for pairs."""

    kind: Literal["lr", "siamese_lr"] = "lr"
    features: Literal["tfidf", "phi"] = "tfidf"
    vocabulary: Literal["corpus", "rows"] = "corpus"
    """Whose words and idf: the full corpus's (as the paper), or the taught rows' alone."""
    inverse_penalty: Positive = 1.0
    """C of ‖W‖²/2 + C Σ loss."""


class WordVectorSettings(Frozen):
    """Where pretrained word vectors come from."""

    source: str = "tokens"
    """'tokens' (the token vectors of the package wordllama), or a file: GloVe's text format, or
    the JSON of npm's wink-embeddings."""
    max_words: Count = 256
    """Of each text, from its beginning."""


class NetworkSettings(Frozen):
    """A small network on frozen word vectors: `textcnn` or `textrnn`."""

    kind: Literal["textcnn", "textrnn"] = "textcnn"
    words: WordVectorSettings = WordVectorSettings()
    filters: Count = 100
    widths: tuple[Count, ...] = (3, 4, 5)
    hidden: Count = 128
    """Of the GRU, each way."""
    pool: Literal["last", "mean", "max"] = "max"
    """How the GRU's states become one vector."""
    dropout: Share = 0.5
    training: UpdateSettings = UpdateSettings(learning_rate=1e-3)


class TransformerSettings(Frozen):
    """A pretrained transformer, all of its weights fine-tuned; DiLM's protocol by default."""

    kind: Literal["transformer"] = "transformer"
    model: str = "embedded"
    """'embedded' (all-MiniLM-L6-v2), 'embedded_lm' (SmolLM2-135M), a folder, or a hub id."""
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")] | None = None
    """The hub commit; required for a hub id."""
    pooling: Literal["mean", "last"] | None = None
    """How token states become one vector; None: the last token's for causal models, else mean."""
    max_tokens: Annotated[int, Field(ge=8, le=8192)] = 256
    head_dropout: Share = 0.1
    precision: Literal["float32", "bfloat16"] = "float32"
    """Of matrix products; weights and sums stay float32. bfloat16 halves the time where the
    processor has it."""
    training: UpdateSettings = UpdateSettings(learning_rate=1e-4, warmup_share=0.5)


LearnerSettings = Annotated[
    LinearSettings | NetworkSettings | TransformerSettings, Field(discriminator="kind")
]
"""The settings of any learner; `kind` tells which."""
