"""Bias and balance: how far the rows have shifted from their corpus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from take.audit.release.charts_rows import Row, bars, intervals
from take.audit.release.charts_svg import Scale, Tick
from take.audit.release.evidence import ReportEvidence
from take.audit.release.sections import Figure
from take.text.format import number, percent, plural

if TYPE_CHECKING:
    from take.audit.balance.report import Finding, SetBalance, Where

STATES = {"even": "even", "shifted": "shifted", "inconclusive": "too few rows to tell"}
_ORDER = ("shifted", "even", "inconclusive")
_SIDES = {"distilled": "Distilled rows", "pool": "Pool rows"}
_TIMES = [Tick(0.25, "¼ ×"), Tick(0.5, "½ ×"), Tick(1, "1 ×"), Tick(2, "2 ×"), Tick(4, "4 ×")]
_AXIS = Scale(0.2, 5, log=True)
_EVEN = (0.8, 1.25)
_MOST_TERMS = 15


def balance(evidence: ReportEvidence, *, release: bool) -> dict[str, Any]:
    """All panels about balance."""
    report = evidence.balance
    return {
        "sets": [_set(evidence, "distilled"), _set(evidence, "pool")],
        "corpus_rows": report.corpus_rows,
        "classes": _classes(report.distilled),
        "mentions": [_mentions(evidence, "distilled"), _mentions(evidence, "pool")],
        "lengths": _lengths(evidence),
        "vocabulary": _vocabulary(evidence),
        "terms": [] if release else _terms(evidence),
    }


def _set(evidence: ReportEvidence, where: Where) -> dict[str, Any]:
    every = evidence.balance.of(where)
    ordered = sorted(every, key=lambda finding: _ORDER.index(finding.verdict))
    return {
        "name": _SIDES[where],
        "total": len(every),
        "shifted": [finding for finding in every if finding.verdict == "shifted"],
        "inconclusive": sum(finding.verdict == "inconclusive" for finding in every),
        "even": sum(finding.verdict == "even" for finding in every),
        "findings": [_finding(finding) for finding in ordered],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "name": finding.name,
        "state": finding.verdict,
        "word": STATES[finding.verdict],
        "sentence": finding.sentence,
    }


def _classes(found: SetBalance) -> list[dict[str, Any]]:
    top = max((max(c.share, c.expected, c.corpus) for c in found.classes.values()), default=1) or 1
    return [
        {
            "name": name,
            "rows": one.rows,
            "sides": [
                ("distilled", one.share, one.share / top, "ours"),
                ("budget asks for", one.expected, one.expected / top, "other"),
                ("corpus", one.corpus, one.corpus / top, "beside"),
            ],
        }
        for name, one in found.classes.items()
    ]


def _mentions(evidence: ReportEvidence, where: Where) -> Figure | None:
    """How often identity groups are mentioned; groups of which nothing can be told are named."""
    found: SetBalance = getattr(evidence.balance, where)
    shifted = {finding.name for finding in evidence.balance.of(where, "shifted")}
    rows, untold = [], []
    for name, one in found.mentions.items():
        if one.rows == 0 and (one.high is None or one.high > _AXIS.high):
            untold.append(name)
            continue
        ratio = "–" if one.ratio is None else f"{number(one.ratio, 2)} ×"
        role = "against" if f"mentions of {name}" in shifted else "ours"
        written = f"{ratio} · {plural(one.rows, 'row')}"
        rows.append(Row(name, one.ratio, one.low, one.high, written, role))
    n_shifted = sum(row.role == "against" for row in rows)
    for name, one_side in found.sides.items():
        if one_side.ratio is None:
            continue
        title = next(
            (f.name for f in evidence.balance.of(where) if f.name.startswith(f"{name}: ")), name
        )
        role = "against" if title in shifted else "other"
        n_shifted += role == "against"
        ratio = f"{number(one_side.ratio, 2)} ×"
        rows.append(Row(title, one_side.ratio, one_side.low, one_side.high, ratio, role))
    if not rows:
        return None
    headline = f"{_SIDES[where]}: " + (
        "no identity group is clearly mentioned more or less often than in the corpus"
        if not n_shifted
        else f"{plural(n_shifted, 'identity figure')} clearly "
        f"{'differs' if n_shifted == 1 else 'differ'} from the corpus"
    )
    rest = f" In no row, which with so few may be chance: {', '.join(untold)}." if untold else ""
    return Figure(
        headline,
        intervals(rows, _AXIS, _TIMES, "mentions, as a multiple of the corpus", _EVEN, 1.0),
        "Points are ratios to the corpus at the same mix of classes, lines their 95 % intervals; "
        "an arrow means that the line goes on. Within the shaded band a ratio counts as even. Few "
        f"rows give long lines. Red is shifted.{rest}",
    )


def _lengths(evidence: ReportEvidence) -> list[dict[str, Any]]:
    shown = []
    for name, one in evidence.balance.distilled.lengths.items():
        top = max(one.quantiles.p95, one.corpus_quantiles.p95, 1)
        shown.append(
            {
                "name": name if len(evidence.balance.distilled.lengths) > 1 else "texts",
                "mean": one.mean,
                "corpus_mean": one.corpus_mean,
                "chart": intervals(
                    [
                        Row(
                            "distilled",
                            one.quantiles.p50,
                            one.quantiles.p5,
                            one.quantiles.p95,
                            f"{one.quantiles.p50} words",
                        ),
                        Row(
                            "corpus",
                            one.corpus_quantiles.p50,
                            one.corpus_quantiles.p5,
                            one.corpus_quantiles.p95,
                            f"{one.corpus_quantiles.p50} words",
                            "beside",
                        ),
                    ],
                    Scale(0, top * 1.05),
                    Scale(0, top * 1.05).ticks(5),
                    "words per text: median, with 90 % of the rows",
                ),
            }
        )
    return shown


def _vocabulary(evidence: ReportEvidence) -> list[dict[str, Any]]:
    found = evidence.balance.distilled.vocabulary
    if found is None:
        return []
    return [
        {
            "name": "words that other corpus rows have as well",
            "value": percent(found.known_share.value),
            "random": percent(found.known_share.random_rows),
        },
        {
            "name": "different words among all words",
            "value": percent(found.distinct_1.value),
            "random": percent(found.distinct_1.random_rows),
        },
        {
            "name": "different word pairs among all pairs",
            "value": percent(found.distinct_2.value),
            "random": percent(found.distinct_2.random_rows),
        },
        {
            "name": "divergence of word frequencies from the corpus, in bits (random rows: "
            f"{number(found.random_low)} to {number(found.random_high)})",
            "value": number(found.divergence.value),
            "random": number(found.divergence.random_rows),
        },
    ]


def _terms(evidence: ReportEvidence) -> list[dict[str, Any]]:
    table = evidence.balance_terms
    if table is None or table.empty:
        return []
    if "where" in table:
        table = table[table["where"] == "distilled"]
    shown = []
    for direction, title in (("over", "More often"), ("under", "Less often")):
        mine = table[table["direction"] == direction].head(_MOST_TERMS)
        if mine.empty:
            continue
        top = float(mine["z"].abs().max()) or 1.0
        rows = [
            (
                str(row["term"]),
                abs(float(row["z"])) / top,
                f"{number(row['per_thousand'], 2)} ‰, {number(row['corpus_per_thousand'], 2)} ‰",
            )
            for _, row in mine.iterrows()
        ]
        role = "ours" if direction == "over" else "beside"
        shown.append({"title": title, "chart": bars(rows, role, 1.0)})
    return shown
