"""Files that are either whole or not there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TEMPORARY_SUFFIX = ".partial"


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """A temporary path to write to, renamed to `path` once the block has ended well.

    The temporary name keeps the ending of the final one, because some writers go by it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{os.getpid()}{TEMPORARY_SUFFIX}.{path.name}")
    _remove(temporary)
    try:
        yield temporary
        _flush(temporary)
        if path.is_dir():  # a folder can only take the place of an empty one
            replaced = temporary.with_name(f"{temporary.name}.replaced")
            path.rename(replaced)
            temporary.replace(path)
            _remove(replaced)
        else:
            temporary.replace(path)
    finally:
        _remove(temporary)


def write_text_atomically(path: Path, text: str) -> None:
    """Write a small text file whole or not at all."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def is_temporary(path: Path) -> bool:
    """Whether the path is one that a killed run may have left behind."""
    return path.name.startswith(".") and f"{TEMPORARY_SUFFIX}." in path.name


def _flush(path: Path) -> None:
    """Bring the bytes to disk before the rename does, so that a power cut leaves no empty file."""
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file():
            with file.open("rb+") as stream:
                os.fsync(stream.fileno())


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
