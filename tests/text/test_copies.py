"""What counts as a copy, on rows made up for it; real rows are in test_copies_planted."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError

from take.audit.privacy.screening import copy_summary
from take.errors import InputError
from take.text.copies import CopyFinding, CopyFindings, CopyIndex, CopySettings
from take.text.normalise import TextRow

ROW = "the keeper of the old lighthouse never spoke of the winter when the sea froze over"
OTHER = "quarterly profits at the brewery rose by a third despite a weak summer season"
REFERENCE = [(ROW,), (OTHER,), ("nobody expected such a splendid ending",)]


def copies(queries: list[TextRow], reference: list[TextRow]) -> CopyFindings:
    return CopyIndex(reference, CopySettings()).find(queries)


def only(text: str, reference=REFERENCE) -> CopyFinding | None:
    findings = copies([(text,)], reference).findings
    assert len(findings) <= 1
    return findings[0] if findings else None


@pytest.mark.parametrize(
    "text",
    [
        ROW.upper(),
        "  " + ROW.replace(" ", "   ") + " . . .",
        ROW.replace("keeper", "“keeper”").replace(" sea", "\u00a0sea"),
        ROW.replace("over", "o\u00adver").replace("lighthouse", "light-house"),
        ROW.replace("e", "ｅ"),
    ],
)
def test_case_blanks_marks_and_encoding_hide_no_copy(text: str) -> None:
    finding = only(text)
    assert finding is not None
    assert (finding.reference, finding.kind, finding.overlap) == (0, "verbatim", 1.0)


@pytest.mark.parametrize(
    "text",
    [
        ROW.replace("winter", "summer"),
        ROW.replace("old ", ""),
        ROW.replace("old", "very old"),
        "when the sea froze over the keeper of the old lighthouse never spoke of the winter",
        " ".join(sorted(ROW.split())),
        "the keeper of the old lighthouse never spoke of the winter",  # most of it, and no more
    ],
)
def test_a_few_words_changed_or_moved_make_a_near_copy(text: str) -> None:
    finding = only(text)
    assert finding is not None
    assert (finding.reference, finding.kind) == (0, "near_copy")
    assert 0.65 <= finding.overlap <= 1


@pytest.mark.parametrize(
    "text",
    [
        "nobody expected such a dreadful ending",
        "nobody expected a splendid ending",
        "such a splendid ending nobody expected",
    ],
)
def test_short_rows_are_near_copies_too(text: str) -> None:
    finding = only(text)
    assert finding is not None
    assert (finding.reference, finding.kind) == (2, "near_copy")


def test_a_long_run_within_a_longer_row_is_shown_as_written() -> None:
    run = "Old lighthouse never spoke of the WINTER, when the sea"
    finding = only(
        f"My aunt, who ran the museum in town, said that the {run} rose and took "
        "the boats and the piers and half of the harbour with it, and so it was."
    )
    assert finding is not None
    assert finding == CopyFinding(0, 0, "shared_span", pytest.approx(11 / 40), 11, f"the {run}")


def test_a_shorter_run_is_no_finding_but_is_measured() -> None:
    found = copies(
        [("they say the sea froze over the old bridge and everybody walked to the island",)],
        [(ROW,)],
    )
    assert found.findings == ()
    assert found.longest_spans.tolist() == [0]
    found = copies(
        [("they say of the winter when the sea came in that everybody walked to the island",)],
        [(ROW,)],
    )
    assert found.findings == ()
    assert found.longest_spans.tolist() == [6]
    assert copy_summary(found).longest_span == 6


def test_wording_of_half_the_corpus_is_no_near_copy() -> None:
    reference = [(f"a {word} piece of work",) for word in ("fine", "sad", "long", "odd")] * 300
    assert only("a lazy piece of work", reference) is None
    rare = [*reference, ("a lugubrious piece of scrimshaw",)]
    finding = only("a lugubrious bit of scrimshaw", rare)
    assert finding is not None
    assert finding.reference == len(reference)


def test_very_short_rows_are_copies_only_if_equal() -> None:
    assert only("splendid!", [("splendid",)]).kind == "verbatim"  # type: ignore[union-attr]
    assert only("a lugubrious", [("lugubrious",)]) is None
    assert only("?!", [("...",)]) is None


def test_of_a_pair_the_whole_row_or_one_long_text_is_enough() -> None:
    reference = [(ROW, "he kept silent"), (OTHER, "beer sells")]
    queries = [
        (ROW + "!", "He kept silent."),  # both
        (ROW, "it was a mild day"),  # one long text
        ("it was a mild day", ROW.replace("winter", "summer")),  # nearly, and in the other place
        ("it was a mild day", "he kept silent"),  # one short text
        (OTHER, ROW),
    ]
    found = CopyIndex(reference, CopySettings()).find(queries)
    kinds = {finding.query: (finding.reference, finding.kind) for finding in found.findings}
    assert kinds == {
        0: (0, "verbatim"),
        1: (0, "verbatim"),
        2: (0, "near_copy"),
        4: (1, "verbatim"),
    }


def test_a_run_does_not_go_from_one_text_of_a_pair_to_the_other() -> None:
    first, second = " ".join(ROW.split()[:7]), " ".join(ROW.split()[7:])
    found = copies([(ROW, "no such thing")], [(first, second)])
    assert found.longest_spans.tolist() == [9]


def test_the_closest_of_several_is_reported() -> None:
    near = ROW.replace("winter", "summer")
    finding = only(near.replace("old", "new"), [(OTHER,), (ROW,), (near,)])
    assert finding is not None
    assert finding.reference == 2


def test_the_summary_counts_every_row_once() -> None:
    queries = [(ROW,), (ROW,), (ROW.replace("winter", "summer"),), ("nothing alike",)]
    summary = copy_summary(copies(queries, REFERENCE))
    assert (summary.rows, summary.verbatim, summary.near_copies, summary.shared_spans) == (
        4,
        2,
        1,
        0,
    )
    assert summary.longest_span == len(ROW.split())
    assert summary.copied_low < summary.copied == 0.75 < summary.copied_high


def test_empty_queries_and_empty_references() -> None:
    nothing = copies([], REFERENCE)
    assert (nothing.findings, nothing.n_queries) == ((), 0)
    summary = copy_summary(nothing)
    assert (summary.rows, summary.copied, summary.copied_high) == (0, 0, 1)
    assert copies([(ROW,)], []).findings == ()
    blank = copies([("",), (ROW,)], [("",), ("?",)])
    assert blank.findings == ()


def test_one_index_serves_many_searches() -> None:
    index = CopyIndex(REFERENCE, CopySettings())
    first = index.find([(ROW,)])
    assert index.find([("something else",), (OTHER,)]).findings[0].reference == 1
    again = index.find([(ROW,)])
    assert again.findings == first.findings
    np.testing.assert_array_equal(again.longest_spans, first.longest_spans)


@pytest.mark.parametrize(
    ("queries", "reference"),
    [([("a", "b")], [("a",)]), ([("a",), ("a", "b")], [("a",)]), ([("a",)], [("a",), ("a", "b")])],
)
def test_rows_of_unlike_form_are_refused(queries, reference) -> None:
    with pytest.raises(InputError, match="copy search"):
        copies(queries, reference)


@pytest.mark.parametrize("wrong", [{"span_words": 1}, {"chance_rows": 0}, {"overlap": 0.5}])
def test_settings_have_bounds(wrong: dict) -> None:
    with pytest.raises(ValidationError):
        CopySettings(**wrong)


def test_a_span_cannot_be_shorter_than_its_seed() -> None:
    with pytest.raises(ValidationError, match="span_words"):
        CopySettings(span_words=4)


def test_what_is_common_in_train_is_no_copy_of_an_evaluation_row() -> None:
    """A small evaluation split cannot show that a phrase is common: the corpus does."""
    phrase = "the plot is thin and the acting is worse than the plot"
    train = [(f"{phrase}, take {i}",) for i in range(30)]
    split, query = [(f"{phrase}, scene 7",)], [(f"{phrase}, part 9",)]
    settings = CopySettings(near_copy_overlap=1.0)
    assert [found.kind for found in CopyIndex(split, settings).find(query).findings] == [
        "near_copy"
    ]
    assert CopyIndex(split, settings, train).find(query).findings == ()
    assert [found.kind for found in CopyIndex(split, settings, train).find(split).findings] == [
        "verbatim"
    ]
