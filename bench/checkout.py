"""Whether a checkout is exactly one commit, and stays so."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path

from take.errors import InputError
from take.text.format import plural

STORED = "data/08_reporting/cells/cells"
_MOST_FILES = 10


def commit_of(root: Path) -> str:
    """The commit of the checkout; refused if any file differs from it.

    Files that git does not know count too: code could import them.
    """
    try:
        commit = _git(root, "rev-parse", "HEAD")
        changed = _git(root, "status", "--porcelain").splitlines()
    except (OSError, subprocess.CalledProcessError) as error:
        raise InputError(
            "not a git checkout with a commit, so the results could not name the code that made "
            "them",
            where=str(root),
            remedy="clone the repository and run the benchmark there",
        ) from error
    if changed:
        more = ", …" * (len(changed) > _MOST_FILES)
        names = ", ".join(line.strip() for line in changed[:_MOST_FILES]) + more
        raise InputError(
            f"{plural(len(changed), 'file differs', 'files differ')} from the commit: {names}",
            where=str(root),
            remedy="commit them, or put them away with `git stash --include-untracked`",
        )
    return commit


def check_same(root: Path, commit: str) -> None:
    """Refuse to go on if the checkout is no longer what the benchmark began with."""
    if commit_of(root) != commit:
        raise InputError(
            f"the commit was {commit[:7]} when the benchmark began, and is another now",
            where=str(root),
            remedy=f"check out {commit[:7]} and run the same command: it resumes",
        )


def check_stored(root: Path, commit: str) -> None:
    """Refuse to start where cells of another commit are stored: the grid would reuse them."""
    found = [_version(path) for path in (root / STORED).glob("*.json")]
    others = Counter(version for version in found if f"({commit[:7]})" not in version)
    if others:
        listed = ", ".join(f"{version} ({count:,})" for version, count in others.most_common())
        raise InputError(
            f"cells of other code are stored, and the page may have cells of one commit only: "
            f"{listed}",
            where=STORED,
            remedy=f"remove {Path(STORED).parent} (what it holds is computed again), or check out "
            "that commit",
        )


def _version(path: Path) -> str:
    value = json.loads(path.read_text(encoding="utf-8"))["value"]
    return value["cell"]["code_version"] or "no version"


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(  # noqa: S603 - fixed command, no user input
        command, capture_output=True, text=True, check=True
    ).stdout.strip()
