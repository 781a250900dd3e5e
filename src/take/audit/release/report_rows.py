"""The parts of the report that show texts: distilled rows, findings, regions covered worst."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from take.audit.release.charts_map import COLOURS
from take.audit.release.evidence import ReportEvidence
from take.rows.labelled import TEXT_COLUMNS, task_of
from take.text.format import as_words, count, opening, share, visible

LONG, FOLDED = 480, 280  # characters: longer texts are folded, to so many
TABLES = {"distilled": "Distilled rows", "pool": "Pool rows"}
_TITLE = 120
_LISTED = 10  # training rows shown of each distilled row
_MOST_FINDINGS = 60  # of each table
_SEVERITY = {"verbatim": 0, "near_copy": 1, "shared_span": 3}  # personal data: 2


def _texts(row: Any, columns: Sequence[str], prefix: str = "") -> list[str]:
    """The text or the two texts of a row; the template makes them safe to show."""
    return [row[prefix + column] for column in columns]


def groups(evidence: ReportEvidence, *, release: bool) -> list[dict[str, Any]]:
    """Rows by label, in the order of the labels; a class without a row is shown as such."""
    distilled = evidence.distilled.reset_index(drop=True)
    columns = TEXT_COLUMNS[task_of(distilled)]
    totals = evidence.lineage_totals.set_index("id").to_dict("index")
    nothing: dict[Any, Any] = {"assigned_mass": 0.0, "rows": 0, "mean_distance": None}
    heaviest = max((total["assigned_mass"] for total in totals.values()), default=0.0)
    lineage = None if release else evidence.lineage
    sources = {} if lineage is None else dict(iter(lineage.groupby("id", sort=False)))
    flags = _flags(evidence.privacy_findings)
    shown = []
    for label, name in enumerate(evidence.corpus_report.labels):
        rows = []
        for place in distilled.index[distilled["label"] == label]:
            row = distilled.loc[place]
            total = totals.get(row["id"], nothing)
            rows.append(
                {
                    "number": int(place) + 1,
                    "texts": _texts(row, columns),
                    "total": total,
                    "part": total["assigned_mass"] / heaviest if heaviest else 0.0,
                    "flags": flags.get(str(row["id"]), []),
                    "sources": _sources(sources.get(row["id"]), columns),
                }
            )
        known = evidence.distillation_report.classes.get(name)
        shown.append({"name": name, "colour": f"c{label % COLOURS}", "rows": rows, "known": known})
    return shown


def titles(evidence: ReportEvidence) -> list[str]:
    """What the map says about each distilled row, in order."""
    columns = TEXT_COLUMNS[task_of(evidence.distilled)]
    masses = evidence.lineage_totals.set_index("id")
    found = []
    for place, (_, row) in enumerate(evidence.distilled.iterrows(), start=1):
        title = opening(visible(" / ".join(str(row[column]) for column in columns)), _TITLE)
        if row["id"] in masses.index:
            total = masses.loc[row["id"]]
            title += (
                f" – {share(total['assigned_mass'])} of the weight, "
                f"{count(total['rows'])} training rows"
            )
        found.append(f"{place}: {title}")
    return found


def _sources(rows: pd.DataFrame | None, columns: Sequence[str]) -> list[dict[Any, Any]]:
    if rows is None:
        return []
    heaviest = rows.sort_values("rank").head(_LISTED).to_dict("records")
    return [{**row, "texts": _texts(row, columns, "source_")} for row in heaviest]


def _of_training_rows(findings: pd.DataFrame, where: str) -> pd.DataFrame:
    return findings[(findings["where"] == where) & (findings["reference"] != "evaluation")]


def _flags(findings: pd.DataFrame) -> dict[str, list[str]]:
    """Kinds of findings by distilled row."""
    if findings.empty:
        return {}
    mine = _of_training_rows(findings, "distilled")
    return {
        str(row): sorted({as_words(str(kind)) for kind in kinds})
        for row, kinds in mine.groupby("row")["kind"]
    }


def findings(evidence: ReportEvidence, *, release: bool) -> list[dict[str, Any]]:
    """By table: the rows to read, the most severe kinds first."""
    found = evidence.privacy_findings
    if found.empty:
        return []
    numbers = {str(row_id): place for place, row_id in enumerate(evidence.distilled["id"], start=1)}
    corpus = None if release else evidence.corpus
    texts = None if corpus is None else corpus.set_index("id")
    columns = TEXT_COLUMNS[task_of(evidence.distilled)]
    shown = []
    for where, name in TABLES.items():
        mine = _of_training_rows(found, where).sort_values(
            ["kind", "value"],
            key=lambda part: part.map(_SEVERITY).fillna(2) if part.name == "kind" else -part,
            kind="stable",
        )
        if mine.empty:
            continue
        # Ids and words of the pool, which is not released, are of no use to who gets the release.
        listed = mine.head(0 if release and where == "pool" else _MOST_FINDINGS)
        rows = [
            {
                **row,
                "number": numbers.get(str(row["row"])) if where == "distilled" else None,
                "span": None if release else row["span"],
                "source": _source(row["reference_row"], texts, columns),
            }
            for row in listed.to_dict("records")
        ]
        kinds = mine["kind"].value_counts().to_dict()
        shown.append({"name": name, "total": len(mine), "kinds": kinds, "rows": rows})
    return shown


def _source(row_id: str, texts: pd.DataFrame | None, columns: Sequence[str]) -> list[str]:
    if texts is None or not row_id or row_id not in texts.index:
        return []
    return _texts(texts.loc[[row_id]].iloc[0], columns)


def regions(evidence: ReportEvidence, *, release: bool) -> list[dict[str, Any]]:
    """The regions covered worst, with some of their rows and what is closest to each."""
    table = None if release else evidence.least_covered
    rows: list[dict[Any, Any]] = []
    if table is not None and len(table):
        columns = TEXT_COLUMNS[task_of(table)]
        rows = [
            {**row, "texts": _texts(row, columns), "closest": _texts(row, columns, "closest_")}
            for row in table.to_dict("records")
        ]
    return [
        {
            "name": name,
            "found": region,
            "rows": [row for row in rows if str(row["region"]) == str(name)],
        }
        for name, region in evidence.distillation_report.regions.items()
    ]
