"""The release: a folder with the distilled rows and all that is said of them, to give away.

Nothing in it is a training row or names one. `datasets.load_dataset` reads it, `sha256sum` and
`kedro verify` check it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from take.audit.release.exports import check_distilled, to_csv, to_jsonl, write_datasets_folder
from take.audit.release.manifest import Reproduction, write_manifest
from take.errors import InputError, TakeError
from take.reuse.atomic import atomic_path

if TYPE_CHECKING:
    from take.audit.balance.report import BalanceReport
    from take.audit.privacy.report import PrivacyReport

_OVERRIDE = "audit.gate.override"
# `take.selection.describe.lineage` names training rows in its other tables: none may slip in.
_TOTALS = (
    *("id", "label_name", "assigned_mass", "listed_mass", "unlisted_mass"),
    *("rows", "mean_distance"),
)


class BlockedReleaseError(TakeError):
    """A privacy check stops the export."""


@dataclass(frozen=True, eq=False)
class Release:
    """What is given away."""

    distilled: pd.DataFrame
    class_names: Sequence[str]
    card: str
    """Markdown (`take.audit.release.card.dataset_card`)."""
    page: str
    """HTML, without source texts."""
    lineage_totals: pd.DataFrame
    """How much each row stands for; names no training row."""
    privacy: PrivacyReport
    balance: BalanceReport
    corpus: str
    budget: str
    reproduction: Reproduction


def refuse_blocked(privacy: PrivacyReport) -> None:
    """Stop an export that a check blocks and nobody answers for."""
    if not privacy.blocked:
        return
    blocking = [c for c in privacy.checks if c.verdict == "block" and not c.overridden]
    found = " ".join(f"{check.name}: {check.sentence}" for check in blocking)
    overrides = ",".join(f'{_OVERRIDE}.{check.name}="who (why)"' for check in blocking)
    raise BlockedReleaseError(
        f"The privacy gate blocks the release; nothing was exported. {found} Fix: look at the "
        "rows in the audit report and change the settings or the corpus. To release them all the "
        f"same, answer for it by name, beside your other --params: {overrides}"
    )


def write_release(release: Release, folder: Path) -> None:
    """Write the folder whole, in the place of an earlier one, or not at all.

    Equal releases make equal bytes.
    """
    refuse_blocked(release.privacy)
    check_distilled(release.distilled, release.class_names)
    _check_totals(release)
    texts = {
        "README.md": release.card,
        "report.html": release.page,
        "distilled.csv": to_csv(release.distilled),
        "distilled.jsonl": to_jsonl(release.distilled),
        "audit.json": _audit(release),
    }
    with atomic_path(folder) as temporary:
        write_datasets_folder(release.distilled, temporary, release.class_names)
        for name, text in texts.items():
            (temporary / name).write_bytes(text.encode("utf-8"))
        totals = temporary / "lineage_totals.parquet"
        release.lineage_totals.to_parquet(totals, compression="zstd", index=False)
        write_manifest(
            temporary,
            corpus=release.corpus,
            budget=release.budget,
            rows=len(release.distilled),
            privacy=release.privacy,
            reproduction=release.reproduction,
        )


def _audit(release: Release) -> str:
    """Figures and names; neither report holds a text."""
    reports = {"privacy": release.privacy, "balance": release.balance}
    plain = {name: json.loads(report.model_dump_json()) for name, report in reports.items()}
    return json.dumps(plain, indent=1, ensure_ascii=False) + "\n"


def _check_totals(release: Release) -> None:
    totals, where = release.lineage_totals, "The release, lineage_totals"
    unknown = [str(column) for column in totals.columns if column not in _TOTALS]
    if unknown:
        raise InputError(
            f"column {unknown[0]!r} is none that may be given away",
            where=where,
            allowed=", ".join(_TOTALS),
            remedy="leave it out",
        )
    if totals["id"].tolist() != release.distilled["id"].tolist():
        raise InputError(
            "the ids are not those of the distilled rows",
            where=f"{where}, column 'id'",
            remedy="run `kedro run --pipeline=distill`, which makes both together",
        )
