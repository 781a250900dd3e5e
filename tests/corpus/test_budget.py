from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from take.corpus.budget import Budget, check_budget
from take.errors import InputError


@pytest.mark.parametrize(
    ("written", "sizes", "expected"),
    [
        ("20/class", [100, 50], (20, 20)),
        (" 20 / class ", [100, 50], (20, 20)),
        ("120", [100, 100, 100, 100], (30, 30, 30, 30)),
        (120, [100, 100, 100, 100], (30, 30, 30, 30)),
        ("0.1%", [12_500, 12_500], (13, 12)),  # the paper's 25 rows of IMDb
        ("7", [10, 30, 20], (2, 3, 2)),  # the remainder goes to the largest class
        ("8", [10, 30, 20], (2, 3, 3)),
        ("5", [10, 10], (3, 2)),  # of equals, to the first
    ],
)
def test_split(written: str, sizes: list[int], expected: tuple[int, ...]) -> None:
    assert Budget.parse(written).split(sizes) == expected


@pytest.mark.parametrize(
    "written",
    [
        "0",
        "-5",
        "200%",
        "abc",
        "",
        "0%",
        "0/class",
        "1.5/class",
        "0.1",
        "20/klass",
        "nan%",
        True,
        1.5,
        None,
    ],
)
def test_invalid_budgets_are_refused(written: object) -> None:
    with pytest.raises(InputError, match=r"20/class.*0\.1%"):
        Budget.parse(written)  # type: ignore[arg-type]


def test_every_class_needs_a_row() -> None:
    with pytest.raises(InputError, match="1 rows for 2 classes"):
        Budget.parse("0.1%").split([500, 500])


def test_class_smaller_than_its_budget() -> None:
    with pytest.raises(InputError, match="class 'spam' has 2 rows|Class 'spam' has 2 rows"):
        check_budget(Budget.parse("10"), [100, 2], ["ham", "spam"])


@given(
    st.lists(st.integers(1, 10_000), min_size=2, max_size=20),
    st.integers(1, 5_000),
)
def test_a_split_is_whole_and_even(sizes: list[int], total: int) -> None:
    if total < len(sizes):
        return
    shares = Budget.parse(total).split(sizes)
    assert sum(shares) == total
    assert max(shares) - min(shares) <= 1
    # no class gets less than a smaller one
    assert all(
        shares[a] >= shares[b]
        for a in range(len(sizes))
        for b in range(len(sizes))
        if sizes[a] > sizes[b]
    )


@pytest.mark.parametrize("written", ["1234567", "0.1%", "20/class", "0.00001%"])
def test_a_budget_is_written_as_it_was_read(written: str) -> None:
    assert Budget.parse(str(Budget.parse(written))) == Budget.parse(written)
    assert "e+" not in str(Budget.parse(written))
