"""What stands at the top of the page: the verdict in words, and the figures to look at first."""

from __future__ import annotations

from typing import Any, NamedTuple

from markupsafe import Markup

from take.audit.release.evidence import ReportEvidence
from take.evaluation.names import DISTILLED, FULL
from take.text.format import as_words, count, number, percent, plural, share

CHECK_NAMES = {
    "verbatim": "Verbatim copies",
    "near_copies": "Near copies",
    "shared_spans": "Long shared passages",
    "distances": "Distance to training rows",
    "pii": "Personal data",
    "canaries": "Planted secrets",
    "members": "Membership of training rows",
    "extraction": "Secrets written out",
}
VERDICT_WORDS = {"pass": "Pass", "review": "Review", "block": "Block", "overridden": "Overridden"}
_MEANINGS = {
    "pass": "Every check stayed within its limits. That is evidence and no proof: the checks find "
    "copies, personal data and traces of memory of the kinds they look for, and no others.",
    "review": "Nothing stops the export by itself. But the points below are beyond what is let "
    "pass without a look: somebody who knows the data should read them and decide.",
    "block": "At least one check is beyond the limit at which the export is stopped. Mend the "
    "cause, or override the check by name; an override is recorded and shown here.",
    "overridden": "At least one check is beyond the limit at which the export is stopped. Each was "
    "overridden by name, so that the export went on. Who did so, and why, stands beside it.",
}


class Figure(NamedTuple):
    """A picture that explains itself."""

    headline: str
    chart: Markup
    caption: str


class Tile(NamedTuple):
    """A key figure."""

    value: str
    name: str
    note: str = ""


def verdict(evidence: ReportEvidence) -> dict[str, Any]:
    """The verdict in words, its reasons, and what it does not say."""
    report = evidence.privacy
    state = "overridden" if report.verdict == "block" and not report.blocked else report.verdict
    against = [check for check in report.checks if check.verdict != "pass"]
    against.sort(key=lambda check: check.verdict != "block")
    blocks = sum(check.verdict == "block" for check in against)
    found = plural(blocks if report.verdict == "block" else len(against), "finding")
    one = found.startswith("1 ")
    statements = {
        "pass": "Nothing was found that stops a release.",
        "review": f"{found} to read before a release.",
        "block": f"{found} {'stops' if one else 'stop'} the export.",
        "overridden": f"{found} would stop the export, and {'was' if one else 'were'} overridden.",
    }
    return {
        "state": state,
        "word": VERDICT_WORDS[state],
        "statement": statements[state],
        "meaning": _MEANINGS[state],
        "reasons": [
            {
                "state": "overridden" if check.overridden else check.verdict,
                "name": CHECK_NAMES.get(check.name, as_words(check.name)),
                "sentence": check.sentence,
                "overridden": check.overridden,
            }
            for check in against
        ],
        "passed": sum(check.verdict == "pass" for check in report.checks),
        "checks": len(report.checks),
        "epsilon": _epsilon(evidence),
        "balance": _balance(evidence),
    }


def key_figures(evidence: ReportEvidence) -> list[Tile]:
    """The figures to look at first."""
    report, corpus = evidence.distillation_report, evidence.corpus_report
    n_rows, n_corpus = len(evidence.distilled), corpus.train.rows_kept
    copies = evidence.privacy.copies.get("distilled")
    per_row = f"one for every {count(n_corpus / n_rows)}" if n_rows else "none"
    tiles = [
        Tile(count(n_rows), "distilled rows", f"for {count(n_corpus)} training rows: {per_row}"),
        Tile(count(len(corpus.labels)), "classes", f"budget {corpus.budget}"),
    ]
    if copies is not None:
        n_copies = copies.train.verbatim + copies.train.near_copies
        longest = plural(copies.train.longest_span, "word")
        tiles.append(
            Tile(count(n_copies), "copies of training rows", f"longest shared run: {longest}")
        )
    if report.transport.reached is not None:
        tiles.append(
            Tile(
                share(report.transport.reached),
                "of the possible coverage",
                "0 % is a random choice, 100 % the whole pool",
            )
        )
    tiles.append(accuracy_tile(evidence))
    tiles.append(
        Tile(
            number(report.representation.effective_rows),
            f"of {n_rows} rows carry the weight",
            "effective number, by what each row stands for",
        )
    )
    return tiles


def accuracy_tile(evidence: ReportEvidence) -> Tile:
    """Share of the accuracy with full data, of the learner that keeps most of it."""
    summary = evidence.accuracy_summary
    if summary is None or summary.empty:
        return Tile("–", "accuracy", "not evaluated in this run")
    mine = summary[(summary["method"] == DISTILLED) & summary["mean"].notna()]
    if mine.empty:
        return Tile("–", "accuracy", "not evaluated in this run")
    kept = mine["share_kept"] if "share_kept" in mine else mine["mean"] * float("nan")
    if kept.notna().any():
        best = mine.iloc[int(kept.fillna(-1).argmax())]
        full = summary[(summary["method"] == FULL) & (summary["learner"] == best["learner"])]
        beside = f", {percent(full['mean'].iloc[0])} with all rows" if len(full) else ""
        return Tile(
            share(best["share_kept"]),
            "of the accuracy with all rows",
            f"{percent(best['mean'])}{beside} ({best['learner']}, the best of {len(mine)}; the "
            f"worst keeps {share(kept.min())})",
        )
    best = mine.iloc[int(mine["mean"].argmax())]
    return Tile(percent(best["mean"]), as_words(str(best["metric"])), str(best["learner"]))


def _epsilon(evidence: ReportEvidence) -> str:
    spent, changed = evidence.privacy.spent, evidence.privacy.limits_in_words()
    if spent is None:
        return (
            "“Screened” says that the rows were checked as described below, and no more. "
            f"Differential privacy was not used.{f' {changed}' if changed else ''}"
        )
    said = (
        f"The language model was fine-tuned with ε = {spent.epsilon:.2f} (δ = {spent.delta:.1e}). "
        "ε covers what its adapter learned from the rows it was trained on, for one row more or "
        "less; scoring, screening and selection read the corpus without noise, and it does not "
        f"cover them.{f' {changed}' if changed else ''}"
    )
    if spent.repeatable:
        said += " The noise came from a set seed: ε protects from nobody who knows that setting."
    return said


def _balance(evidence: ReportEvidence) -> str:
    found = [finding.verdict for finding in evidence.balance.of("distilled")]
    if not found:
        return ""
    shifted, inconclusive = found.count("shifted"), found.count("inconclusive")
    rest = f"; {count(inconclusive)} are inconclusive with so few rows" if inconclusive else ""
    return f"{shifted or 'None'} of {len(found)} balance figures shifted from the corpus{rest}."
