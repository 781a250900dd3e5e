"""Which rows an audit is about, so that only audited rows are released.

Reports state the digests of the rows they were made from. `take.audit.release.folder` compares
them with the rows, the card and the page that it is about to write.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd
from pydantic import Field

from take.errors import InputError
from take.frozen import Frozen

if TYPE_CHECKING:
    from take.audit.balance.report import BalanceReport
    from take.audit.privacy.report import PrivacyReport

# Allowed in JSON strings, but programs that split lines break at some (U+0085, U+2028, U+2029), and
# terminals act on others. The json module escapes those below U+0020.
_UNSAFE_IN_JSON = re.compile(r"[\x7f-\x9f\u2028\u2029]")

REPEAT = "run `kedro run --pipeline=audit` on this corpus, which makes all of them together"


class AuditedRows(Frozen):
    """The rows of a report."""

    distilled_sha256: str = Field(description="Of the distilled rows as in distilled.jsonl.")
    pool_sha256: str = Field(description="Of the ids of the pool they were selected from.")

    @classmethod
    def of(cls, distilled: pd.DataFrame, pool: pd.DataFrame) -> AuditedRows:
        """The digests of these rows, which must be from this pool.

        >>> pool = pd.DataFrame({"id": ["a", "b"]})
        >>> AuditedRows.of(pool[:1], pool) == AuditedRows.of(pool[1:], pool)
        False
        """
        unknown = set(distilled["id"]) - set(pool["id"])
        if unknown:
            raise InputError(
                f"{len(unknown)} of {len(distilled)} distilled rows are not in the pool",
                remedy="run `kedro run --pipeline=distill`, which selects rows from the pool",
            )
        return cls(distilled_sha256=rows_sha256(distilled), pool_sha256=pool_sha256(pool))


class ReleaseDigests(NamedTuple):
    """What card and page of a release state, and `sha256sum` of two of its files shows."""

    rows: str
    """Of distilled.jsonl."""
    audit: str
    """Of audit.json."""

    @classmethod
    def of(
        cls, distilled: pd.DataFrame, privacy: PrivacyReport, balance: BalanceReport
    ) -> ReleaseDigests:
        """The digests of the rows and of the audit's figures."""
        return cls(rows_sha256(distilled), _sha256(audit_json(privacy, balance)))


def rows_sha256(distilled: pd.DataFrame) -> str:
    """SHA-256 of the rows as JSON lines."""
    return _sha256(to_jsonl(distilled))


def pool_sha256(pool: pd.DataFrame) -> str:
    """SHA-256 of the ids, which are digests of texts and labels themselves."""
    return _sha256("\n".join(pool["id"]))


def to_jsonl(table: pd.DataFrame) -> str:
    r"""The set exactly, one object per line, keys in the order of columns.

    Letters of all languages stay as they are. Control characters and Unicode's line separators are
    escaped, so that no program sees more lines than rows.

    >>> print(to_jsonl(pd.DataFrame({"text": ["naïve\nfilm"], "weight": [0.1]})), end="")
    {"text": "naïve\nfilm", "weight": 0.1}
    """
    columns = list(table.columns)
    rows = zip(*(table[column].tolist() for column in columns), strict=True)
    return "".join(_json_line(dict(zip(columns, row, strict=True))) for row in rows)


def _json_line(row: dict[str, Any]) -> str:
    line = json.dumps(row, ensure_ascii=False, allow_nan=False)
    return _UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", line) + "\n"


def audit_json(privacy: PrivacyReport, balance: BalanceReport) -> str:
    """Figures and names; neither report holds a text."""
    reports = {"privacy": privacy, "balance": balance}
    plain = {name: json.loads(report.model_dump_json()) for name, report in reports.items()}
    return json.dumps(plain, indent=1, ensure_ascii=False) + "\n"


def check_same_rows(
    screening: AuditedRows | None, distances: AuditedRows | None, attacked_pool: str | None
) -> None:
    """Refuse a verdict on checks that are about different rows."""
    if screening is None or screening != distances:
        raise InputError("screening and distances are about different rows", remedy=REPEAT)
    if screening.pool_sha256 != attacked_pool:
        raise InputError(
            "screening and membership inference are about different rows", remedy=REPEAT
        )


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
