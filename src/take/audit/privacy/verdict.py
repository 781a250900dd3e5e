"""From what was found to pass, review or block: one function a check, thresholds in the settings.

A share or an AUC speaks against the rows when the lower end of its interval does, so that a set
too small to tell anything is not accused by chance; what could not be told is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from take.audit.privacy.distances import Distances
from take.audit.privacy.intervals import Estimate, proportion_interval
from take.audit.privacy.membership import Attack, MembershipReport
from take.audit.privacy.report import (
    VERDICTS,
    Check,
    PrivacyReport,
    ScreeningCounts,
    Table,
    Verdict,
)
from take.audit.privacy.settings import CheckName, Limits
from take.generation.finetuning.report import PrivacyReport as SpentBudget


@dataclass(frozen=True)
class Evidence:
    """All that the verdict rests on."""

    counts: ScreeningCounts
    distances: Mapping[Table, Distances]
    membership: MembershipReport
    spent: SpentBudget | None


def judge(evidence: Evidence, limits: Limits, override: Mapping[CheckName, str]) -> PrivacyReport:
    """The verdict: the worst of all checks; an override lets a block pass and is recorded."""
    checks = [
        Check(
            name=name,
            verdict=verdict,
            sentence=sentence,
            overridden=override.get(name) if verdict == "block" else None,
        )
        for name, verdict, sentence in _checks(evidence, limits)
    ]
    worst = max((check.verdict for check in checks), key=VERDICTS.index)
    return PrivacyReport(
        verdict=worst,
        blocked=any(check.verdict == "block" and not check.overridden for check in checks),
        checks=checks,
        copies=evidence.counts.copies,
        real_rows=evidence.counts.real_rows,
        distances=dict(evidence.distances),
        pii=evidence.counts.pii,
        membership=evidence.membership,
        spent=evidence.spent,
        changed_limits={
            name: value
            for name, value in limits.model_dump().items()
            if value != Limits.model_fields[name].default
        },
    )


_Found = tuple[CheckName, Verdict, str]


def _checks(evidence: Evidence, limits: Limits) -> Iterator[_Found]:
    yield _verbatim(evidence, limits)
    yield _near_copies(evidence, limits)
    yield _shared_spans(evidence, limits)
    yield _distances(evidence, limits)
    yield _pii(evidence, limits)
    yield _membership("canaries", evidence.membership.canaries, limits)
    yield _membership("members", evidence.membership.rows, limits)
    yield _extraction(evidence.membership, limits)


def _verbatim(evidence: Evidence, limits: Limits) -> _Found:
    distilled, pool = (evidence.counts.copies[table].train for table in ("distilled", "pool"))
    return (
        "verbatim",
        _worst(
            _from(distilled.verbatim, None, limits.verbatim_block),
            _more_than_real_rows(evidence, "verbatim", limits),
        ),
        f"{distilled.verbatim} of {distilled.rows} distilled rows and {pool.verbatim:,} of "
        f"{pool.rows:,} in the pool copy a training row word for word.",
    )


def _near_copies(evidence: Evidence, limits: Limits) -> _Found:
    distilled, pool = (evidence.counts.copies[table].train for table in ("distilled", "pool"))
    real = evidence.counts.real_rows
    chance = (
        f" (real rows that are not in train: {real.near_copies:,} of {real.rows:,})" if real else ""
    )
    return (
        "near_copies",
        _worst(
            _from(distilled.near_copies, None, limits.near_copies_block),
            _more_than_real_rows(evidence, "near_copies", limits),
        ),
        f"{distilled.near_copies} of {distilled.rows} distilled rows and {pool.near_copies:,} of "
        f"{pool.rows:,} in the pool nearly copy a training row{chance}.",
    )


def _shared_spans(evidence: Evidence, limits: Limits) -> _Found:
    distilled, pool = (evidence.counts.copies[table].train for table in ("distilled", "pool"))
    return (
        "shared_spans",
        _from(distilled.shared_spans, limits.shared_spans_review, None),
        f"{distilled.shared_spans} of {distilled.rows} distilled rows hold a long run of a "
        f"training row's words ({pool.shared_spans:,} of {pool.rows:,} in the pool); the longest "
        f"run in a distilled row has {distilled.longest_span} words.",
    )


def _distances(evidence: Evidence, limits: Limits) -> _Found:
    if not evidence.distances:
        return (
            "distances",
            "review",
            "Whether rows are closer to what the language model was trained on could not be told: "
            "there are no rows that chance alone kept from it.",
        )
    verdicts, sentences = [], []
    for name, found in evidence.distances.items():
        share = found.closer_to_members
        verdicts.append(_above(share.low, limits.closer_review, limits.closer_block))
        sentences.append(
            f"{_percent(share)} of {name} rows are closer to rows the language model was trained "
            "on than to rows it never read"
        )
    return "distances", _worst(*verdicts), "; ".join(sentences) + "; 50 % is chance."


def _pii(evidence: Evidence, limits: Limits) -> _Found:
    distilled, pool = evidence.counts.pii["distilled"], evidence.counts.pii["pool"]
    kinds = ", ".join(f"{kind} {count}" for kind, count in distilled.kinds.items() if count)
    return (
        "pii",
        _worst(
            _from(distilled.rows, limits.pii_review, None),
            _from(distilled.in_corpus, None, limits.pii_block),
        ),
        f"Distilled rows with an address or number that looks like personal data: "
        f"{distilled.rows}{f' ({kinds})' if kinds else ''}; with one that also stands in the "
        f"corpus: {distilled.in_corpus}. Such rows in the pool: {pool.rows:,}.",
    )


def _membership(
    name: Literal["canaries", "members"], found: Attack | None, limits: Limits
) -> _Found:
    what = "planted secrets" if name == "canaries" else "rows trained on"
    if found is None:
        return name, "review", f"Telling {what} from others was not tried: nothing to compare."
    auc, tpr = found.auc, found.tpr
    return (
        name,
        _worst(
            _above(auc.low, limits.auc_review, limits.auc_block),
            _above(tpr.low, limits.tpr_review, limits.tpr_block),
        ),
        f"Telling {what} from others: AUC {auc.value:.2f} [{auc.low:.2f}, {auc.high:.2f}] (0.5 is "
        f"chance); at 1 % false alarms {_percent(tpr)} of {found.members} are found.",
    )


def _extraction(found: MembershipReport, limits: Limits) -> _Found:
    if found.canaries is None:
        return "extraction", "review", "No secrets were planted, so none could be looked for."
    return (
        "extraction",
        _from(found.extracted_secrets, None, limits.extraction_block),
        f"Of the planted secrets, {found.extracted_secrets} stand in what the model wrote, "
        f"before screening; rows that begin like one: {found.generated_canaries:,}.",
    )


def _percent(found: Estimate) -> str:
    value, low, high = (f"{100 * share:.3g}" for share in (found.value, found.low, found.high))
    return f"{value} % [{low}, {high}]"


def _more_than_real_rows(
    evidence: Evidence, kind: Literal["verbatim", "near_copies"], limits: Limits
) -> Verdict:
    """Whether the pool copies train more than the limit, and more than real rows do by chance."""
    pool, real = evidence.counts.copies["pool"].train, evidence.counts.real_rows
    if limits.pool_copies_review is None or not pool.rows:
        return "pass"
    by_chance = proportion_interval(getattr(real, kind), real.rows).high if real else 0.0
    low = proportion_interval(getattr(pool, kind), pool.rows).low
    return _above(low, max(limits.pool_copies_review, by_chance), None)


def _from(count: int, review: int | None, block: int | None) -> Verdict:
    """A count that reaches a limit."""
    if block is not None and count >= block:
        return "block"
    return "review" if review is not None and count >= review else "pass"


def _above(value: float, review: float | None, block: float | None) -> Verdict:
    """A share that exceeds a limit."""
    if block is not None and value > block:
        return "block"
    return "review" if review is not None and value > review else "pass"


def _worst(*verdicts: Verdict) -> Verdict:
    return max(verdicts, key=VERDICTS.index, default="pass")
