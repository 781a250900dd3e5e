"""Copies and personal data in tables of rows; made-up rows."""

from __future__ import annotations

import pandas as pd

from take.audit.privacy.pii import PiiSettings
from take.audit.privacy.screening import Screened, screened
from take.text.copies import CopySettings

TRAIN = [
    "a dull film about a long war that nobody in the village had wanted to fight",
    "write to jo@example.org for tickets",
    "two hours of my life that i will never see again",
]
EVALUATION_ROWS = [
    "a quiet and moving portrait of a lighthouse keeper",
    "they laughed all the way home",
]


def table(texts: list[str], mark: str) -> pd.DataFrame:
    return pd.DataFrame({"id": [f"{mark}{i}" for i in range(len(texts))], "text": texts})


def look(*texts: str, pii: PiiSettings | None = None) -> Screened:
    rows = table(list(texts), "d")
    return screened(
        {"distilled": rows.iloc[:2], "pool": rows},
        table(TRAIN, "t"),
        table(EVALUATION_ROWS, "h"),
        CopySettings(),
        pii or PiiSettings(),
    )


def test_copies_are_named_with_what_they_copy() -> None:
    found = look(
        "A dull film about a long war, that nobody in the village had wanted to fight!", "x"
    )
    copies = found.counts.copies["distilled"]
    assert (copies.train.verbatim, copies.evaluation.verbatim) == (1, 0)
    (row,) = found.findings[found.findings["where"] == "distilled"].to_dict("records")
    assert (row["row"], row["kind"], row["reference"]) == ("d0", "verbatim", "train")
    assert row["reference_row"] == "t0"
    assert row["span"].startswith("A dull film about a long war")


def test_copies_of_the_evaluation_split_count_separately() -> None:
    found = look("fine", EVALUATION_ROWS[1])
    copies = found.counts.copies["distilled"]
    assert (copies.train.verbatim, copies.evaluation.verbatim) == (0, 1)


def test_a_run_of_words_in_a_longer_row_is_shown() -> None:
    long = "well then : about a long war that nobody in the village had wanted , was it not so"
    found = look("fine", f"{long} that i left before any of them could tell me how it went on")
    assert found.counts.copies["distilled"].train.shared_spans == 1
    span = found.findings["span"].iloc[0]
    assert span == "about a long war that nobody in the village had wanted"


def test_real_rows_are_the_baseline() -> None:
    assert look("x", "y").counts.real_rows.rows == len(EVALUATION_ROWS)


def test_personal_data_is_masked_and_marked_if_in_the_corpus() -> None:
    found = look("ask JO@example.org !", "or call ann@example.com", "nothing here")
    pii = found.counts.pii["distilled"]
    assert (pii.rows, pii.in_corpus, pii.kinds) == (2, 1, {"email": 2})
    rows = found.findings[found.findings["kind"] == "email"].query("where == 'distilled'")
    assert rows["reference"].tolist() == ["corpus", ""]
    assert "jo@" not in " ".join(rows["span"]).casefold()
    assert "ann" not in " ".join(rows["span"]).casefold()


def test_only_the_configured_kinds_are_searched() -> None:
    found = look("ask jo@example.org", "x", pii=PiiSettings(kinds=("iban",)))
    assert found.counts.pii["distilled"].rows == 0


def test_nothing_found_is_an_empty_table_with_its_types() -> None:
    findings = look("fine", "flat").findings
    assert findings.empty
    assert findings["value"].dtype == "float64"


def test_both_texts_of_a_pair_are_searched() -> None:
    def pairs(mark: str, *rows: tuple[str, str]) -> pd.DataFrame:
        return pd.DataFrame(rows, columns=["text_a", "text_b"]).assign(
            id=[f"{mark}{i}" for i in range(len(rows))]
        )

    train = pairs("t", ("a man plays a guitar on the stage in the rain", "he makes music"))
    rows = pairs("d", ("no", "a man plays a guitar on the stage in the rain"), ("see", "x@y.org"))
    found = screened(
        {"distilled": rows, "pool": rows},
        train,
        pairs("h", ("p", "q")),
        CopySettings(),
        PiiSettings(),
    )
    assert found.counts.copies["distilled"].train.verbatim == 1
    assert found.counts.pii["distilled"].kinds == {"email": 1}
