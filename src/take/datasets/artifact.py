"""An artifact: any Kedro dataset, written atomically, with a record next to it."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar, TypeVar

from kedro.io import AbstractDataset, AbstractVersionedDataset, Version
from kedro.utils import load_obj
from kedro_datasets._typing import JSONPreview, PlotlyPreview, TablePreview
from pydantic import BaseModel

from take.errors import AlteredArtifactError, InputError
from take.reuse.records import damage, read_record, record_path, recorded, set_aside

_logger = logging.getLogger(__name__)

REMAKE = "run `kedro run --pipeline=distill`, which makes what it needs"


Saved = TypeVar("Saved")
Loaded = TypeVar("Loaded")


class PathDataset(AbstractDataset[Saved, Loaded]):
    """A dataset of one path, to be wrapped in an artifact."""

    def __init__(self, *, filepath: str) -> None:
        self._path = Path(filepath)

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._path)}


class Artifact(AbstractVersionedDataset[Any, Any]):
    """A local file or folder that another dataset writes, with a record of its contents."""

    wrapped: ClassVar[dict[str, Any]] = {}
    """The other dataset's configuration, where the kind of artifact decides it."""

    def __init__(
        self,
        *,
        filepath: str,
        dataset: str | dict[str, Any] | None = None,
        version: Version | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(PurePosixPath(filepath), version)
        self._dataset = {"type": dataset} if isinstance(dataset, str) else dataset or self.wrapped
        self.metadata = metadata

    @property
    def path(self) -> Path:
        """Where the artifact is read from now."""
        return Path(self._get_load_path())

    def identity(self) -> str:
        """A digest of the artifact's contents; an altered artifact has none."""
        problem = damage(self.path)
        record = read_record(self.path)
        if problem or record is None:
            raise AlteredArtifactError(f"{problem}. Fix: {REMAKE}")
        return record.content_digest

    @property
    def is_pinned(self) -> bool:
        """Whether `--load-versions` chose the version to load."""
        return bool(self._version and self._version.load)

    def load(self) -> Any:
        """What the wrapped dataset loads, if the file is the one that was written."""
        self._refuse_damage()
        return self._inner(self.path).load()

    def _refuse_damage(self) -> None:
        if record_path(self.path).exists() and (problem := damage(self.path)):
            raise AlteredArtifactError(f"{problem}. Fix: {REMAKE}")

    def save(self, data: Any) -> None:
        """Write to a temporary name, record the checksums, and rename both."""
        path = Path(self._get_save_path())
        if record_path(path).exists() and path.exists() and (problem := damage(path)):
            _logger.warning("%s; kept as %s", problem, set_aside(path).name)
        with recorded(path) as temporary:
            self._inner(temporary).save(data)

    def _fetch_latest_load_version(self) -> str:
        """The version that this run made, whatever else is there; otherwise the newest."""
        if self._cached_load_version is None:
            own = self.save_version
            if own and Path(self._get_versioned_path(own)).exists():
                self._cached_load_version = own
        return str(super()._fetch_latest_load_version())

    @property
    def save_version(self) -> str:
        """The version that this run gives what it saves; empty without versions."""
        return str(self._version.save or "") if self._version else ""

    @save_version.setter
    def save_version(self, version: str) -> None:
        if self._version:
            self._version = Version(self._version.load, version)
            self._cached_load_version = None  # what was the newest before may not be any more

    def newest_version(self) -> str:
        """The newest version that is there, whichever run made it; empty if there is none."""
        if not self._version:
            return ""
        return max(self.list_versions(full_path=False), default="")

    def _inner(self, path: Path) -> AbstractDataset[Any, Any]:
        return AbstractDataset.from_config(path.name, {**self._dataset, "filepath": str(path)})

    def _exists(self) -> bool:
        return self.path.exists()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._filepath), "dataset": self._dataset, "version": self._version}


class TableArtifact(Artifact):
    """A Parquet table."""

    wrapped: ClassVar[dict[str, Any]] = {
        "type": "pandas.ParquetDataset",
        "save_args": {"compression": "zstd"},
    }

    def preview(self, nrows: int = 10) -> TablePreview:
        """The first rows, for kedro-viz."""
        preview: TablePreview = self._inner(self.path).preview(nrows)  # type: ignore[attr-defined]
        return preview


class ReportArtifact(Artifact):
    """A pydantic model as JSON; `model` is its class's import path."""

    wrapped: ClassVar[dict[str, Any]] = {
        "type": "json.JSONDataset",
        "save_args": {"indent": 1, "ensure_ascii": False},
    }

    def __init__(self, *, model: str, **options: Any) -> None:
        super().__init__(**options)
        self._model = model

    def load(self) -> BaseModel:
        """The model."""
        self._refuse_damage()
        model: type[BaseModel] = load_obj(self._model)
        return model.model_validate(self._inner(self.path).load())

    def save(self, data: BaseModel) -> None:
        """Save the model's fields."""
        # Kedro has wrapped the parent's save with logging and error handling of its own.
        Artifact.save.__wrapped__(self, data.model_dump(mode="json"))  # type: ignore[attr-defined]

    def preview(self) -> JSONPreview:
        """The whole report, for kedro-viz."""
        return JSONPreview(json.dumps(self._inner(self.path).load()))


class PlotArtifact(Artifact):
    """A Plotly figure as JSON."""

    wrapped: ClassVar[dict[str, Any]] = {"type": "plotly.JSONDataset"}

    def preview(self) -> PlotlyPreview:
        """The figure, for kedro-viz."""
        return PlotlyPreview(json.loads(self.path.read_text(encoding="utf-8")))


def check_together(artifacts: Mapping[str, Artifact]) -> None:
    """Refuse artifacts, by catalog name, if one was made from an earlier version of another."""
    identities = {name: artifact.identity() for name, artifact in artifacts.items()}
    for name, artifact in artifacts.items():
        record = read_record(artifact.path)
        made_from = record.made_from.inputs if record and record.made_from else {}
        for source in sorted(made_from.keys() & identities.keys()):
            if made_from[source] != identities[source]:
                raise InputError(
                    f"artifact '{name}' was made from another version of '{source}'",
                    where=str(artifact.path),
                    remedy=REMAKE,
                )
