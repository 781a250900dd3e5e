"""What the gate would object to in single candidates; made-up rows."""

from __future__ import annotations

import pandas as pd

from take.audit.privacy.objections import row_objections
from take.audit.privacy.pii import PiiSettings
from take.text.copies import CopySettings

ROW = "the keeper of the old lighthouse never spoke of the winter when the sea froze over"
TRAIN = [ROW, "write to jo@example.org for tickets", "quarterly profits at the brewery rose"]
EVALUATION = ["a quiet and moving portrait of a lone juggler in the rain of early november"]


def table(texts: list[str], mark: str) -> pd.DataFrame:
    return pd.DataFrame({"id": [f"{mark}{i}" for i in range(len(texts))], "text": texts})


def objections(*texts: str) -> dict[str, tuple[str, str, bool]]:
    found = row_objections(
        table(list(texts), "p"),
        table(TRAIN, "t"),
        table(EVALUATION, "e"),
        CopySettings(),
        PiiSettings(),
    )
    lines = found[["reason", "detail", "blocked"]].itertuples(index=False)
    return {row: tuple(line) for row, line in zip(found["id"], lines, strict=True)}


def test_each_objection_with_what_it_rests_on_and_no_text() -> None:
    found = objections(
        ROW.upper(),
        ROW.replace("winter", "summer"),
        f"my aunt said that {' '.join(ROW.split()[4:])} and took all the boats and half the piers "
        "of the harbour with it and nobody in town had seen anything like that in forty years",
        EVALUATION[0] + " !",
        EVALUATION[0].replace("quiet", "loud"),
        "ask JO@example.org about it",
        "ask ann@example.com about it",
        "nothing of the kind",
    )
    assert found == {
        "p0": ("copy_of_train", "train row t0", True),
        "p1": ("near_copy_of_train", "train row t0", True),
        "p2": ("shared_span_of_train", "train row t0", False),
        "p3": ("copy_of_evaluation", "evaluation row e0", True),
        "p4": ("near_copy_of_evaluation", "evaluation row e0", True),
        "p5": ("personal_data_of_train", "email", True),
        "p6": ("personal_data", "email", False),
    }


def test_of_several_the_worst_counts() -> None:
    found = objections(f"{ROW} ann@example.com", "ann@example.com or jo@example.org")
    assert found["p0"][0] == "near_copy_of_train"
    assert found["p1"][0] == "personal_data_of_train"


def test_nothing_found_is_an_empty_table_with_its_types() -> None:
    pool, corpus = table(["fine"], "p"), table(TRAIN, "t")
    found = row_objections(pool, corpus, corpus[:1], CopySettings(), PiiSettings())
    assert found.empty
    assert found["blocked"].dtype == "bool"
