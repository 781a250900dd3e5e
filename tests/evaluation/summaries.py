"""Tables of cells with given scores, and how tests read them."""

from __future__ import annotations

from take.evaluation.cells import cells_table
from take.evaluation.summary import comparisons_table, summary_table
from tests.evaluation.made import ROWS, outcomes_of

T4 = 2.7764451  # Student's t, 4 degrees of freedom, 97.5 %
RANDOM = [0.60, 0.62, 0.58, 0.61, 0.59]
TAKE = [0.70, 0.71, 0.69, 0.72, 0.68]


def row(table, **which):
    for name, value in which.items():
        table = table[table[name] == value]
    assert len(table) == 1
    return table.iloc[0]


def summarised(cells, **options):
    return summary_table(cells_table(cells), outcomes_of(cells), **options)


def compared(cells, **options):
    return comparisons_table(cells_table(cells), outcomes_of(cells), **options)


def of_rows(share):
    """The variance of a share of the evaluation rows."""
    return share * (1 - share) / ROWS
