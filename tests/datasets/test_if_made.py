from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from kedro.io import DatasetError

from take.datasets.if_made import IfMadeDataset


def test_it_is_none_until_it_is_made(tmp_path: Path) -> None:
    entry = {
        "type": "take.datasets.artifact.TableArtifact",
        "filepath": str(tmp_path / "cells.parquet"),
        "versioned": True,
        "metadata": {"kedro-viz": {"layer": "x"}},
    }
    optional = IfMadeDataset(artifact=entry)
    assert optional.load() is None
    before = optional.identity()
    made = optional._artifact()
    made.save(pd.DataFrame({"a": [1]}))
    assert optional.load()["a"].tolist() == [1]
    assert optional.identity() == made.identity() != before
    with pytest.raises(DatasetError, match="under its own name"):
        optional.save(pd.DataFrame())
