"""How the artifacts of a corpus came about, read off their records."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from kedro.io import AbstractDataset, DatasetError

from take.datasets.artifact import Artifact
from take.reuse.digests import value_digest
from take.reuse.provenance import Provenance, provenance
from take.reuse.records import read_record


class ProvenanceDataset(AbstractDataset[None, Provenance]):
    """Loads the way to some artifacts of the catalog; they are named by their entries."""

    def __init__(
        self,
        *,
        corpus: str,
        artifacts: dict[str, dict[str, Any]],
        metadata: dict[str, Any] | None = None,
    ) -> None:
        self._corpus, self._entries = corpus, artifacts
        self.metadata = metadata

    def identity(self) -> str:
        """A digest of the records: it changes with what was made, when, and what that took."""
        records = {name: read_record(artifact.path) for name, artifact in self._artifacts().items()}
        return value_digest(
            {name: record.checksum if record else "" for name, record in records.items()}
        )

    def load(self) -> Provenance:
        """The way to what is there now."""
        roots = [artifact.path for artifact in self._artifacts().values()]
        before = str(next(iter(self._entries.values()))["filepath"]).rpartition(f"/{self._corpus}/")
        return provenance(roots, sorted(Path(before[0]).parent.glob(f"*/{self._corpus}")))

    def save(self, data: None) -> None:
        """The runner writes records."""
        raise DatasetError("records are written with their artifacts")

    def _artifacts(self) -> dict[str, Artifact]:
        """Those that have been made."""
        found = {}
        for name, entry in self._entries.items():
            kept = {key: value for key, value in entry.items() if key != "metadata"}
            artifact = cast(Artifact, AbstractDataset.from_config(name, kept))
            if artifact.exists():
                found[name] = artifact
        return found

    def _describe(self) -> dict[str, Any]:
        return {"corpus": self._corpus, "artifacts": sorted(self._entries)}
