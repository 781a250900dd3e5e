"""Disguised copies and personal data: what the gate claims to find, in small (docs/audit.md).

The full set is `python benchmarks/red_team.py`. Floors are below what was measured there.
"""

from __future__ import annotations

import random
import runpy
from types import SimpleNamespace
from typing import Any

import pytest

from take.audit.privacy.pii import find_pii
from tests.conftest import ROOT

# By its path: benchmarks are no package.
red_team = SimpleNamespace(**runpy.run_path(str(ROOT / "benchmarks/red_team.py")))
PII_DISGUISES, pii_found = red_team.PII_DISGUISES, red_team.pii_found
BLOCKED = {
    **dict.fromkeys(("none", "case, punctuation, blanks", "full-width letters"), 0.99),
    **dict.fromkeys(("zero-width characters", "variation selectors", "accents"), 0.99),
    **dict.fromkeys(("homoglyphs, Cyrillic", "homoglyphs, Greek"), 0.99),
    **dict.fromkeys(("homoglyphs, a third of the letters", "blanks between letters"), 0.99),
    **dict.fromkeys(("word order", "halves swapped", "EDA, 10 % of the words"), 0.97),
    "EDA, 30 % of the words": 0.5,
    "split over two rows": 0.5,
}
FOUND = dict.fromkeys(("a sentence inserted", "between two sentences"), 0.8)
PII_FOUND = [
    *((name, kind) for name in list(PII_DISGUISES)[:3] for kind in red_team.PII),
    *((name, "email") for name in ("homoglyphs, Cyrillic", "[at] and [dot]", "at and dot")),
    *(("Arabic digits", kind) for kind in ("card", "phone")),
    *(("a blank after each character", kind) for kind in ("card", "phone")),
    *(("digits spelt out", kind) for kind in ("card", "phone")),
]


@pytest.fixture(scope="module")
def hunt() -> Any:
    return red_team.CopyHunt(red_team.train_texts(), n_rows=100)


@pytest.mark.parametrize("name", [*BLOCKED, *FOUND])
def test_a_disguised_copy_is_found_and_a_clean_row_is_not(hunt: Any, name: str) -> None:
    disguise = red_team.copy_disguises()[name]
    blocked, found = hunt.found(hunt.planted, disguise)
    assert blocked >= BLOCKED.get(name, 0)
    assert found >= FOUND.get(name, 0)
    assert hunt.found(hunt.clean, disguise)[1] <= 0.02


@pytest.mark.parametrize(("name", "kind"), PII_FOUND)
def test_disguised_personal_data_is_found(hunt: Any, name: str, kind: str) -> None:
    found = pii_found(hunt.clean, PII_DISGUISES[name], kind)
    assert found is not None
    assert found >= 0.99
    assert not pii_found(hunt.clean, PII_DISGUISES[name], None)


def test_digits_spelt_out_are_shown_at_their_place() -> None:
    run = "four one one one one one one one, one one one one one one one ONE"
    (found,) = find_pii([f"pay with {run} today"])
    assert (found.kind, found.start, found.end) == ("card", 9, 9 + len(run))
    (found,) = find_pii(["dial + four four 2 0 seven nine four six zero zero one eight or wait"])
    assert (found.kind, found.start, found.end) == ("phone", 5, 60)


@pytest.mark.parametrize(
    "text",
    [
        "one two three four five six seven eight nine",  # counting is no number
        "he met her at polka dot in the park",
        "two of one and one of two, zero to one, nine one one",
    ],
)
def test_words_for_numbers_are_no_personal_data(text: str) -> None:
    assert find_pii([text]) == []


def test_a_card_spelt_out_with_a_wrong_check_digit_is_none() -> None:
    chance = random.Random(0)
    for _ in range(50):
        number = red_team.card(chance)
        wrong = number[:-1] + str((int(number[-1]) + 1) % 10)
        (spelt,) = PII_DISGUISES["digits spelt out"](wrong, chance)
        assert not [found for found in find_pii([spelt]) if found.kind == "card"]
