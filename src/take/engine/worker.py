"""What a worker of a Ray cluster does: jobs and parts, made from their pickles when needed."""

from __future__ import annotations

import os
import pickle  # of our own driver, through Ray, which pickles everything it moves
import platform
import socket
import traceback
from collections import OrderedDict
from contextlib import nullcontext, suppress
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from take.cost import limit_cores
from take.engine import Job, Part, nested
from take.engine.local import LocalEngine
from take.engine.threads import one_thread, set_threads
from take.errors import InputError, TakeError
from take.reuse.digests import file_digest, value_digest

_LIBRARIES = ("numpy", "openvino", "pandas", "scikit-learn", "scipy", "torch", "transformers")
"""What jobs compute with."""
MOST_JOBS = 8
"""Jobs, and their models, that a worker keeps."""


class Facts(NamedTuple):
    """What must be the same on the driver and on all workers."""

    python: str
    code: str
    """A digest of what computes, with the versions of its libraries."""
    folder: bool
    """Whether the run's folder is there, and is the same one."""


class Failed(NamedTuple):
    """An error of a job: it is raised by the driver, and the item is not tried again."""

    error: Exception
    host: str
    raised_at: str
    """The traceback, which a pickle does not have; of errors that a user can fix, none."""


def facts(marker: Path) -> Facts:
    """Of this process. `marker` is a file that the driver wrote."""
    package = Path(__file__).parents[1]
    files = {path.relative_to(package).as_posix(): path for path in package.rglob("*.py")}
    code = {name: file_digest(path) for name, path in files.items()}
    versions = {name: metadata.version(name) for name in _LIBRARIES}
    return Facts(platform.python_version(), value_digest([code, versions]), marker.is_file())


class Worker:
    """One process of a cluster. It keeps what it has loaded; its replacement loads it again."""

    def __init__(self, cores: int, run_threads: tuple[int, int], folder: Path) -> None:
        """`folder`: the driver's current one, so that a relative path means the same here."""
        self._run_threads = run_threads
        with suppress(OSError):  # what is not there is named when it is read
            os.chdir(folder)
        limit_cores(cores)
        self._jobs: OrderedDict[str, Job[Any, Any]] = OrderedDict()
        self._parts: dict[str, dict[int, Part]] = {}

    def facts(self, marker: Path) -> tuple[str, Facts]:
        """The host's name, and what must be as on the driver."""
        return socket.gethostname(), facts(marker)

    def process(self) -> int:
        """The number of the process."""
        return os.getpid()

    def prepare(self, key: str, box: list[Any]) -> Failed | None:
        """Load what a job needs."""
        try:
            self._job(key, box).prepare()
        except Exception as error:  # raised again by the driver
            return _failed(error)
        return None

    def apply(self, key: str, box: list[Any], item: Any) -> Any:
        """The result of an item; `box` holds a reference to the job's pickle."""
        try:
            job = self._job(key, box)
            if job.threads == "run":
                set_threads(*self._run_threads)
            with one_thread() if job.threads == "one" else nullcontext(), nested(LocalEngine(1)):
                return job(item)
        except Exception as error:
            return _failed(error)

    def call(self, key: str, boxes: dict[int, list[Any]], method: str, *arguments: Any) -> Any:
        """What a method of some parts answers; one that is not here is made from its pickle."""
        try:
            parts, answers = self._parts.setdefault(key, {}), []
            with one_thread(), nested(LocalEngine(1)):
                for number, box in boxes.items():
                    if number not in parts:
                        parts[number] = _opened(box)
                    answers.append(getattr(parts[number], method)(*arguments))
            return answers
        except Exception as error:
            return _failed(error)

    def forget(self, key: str) -> None:
        """Give up parts."""
        self._parts.pop(key, None)

    def _job(self, key: str, box: list[Any]) -> Job[Any, Any]:
        if key not in self._jobs:
            self._jobs[key] = _opened(box)
            if len(self._jobs) > MOST_JOBS:
                self._jobs.popitem(last=False)
        self._jobs.move_to_end(key)
        return self._jobs[key]


def _opened(box: list[Any]) -> Any:
    import ray

    return pickle.loads(ray.get(box[0]))  # noqa: S301 - see above


def _failed(error: Exception) -> Failed:
    """An error that can be sent: of others only the name and the message."""
    raised_at = "".join(traceback.format_exception(error))
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    except Exception:  # many libraries' errors cannot be pickled
        error = TakeError(f"{type(error).__name__}: {error}")
    return Failed(error, socket.gethostname(), "" if isinstance(error, InputError) else raised_at)
