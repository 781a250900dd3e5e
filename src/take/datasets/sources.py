"""Inputs that a run never writes: corpora, artifacts of other entries."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar, cast

from kedro.io import AbstractDataset, DataCatalog, DatasetError

from take.corpus.sources import CorpusSource, RawCorpus
from take.corpus.spec import artifact_folder, corpus_and_pool, select_corpus
from take.datasets.artifact import REMAKE, Artifact, check_together
from take.errors import AlteredArtifactError, InputError
from take.evaluation.prepared_corpus import PreparedCorpus, PreparedPool
from take.reuse.digests import value_digest
from take.reuse.provenance import Provenance, provenance
from take.reuse.records import damage, read_record
from take.rows.labelled import class_names, class_sizes

Loaded = TypeVar("Loaded")

_OF_POOL = ("pool", "ledger", "pool_embeddings", "generator_rows")
PARTS = (
    *("corpus", "evaluation_split", "embeddings", "weights", "trajectory", "influence"),
    *("scoring_study", *_OF_POOL),
)
"""What a prepared corpus has, by the names of its artifacts in the catalog."""


class ReadOnlyDataset(AbstractDataset[None, Loaded]):
    """A dataset that no node writes."""

    def save(self, data: None) -> None:
        """Refuse."""
        raise DatasetError(f"{type(self).__name__} is read only")


class RawCorpusDataset(ReadOnlyDataset[RawCorpus]):
    """Reads the chosen corpus of corpora.yml from its package, its files or the hub.

    `filepath` is the project, at which relative paths of files start.
    """

    def __init__(
        self,
        *,
        corpus: str,
        corpora: dict[str, Any],
        filepath: str = ".",
        raw_root: str | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        # Kedro makes `filepath` absolute. Messages and reports name files from where we are.
        folder = Path(os.path.relpath(filepath))
        self._source = CorpusSource(corpus, select_corpus(corpora, corpus), raw_root, folder)
        self.metadata = metadata

    def identity(self) -> str:
        """A digest of the source: its description and its files' contents."""
        return self._source.digest()

    def load(self) -> RawCorpus:
        """The raw rows."""
        return self._source.read()

    def _describe(self) -> dict[str, Any]:
        return {"corpus": self._source.name, "source": self._source.spec.source.kind}


class CatalogReader(ReadOnlyDataset[Loaded]):
    """Reads artifacts of the catalog, in the versions that the run reads or has made."""

    def __init__(self, *, artifacts: list[str], metadata: dict[str, Any] | None = None) -> None:
        self._names = artifacts
        self._artifacts: dict[str, Artifact] = {}
        self.metadata = metadata

    def bind(self, catalog: DataCatalog | Mapping[str, Any]) -> None:
        """Take the artifacts out of the catalog; `take.reuse.hooks` calls it for each catalog."""
        self._artifacts = {name: cast(Artifact, catalog[name]) for name in self._names}

    def _made(self) -> dict[str, Artifact]:
        return {name: each for name, each in self._artifacts.items() if each.exists()}

    def _describe(self) -> dict[str, Any]:
        return {"artifacts": self._names}


class IfMadeDataset(CatalogReader[Any]):
    """Loads what another entry of the catalog loads, or None if that has not been made."""

    def __init__(self, *, artifact: str, metadata: dict[str, Any] | None = None) -> None:
        super().__init__(artifacts=[artifact], metadata=metadata)

    def identity(self) -> str:
        """A digest of its contents, or of there being none."""
        artifact = self._artifact()
        return artifact.identity() if artifact else value_digest("not made")

    def check(self) -> None:
        """Refuse an altered one first: the run that reads it does not make it again."""
        artifact = self._artifact()
        if artifact and (problem := damage(artifact.path)):
            raise AlteredArtifactError(
                f"{problem}. Fix: run the pipeline that makes it (`evaluation`), or delete it"
            )

    def load(self) -> Any:
        """The artifact, or None."""
        artifact = self._artifact()
        return artifact.load() if artifact else None

    def _artifact(self) -> Artifact | None:
        return next(iter(self._made().values()), None)


class ProvenanceDataset(CatalogReader[Provenance]):
    """Loads how some artifacts of the catalog were made, from their records."""

    def __init__(
        self, *, folder: str, artifacts: list[str], metadata: dict[str, Any] | None = None
    ) -> None:
        super().__init__(artifacts=artifacts, metadata=metadata)
        self._folder = folder

    def identity(self) -> str:
        """A digest of the records: it changes with what was made, when, and at what cost."""
        records = {name: read_record(artifact.path) for name, artifact in self._made().items()}
        return value_digest(
            {name: record.checksum if record else "" for name, record in records.items()}
        )

    def load(self) -> Provenance:
        """The provenance of what the run reads or has made."""
        made = self._made()
        roots = [artifact.path for artifact in made.values()]
        folders: set[Path] = set()
        for artifact in made.values():
            layer = Path(_around(str(artifact._filepath), self._folder)[0])
            folders |= set(layer.parent.glob(f"*/{self._folder}"))
        found = provenance(roots, sorted(folders))
        if not found.steps:
            raise InputError(
                "no record says what the artifacts were made from",
                where=", ".join(map(str, roots or self._names)),
                remedy=REMAKE,
            )
        return found


CATALOG_READERS = frozenset(
    f"{each.__module__}.{each.__qualname__}" for each in (IfMadeDataset, ProvenanceDataset)
)
"""The datasets that have to be bound to their catalog, by import path."""


class PreparedCorpora(Mapping[str, PreparedCorpus]):
    """Corpora by name; each is read when it is looked up, so that one at a time is in memory."""

    def __init__(self, artifacts: dict[str, dict[int, dict[str, Artifact]]]) -> None:
        """The artifacts by corpus, pool and part."""
        self._artifacts = artifacts

    def __getitem__(self, name: str) -> PreparedCorpus:
        # Again, because hours may have passed since all were checked.
        self.check([name])
        pools = self._artifacts[name]
        first = next(iter(pools.values()))
        parts = {part: first[part].load() for part in PARTS if part not in _OF_POOL}
        return PreparedCorpus(
            name=name,
            study=parts.pop("scoring_study"),
            pools=tuple(
                PreparedPool(number, *(artifacts[part].load() for part in _OF_POOL))
                for number, artifacts in pools.items()
            ),
            **parts,
        )

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
            pools = self._artifacts[name]
            for artifacts in pools.values():
                check_together(artifacts)
            first = next(iter(pools))
            for number, artifacts in pools.items():
                if artifacts["corpus"].identity() != pools[first]["corpus"].identity():
                    raise InputError(
                        f"pool {number} was made from other rows than pool {first}",
                        where=f"corpus {name}",
                        remedy=f"run `kedro run --pipeline=distill --params=corpus={name},"
                        f"pool={number}` again",
                    )

    def labels(self, name: str) -> dict[str, int]:
        """Rows of each class, without reading more than the corpus's table."""
        corpus = next(iter(self._artifacts[name].values()))["corpus"].load()
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


class PreparedCorporaDataset(ReadOnlyDataset[PreparedCorpora]):
    """Finds the artifacts of every corpus and pool, from the catalog's entries for one of them."""

    def __init__(
        self,
        *,
        folder: str,
        artifacts: dict[str, dict[str, Any]],
        metadata: dict[str, Any] | None = None,
    ) -> None:
        self._folder, self._entries = folder, artifacts
        self.metadata = metadata

    def identity(self) -> str:
        """A digest of the contents of all of them."""
        return value_digest(
            {
                f"{corpus}@{pool}": {part: each.identity() for part, each in artifacts.items()}
                for corpus, pools in self._found().items()
                for pool, artifacts in pools.items()
            }
        )

    def load(self) -> PreparedCorpora:
        """The corpora that are there now."""
        return PreparedCorpora(self._found())

    def _found(self) -> dict[str, dict[int, dict[str, Artifact]]]:
        found: dict[str, dict[int, dict[str, Artifact]]] = {}
        for corpus, pool in sorted(map(corpus_and_pool, self._folders())):
            folder = artifact_folder(corpus, pool)
            artifacts = {part: self._in_folder(part, folder) for part in PARTS}
            if all(artifact.exists() for artifact in artifacts.values()):
                found.setdefault(corpus, {})[pool] = artifacts
        return found

    def _folders(self) -> list[str]:
        folder = Path(_around(str(self._entries["pool"]["filepath"]), self._folder)[0])
        return [path.name for path in folder.iterdir()] if folder.is_dir() else []

    def _in_folder(self, part: str, folder: str) -> Artifact:
        before, after = _around(str(self._entries[part]["filepath"]), self._folder)
        entry = {**self._entries[part], "filepath": f"{before}/{folder}/{after}"}
        return _artifact(f"{folder}.{part}", entry)

    def _describe(self) -> dict[str, Any]:
        return {"corpora": sorted(self._folders())}


def _artifact(name: str, entry: dict[str, Any]) -> Artifact:
    """The artifact of a catalog entry; its metadata are for kedro-viz alone."""
    kept = {key: value for key, value in entry.items() if key != "metadata"}
    return cast(Artifact, AbstractDataset.from_config(name, kept))


def _around(path: str, folder: str) -> tuple[str, str]:
    """A path before and after a folder; the project may be in one of that name."""
    before, _, after = path.rpartition(f"/{folder}/")
    return before, after
