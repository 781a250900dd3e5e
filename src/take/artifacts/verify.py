"""Checking every recorded artifact under a folder."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from take.artifacts.atomic import is_temporary
from take.artifacts.records import RECORD_SUFFIX, damage, is_put_aside

# What is in it was put there by the user and has no record.
_USERS_FOLDER = "01_raw"


@dataclass
class Verification:
    """The outcome: how many artifacts were checked, and what is wrong with which file."""

    checked: int = 0
    problems: list[str] = field(default_factory=list)
    leftovers: list[Path] = field(default_factory=list)
    """Temporary files of a killed run; harmless, safe to delete."""


def verify(folder: Path) -> Verification:
    """Check the files of every artifact under a folder against its record.

    A file without a record is a problem, too, unless it is the user's own or was put aside.
    """
    outcome = Verification()
    recorded: set[Path] = set()
    others: list[Path] = []
    for path in sorted(folder.rglob("*")):
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
    for path in others:
        is_the_users = _USERS_FOLDER in path.relative_to(folder).parts or path.parent == folder
        if not is_the_users and not recorded & {path, *path.parents}:
            outcome.problems.append(f"{path} has no record")
    return outcome
