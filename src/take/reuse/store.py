"""Files that a long computation keeps for later: each written whole, and checked before it is used.

What is kept saves time and decides no result: it may be deleted at any time. The names are keys,
digests of all that the content depends on, so that nothing out of date is ever found.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from take.reuse.atomic import write_text_atomically
from take.reuse.digests import value_digest
from take.reuse.locks import file_lock
from take.reuse.records import damage, record_path, recorded, set_aside

_logger = logging.getLogger(__name__)

Value = TypeVar("Value")


class KeyedStore:
    """Files and JSON values in a folder; `if_damaged` tells the user what a damaged one means."""

    def __init__(self, folder: Path, if_damaged: str) -> None:
        self.folder = folder
        self._if_damaged = if_damaged

    @contextmanager
    def writing(self, name: str) -> Iterator[Path]:
        """A temporary path to write a file to, which is then renamed and recorded."""
        with recorded(self.folder / name) as temporary:
            yield temporary

    def lock(self) -> AbstractContextManager[None]:
        """Held while a process makes what others would make, too, so that they wait and find it."""
        return file_lock(self.folder / ".lock", f"{self.folder.name} is in use")

    def files(self, pattern: str) -> list[Path]:
        """The stored files of a pattern, by name.

        One without a record is skipped: its writer was killed, or is about to write the record.
        """
        return [path for path in sorted(self.folder.glob(pattern)) if record_path(path).exists()]

    def is_whole(self, path: Path) -> bool:
        """Whether a stored file is as it was written; a damaged one is logged and set aside."""
        problem = damage(path)
        if problem:
            kept = set_aside(path).name
            _logger.warning("%s; set aside as %s: %s.", problem, kept, self._if_damaged)
        return not problem

    def remove(self, pattern: str) -> None:
        """Remove the files of a pattern with their records."""
        for path in self.folder.glob(pattern):
            record_path(path).unlink(missing_ok=True)
            path.unlink(missing_ok=True)

    def write_value(self, name: str, value: Any) -> None:
        """Keep a JSON value, of which there may be thousands: its checksum is in the file."""
        content = {"checksum": value_digest(value), "value": value}
        write_text_atomically(self.folder / name, json.dumps(content, ensure_ascii=False))

    def read_value(self, name: str, parse: Callable[[Any], Value]) -> Value | None:
        """A value as `parse` reads it; None if it is not there, damaged, or cannot be parsed."""
        path = self.folder / name
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            value = content.pop("value")
            if content != {"checksum": value_digest(value)}:
                raise ValueError("another value than was written")
            return parse(value)
        except FileNotFoundError:
            return None
        except (ValueError, LookupError, TypeError, AttributeError):
            _logger.warning("%s is damaged: %s.", path, self._if_damaged)
            return None
