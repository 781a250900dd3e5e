"""The figures of a grid by name, for MLflow and for programs."""

from __future__ import annotations

import pandas as pd

from take.frozen import Frozen


class Score(Frozen):
    """What one method reached with one learner; shares of 1."""

    mean: float
    standard_error: float | None
    share_kept: float | None
    """Of what the learner reaches with the full corpus."""
    above_random: float | None
    seeds: int


class EvaluationReport(Frozen):
    """By corpus and budget, learner and method.

    `scores["sst2 20/class"]["lr"]["take"].mean`
    """

    cells: int
    failed_cells: int
    hours: float
    """Of teaching and asking, added up."""
    scores: dict[str, dict[str, dict[str, Score]]]

    @classmethod
    def of(cls, cells: pd.DataFrame, summary: pd.DataFrame) -> EvaluationReport:
        """The report on a table of cells and its summary."""
        scores: dict[str, dict[str, dict[str, Score]]] = {}
        for row in summary[summary["mean"].notna()].to_dict("records"):
            place = scores.setdefault(f"{row['corpus']} {row['budget']}", {})
            place.setdefault(row["learner"], {})[row["method"]] = Score(
                mean=row["mean"],
                standard_error=_number(row["standard_error"]),
                share_kept=_number(row["share_kept"]),
                above_random=_number(row["vs_random"]),
                seeds=int(row["n_sets"]),
            )
        # A cell may stand under several seeds; it was computed once.
        single = cells[~cells["fingerprint"].duplicated() | (cells["fingerprint"] == "")]
        seconds = float((single["teach_seconds"] + single["ask_seconds"]).sum())
        return cls(
            cells=len(cells),
            failed_cells=int(cells["error"].notna().sum()),
            hours=round(seconds / 3600, 3),
            scores=scores,
        )


def _number(value: float | None) -> float | None:
    return None if value is None or pd.isna(value) else float(value)
