"""How artifacts were made: every node that led to them, and what it cost, from the records.

A record names the contents its artifact was made from, so it leads back to the very versions that
were used, whatever was made since.
"""

from __future__ import annotations

import subprocess
from collections import deque
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from take import __version__
from take.reuse.records import RECORD_SUFFIX, Record, read_record


class Step(NamedTuple):
    """One node that ran."""

    stage: str
    node: str
    parameters: dict[str, Any]
    inputs: dict[str, str]
    """Content digest by name."""
    seconds: float | None
    peak_megabytes: float | None
    bytes: int
    """Of all its outputs, on disk."""
    written_at: str


class Provenance(NamedTuple):
    """The nodes that led to some artifacts, in the order in which they ran."""

    steps: list[Step]
    origins: dict[str, str]
    """Digests of what no node made, the raw corpus and the models, by name."""

    @property
    def written_at(self) -> str:
        """When the last of them was written."""
        return max(step.written_at for step in self.steps)

    def parameters(self) -> dict[str, Any]:
        """All parameters, nested as conf/base has them."""
        nested: dict[str, Any] = {}
        for step in self.steps:
            for name, value in step.parameters.items():
                *parents, last = name.split(".")
                place = nested
                for parent in parents:
                    place = place.setdefault(parent, {})
                place[last] = value
        return nested


def provenance(roots: Iterable[Path], folders: Iterable[Path]) -> Provenance:
    """How `roots` were made; the records of what they were made from are under `folders`."""
    known = _by_content(folders)
    siblings: dict[tuple[str, str], int] = {}
    for found in known.values():
        if found.made_from:
            key = (found.made_from.node, _made_at(found))
            siblings[key] = siblings.get(key, 0) + found.bytes
    # Nearest first: of a node that ran twice on the way, the last run is the step.
    waiting = deque(record for root in roots if (record := read_record(root)) is not None)
    steps: dict[str, Step] = {}
    origins: dict[str, str] = {}
    seen: set[str] = set()
    while waiting:
        record = waiting.popleft()
        origin = record.made_from
        if origin is None or record.checksum in seen:
            continue
        seen.add(record.checksum)
        if origin.node not in steps:
            steps[origin.node] = Step(
                stage=_stage(origin.code),
                node=origin.node,
                parameters=origin.parameters,
                inputs=origin.inputs,
                seconds=record.cost.seconds if record.cost else None,
                peak_megabytes=record.cost.peak_megabytes if record.cost else None,
                bytes=siblings.get((origin.node, _made_at(record)), record.bytes),
                written_at=record.written_at,
            )
        for name, digest in origin.inputs.items():
            if digest in known:
                waiting.append(known[digest])
            elif origins.setdefault(name, digest) != digest:
                origins[f"{name}, earlier"] = digest
    ordered = sorted(steps.values(), key=lambda step: (step.written_at, step.node))
    return Provenance(ordered, dict(sorted(origins.items())))


def stage_costs(steps: Iterable[Step]) -> list[Mapping[str, Any]]:
    """One row per node: stage, node, seconds, peak_megabytes, bytes."""
    columns = ("stage", "node", "seconds", "peak_megabytes", "bytes")
    return [{column: getattr(step, column) for column in columns} for step in steps]


@cache
def git_state(folder: Path) -> dict[str, str]:
    """The commit of a repository, and whether files were changed since; empty outside of git."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(folder), *arguments]
        return subprocess.run(  # noqa: S603 - fixed command, no user input
            command, capture_output=True, text=True, check=True, timeout=10
        ).stdout.strip()

    try:
        return {
            "git_commit": git("rev-parse", "HEAD"),
            "git_dirty": str(bool(git("status", "--porcelain"))).lower(),
        }
    except (OSError, subprocess.SubprocessError):
        return {}


def code_version() -> str:
    """Which code this is, for people: 0.1.0 (1a2b3c4, changed since).

    >>> code_version().startswith("0.")
    True
    """
    root = Path(__file__).parents[3]
    # Not the commit of another repository that the package is installed in.
    state = git_state(root) if (root / ".git").exists() else {}
    if not state:
        return __version__
    changed = ", changed since" if state["git_dirty"] == "true" else ""
    return f"{__version__} ({state['git_commit'][:7]}{changed})"


def _by_content(folders: Iterable[Path]) -> dict[str, Record]:
    """Records by the contents of their artifacts; of equal contents the newest."""
    found: dict[str, Record] = {}
    for folder in folders:
        for path in sorted(folder.rglob(f"*{RECORD_SUFFIX}")):
            record = read_record(path.with_name(path.name.removesuffix(RECORD_SUFFIX)))
            if record is None:
                continue
            before = found.get(record.content_digest)
            if before is None or record.written_at >= before.written_at:
                found[record.content_digest] = record
    return found


def _made_at(record: Record) -> str:
    """Outputs of one run of a node share parameters, inputs and cost."""
    origin = record.made_from
    cost = record.cost.model_dump_json() if record.cost else ""
    return f"{sorted(origin.inputs.items()) if origin else ''}{cost}"


def _stage(code: Mapping[str, str]) -> str:
    """The pipeline whose nodes' module is among the code."""
    parts = [name.split(".") for name in code if ".pipelines." in name]
    return parts[0][2] if parts else ""
