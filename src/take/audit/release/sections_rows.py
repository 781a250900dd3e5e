"""The distilled rows by label, each with what it stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pandas as pd

from take.audit.release.charts_map import COLOURS, Spot
from take.audit.release.evidence import ReportEvidence
from take.rows.labelled import TEXT_COLUMNS, task_of
from take.text.format import count, opening, share, visible

LONG = 480  # characters; longer texts are folded
LISTED = 10  # training rows shown of each distilled row
_FOLDED = 280
_TITLE = 120


class Passage(NamedTuple):
    """A text of the corpus or of the pool, safe to show; `head` is set where it is folded."""

    text: str
    head: str | None

    @classmethod
    def of(cls, text: object) -> Passage:
        """Control characters made visible; long texts with a beginning to show first."""
        shown = visible(text)
        return cls(shown, opening(shown, _FOLDED) if len(shown) > LONG else None)

    @property
    def size(self) -> int:
        """Characters in all."""
        return len(self.text)


def passages(row: pd.Series, columns: Sequence[str], prefix: str = "") -> list[Passage]:
    """The text or the two texts of a row."""
    return [Passage.of(row[prefix + column]) for column in columns]


def anchors(distilled: pd.DataFrame) -> dict[str, int]:
    """The number of each distilled row on the page, by id."""
    return {str(row_id): place + 1 for place, row_id in enumerate(distilled["id"])}


def groups(evidence: ReportEvidence, *, release: bool) -> list[dict[str, Any]]:
    """Rows by label, in the order of the labels; a class without a row is shown as such."""
    distilled = evidence.distilled.reset_index(drop=True)
    columns = TEXT_COLUMNS[task_of(distilled)]
    totals = evidence.lineage_totals.set_index("id")
    heaviest = float(totals["assigned_mass"].max()) if len(totals) else 0.0
    lineage = None if release else evidence.lineage
    sources = {} if lineage is None else dict(iter(lineage.groupby("id", sort=False)))
    flags = _flags(evidence.privacy_findings)
    shown = []
    for label, name in enumerate(evidence.corpus_report.labels):
        rows = []
        for place in distilled.index[distilled["label"] == label]:
            row = distilled.loc[place]
            total = totals.loc[row["id"]] if row["id"] in totals.index else None
            mass = float(total["assigned_mass"]) if total is not None else 0.0
            rows.append(
                {
                    "number": int(place) + 1,
                    "passages": passages(row, columns),
                    "mass": mass,
                    "part": mass / heaviest if heaviest else 0.0,
                    "rows": int(total["rows"]) if total is not None else 0,
                    "distance": total["mean_distance"] if total is not None else None,
                    "flags": flags.get(str(row["id"]), []),
                    "sources": _sources(sources.get(row["id"]), columns, name),
                }
            )
        known = evidence.distillation_report.classes.get(name)
        shown.append(
            {
                "name": name,
                "colour": f"c{label % COLOURS}",
                "rows": rows,
                "mass": known.mass if known else None,
                "corpus_rows": known.corpus_rows if known else None,
            }
        )
    return shown


def spots(evidence: ReportEvidence) -> list[Spot]:
    """The same rows for the map, in order."""
    columns = TEXT_COLUMNS[task_of(evidence.distilled)]
    masses = evidence.lineage_totals.set_index("id")
    found = []
    for place, (_, row) in enumerate(evidence.distilled.iterrows()):
        text = opening(visible(" / ".join(str(row[column]) for column in columns)), _TITLE)
        stands_for = ""
        if row["id"] in masses.index:
            total = masses.loc[row["id"]]
            stands_for = (
                f" – {share(total['assigned_mass'])} of the weight, "
                f"{count(total['rows'])} training rows"
            )
        title = f"{place + 1}: {text}{stands_for}"
        found.append(Spot(f"row-{place + 1}", title))
    return found


def _sources(rows: pd.DataFrame | None, columns: Sequence[str], label: str) -> list[dict[str, Any]]:
    if rows is None:
        return []
    return [
        {
            "id": row["source_id"],
            "share": row["share"],
            "distance": row["distance"],
            "passages": passages(row, columns, "source_"),
            "label": row["source_label_name"] if row["source_label_name"] != label else None,
        }
        for _, row in rows.sort_values("rank").head(LISTED).iterrows()
    ]


def _flags(findings: pd.DataFrame) -> dict[str, list[str]]:
    """Kinds of findings by distilled row."""
    if findings.empty:
        return {}
    mine = findings[(findings["where"] == "distilled") & (findings["reference"] != "evaluation")]
    return {
        str(row): sorted({str(kind).replace("_", " ") for kind in kinds})
        for row, kinds in mine.groupby("row")["kind"]
    }
