"""φ as a learner reads it: the encoder's vectors, through its cache, kept for each `Texts`."""

from __future__ import annotations

from take.encoder.encode import EmbeddingSettings, Encoder, embed_corpus
from take.learners.base import Remembered, Texts
from take.rows.arrays import Float32


class SentenceVectors:
    """Texts → φ: (n, d), or (n, 4d) for pairs as [u ; v ; |u−v| ; u·v]."""

    def __init__(self, encoder: Encoder, settings: EmbeddingSettings | None = None) -> None:
        self._encoder, self._settings = encoder, settings or EmbeddingSettings()
        self._encoded = Remembered(self._encode)

    @property
    def title(self) -> str:
        """Which encoder, run how."""
        return f"{self._encoder.settings.model} ({self._encoder.settings.backend})"

    @property
    def identity(self) -> str:
        """A digest of all that decides a vector."""
        return self._encoder.identity

    def __call__(self, texts: Texts) -> Float32:
        """The features of each row."""
        return self._encoded(texts)

    def _encode(self, texts: Texts) -> Float32:
        embedded = embed_corpus(texts.columns, self._encoder, self._settings)
        return embedded.embeddings.read(0, len(texts))
