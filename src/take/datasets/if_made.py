"""An artifact that may be there or not."""

from __future__ import annotations

from typing import Any, cast

from kedro.io import AbstractDataset, DatasetError

from take.datasets.artifact import Artifact
from take.reuse.digests import value_digest


class IfMadeDataset(AbstractDataset[None, Any]):
    """Loads what an entry of the catalog loads, or None as long as it has not been made."""

    def __init__(self, *, artifact: dict[str, Any], metadata: dict[str, Any] | None = None) -> None:
        self._entry = {key: value for key, value in artifact.items() if key != "metadata"}
        self.metadata = metadata

    def identity(self) -> str:
        """A digest of its contents, or of there being none."""
        artifact = self._artifact()
        return artifact.identity() if artifact.exists() else value_digest("not made")

    def load(self) -> Any:
        """The artifact, or None."""
        artifact = self._artifact()
        return artifact.load() if artifact.exists() else None

    def save(self, data: None) -> None:
        """It is made under its own name."""
        raise DatasetError("an artifact is written under its own name")

    def _artifact(self) -> Artifact:
        return cast(Artifact, AbstractDataset.from_config("artifact", self._entry))

    def _describe(self) -> dict[str, Any]:
        return {"filepath": self._entry["filepath"]}
