"""What the privacy gate looked at, with what chance gives beside every figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from take.audit.release.charts import Series, histogram
from take.audit.release.evidence import ReportEvidence
from take.audit.release.sections import CHECK_NAMES, Figure
from take.audit.release.sections_rows import Passage, anchors, passages
from take.rows.labelled import TEXT_COLUMNS, task_of
from take.text.format import as_words, count, plural, share

if TYPE_CHECKING:
    from take.audit.intervals import Estimate
    from take.audit.privacy.report import Attack, CopySummary

TABLES = {"distilled": "Distilled rows", "pool": "Pool rows"}
_MOST_FINDINGS = 60  # of each table, on the page
_BINS = 24
_GROUPS = {"canaries": "Planted secrets", "rows": "Rows trained on"}


def privacy(evidence: ReportEvidence, *, release: bool) -> dict[str, Any]:
    """All panels about privacy."""
    report = evidence.privacy
    return {
        "checks": [
            {
                "name": CHECK_NAMES.get(check.name, as_words(check.name)),
                "state": "overridden" if check.overridden else check.verdict,
                "sentence": check.sentence,
                "overridden": check.overridden,
            }
            for check in report.checks
        ],
        "copies": _copies(evidence),
        "findings": _findings(evidence, release=release),
        "distances": _distances(evidence),
        "closest": _closest(evidence),
        "membership": _membership(evidence),
        "secrets": _secrets(evidence),
        "pii": _pii(evidence),
        "screened_out": _screened_out(evidence),
    }


def _copies(evidence: ReportEvidence) -> list[dict[str, Any]]:
    report = evidence.privacy
    lines: list[tuple[str, str, CopySummary]] = []
    for table, found in report.copies.items():
        lines.append((TABLES[table], "training rows", found.train))
        lines.append((TABLES[table], "held-out rows", found.evaluation))
    if report.real_rows is not None:
        lines.append(("Held-out rows", "training rows", report.real_rows))
    return [{"of": of, "reference": to, **found.model_dump()} for of, to, found in lines]


def _findings(evidence: ReportEvidence, *, release: bool) -> list[dict[str, Any]]:
    """By table: the rows a person would look at, the heaviest kinds first."""
    found = evidence.privacy_findings
    if found.empty:
        return []
    numbers = anchors(evidence.distilled)
    corpus = None if release else evidence.corpus
    columns = TEXT_COLUMNS[task_of(evidence.distilled)]
    texts = corpus.set_index("id") if corpus is not None else None
    order = {"verbatim": 0, "near_copy": 1, "shared_span": 3}
    shown = []
    for where, name in TABLES.items():
        mine = found[(found["where"] == where) & (found["reference"] != "evaluation")]
        mine = mine.sort_values(
            ["kind", "value"],
            key=lambda part: part.map(order).fillna(2) if part.name == "kind" else -part,
            kind="stable",
        )
        if mine.empty:
            continue
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
            for _, row in mine.head(_MOST_FINDINGS).iterrows()
        ]
        # In the pool, ids and words are of no use to who gets the release.
        if release and where == "pool":
            rows = []
        kinds = mine["kind"].value_counts()
        named = ", ".join(f"{count(n)} × {as_words(str(kind))}" for kind, n in kinds.items())
        shown.append({"name": name, "total": len(mine), "kinds": named, "rows": rows})
    return shown


def _source(row_id: str, texts: pd.DataFrame | None, columns: tuple[str, ...]) -> list[Passage]:
    if texts is None or not row_id or row_id not in texts.index:
        return []
    return passages(texts.loc[[row_id]].iloc[0], columns)


def _distances(evidence: ReportEvidence) -> list[Figure]:
    figures = []
    for table, found in evidence.privacy.distances.items():
        closer, bars = found.closer_to_members, found.histogram
        told = "not shown to be closer" if closer.low <= 0.5 else "closer"
        figures.append(
            Figure(
                f"{TABLES[table]} are {told} to rows trained on than to rows never read",
                histogram(
                    bars.edges,
                    [
                        Series("to rows trained on", bars.queries_to_matched_members),
                        Series(
                            "to as many rows never read",
                            bars.queries_to_matched_non_members,
                            "beside",
                        ),
                    ],
                    "distance to the closest of them",
                ),
                f"{_shares(closer)} of {count(found.queries)} rows are closer to a row that the "
                f"language model was trained on than to any of {count(found.matched_rows)} that it "
                "never read; "
                "50 % is chance, and in brackets is the 95 % interval. In the picture, a hump on "
                "the left that the dashed line has not would be memory. "
                f"{share(found.unusually_close)} are closer to a row trained on than all but 1 % "
                "of real rows are; rows that are more typical than real ones exceed 1 %, too.",
            )
        )
    return figures


def _closest(evidence: ReportEvidence) -> list[dict[str, Any]]:
    """Distances and ratios of distances as figures, with those of real rows below each."""
    lines: list[dict[str, Any]] = []
    for table, found in evidence.privacy.distances.items():
        mine, real = found.closest_member, found.unseen_closest_member
        lines.append(
            {"name": TABLES[table], **mine.model_dump(), "ratio": found.ratio.median, "yard": False}
        )
        held_out = {"name": "real rows beside them", "ratio": found.unseen_ratio.median}
        lines.append({**held_out, **real.model_dump(), "yard": True})
    # Real rows are the same beside either table, as far as both look at all of them.
    return [line for i, line in enumerate(lines) if line not in lines[i + 1 :]]


def _membership(evidence: ReportEvidence) -> list[Figure]:
    report, scores = evidence.privacy.membership, evidence.membership_scores
    figures = []
    for group, name in _GROUPS.items():
        attack: Attack | None = getattr(report, group)
        if attack is None:
            continue
        chart = _scores(scores, group)
        if chart is None:
            continue
        trace = "leave no trace that can be told" if attack.auc.low <= 0.5 else "leave a trace"
        figures.append(
            Figure(
                f"{name} {trace} in the language model (AUC {attack.auc.value:.2f})",
                chart,
                f"How much fine-tuning lowered the loss of each text. If the two shapes lie on "
                f"each other, nothing was remembered. AUC {_written(attack.auc, 2)}, where 0.5 is "
                f"chance; at 1 % false alarms {_shares(attack.tpr)} of "
                f"{plural(attack.members, 'text')} are found, where 1 % is chance. In brackets "
                "95 % intervals. The attacker has both models; who has only the distilled rows can "
                "tell less.",
            )
        )
    return figures


def _scores(scores: pd.DataFrame | None, group: str) -> Any:
    if scores is None or scores.empty:
        return None
    mine = scores[(scores["group"] == group) & np.isfinite(scores["score"])]
    is_member = mine["member"].astype(bool)
    if not is_member.any() or is_member.all():
        return None
    low, high = np.quantile(mine["score"], [0, 1])
    edges = np.linspace(low, max(high, low + 1e-6), min(_BINS, max(6, len(mine) // 6)) + 1)
    sides = [
        Series(name, np.histogram(part["score"], edges)[0].astype(float).tolist(), role)
        for name, part, role in (
            ("trained on", mine[is_member], "ours"),
            ("never read", mine[~is_member], "beside"),
        )
    ]
    return histogram(edges.tolist(), sides, "fall of the loss, in nats per token")


def _secrets(evidence: ReportEvidence) -> str:
    found = evidence.privacy.membership
    if found.canaries is None:
        return "No secrets were planted among the training rows, so that none could be found again."
    return (
        f"{plural(found.canaries.members, 'made-up secret')} stood among the training rows "
        f"{plural(found.repeats, 'time')} each. {count(found.extracted_secrets)} of them "
        f"{'stands' if found.extracted_secrets == 1 else 'stand'} in what the language model "
        f"wrote, before screening; so do {count(found.control_secrets)} that were never planted."
    )


def _pii(evidence: ReportEvidence) -> list[dict[str, Any]]:
    return [
        {
            "name": TABLES[table],
            "rows": found.rows,
            "in_corpus": found.in_corpus,
            "kinds": ", ".join(
                f"{count(n)} × {as_words(kind)}" for kind, n in found.kinds.items() if n
            ),
        }
        for table, found in evidence.privacy.pii.items()
    ]


def _screened_out(evidence: ReportEvidence) -> dict[str, Any]:
    totals = evidence.ledger_report.totals
    dropped = [(as_words(str(reason)), n) for reason, n in totals.dropped.items() if n]
    dropped.sort(key=lambda item: -item[1])
    return {"generated": totals.generated, "kept": totals.kept, "dropped": dropped}


def _written(found: Estimate, digits: int) -> str:
    return f"{found.value:.{digits}f} [{found.low:.{digits}f}, {found.high:.{digits}f}]"


def _shares(found: Estimate) -> str:
    return f"{share(found.value)} [{share(found.low)}, {share(found.high)}]"
