"""From what was found to pass, review or block: one function per check, thresholds in `Limits`.

A share or an AUC counts against the rows when the lower end of its interval does, so that a set
too small to show anything is not flagged by chance. A check that is inconclusive says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, get_args

from pydantic import Field, field_validator

from take.audit.intervals import Estimate, proportion_interval
from take.audit.privacy.report import (
    VERDICTS,
    Attack,
    Check,
    CheckName,
    Distances,
    MembershipReport,
    PrivacyReport,
    ScreeningCounts,
    Table,
    Verdict,
)
from take.frozen import Frozen
from take.generation.finetuning.fine_tuning_report import PrivacyReport as SpentBudget

_Count = Annotated[int | None, Field(ge=1)]
_Share = Annotated[float | None, Field(ge=0, le=1)]
_Auc = Annotated[float | None, Field(ge=0.5, le=1)]


_QUANTILE = 0.95
"""Level of the largest number of near copies that is no evidence against the rows."""


class Limits(Frozen):
    """`limits` within `params:audit.gate`: from which figure on a check says review or block.

    Shares are of rows. Where a figure has an interval, its lower end counts: it takes evidence to
    stop an export. Where a limit is null, the check never gives that verdict.
    """

    verbatim_block: _Count = 1  # distilled rows that copy a training row word for word
    near_copies_block: _Count = 1  # distilled rows that nearly copy one, and more than real rows do
    pool_copies_review: _Share = 0.001  # of the pool that copies, and more than real rows do
    shared_spans_review: _Count = 1  # distilled rows with a long run of a training row's words
    closer_review: _Share = 0.5  # of rows closer to rows trained on than to others
    closer_block: _Share = 0.6
    pii_review: _Count = 1  # distilled rows with what looks like personal data
    pii_block: _Count = 1  # distilled rows with such data that the corpus contains, too
    auc_review: _Auc = 0.6  # of membership inference
    auc_block: _Auc = 0.8
    tpr_review: _Share = 0.05  # of members found at 1 % false alarms
    tpr_block: _Share = 0.25
    extraction_block: _Count = 1  # planted secrets that the language model generated


class GateSettings(Frozen):
    """`params:audit.gate`.

    >>> GateSettings(override={"pii": "J. Doe: invented numbers"}).override["pii"]
    'J. Doe: invented numbers'
    """

    limits: Limits = Limits()
    override: dict[CheckName, str] = Field(
        default_factory=dict,
        description="checks that may not stop the export, each with who decided that and why",
    )

    @field_validator("override")
    @classmethod
    def _is_signed(cls, override: dict[CheckName, str]) -> dict[CheckName, str]:
        for name, reason in override.items():
            if not reason.strip():
                raise ValueError(f"override.{name} does not say who overrides it and why")
        return override


def judge(
    counts: ScreeningCounts,
    distances: Mapping[Table, Distances],
    membership: MembershipReport,
    spent: SpentBudget | None,
    gate: GateSettings,
) -> PrivacyReport:
    """The verdict: the worst of all checks; an override lifts a block and is recorded."""
    limits = gate.limits
    found = {
        "verbatim": _verbatim(counts, limits),
        "near_copies": _near_copies(counts, limits),
        "shared_spans": _shared_spans(counts, limits),
        "distances": _distances(distances, limits),
        "pii": _pii(counts, limits),
        "canaries": _membership("planted secrets", membership.canaries, limits),
        "members": _membership("rows trained on", membership.rows, limits),
        "extraction": _extraction(membership, limits),
    }
    checks = [
        Check(
            name=name,
            verdict=verdict,
            sentence=sentence,
            overridden=gate.override.get(name) if verdict == "block" else None,
        )
        for name in get_args(CheckName)
        for verdict, sentence in [found[name]]
    ]
    return PrivacyReport(
        verdict=_worst(*(check.verdict for check in checks)),
        blocked=any(check.verdict == "block" and not check.overridden for check in checks),
        checks=checks,
        **dict(counts),
        distances=dict(distances),
        membership=membership,
        spent=spent,
        changed_limits={
            name: value
            for name, value in limits.model_dump().items()
            if value != Limits.model_fields[name].default
        },
    )


_Found = tuple[Verdict, str]


def _verbatim(counts: ScreeningCounts, limits: Limits) -> _Found:
    distilled, pool = (counts.copies[table].train for table in ("distilled", "pool"))
    of_pool = _pool_copies(pool.verbatim, pool.rows, _real_share(counts, "verbatim").high, limits)
    return (
        _worst(_from(distilled.verbatim, None, limits.verbatim_block), of_pool),
        f"{distilled.verbatim} of {distilled.rows} distilled rows and {pool.verbatim:,} of "
        f"{pool.rows:,} in the pool copy a training row word for word.",
    )


def _near_copies(counts: ScreeningCounts, limits: Limits) -> _Found:
    """A few near copies are no leak where real rows that nobody copied are as close to train.

    How often they are at least is the lower end p of the interval of their share: a corpus must
    show that it repeats itself. Of K rows from a source that does no more, 95 % of the time at most
    the 95 % quantile of Binomial(K, p) are near copies; only more than that block. Where real rows
    never or hardly ever nearly copy, the quantile is 0, and one near copy blocks.
    """
    from scipy.stats import binom

    distilled, pool = (counts.copies[table].train for table in ("distilled", "pool"))
    ours, share = distilled.near_copies, _real_share(counts, "near_copies")
    usual = int(binom.ppf(_QUANTILE, distilled.rows, share.low)) if share.low else 0
    verdict = _from(ours, None, limits.near_copies_block)
    if verdict == "block" and ours <= usual:
        verdict = "review"
    of_pool = _pool_copies(pool.near_copies, pool.rows, share.high, limits)
    found = (
        f"{ours} of {distilled.rows} distilled rows and {pool.near_copies:,} of {pool.rows:,} in "
        "the pool nearly copy a training row"
    )
    real = counts.real_rows
    if real is None:
        return (
            _worst("review", verdict, of_pool),
            f"{found}; how many real rows do is not known: the language model was trained on all "
            "rows, or its rows were not drawn at random.",
        )
    expected = f"; up to {usual} of {distilled.rows} are expected in such a corpus"
    return (
        _worst(verdict, of_pool),
        f"{found} (of training rows set apart, {real.near_copies:,} of {real.rows:,} do"
        f"{expected if usual else ''}).",
    )


def _real_share(counts: ScreeningCounts, kind: Literal["verbatim", "near_copies"]) -> Estimate:
    """The share of real rows, set apart from train, that copy another training row."""
    real = counts.real_rows
    if real is None or not real.rows:
        return Estimate(value=0.0, low=0.0, high=0.0)
    return proportion_interval(getattr(real, kind), real.rows)


def _pool_copies(copies: int, rows: int, by_chance: float, limits: Limits) -> Verdict:
    """More than the limit, and more than real rows copy by chance."""
    if limits.pool_copies_review is None or not rows:
        return "pass"
    low = proportion_interval(copies, rows).low
    return _above(low, max(limits.pool_copies_review, by_chance), None)


def _shared_spans(counts: ScreeningCounts, limits: Limits) -> _Found:
    distilled, pool = (counts.copies[table].train for table in ("distilled", "pool"))
    return (
        _from(distilled.shared_spans, limits.shared_spans_review, None),
        f"{distilled.shared_spans} of {distilled.rows} distilled rows contain a long run of a "
        f"training row's words ({pool.shared_spans:,} of {pool.rows:,} in the pool); the longest "
        f"run in a distilled row has {distilled.longest_span} words.",
    )


def _distances(distances: Mapping[Table, Distances], limits: Limits) -> _Found:
    if not distances:
        return (
            "review",
            "Whether rows are closer to what the language model was trained on is inconclusive: "
            "there are no randomly held-out rows to compare with.",
        )
    verdicts, sentences = [], []
    for name, found in distances.items():
        share = found.closer_to_members
        verdicts.append(_above(share.low, limits.closer_review, limits.closer_block))
        sentences.append(
            f"{_percent(share)} of {name} rows are closer to rows the language model was trained "
            "on than to rows it never read"
        )
    return _worst(*verdicts), "; ".join(sentences) + "; 50 % is chance."


def _pii(counts: ScreeningCounts, limits: Limits) -> _Found:
    distilled, pool = counts.pii["distilled"], counts.pii["pool"]
    kinds = ", ".join(f"{kind} {count}" for kind, count in distilled.kinds.items() if count)
    return (
        _worst(
            _from(distilled.rows, limits.pii_review, None),
            _from(distilled.in_corpus, None, limits.pii_block),
        ),
        f"Distilled rows with an address or number that looks like personal data: "
        f"{distilled.rows}{f' ({kinds})' if kinds else ''}; with one that the corpus also "
        f"contains: {distilled.in_corpus}. Such rows in the pool: {pool.rows:,}.",
    )


def _membership(what: str, found: Attack | None, limits: Limits) -> _Found:
    if found is None:
        return "review", f"Telling {what} from others was not tested: nothing to compare."
    auc, tpr = found.auc, found.tpr
    return (
        _worst(
            _above(auc.low, limits.auc_review, limits.auc_block),
            _above(tpr.low, limits.tpr_review, limits.tpr_block),
        ),
        f"Telling {what} from others: AUC {auc.value:.2f} [{auc.low:.2f}, {auc.high:.2f}] (0.5 is "
        f"chance); at 1 % false alarms {_percent(tpr)} of {found.members} are found.",
    )


def _extraction(found: MembershipReport, limits: Limits) -> _Found:
    if found.canaries is None:
        return "review", "No secrets were planted, so extraction was not tested."
    return (
        _from(found.extracted_secrets, None, limits.extraction_block),
        f"{found.extracted_secrets} of the planted secrets are in what the model generated, before "
        f"screening; rows that begin like one: {found.generated_canaries:,}.",
    )


def _percent(found: Estimate) -> str:
    value, low, high = (f"{100 * share:.3g}" for share in (found.value, found.low, found.high))
    return f"{value} % [{low}, {high}]"


def _from(count: int, review: int | None, block: int | None) -> Verdict:
    """A count that reaches a limit: that exceeds the number below it."""
    return _above(count, *(None if limit is None else limit - 1 for limit in (review, block)))


def _above(value: float, review: float | None, block: float | None) -> Verdict:
    """A figure that exceeds a limit."""
    if block is not None and value > block:
        return "block"
    return "review" if review is not None and value > review else "pass"


def _worst(*verdicts: Verdict) -> Verdict:
    return max(verdicts, key=VERDICTS.index, default="pass")
