"""What may be removed under the data folder: `kedro tidy`."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from take.reuse.records import files_of, is_set_aside, read_record
from take.reuse.verify import CheckRelease, all_paths, is_version, recorded_artifacts, verify


@dataclass
class Removable:
    """What may be removed, by kind."""

    leftovers: list[Path] = field(default_factory=list)
    """Temporary files of killed runs."""
    set_aside: list[Path] = field(default_factory=list)
    """Altered files that were kept when they were made again."""
    damaged: list[Path] = field(default_factory=list)
    """Superseded versions that are not as they were written, or have no record."""
    old: list[Path] = field(default_factory=list)
    """Superseded versions beyond those to keep."""


def removable(folder: Path, check_release: CheckRelease, keep: int) -> Removable:
    """What may be removed under a folder; versions are named by their folders.

    Of each artifact, the newest `keep` versions stay, and so does every version that went into
    something that stays, however far back: a release can be traced to what it was made from.
    """
    found = verify(folder, check_release)
    damaged = {artifact.parent for artifact in found.superseded}
    artifacts = recorded_artifacts(folder)
    versions: defaultdict[Path, list[Path]] = defaultdict(list)
    for artifact in sorted(artifacts, reverse=True):
        if is_version(artifact) and artifact.parent not in damaged:
            versions[artifact.parent.parent].append(artifact)
    kept = {artifact for newest_first in versions.values() for artifact in newest_first[:keep]}
    kept |= {artifact for artifact in artifacts if not is_version(artifact)}
    candidates = [artifact for newest_first in versions.values() for artifact in newest_first]
    stays = kept | _sources(kept, candidates)
    return Removable(
        leftovers=found.leftovers,
        set_aside=[path for path in all_paths(folder) if is_set_aside(path)],
        damaged=sorted(damaged),
        old=sorted(artifact.parent for artifact in candidates if artifact not in stays),
    )


def remove(paths: Iterable[Path]) -> None:
    """Remove files, and folders with what is in them."""
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def bytes_of(paths: Iterable[Path]) -> int:
    """What files and folders take on disk."""
    return sum(file.stat().st_size for path in paths for file in files_of(path).values())


def _sources(kept: Iterable[Path], candidates: Iterable[Path]) -> set[Path]:
    """The candidates whose contents went into what is kept."""
    by_content: defaultdict[str, list[Path]] = defaultdict(list)
    for artifact in candidates:
        if record := read_record(artifact):
            by_content[record.content_digest].append(artifact)
    found: set[Path] = set()
    waiting = list(kept)
    while waiting:
        record = read_record(waiting.pop())
        inputs = record.made_from.inputs.values() if record and record.made_from else ()
        for digest in inputs:
            sources = set(by_content[digest]) - found
            found |= sources
            waiting += sources
    return found
