"""Whether what is known of an evaluation is about these rows."""

from __future__ import annotations

import pandas as pd

from take.evaluation.prepared import as_training_set


def cells_of(distilled: pd.DataFrame, cells: pd.DataFrame | None) -> pd.DataFrame | None:
    """The cells, if the distilled rows that were evaluated are these; else None."""
    if cells is None:
        return None
    taught = set(cells.loc[cells["method"] == "distilled", "set_digest"]) - {""}
    return cells if taught == {as_training_set(distilled).digest} else None
