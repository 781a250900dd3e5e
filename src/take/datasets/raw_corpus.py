"""The raw rows of the chosen corpus, as corpora.yml describes it."""

from __future__ import annotations

from typing import Any

from kedro.io import AbstractDataset, DatasetError

from take.corpus.sources import CorpusSource, RawCorpus
from take.corpus.spec import select_corpus


class RawCorpusDataset(AbstractDataset[None, RawCorpus]):
    """Reads a corpus from its package, its files, the hub, or a folder in place of the hub."""

    def __init__(
        self,
        *,
        corpus: str,
        corpora: dict[str, Any],
        raw_root: str | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        self._source = CorpusSource(corpus, select_corpus(corpora, corpus), raw_root)
        self.metadata = metadata

    def identity(self) -> str:
        """A digest of the source: its description and its files' contents."""
        return self._source.digest()

    def load(self) -> RawCorpus:
        """The raw rows."""
        return self._source.read()

    def save(self, data: None) -> None:
        """Sources are read only."""
        raise DatasetError("a corpus source is read, never written")

    def _describe(self) -> dict[str, Any]:
        return {"corpus": self._source.name, "source": self._source.spec.source.kind}
