"""Copies and personal data in tables of rows; made-up rows."""

from __future__ import annotations

import pandas as pd

from take.audit.privacy.pii import PiiSettings
from take.audit.privacy.screening import Screened, real_rows, screened
from take.text.copies import CopyIndex, CopySettings
from take.text.normalise import text_rows

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


def roles(rows: pd.DataFrame, role: str) -> pd.DataFrame:
    return pd.DataFrame({"id": rows["id"], "role": role})


def look(*texts: str, pii: PiiSettings | None = None) -> Screened:
    rows, train = table(list(texts), "d"), table(TRAIN, "t")
    return screened(
        {"distilled": rows.iloc[:2], "pool": rows},
        train,
        table(EVALUATION_ROWS, "h"),
        roles(train, "trained"),
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


def repeating(n_rows: int) -> pd.DataFrame:
    """Every fifth row is nearly the one before it; a fifth of the rows are phrases of others."""
    made = []
    for number in range(n_rows // 5):
        own = [f"{word}{number}" for word in ("the", "old", "man", "sold", "his", "boat", "today")]
        alone = [f"{word}{number}" for word in ("no", "bird", "sang", "that", "night", "at", "all")]
        made += [own, [*own[:6], f"again{number}"], alone, alone[:6], [f"a{number}", f"b{number}"]]
    return table([" ".join(words) for words in made], "t")


def test_real_rows_are_rows_of_train_that_were_not_trained_on() -> None:
    train = repeating(1000)
    unread = roles(train, "trained")
    unread.loc[::5, "role"] = "unread"  # each of them nearly the row after it
    found = real_rows(train, unread, CopySettings())
    assert (found.rows, found.verbatim, found.near_copies) == (200, 0, 200)
    unread.loc[::5, "role"], unread.loc[4::5, "role"] = "trained", "validation"
    found = real_rows(train, unread, CopySettings())
    assert (found.rows, found.copied) == (200, 0)


def test_rows_that_contain_one_another_are_no_copies() -> None:
    train = repeating(1000)
    unread = roles(train, "trained")
    unread.loc[2::5, "role"] = "unread"  # the row after each of them is a phrase of it
    found = real_rows(train, unread, CopySettings())
    assert (found.rows, found.copied) == (200, 0)
    assert (
        len(
            CopyIndex(text_rows(train[3::5], ["text"]), CopySettings())
            .find(text_rows(train[2::5], ["text"]))
            .findings
        )
        == 200
    )
    unread["role"] = "trained"
    unread.loc[3::5, "role"] = "unread"  # all of them phrases of other rows
    assert real_rows(train, unread, CopySettings()) is None


def test_without_rows_that_were_left_out_at_random_there_is_no_baseline() -> None:
    train = repeating(100)
    for role in ("trained", "excluded"):
        assert real_rows(train, roles(train, role), CopySettings()) is None


def test_at_most_a_fifth_of_the_corpus_is_set_apart() -> None:
    train = repeating(100)
    assert real_rows(train, roles(train, "unread"), CopySettings()).rows == 20


def test_a_text_that_two_pairs_share_is_no_copy() -> None:
    """As in mnli: a premise and its hypotheses."""
    premises = [
        f"premise{i} has more than eight words about thing{i} and that{i}" for i in range(50)
    ]
    rows = [
        (f"{premise}", f"claim{i} {side}") for i, premise in enumerate(premises) for side in "ab"
    ]
    train = pd.DataFrame(rows, columns=["text_a", "text_b"]).assign(id=list(map(str, range(100))))
    found = real_rows(train, roles(train, "unread"), CopySettings())
    assert (found.rows, found.copied) == (20, 0)


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
        roles(train, "trained"),
        CopySettings(),
        PiiSettings(),
    )
    assert found.counts.copies["distilled"].train.verbatim == 1
    assert found.counts.pii["distilled"].kinds == {"email": 1}
