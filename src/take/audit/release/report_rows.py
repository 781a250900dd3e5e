"""The parts of the report that show texts: distilled rows, findings, regions covered worst."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pandas as pd

from take.audit.release.charts_map import COLOURS, Spot
from take.audit.release.evidence import ReportEvidence
from take.rows.labelled import TEXT_COLUMNS, task_of
from take.text.format import as_words, count, opening, share, visible

LONG = 480  # characters; longer texts are folded
TABLES = {"distilled": "Distilled rows", "pool": "Pool rows"}
_FOLDED = 280
_TITLE = 120
_LISTED = 10  # training rows shown of each distilled row
_MOST_FINDINGS = 60  # of each table
_SEVERITY = {"verbatim": 0, "near_copy": 1, "shared_span": 3}  # personal data: 2


class Passage(NamedTuple):
    """A text of the corpus or of the pool, safe to show; `head` is set where it is folded."""

    text: str
    head: str | None

    @classmethod
    def of(cls, text: object) -> Passage:
        """Control characters made visible; long texts with a beginning to show first."""
        shown = visible(text)
        return cls(shown, opening(shown, _FOLDED) if len(shown) > LONG else None)


def _passages(row: pd.Series, columns: Sequence[str], prefix: str = "") -> list[Passage]:
    """The text or the two texts of a row."""
    return [Passage.of(row[prefix + column]) for column in columns]


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
                    "passages": _passages(row, columns),
                    "mass": mass,
                    "part": mass / heaviest if heaviest else 0.0,
                    "rows": int(total["rows"]) if total is not None else 0,
                    "distance": total["mean_distance"] if total is not None else None,
                    "flags": flags.get(str(row["id"]), []),
                    "sources": _sources(sources.get(row["id"]), columns, name),
                }
            )
        known = evidence.distillation_report.classes.get(name)
        shown.append({"name": name, "colour": f"c{label % COLOURS}", "rows": rows, "known": known})
    return shown


def spots(evidence: ReportEvidence) -> list[Spot]:
    """The same rows for the map, in order."""
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
        found.append(Spot(f"row-{place}", f"{place}: {title}"))
    return found


def _sources(rows: pd.DataFrame | None, columns: Sequence[str], label: str) -> list[dict[str, Any]]:
    if rows is None:
        return []
    return [
        {
            "id": row["source_id"],
            "share": row["share"],
            "distance": row["distance"],
            "passages": _passages(row, columns, "source_"),
            "label": row["source_label_name"] if row["source_label_name"] != label else None,
        }
        for _, row in rows.sort_values("rank").head(_LISTED).iterrows()
    ]


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
                "number": numbers.get(str(row["row"])) if where == "distilled" else None,
                "row": row["row"],
                "kind": as_words(str(row["kind"])),
                "value": None if pd.isna(row["value"]) else row["value"],
                "in_corpus": row["reference"] == "corpus",
                "span": None if release or not row["span"] else Passage.of(row["span"]),
                "source": _source(row["reference_row"], texts, columns),
                "source_id": None if release else row["reference_row"],
            }
            for _, row in listed.iterrows()
        ]
        kinds = mine["kind"].value_counts().to_dict()
        shown.append({"name": name, "total": len(mine), "kinds": kinds, "rows": rows})
    return shown


def _source(row_id: str, texts: pd.DataFrame | None, columns: Sequence[str]) -> list[Passage]:
    if texts is None or not row_id or row_id not in texts.index:
        return []
    return _passages(texts.loc[[row_id]].iloc[0], columns)


def regions(evidence: ReportEvidence, *, release: bool) -> list[dict[str, Any]]:
    """The regions covered worst, with some of their rows and what is closest to each."""
    table = None if release else evidence.least_covered
    shown = []
    for name, region in evidence.distillation_report.regions.items():
        rows: list[dict[str, Any]] = []
        if table is not None and len(table):
            columns = TEXT_COLUMNS[task_of(table)]
            rows = [
                {
                    "label": row["label_name"],
                    "distance": row["distance"],
                    "passages": _passages(row, columns),
                    "closest": _passages(row, columns, "closest_"),
                }
                for _, row in table[table["region"].astype(str) == str(name)].iterrows()
            ]
        shown.append({"name": name, "found": region, "rows": rows})
    return shown
