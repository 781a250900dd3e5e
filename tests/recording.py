"""Records of files that a test has written itself."""

from __future__ import annotations

import shutil
from pathlib import Path

from take.reuse.records import Origin, Record, read_record, recorded, stamp_origin


def write_record(artifact: Path, made_from: Origin | None = None) -> Record:
    """Give what is there a record."""
    with recorded(artifact) as temporary:
        (shutil.copytree if artifact.is_dir() else shutil.copy)(artifact, temporary)
    if made_from is not None:
        stamp_origin(artifact, made_from)
    record = read_record(artifact)
    assert record is not None
    return record
