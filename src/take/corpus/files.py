"""Files of rows: which ones a path names, how they are opened, and whether they are text."""

from __future__ import annotations

import codecs
import gzip
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from glob import glob
from io import TextIOWrapper
from pathlib import Path
from typing import IO, cast

from take.errors import InputError, closest

ENDINGS = (".csv", ".jsonl", ".parquet", ".tsv")
COMPRESSED = ".gz"
_CHUNK = 1 << 20
_PATTERN = re.compile(r"[*?]|\[[^\]]+\]")
_ENCODING = "state the source's 'encoding' in corpora.yml (e.g. latin-1)"


def ending(path: Path) -> str:
    """What a file is, by its name; a text file may be compressed.

    >>> ending(Path("rows.JSONL.gz")), ending(Path("rows.v2.parquet")), ending(Path("rows"))
    ('.jsonl.gz', '.parquet', '')
    """
    last = path.suffix.lower()
    return Path(path.stem).suffix.lower() + last if last == COMPRESSED else last


def check_ending(path: Path) -> None:
    """Refuse a file of another kind."""
    found = ending(path)
    if found.removesuffix(COMPRESSED) not in ENDINGS or found == f".parquet{COMPRESSED}":
        texts = ", ".join(each for each in ENDINGS if each != ".parquet")
        raise InputError(
            f"files ending in {found!r} are not read",
            where=str(path),
            allowed=f"{', '.join(ENDINGS)}; {texts} also with {COMPRESSED}",
        )


def shards(path: Path) -> tuple[Path, ...] | None:
    """The files of a folder or of a pattern, by name; None if the path names one file.

    A file is hidden if a part of its path below the folder starts with "." or "_", as those of
    other programs do ("_SUCCESS"). Any other file of another kind is refused: rows must not be left
    out unnoticed.
    """
    if path.is_dir():
        found = sorted(
            file
            for file in path.rglob("*")
            if file.is_file() and not any(part[0] in "._" for part in file.relative_to(path).parts)
        )
        remedy = "put the files there, or name another folder in corpora.yml"
        problem = f"the folder holds no file ending in {', '.join(ENDINGS)}"
    elif _PATTERN.search(str(path)) and not path.exists():
        matches = map(Path, glob(str(path), recursive=True))  # noqa: PTH207 - of any folder
        found = sorted(file for file in matches if file.is_file())
        remedy, problem = "check the pattern in corpora.yml", "no file matches the pattern"
    else:
        return None
    if not found:
        raise InputError(problem, where=str(path), remedy=remedy)
    for file in found:
        try:
            check_ending(file)
        except InputError as error:
            raise InputError(
                f"it is in {path}, but no file of rows",
                where=str(file),
                allowed=", ".join(ENDINGS),
                remedy="move it elsewhere, or name a pattern such as folder/*.parquet",
            ) from error
    return tuple(found)


def check_file(path: Path, setting: str) -> None:
    """Refuse a path that is no file; `setting` is where it was given."""
    if path.is_dir():
        raise InputError(
            "this is a folder, not a file", where=str(path), remedy=f"name a file in {setting}"
        )
    if not path.is_file():
        folder = path.parent
        near = [file.name for file in folder.glob("*") if file.is_file()] if folder.is_dir() else []
        raise InputError(
            "there is no such file",
            where=str(path),
            remedy=closest(path.name, near) if near else f"check the path in {setting}",
        )


@contextmanager
def opened_bytes(path: Path) -> Iterator[IO[bytes]]:
    """The file's bytes, unpacked if it is compressed."""
    try:
        with path.open("rb") as stream:
            if ending(path).endswith(COMPRESSED):
                with gzip.open(stream) as unpacked:
                    yield cast(IO[bytes], unpacked)
            else:
                yield stream
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(
            f"not a whole gzip file ({type(error).__name__})",
            where=str(path),
            remedy="fetch or write it again; it is truncated or damaged",
        ) from error


@contextmanager
def opened_text(path: Path, encoding: str, newline: str | None = None) -> Iterator[IO[str]]:
    """The file's characters, without the mark of UTF-8 at their start."""
    if codecs.lookup(encoding).name == "utf-8":
        encoding = "utf-8-sig"
    with (
        opened_bytes(path) as raw,
        TextIOWrapper(raw, encoding=encoding, newline=newline) as stream,
    ):
        yield stream


def check_decodes(path: Path, encoding: str) -> None:
    """Refuse NUL bytes and bytes that are not in the stated encoding, naming the line."""
    try:
        "".encode(encoding)  # refuses codecs such as hex that are not of text
        decoder = codecs.getincrementaldecoder(encoding)("strict")
    except LookupError as error:
        raise InputError(
            f"unknown encoding {encoding!r:.40}", where=str(path), remedy=_ENCODING
        ) from error
    is_wide = encoding.lower().startswith(("utf-16", "utf_16", "utf-32", "utf_32"))
    line = 1
    with opened_bytes(path) as stream:
        while chunk := stream.read(_CHUNK):
            if not is_wide and (at := chunk.find(b"\0")) >= 0:
                raise InputError(
                    "NUL byte",
                    where=f"{path}, line {line + chunk.count(10, 0, at)}",
                    remedy="text files hold no NUL; is this a binary or UTF-16 file?",
                )
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError as error:
                bad_line = line + chunk.count(10, 0, max(error.start, 0))
                raise InputError(
                    f"byte 0x{error.object[error.start]:02x} is not {encoding}",
                    where=f"{path}, line {bad_line}",
                    remedy=_ENCODING,
                ) from error
            except UnicodeError as error:  # of the whole file: UTF-16 without its first two bytes
                raise InputError(str(error), where=str(path), remedy=_ENCODING) from error
            line += chunk.count(10)
    try:
        decoder.decode(b"", final=True)
    except UnicodeError as error:
        raise InputError(
            f"ends inside a character of {encoding}", where=str(path), remedy=_ENCODING
        ) from error
