"""Every artifact under the data folder against its record."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from take.reuse.atomic import is_temporary
from take.reuse.locks import LOCK_FOLDER
from take.reuse.records import (
    PENDING,
    RECORD_SUFFIX,
    damage,
    is_set_aside,
    read_record,
    record_path,
)

# Their files have no records: the user's own files, and the thousands of cells of a grid, each of
# which has its own checksum; locks hold nothing.
_WITHOUT_RECORDS = ("01_raw/", "08_reporting/cells/", f"{LOCK_FOLDER}/")

CheckRelease = Callable[[Path], list[str] | None]
"""What is wrong with a release, which has a manifest of its own and needs no record wherever it was
copied to; None for any other folder."""


@dataclass
class Verification:
    """The outcome: how many artifacts were checked, and what is wrong with which file."""

    checked: int = 0
    problems: list[str] = field(default_factory=list)
    superseded: list[Path] = field(default_factory=list)
    """Artifacts with problems of which there is a later version: nothing reads them."""
    leftovers: list[Path] = field(default_factory=list)
    """Temporary files of a killed run; harmless, safe to delete."""

    def add(self, artifact: Path, problem: str) -> None:
        """A problem of an artifact."""
        self.problems.append(problem)
        if is_superseded(artifact):
            self.superseded.append(artifact)


def verify(folder: Path, check_release: CheckRelease) -> Verification:
    """Check the files of every artifact under a folder against its record.

    A file without a record is a problem, too, unless it is in a folder that has none, or was set
    aside.
    """
    outcome = Verification()
    artifacts = recorded_artifacts(folder)  # reading them completes what a killed run began
    for artifact in artifacts:
        outcome.checked += 1
        if problem := damage(artifact):
            outcome.add(artifact, problem)
    folders, files = [folder], []
    for path in walk(folder):
        if is_temporary(path):
            outcome.leftovers.append(path)
        elif path.is_dir():
            folders.append(path)
        else:
            files.append(path)
    releases = {path: found for path in folders if (found := check_release(path)) is not None}
    outcome.checked += len(releases.keys() - artifacts)
    for problems in releases.values():
        # A problem that the record has shown is not reported twice.
        outcome.problems += [problem for problem in problems if problem not in outcome.problems]
    known = artifacts | releases.keys()
    for path in files:
        if _needs_record(path, folder) and not known & {path, *path.parents}:
            outcome.add(path, f"{path} has no record")
    return outcome


def recorded_artifacts(folder: Path) -> set[Path]:
    """The artifacts that have a record, also one that a killed run left under a temporary name."""
    found = set()
    for path in walk(folder):
        name = path.name.removeprefix(PENDING)
        if name.endswith(RECORD_SUFFIX) and not is_temporary(path.with_name(name)):
            found.add(path.with_name(name.removesuffix(RECORD_SUFFIX)))
    return {
        artifact for artifact in found if read_record(artifact) or record_path(artifact).exists()
    }


def walk(folder: Path) -> Iterator[Path]:
    """All paths but those within temporary folders, or of what was set aside."""
    for path in all_paths(folder):
        within = [parent for parent in path.parents if folder in parent.parents]
        if not is_set_aside(path) and not any(
            is_temporary(parent) or is_set_aside(parent) for parent in within
        ):
            yield path


def all_paths(folder: Path) -> list[Path]:
    """All paths under a folder, also behind links: a part of the data may be on another disk."""
    found: list[Path] = []
    seen: set[str] = set()
    for parent, folders, files in os.walk(folder, followlinks=True):
        if (real := os.path.realpath(parent)) in seen:  # a link to a folder around it
            folders.clear()
            continue
        seen.add(real)
        found += [Path(parent, name) for name in (*folders, *files)]
    return sorted(found)


def is_superseded(artifact: Path) -> bool:
    """Whether there is a later version of the artifact, `name/<version>/name`."""
    version, name = artifact.parent, artifact.name
    if not is_version(artifact):
        return False
    return any(
        other.name > version.name and (other / name).exists() for other in version.parent.iterdir()
    )


def is_version(artifact: Path) -> bool:
    """Whether the artifact has versions."""
    return artifact.parent.parent.name == artifact.name


def _needs_record(path: Path, folder: Path) -> bool:
    is_exempt = path.relative_to(folder).as_posix().startswith(_WITHOUT_RECORDS)
    is_own = path.name == ".lock" or path.name.endswith(RECORD_SUFFIX) or path.parent == folder
    return not is_exempt and not is_own
