"""Checking every recorded artifact, and every release, under a folder."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from take.audit.release.manifest import MANIFEST, SUMS, check_manifest, is_release
from take.reuse.atomic import is_temporary
from take.reuse.records import RECORD_SUFFIX, damage, is_put_aside

# What is in them has no record: the user's own files, and the thousands of cells of a grid, which
# are computed anew where they cannot be read.
_WITHOUT_RECORDS = ("01_raw/", "08_reporting/cells/")


@dataclass
class Verification:
    """The outcome: how many artifacts were checked, and what is wrong with which file."""

    checked: int = 0
    problems: list[str] = field(default_factory=list)
    leftovers: list[Path] = field(default_factory=list)
    """Temporary files of a killed run; harmless, safe to delete."""


def verify(folder: Path) -> Verification:
    """Check the files of every artifact under a folder against its record.

    A file without a record is a problem, too, unless it is of a folder that has none, or was put
    aside. A release is checked against its own manifest as well: wherever it was copied to, it
    needs no record.
    """
    outcome = Verification()
    recorded: set[Path] = set()
    releases: set[Path] = set()
    others: list[Path] = []
    for path in sorted(folder.rglob("*")):
        within = [parent for parent in path.parents if folder in parent.parents]
        if any(is_temporary(parent) or is_put_aside(parent) for parent in within):
            continue
        if is_temporary(path):
            outcome.leftovers.append(path)
        elif path.name.endswith(RECORD_SUFFIX):
            artifact = path.with_name(path.name.removesuffix(RECORD_SUFFIX))
            recorded.add(artifact)
            outcome.checked += 1
            if problem := damage(artifact):
                outcome.problems.append(problem)
        elif path.is_file() and not is_put_aside(path):
            others.append(path)
            if path.name in (MANIFEST, SUMS) and is_release(path.parent):
                releases.add(path.parent)
    for release in sorted(releases):
        outcome.checked += release not in recorded
        # What its record has told is not said twice.
        outcome.problems += [
            problem for problem in check_manifest(release) if problem not in outcome.problems
        ]
    known = recorded | releases
    for path in others:
        is_exempt = path.relative_to(folder).as_posix().startswith(_WITHOUT_RECORDS)
        if is_exempt or path.parent == folder:
            continue
        if not known & {path, *path.parents}:
            outcome.problems.append(f"{path} has no record")
    return outcome
