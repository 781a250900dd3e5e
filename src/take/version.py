"""Which code this is: the package's version, and the commit where it is run from a repository."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

from take import __version__


@cache
def git_state(folder: Path) -> dict[str, str]:
    """The commit the code is at, and whether it has been changed since; nothing outside of git."""

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
    """For people, and for what they compare: 0.1.0 (1a2b3c4, changed since).

    >>> code_version().startswith("0.")
    True
    """
    root = Path(__file__).parents[2]
    # Not the commit of a repository that the package is merely installed in.
    state = git_state(root) if (root / ".git").exists() else {}
    if not state:
        return __version__
    changed = ", changed since" if state["git_dirty"] == "true" else ""
    return f"{__version__} ({state['git_commit'][:7]}{changed})"
