from __future__ import annotations

import pytest

from take.text.format import duration


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.4, "0.40 s"),
        (9.4, "9.4 s"),
        (59.4, "59 s"),
        (59.5, "1 min"),
        (90, "1 min 30 s"),
        (3599, "59 min 59 s"),
        (3599.6, "1 h"),
        (5400, "1 h 30 min"),
        (24 * 3600, "24 h"),
    ],
)
def test_a_duration_has_at_most_two_units(seconds: float, words: str) -> None:
    assert duration(seconds) == words
