"""The release: a folder with the distilled rows and everything that is reported about them.

It holds no training row and names none. `datasets.load_dataset` reads it, `sha256sum` and
`kedro verify` check it. JSONL and Parquet are exact; the CSV is for spreadsheets.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import category

import pandas as pd

from take.audit.audited import REPEAT, ReleaseDigests, audit_json, to_jsonl
from take.audit.release.manifest import Reproduction, write_manifest
from take.errors import InputError, TakeError
from take.reuse.atomic import atomic_path
from take.selection.tables import NUMBERS, check_distilled, string_columns
from take.text.characters import is_invisible

if TYPE_CHECKING:
    from take.audit.balance.report import BalanceReport
    from take.audit.privacy.report import PrivacyReport
    from take.generation.finetuning.fine_tuning_report import FineTuningReport

_OVERRIDE = "audit.gate.override"
# Columns that name no training row; other lineage tables do.
_TOTALS = (
    *("id", "label_name", "assigned_mass", "listed_mass", "unlisted_mass"),
    *("rows", "mean_distance"),
)
# What begins a formula; Excel in East Asian languages reads wide forms like narrow ones.
_SIGNS = r"=+\-@＝＋－＠﹦﹢﹣﹫"


class BlockedReleaseError(TakeError):
    """A privacy check stops the export."""


@dataclass(frozen=True, eq=False)
class Release:
    """What is released."""

    distilled: pd.DataFrame
    class_names: Sequence[str]
    card: str
    """Markdown (`take.audit.release.card.dataset_card`)."""
    page: str
    """HTML, without source texts."""
    lineage_totals: pd.DataFrame
    """How much each row represents; names no training row."""
    fine_tuning: FineTuningReport
    privacy: PrivacyReport
    balance: BalanceReport
    corpus: str
    budget: str
    reproduction: Reproduction


def refuse_blocked(privacy: PrivacyReport) -> None:
    """Stop an export that a check blocks and nobody has overridden."""
    if not privacy.blocked:
        return
    blocking = [c for c in privacy.checks if c.verdict == "block" and not c.overridden]
    found = " ".join(f"{check.name}: {check.sentence}" for check in blocking)
    overrides = ",".join(f'{_OVERRIDE}.{check.name}="who (why)"' for check in blocking)
    raise BlockedReleaseError(
        f"The privacy gate blocks the release; nothing was exported. {found} Fix: look at the "
        "rows in the audit report and change the settings or the corpus. To release them anyway, "
        f"override the check with your name, next to your other --params: {overrides}"
    )


def write_release(release: Release, folder: Path) -> None:
    """Write the whole folder, in the place of an earlier one, or nothing.

    Equal releases have equal bytes.
    """
    refuse_blocked(release.privacy)
    check_distilled(release.distilled, release.class_names)
    _check_totals(release)
    _check_audited(release)
    texts = {
        "README.md": release.card,
        "report.html": release.page,
        "distilled.csv": to_csv(release.distilled),
        "distilled.jsonl": to_jsonl(release.distilled),
        "audit.json": audit_json(release.privacy, release.balance),
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
            fine_tuning=release.fine_tuning,
            privacy=release.privacy,
            reproduction=release.reproduction,
        )


def _check_audited(release: Release) -> None:
    """Refuse a release whose parts are not all about the rows that it holds."""
    digests = ReleaseDigests.of(release.distilled, release.privacy, release.balance)
    stated = {"privacy report": release.privacy.audited, "balance report": release.balance.audited}
    wrong = [
        f"the {name} is about other rows"
        for name, rows in stated.items()
        if rows is None or rows.distilled_sha256 != digests.rows
    ]
    for name, text in (("dataset card", release.card), ("report", release.page)):
        if digests.rows not in text:
            wrong.append(f"the {name} was made from other rows")
        elif digests.audit not in text:
            wrong.append(f"the {name} states another audit")
    if wrong:
        raise InputError(
            f"{', '.join(wrong)}; nothing was exported", where="The release", remedy=REPEAT
        )


def _check_totals(release: Release) -> None:
    totals, where = release.lineage_totals, "The release, lineage_totals"
    unknown = [str(column) for column in totals.columns if column not in _TOTALS]
    if unknown:
        raise InputError(
            f"column {unknown[0]!r} may not be released",
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


def to_csv(table: pd.DataFrame) -> str:
    r"""The set for a spreadsheet: RFC 4180, with a header, rows ending with "\r\n".

    To be safe there it is not exact; JSONL and Parquet are. Where a spreadsheet could begin to read
    a formula (OWASP, "CSV injection"), an apostrophe is put before it. NUL, at which some programs
    end the cell or the file, becomes U+FFFD.

    >>> to_csv(pd.DataFrame({"id": ["a1"], "text": ['=HYPERLINK("x")'], "weight": [1.5]}))
    'id,text,weight\r\na1,"\'=HYPERLINK(""x"")",1.5\r\n'
    """
    safe = {column: table[column].map(_safe_cell) for column in string_columns(table)}
    return str(table.assign(**safe).to_csv(index=False, lineterminator="\r\n"))


def formula_cells(table: pd.DataFrame) -> int:
    """How many cells `to_csv` puts an apostrophe into.

    >>> formula_cells(pd.DataFrame({"text": ["- 5 stars", "5 stars", "fine; =A1", "a = b"]}))
    2
    """
    return sum(
        _formula_start().search(cell) is not None
        for column in string_columns(table)
        for cell in table[column]
    )


def write_datasets_folder(table: pd.DataFrame, folder: Path, class_names: Sequence[str]) -> None:
    """The set as a folder that `datasets.load_dataset(folder)` reads as the split "train".

    `label` is a ClassLabel that knows the class names. The folder has the
    layout of `Dataset.push_to_hub`. The `datasets` library is not needed to write it: what it has
    to know about the columns is in the Parquet file's metadata.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    check_distilled(table, class_names)
    types: dict[str, pa.DataType] = {"label": pa.int64(), "weight": pa.float64()}
    features: dict[str, dict[str, Any]] = {
        column: {"dtype": NUMBERS.get(column, "string"), "_type": "Value"}
        for column in table.columns
    }
    features["label"] = {"names": list(class_names), "_type": "ClassLabel"}
    schema = pa.schema(
        [(column, types.get(column, pa.string())) for column in table.columns],
        metadata={"huggingface": json.dumps({"info": {"features": features}})},
    )
    rows = pa.table({column: table[column].tolist() for column in table.columns}, schema=schema)
    path = folder / "data" / "train-00000-of-00001.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, path, compression="zstd")


@cache
def _formula_start() -> re.Pattern[str]:
    """The places at which a spreadsheet could begin to read a formula.

    Not only the front of a cell: where numbers have a decimal comma, Excel separates cells at ";".
    The quotes of our texts are then inside its cells, where they mean nothing, so a ";" in a text
    ends a cell and a line break ends a row. `fine;=A1` has a formula in the middle. A spreadsheet
    may drop blanks and invisible characters (the byte order mark, U+FEFF, is one) from the front.
    """
    characters = map(chr, range(sys.maxunicode + 1))
    unseen = {c for c in characters if is_invisible(c) or category(c) == "Zs"}
    leading = re.escape("".join(sorted(unseen)))
    # Without line breaks: each is a place of its own, and looking past them would be quadratic.
    inner = re.escape("".join(sorted(unseen - set("\t\r\n"))))
    return re.compile(
        rf"\A(?=[{leading}]*[{_SIGNS}\t\r\n])" rf'|(?<=[;\t\r\n])(?=["{inner}]*[{_SIGNS}])'
    )


def _safe_cell(cell: str) -> str:
    return _formula_start().sub("'", cell).replace("\0", "\ufffd")
