"""Every corpus that has been scored and has a pool, read when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, cast

from kedro.io import AbstractDataset, DatasetError

from take.datasets.artifact import Artifact, check_together
from take.errors import InputError
from take.evaluation.prepared import PreparedCorpus
from take.reuse.digests import value_digest
from take.rows.labelled import class_names, class_sizes

PARTS = (
    *("corpus", "evaluation_split", "embeddings", "weights", "trajectory", "influence"),
    *("scoring_study", "samples", "pool", "pool_embeddings", "generator_rows"),
)
"""What a corpus has to have, by the names of its artifacts in the catalog."""


class PreparedCorpora(Mapping[str, PreparedCorpus]):
    """Corpora by name; each is read anew when asked for, so that one at a time is in memory."""

    def __init__(self, artifacts: dict[str, dict[str, Artifact]]) -> None:
        self._artifacts = artifacts

    def __getitem__(self, name: str) -> PreparedCorpus:
        if name not in self._artifacts:
            self.refuse(name)
        parts = {part: artifact.load() for part, artifact in self._artifacts[name].items()}
        return PreparedCorpus(name=name, study=parts.pop("scoring_study"), **parts)

    def check(self, names: Sequence[str]) -> None:
        """Refuse corpora that are not ready, or whose parts do not belong together."""
        if not names:
            raise InputError(
                "no corpus has a pool yet",
                where="benchmark.corpora",
                remedy="run `kedro run --pipeline=distill --params=corpus=<name>` first",
            )
        for name in names:
            if name not in self._artifacts:
                self.refuse(name)
            check_together(self._artifacts[name])

    def labels(self, name: str) -> dict[str, int]:
        """Rows of each class, without reading more than the corpus's table."""
        corpus = self._artifacts[name]["corpus"].load()
        return dict(zip(class_names(corpus), class_sizes(corpus), strict=True))

    def refuse(self, name: str) -> NoReturn:
        """Say what to run first."""
        ready = f"; ready are {', '.join(self._artifacts)}" if self._artifacts else ""
        raise InputError(
            f"corpus {name!r} has no pool yet{ready}",
            where="benchmark.corpora",
            remedy=f"run `kedro run --pipeline=distill --params=corpus={name}` first",
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._artifacts)

    def __len__(self) -> int:
        return len(self._artifacts)


class PreparedCorporaDataset(AbstractDataset[None, PreparedCorpora]):
    """Finds the artifacts of every corpus, from the catalog's entries for one of them."""

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
        """A digest of the contents of all of them."""
        return value_digest(
            {
                corpus: {part: artifact.identity() for part, artifact in artifacts.items()}
                for corpus, artifacts in self._found().items()
            }
        )

    def load(self) -> PreparedCorpora:
        """The corpora that are there now."""
        return PreparedCorpora(self._found())

    def save(self, data: None) -> None:
        """Pipelines make corpora ready, one by one."""
        raise DatasetError("prepared corpora are read, never written")

    def _found(self) -> dict[str, dict[str, Artifact]]:
        found = {}
        for name in self._names():
            artifacts = {part: self._artifact(part, name) for part in PARTS}
            if all(artifact.exists() for artifact in artifacts.values()):
                found[name] = artifacts
        return found

    def _names(self) -> list[str]:
        folder = Path(self._around("pool")[0])
        return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []

    def _artifact(self, part: str, corpus: str) -> Artifact:
        entry = {name: value for name, value in self._entries[part].items() if name != "metadata"}
        before, after = self._around(part)
        entry["filepath"] = f"{before}/{corpus}/{after}"
        return cast(Artifact, AbstractDataset.from_config(f"{corpus}.{part}", entry))

    def _around(self, part: str) -> tuple[str, str]:
        """A path before and after its corpus; the project may lie in a folder of that name."""
        before, _, after = self._entries[part]["filepath"].rpartition(f"/{self._corpus}/")
        return before, after

    def _describe(self) -> dict[str, Any]:
        return {"corpora": self._names()}
