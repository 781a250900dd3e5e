"""The record next to each artifact: its checksums, and what it was made from.

`x.parquet` has `x.parquet.record.json` next to it. The checksums show an altered or truncated file;
the origin (code, libraries, parameters, digests of inputs) shows whether the artifact is still what
a run would make now.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from take import __version__
from take.frozen import Frozen
from take.reuse.atomic import TEMPORARY_SUFFIX, atomic_path, write_text_atomically
from take.reuse.digests import file_digest, value_digest

RECORD_SUFFIX = ".record.json"
PENDING = f".pending{TEMPORARY_SUFFIX}."
"""Before the name of the record of an artifact that is about to be renamed."""
_SET_ASIDE = ".altered-"


class Origin(Frozen):
    """All that decides what a node returns."""

    node: str
    code: dict[str, str]
    """Digest by module; of the node's own module, by function."""
    libraries: dict[str, str] = Field(default_factory=dict)
    """Version of each library that the code imports."""
    parameters: dict[str, Any]
    inputs: dict[str, str]
    """Content digest by dataset."""

    def difference(self, before: Origin) -> str:
        """What has changed since, in words; empty if nothing has."""
        # A library that is only here or only there is one that was not used, or comes with a
        # change of the code.
        common = self.libraries.keys() & before.libraries.keys()
        then, now = ({k: o.libraries[k] for k in common} for o in (before, self))
        changes = [
            *_changes("parameter", flatten(before.parameters), flatten(self.parameters), show=True),
            *_changes("input", before.inputs, self.inputs),
            *_changes("code of", before.code, self.code),
            *_changes("version of", then, now, show=True),
        ]
        return "; ".join(changes)


class FileEntry(Frozen):
    """One file's size and checksum."""

    bytes: int
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")

    @classmethod
    def of(cls, path: Path) -> FileEntry:
        """The entry of a file as it is now."""
        return cls(bytes=path.stat().st_size, sha256=file_digest(path))

    def problem(self, path: Path) -> str:
        """How the file at `path` differs from this entry; empty if it does not."""
        if not path.is_file():
            return f"{path} is missing"
        size = path.stat().st_size
        if size != self.bytes:
            return f"{path} was altered: {size:,} bytes where {self.bytes:,} were written"
        if file_digest(path) != self.sha256:
            return f"{path} was altered: its SHA-256 is not the recorded one"
        return ""


class MakingCost(Frozen):
    """What it took the node, for all its outputs together."""

    seconds: float
    peak_megabytes: float
    """The most that the process held meanwhile."""


class Record(BaseModel):
    """What is known of an artifact."""

    files: dict[str, FileEntry]
    made_from: Origin | None = None
    cost: MakingCost | None = None
    take_version: str
    written_at: str
    checksum: str = ""
    """Of this record's other fields."""

    def sealed(self) -> Record:
        """The record with its checksum."""
        fields = self.model_dump(mode="json", exclude={"checksum"})
        return self.model_copy(update={"checksum": value_digest(fields)})

    @property
    def bytes(self) -> int:
        """What the artifact takes on disk."""
        return sum(entry.bytes for entry in self.files.values())

    @property
    def content_digest(self) -> str:
        """A digest of the artifact's contents."""
        return value_digest({name: entry.sha256 for name, entry in self.files.items()})


def record_path(artifact: Path) -> Path:
    """Where the artifact's record stands."""
    return artifact.with_name(artifact.name + RECORD_SUFFIX)


def write_record(artifact: Path, made_from: Origin | None = None) -> Record:
    """Take the checksums of an artifact that was just written, and keep them next to it."""
    record = _record(files_of(artifact), made_from)
    _write(artifact, record)
    return record


@contextmanager
def recorded(artifact: Path) -> Iterator[Path]:
    """A temporary path to write an artifact to, which is then renamed, with its record.

    Two files cannot be renamed at once. The record is there before the artifact is, under a
    temporary name: whoever comes next completes what a killed process began.
    """
    with atomic_path(artifact) as temporary:
        yield temporary
        files = {
            artifact.name if path == temporary else name: path
            for name, path in files_of(temporary).items()
        }
        write_text_atomically(_pending_path(artifact), _content(_record(files)))
    _settle(artifact)


def _record(files: dict[str, Path], made_from: Origin | None = None) -> Record:
    return Record(
        files={name: FileEntry.of(path) for name, path in files.items()},
        made_from=made_from,
        take_version=__version__,
        written_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _pending_path(artifact: Path) -> Path:
    """The record of an artifact that is about to be renamed."""
    return artifact.with_name(PENDING + record_path(artifact).name)


def _settle(artifact: Path) -> None:
    """Put the record in its place, if its artifact has been renamed."""
    pending = _pending_path(artifact)
    if not pending.exists():
        return
    record = _read(pending)
    if record is not None and not _difference(artifact, record):
        with suppress(FileNotFoundError):  # another process has just done the same
            pending.replace(record_path(artifact))


def stamp_origin(artifact: Path, made_from: Origin, cost: MakingCost | None = None) -> None:
    """Add to an artifact's record what it was made from, and what it took."""
    record = read_record(artifact)
    if record is None:
        raise FileNotFoundError(f"{artifact} has no record to stamp")
    _write(artifact, record.model_copy(update={"made_from": made_from, "cost": cost}))


def read_record(artifact: Path) -> Record | None:
    """The artifact's record, or None if there is none that is whole."""
    _settle(artifact)
    return _read(record_path(artifact))


def _read(path: Path) -> Record | None:
    try:
        content = json.loads(path.read_bytes())
        record = Record.model_validate(content)
    except (FileNotFoundError, ValueError):  # no JSON, or not a record's
        return None
    return record if _is_intact(content) else None


def _is_intact(content: dict[str, Any]) -> bool:
    """Whether the fields in a record's file are those that were sealed.

    Not those of the class: a field that a later version adds leaves earlier records intact.
    """
    fields = {name: value for name, value in content.items() if name != "checksum"}
    # Where there is no cost, version 0.1 left the field out of the checksum.
    without = fields if fields.get("cost") else {k: v for k, v in fields.items() if k != "cost"}
    return content.get("checksum") in (value_digest(fields), value_digest(without))


def damage(artifact: Path) -> str:
    """What is wrong with an artifact's files, naming the file; empty if they are as recorded."""
    record = read_record(artifact)
    if record is None:
        if not record_path(artifact).exists():
            return f"{artifact} has no record"
        return f"{record_path(artifact)} was altered"
    return _difference(artifact, record)


def _difference(artifact: Path, record: Record) -> str:
    """How an artifact's files differ from a record; empty if they do not."""
    found = files_of(artifact)
    is_file = list(record.files) == [artifact.name] and not artifact.is_dir()
    for name, entry in record.files.items():
        if problem := entry.problem(artifact if is_file else artifact / name):
            return problem
    extra = sorted(set(found) - set(record.files))
    return f"{found[extra[0]]} was added to the artifact" if extra else ""


def set_aside(artifact: Path) -> Path:
    """Move an altered artifact out of the way, so that making it again loses nothing."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    kept = artifact.with_name(f"{artifact.name}{_SET_ASIDE}{stamp}")
    artifact.rename(kept)
    record_path(artifact).unlink(missing_ok=True)
    return kept


def is_set_aside(path: Path) -> bool:
    """Whether the file is one that `set_aside` moved."""
    return _SET_ASIDE in path.name


def _write(artifact: Path, record: Record) -> None:
    write_text_atomically(record_path(artifact), _content(record))


def _content(record: Record) -> str:
    return record.sealed().model_dump_json(indent=1)


def files_of(artifact: Path) -> dict[str, Path]:
    """The files of an artifact, by their path within it; a file's own by its name."""
    if artifact.is_dir():
        return {
            path.relative_to(artifact).as_posix(): path
            for path in sorted(artifact.rglob("*"))
            if path.is_file()
        }
    return {artifact.name: artifact} if artifact.is_file() else {}


def flatten(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested dictionaries as one, with dotted keys.

    >>> flatten({"a": {"b": 1}, "c": 2})
    {'a.b': 1, 'c': 2}
    """
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def _changes(
    kind: str, before: dict[str, Any], now: dict[str, Any], *, show: bool = False
) -> list[str]:
    changes = []
    for name in sorted(before.keys() | now.keys()):
        old, new = before.get(name), now.get(name)
        if old == new:
            continue
        if name not in before or name not in now:
            changes.append(f"{kind} {name} is {'new' if name in now else 'gone'}")
        else:
            changes.append(f"{kind} {name} changed" + (f" from {old!r} to {new!r}" if show else ""))
    return changes
