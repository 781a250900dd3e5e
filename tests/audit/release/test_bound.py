"""A release can only be what was audited."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from take.audit.audited import AuditedRows, pool_sha256
from take.audit.privacy.report import (
    Copies,
    DistancesReport,
    MembershipReport,
    PiiCounts,
    PrivacyReport,
    ScreeningCounts,
)
from take.audit.privacy.verdict import GateSettings
from take.audit.release.card import dataset_card
from take.audit.release.folder import Release, write_release
from take.audit.release.manifest import Manifest, check_release, write_manifest
from take.errors import InputError
from take.generation.finetuning.fine_tuning_report import FineTuningReport
from take.pipelines.audit.nodes import judge_privacy
from tests.audit.release.released import bound, facts, filled, privacy, released, rows

OTHERS = ["dull", "a grand film, and a true one", "flat as a board", "fine indeed"]


def test_card_and_report_state_what_sha256sum_shows(tmp_path: Path) -> None:
    write_release(released(), tmp_path / "release")
    for name in ("distilled.jsonl", "audit.json"):
        digest = hashlib.sha256((tmp_path / "release" / name).read_bytes()).hexdigest()
        for page in ("README.md", "report.html"):
            assert digest in (tmp_path / "release" / page).read_text()


def of_other_rows() -> Release:
    return released(facts(distilled=rows(texts=OTHERS)))


@pytest.mark.parametrize(
    ("part", "problem"),
    [
        ("distilled", "the privacy report is about other rows, the balance report is about other"),
        ("privacy", "the privacy report is about other rows"),
        ("balance", "the balance report is about other rows"),
        ("card", "the dataset card was made from other rows"),
        ("page", "the report was made from other rows"),
    ],
)
def test_a_part_that_is_about_other_rows_stops_the_release(
    tmp_path: Path, part: str, problem: str
) -> None:
    mixed = replace(released(), **{part: getattr(of_other_rows(), part)})
    with pytest.raises(InputError, match=f"{problem}.*nothing was exported. Fix: run `kedro run"):
        write_release(mixed, tmp_path / "release")
    assert not list(tmp_path.iterdir())


def test_a_card_with_another_verdict_on_the_same_rows_stops_the_release(tmp_path: Path) -> None:
    earlier = dataset_card(bound(facts(privacy=privacy({**privacy().checks[0].model_dump()}))))
    with pytest.raises(InputError, match="the dataset card states another audit"):
        write_release(replace(released(), card=earlier), tmp_path / "release")


def test_reports_that_do_not_say_what_they_are_about_stop_the_release(tmp_path: Path) -> None:
    silent = released().privacy.model_copy(update={"audited": None})
    with pytest.raises(InputError, match="the privacy report is about other rows"):
        write_release(replace(released(), privacy=silent), tmp_path / "release")


POOL = pd.DataFrame({"id": ["d0000", "d0001", "d0002", "d0003", "p"]})
AUDITED = AuditedRows.of(rows(), POOL)


def judged(
    counts: AuditedRows = AUDITED, distances: AuditedRows = AUDITED, pool: str = pool_sha256(POOL)
) -> PrivacyReport:
    found = {"distilled": filled(Copies), "pool": filled(Copies)}
    personal = {"distilled": filled(PiiCounts), "pool": filled(PiiCounts)}
    return judge_privacy(
        ScreeningCounts(copies=found, pii=personal, audited=counts),
        DistancesReport(tables={}, audited=distances),
        filled(MembershipReport, pool_sha256=pool),
        filled(FineTuningReport),
        GateSettings(),
    )


def test_the_verdict_names_the_rows_it_is_about() -> None:
    assert judged().audited == AUDITED


def test_checks_of_different_rows_get_no_verdict() -> None:
    others = AuditedRows.of(rows(texts=OTHERS), POOL)
    other_pool = AuditedRows.of(rows(), POOL[::-1])
    with pytest.raises(InputError, match="creening and distances are about different rows. Fix:"):
        judged(distances=others)
    with pytest.raises(InputError, match="creening and membership inference are about different"):
        judged(counts=other_pool, distances=other_pool)
    with pytest.raises(InputError, match="4 of 4 distilled rows are not in the pool"):
        AuditedRows.of(rows(), POOL[4:])


def test_verify_finds_rows_that_were_exchanged_with_all_their_checksums(tmp_path: Path) -> None:
    folder = tmp_path / "release"
    write_release(released(), folder)
    assert check_release(folder) == []
    (folder / "distilled.jsonl").write_text('{"id": "d", "text": "another"}\n')
    manifest = Manifest.model_validate_json((folder / "manifest.json").read_bytes())
    for name in ("manifest.json", "SHA256SUMS"):
        (folder / name).unlink()
    write_manifest(
        folder,
        corpus=manifest.corpus,
        budget=manifest.budget,
        rows=manifest.rows,
        fine_tuning=released().fine_tuning,
        privacy=released().privacy,
        reproduction=released().reproduction,
    )
    problem = f"{folder / 'audit.json'} is about other rows than distilled.jsonl holds"
    assert check_release(folder) == [problem]
