from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from take.reuse.records import (
    Origin,
    damage,
    read_record,
    record_path,
    recorded,
    set_aside,
    stamp_origin,
)
from take.reuse.tidy import bytes_of, removable, remove
from take.reuse.verify import verify

YEARS = ("2024-01-01T00.00.00.000Z", "2025-01-01T00.00.00.000Z", "2026-01-01T00.00.00.000Z")

KILLED = """
import os, signal, sys
from pathlib import Path
from take.reuse import atomic, records
path = Path(sys.argv[1])
def die(*_): os.kill(os.getpid(), signal.SIGKILL)
with records.recorded(path) as temporary:
    temporary.write_text("new")
    if sys.argv[2] == "before the rename":
        atomic._flush = lambda path: die() if path == temporary else None
    else:
        records._settle = die
"""


def no_release(folder: Path) -> None:
    return None


def write(path: Path, text: str, made_from: dict[str, str] | None = None) -> Path:
    with recorded(path) as temporary:
        temporary.write_text(text)
    stamp_origin(path, Origin(node="n", code={}, parameters={}, inputs=made_from or {}))
    return path


def versions(data: Path, name: str = "x.txt") -> list[Path]:
    return [write(data / "02/films" / name / year / name, f"{name} {year}") for year in YEARS]


def digest(path: Path) -> str:
    record = read_record(path)
    assert record is not None
    return record.content_digest


def killed_while_writing(path: Path, moment: str) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), moment], check=False)
    assert done.returncode == -signal.SIGKILL


def test_a_process_killed_between_renames_leaves_a_whole_artifact(tmp_path: Path) -> None:
    path = write(tmp_path / "02/films/x.txt", "old")
    killed_while_writing(path, "after it")
    assert path.read_text() == "new"
    found = verify(tmp_path, no_release)
    assert (found.problems, found.leftovers, found.checked) == ([], [], 1)
    assert damage(path) == ""
    record = read_record(path)
    assert record is not None
    assert record.made_from is None  # so that a run makes it again


def test_a_process_killed_before_the_rename_leaves_the_old_artifact(tmp_path: Path) -> None:
    path = write(tmp_path / "02/films/x.txt", "old")
    killed_while_writing(path, "before the rename")
    assert path.read_text() == "old"
    found = verify(tmp_path, no_release)
    assert found.problems == []
    assert len(found.leftovers) == 2  # the new file and its record
    remove(removable(tmp_path, no_release, 1).leftovers)
    assert verify(tmp_path, no_release).leftovers == []
    names = sorted(found.name for found in path.parent.iterdir())
    assert names == ["x.txt", "x.txt.record.json"]


def test_a_first_version_killed_between_renames_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "02/films/x.txt" / YEARS[0] / "x.txt"
    killed_while_writing(path, "after it")
    assert not record_path(path).exists()
    found = verify(tmp_path, no_release)
    assert (found.problems, found.leftovers, found.checked) == ([], [], 1)


def test_an_altered_superseded_version_can_be_tidied(tmp_path: Path) -> None:
    old, *_, newest = versions(tmp_path)
    old.write_text("altered")
    found = verify(tmp_path, no_release)
    assert len(found.problems) == 1
    assert found.superseded == [old]
    assert removable(tmp_path, no_release, 3).damaged == [old.parent]
    remove(removable(tmp_path, no_release, 3).damaged)
    assert verify(tmp_path, no_release).problems == []
    newest.write_text("altered")
    assert removable(tmp_path, no_release, 3).damaged == []  # a run makes it again, and keeps it


def test_what_was_set_aside_is_named(tmp_path: Path) -> None:
    kept = set_aside(write(tmp_path / "02/films/x.txt", "x"))
    assert removable(tmp_path, no_release, 1).set_aside == [kept]
    assert verify(tmp_path, no_release).problems == []


@pytest.mark.parametrize(("keep", "goes"), [(1, 2), (2, 1), (3, 0), (9, 0)])
def test_the_last_versions_stay(tmp_path: Path, keep: int, goes: int) -> None:
    made = versions(tmp_path)
    old = removable(tmp_path, no_release, keep).old
    assert old == [path.parent for path in made[:goes]]
    assert bytes_of(old) == sum(bytes_of([path.parent]) for path in made[:goes])


def test_what_a_kept_version_was_made_from_stays(tmp_path: Path) -> None:
    pools = versions(tmp_path, "pool.txt")
    # Not from the newest pool, and not directly.
    chosen = write(tmp_path / "07/films/chosen.txt", "y", {"pool": digest(pools[0])})
    folder = tmp_path / "07/films/release"
    write(folder / YEARS[2] / "release", "z", {"chosen": digest(chosen)})
    assert removable(tmp_path, no_release, 1).old == [pools[1].parent]


def test_what_is_behind_a_link_is_verified_and_kept(tmp_path: Path) -> None:
    """A layer may be on another disk."""
    data, disk = tmp_path / "data", tmp_path / "disk"
    first, second, _ = versions(data)
    made = write(disk / "report.txt", "y", {"x": digest(first)})
    (disk / "loop").symlink_to(data)
    (data / "08").symlink_to(disk)
    assert removable(data, no_release, keep=1).old == [second.parent]
    made.write_text("z")
    assert verify(data, no_release).problems == [
        f"{data / '08/report.txt'} was altered: its SHA-256 is not the recorded one"
    ]
