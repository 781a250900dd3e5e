"""Every limit of the gate, from made-up figures."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest
from pydantic import ValidationError

from take.audit.intervals import Estimate
from take.audit.privacy.report import (
    Attack,
    Copies,
    CopySummary,
    Distances,
    MembershipReport,
    PiiCounts,
    PrivacyReport,
    ScreeningCounts,
)
from take.audit.privacy.verdict import GateSettings, Limits, judge
from take.generation.finetuning.fine_tuning_report import PrivacyReport as SpentBudget
from tests.audit.release.released import filled

CLEAN = {"verbatim": 0, "near_copies": 0, "shared_spans": 0}
UNRELATED = MappingProxyType({"rows": 10**6})
"""So many real rows without a copy that chance explains none."""


def copies(rows: int, **found: int) -> Copies:
    summary = filled(CopySummary, rows=rows, **{**CLEAN, **found})
    return Copies(train=summary, evaluation=filled(CopySummary, rows=rows, **CLEAN))


def attack(auc: tuple[float, ...], tpr: tuple[float, ...]) -> Attack:
    named = [dict(zip(("value", "low", "high"), found, strict=True)) for found in (auc, tpr)]
    estimates = [Estimate(**found) for found in named]
    return filled(Attack, auc=estimates[0], tpr=estimates[1])


NOTHING = attack((0.5, 0.4, 0.6), (0.01, 0.0, 0.1))


def judged(
    distilled: dict[str, int] | None = None,
    pool: dict[str, int] | None = None,
    pii: dict[str, Any] | None = None,
    real: Mapping[str, int] | None = UNRELATED,
    closer: float | None = 0.45,
    gate: GateSettings | None = None,
    spent: SpentBudget | None = None,
    **membership: Any,
) -> PrivacyReport:
    found = {"canaries": NOTHING, "rows": NOTHING, "extracted_secrets": 0, **membership}
    distances = {}
    if closer is not None:
        share = Estimate(value=closer + 0.02, low=closer, high=closer + 0.04)
        distances["pool"] = filled(Distances, closer_to_members=share)
    return judge(
        ScreeningCounts(
            copies={
                "distilled": copies(40, **(distilled or {})),
                "pool": copies(5000, **(pool or {})),
            },
            real_rows=None
            if real is None
            else filled(CopySummary, **{"rows": 1000, **CLEAN, **real}),
            pii={
                "distilled": PiiCounts(**{"rows": 0, "in_corpus": 0, "kinds": {}, **(pii or {})}),
                "pool": PiiCounts(rows=0, in_corpus=0, kinds={}),
            },
        ),
        distances,
        filled(MembershipReport, **found),
        spent,
        gate or GateSettings(),
    )


def test_nothing_found_passes() -> None:
    report = judged()
    assert (report.verdict, report.blocked, report.reasons()) == ("pass", False, [])
    assert len(report.checks) == 8


@pytest.mark.parametrize(
    ("check", "verdict", "found"),
    [
        ("verbatim", "block", {"distilled": {"verbatim": 1}}),
        ("verbatim", "pass", {"pool": {"verbatim": 10}}),
        ("verbatim", "review", {"pool": {"verbatim": 11}}),
        ("verbatim", "pass", {"pool": {"verbatim": 11}, "real": {"verbatim": 5}}),
        ("near_copies", "block", {"distilled": {"near_copies": 1}}),
        ("near_copies", "block", {"distilled": {"near_copies": 1}, "real": None}),
        ("near_copies", "review", {"real": None}),
        # Where real rows hardly ever nearly copy a train row, one near copy blocks …
        ("near_copies", "block", {"distilled": {"near_copies": 1}, "real": {"near_copies": 0}}),
        ("near_copies", "block", {"distilled": {"near_copies": 1}, "real": {"near_copies": 2}}),
        # … and where 24 % of them do, only more than 13 of 40 do.
        ("near_copies", "review", {"distilled": {"near_copies": 1}, "real": {"near_copies": 240}}),
        ("near_copies", "review", {"distilled": {"near_copies": 13}, "real": {"near_copies": 240}}),
        ("near_copies", "block", {"distilled": {"near_copies": 14}, "real": {"near_copies": 240}}),
        ("verbatim", "block", {"distilled": {"verbatim": 1}, "real": {"verbatim": 240}}),
        ("near_copies", "review", {"pool": {"near_copies": 11}}),
        ("near_copies", "pass", {"pool": {"near_copies": 11}, "real": {"near_copies": 5}}),
        ("near_copies", "review", {"pool": {"near_copies": 90}, "real": {"near_copies": 5}}),
        ("shared_spans", "review", {"distilled": {"shared_spans": 1}}),
        ("distances", "pass", {"closer": 0.5}),
        ("distances", "review", {"closer": 0.51}),
        ("distances", "block", {"closer": 0.61}),
        ("pii", "review", {"pii": {"rows": 1}}),
        ("pii", "block", {"pii": {"rows": 1, "in_corpus": 1}}),
        ("canaries", "pass", {"canaries": attack((0.75, 0.59, 0.9), (0.2, 0.04, 0.4))}),
        ("canaries", "review", {"canaries": attack((0.75, 0.61, 0.9), (0.2, 0.04, 0.4))}),
        ("canaries", "review", {"canaries": attack((0.75, 0.59, 0.9), (0.2, 0.06, 0.4))}),
        ("canaries", "block", {"canaries": attack((0.95, 0.81, 1.0), (0.2, 0.04, 0.4))}),
        ("members", "block", {"rows": attack((0.75, 0.59, 0.9), (0.5, 0.26, 0.7))}),
        ("members", "review", {"rows": None}),
        ("extraction", "block", {"extracted_secrets": 1}),
    ],
)
def test_each_limit(check: str, verdict: str, found: dict[str, Any]) -> None:
    report = judged(**found)
    by_name = {one.name: one for one in report.checks}
    assert by_name[check].verdict == verdict
    assert all(one.verdict == "pass" for one in report.checks if one.name != check)
    assert report.verdict == verdict
    assert report.blocked is (verdict == "block")
    assert report.reasons() == ([] if verdict == "pass" else [by_name[check].sentence])


def test_the_sentence_says_how_many_near_copies_are_expected() -> None:
    (found,) = judged({"near_copies": 1}, real={"near_copies": 240}).reasons()
    assert "1 of 40 distilled rows" in found
    assert "(of training rows set apart, 240 of 1,000 do; up to 13 of 40 are expected in" in found
    (found,) = judged({"near_copies": 1}, real={"near_copies": 1}).reasons()
    assert "(of training rows set apart, 1 of 1,000 do)" in found


def test_checks_that_could_not_be_made_ask_for_a_review() -> None:
    """A gate with half of its checks off does not pass everything."""
    report = judged(closer=None, canaries=None, rows=None)
    inconclusive = {check.name for check in report.checks if check.verdict == "review"}
    assert inconclusive == {"distances", "canaries", "members", "extraction"}
    assert not report.blocked


def test_an_override_lifts_its_own_check_and_is_recorded() -> None:
    gate = GateSettings(override={"pii": "J. Doe: invented"})
    report = judged(pii={"rows": 1, "in_corpus": 1}, gate=gate)
    assert (report.verdict, report.blocked) == ("block", False)
    assert [one.overridden for one in report.checks if one.name == "pii"] == ["J. Doe: invented"]
    still = judged(pii={"rows": 1, "in_corpus": 1}, distilled={"verbatim": 2}, gate=gate)
    assert still.blocked
    # What does not block needs no override, and none is claimed.
    assert all(one.overridden is None for one in judged(gate=gate).checks)


def test_an_override_needs_a_name_and_a_known_check() -> None:
    with pytest.raises(ValidationError, match="does not say who"):
        GateSettings(override={"pii": "  "})
    with pytest.raises(ValidationError, match="verbatims"):
        GateSettings.model_validate({"override": {"verbatims": "J. Doe"}})


def test_a_limit_of_none_never_flags() -> None:
    none = GateSettings(limits=Limits(**dict.fromkeys(Limits.model_fields)))
    report = judged(
        distilled={"verbatim": 9, "near_copies": 9, "shared_spans": 9},
        pii={"rows": 9, "in_corpus": 9},
        closer=0.9,
        extracted_secrets=9,
        gate=none,
    )
    assert report.verdict == "pass"


def test_it_says_screened_and_with_epsilon_what_that_covers() -> None:
    assert judged().word == "screened"
    spent = filled(SpentBudget, epsilon=7.9)
    assert judged(spent=spent).word == "screened; generator trained with ε = 7.90"
    assert "private" not in " ".join(one.sentence for one in judged(spent=spent).checks)
