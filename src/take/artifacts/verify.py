"""Checking every recorded artifact under a folder."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from take.artifacts.atomic import is_temporary
from take.artifacts.records import RECORD_SUFFIX, damage


@dataclass
class Verification:
    """The outcome: how many artifacts were checked, and what is wrong with which file."""

    checked: int = 0
    problems: list[str] = field(default_factory=list)
    leftovers: list[Path] = field(default_factory=list)
    """Temporary files of a killed run; harmless, safe to delete."""


def verify(folder: Path) -> Verification:
    """Check the files of every artifact under a folder against its record."""
    outcome = Verification()
    for path in sorted(folder.rglob("*")):
        if is_temporary(path):
            outcome.leftovers.append(path)
        elif path.name.endswith(RECORD_SUFFIX):
            outcome.checked += 1
            problem = damage(path.with_name(path.name.removesuffix(RECORD_SUFFIX)))
            if problem:
                outcome.problems.append(problem)
    return outcome
