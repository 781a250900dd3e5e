from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from take.corpus.ingest import CorpusReport, IngestionSettings, ingest
from take.corpus.sources import RawCorpus, RawSplit
from take.corpus.spec import About, CorpusSpec
from take.errors import InputError
from tests.corpus import corpora

SETTINGS = IngestionSettings(budget="1/class")
SPEC = CorpusSpec.model_validate(
    {
        "task": "single",
        "source": {"kind": "files", "train": "films.csv"},
        "columns": {"text": "text", "label": "label"},
        "labels": ["bad", "good"],
        "evaluation": {"fraction": 0.2, "seed": 3},
    }
)
PAIR_SPEC = SPEC.model_copy(update={"task": "pair"})


def raw(
    train: list[tuple], evaluation: list[tuple] | None = None, spec: CorpusSpec = SPEC
) -> RawCorpus:
    def split(rows: list[tuple], origin: str) -> RawSplit:
        return RawSplit(
            pd.DataFrame(rows, columns=[*spec.text_columns, "label"], dtype=object), origin
        )

    evaluation_split = None if evaluation is None else split(evaluation, "evaluation.csv")
    return RawCorpus("films", spec, split(train, "train.csv"), evaluation_split)


def test_duplicates_and_leaks_are_removed_from_train_and_counted() -> None:
    train = [("a", 0), ("a ", 0), ("a", 1), ("b", 1), ("c", 0), ("leak", 1), ("leak", 1), ("d", 1)]
    evaluation = [("leak", 0), ("e", 1), ("e", 1)]
    result = ingest(raw(train, evaluation), SETTINGS)
    assert result.corpus["text"].tolist() == ["a", "a", "b", "c", "d"]
    counts = result.report.train
    assert (counts.rows_read, counts.exact_duplicates, counts.rows_also_in_evaluation) == (8, 2, 1)
    assert counts.texts_with_two_labels == 1
    assert counts.rows_kept == 5
    # nothing is taken out of the evaluation split
    assert result.evaluation_split["text"].tolist() == ["leak", "e", "e"]
    assert result.report.evaluation.exact_duplicates == 1


def test_a_pair_leaks_only_as_a_pair() -> None:
    train = [("p", "q", 0), ("q", "p", 1), ("p", "r", 1), ("s", "t", 0)]
    result = ingest(raw(train, [("p", "q", 1)], PAIR_SPEC), SETTINGS)
    assert result.corpus[["text_a", "text_b"]].values.tolist() == [
        ["q", "p"],
        ["p", "r"],
        ["s", "t"],
    ]


def test_prompts_of_labels_are_with_the_rows() -> None:
    spec = SPEC.model_copy(update={"prompts": {"bad": "a bad review"}})
    rows = [("a", 0), ("b", 1), ("c", 1)]
    found = ingest(raw(rows, [("d", 1)], spec), SETTINGS).corpus
    assert found["label_prompt"].tolist() == ["a bad review", "good", "good"]
    assert "label_prompt" not in ingest(raw(rows, [("d", 1)]), SETTINGS).corpus


def test_a_prompt_of_an_unknown_label_is_refused() -> None:
    spec = SPEC.model_copy(update={"prompts": {"goood": "fine"}})
    with pytest.raises(InputError, match=r"'goood', which the corpus does not have.*'good'\?"):
        ingest(raw([("a", 0), ("b", 1)], [("d", 1)], spec), SETTINGS)


@pytest.mark.parametrize("prompts", [{"bad": "good"}, {"bad": "x", "good": " x "}, {"bad": "  "}])
def test_prompts_that_do_not_tell_labels_apart_are_refused(prompts: dict[str, str]) -> None:
    spec = SPEC.model_copy(update={"prompts": prompts})
    with pytest.raises(InputError, match="not all different, or one is blank"):
        ingest(raw([("a", 0), ("b", 1)], [("d", 1)], spec), SETTINGS)


def test_ids_are_by_content() -> None:
    rows = [(f"text {i}", i % 2) for i in range(200)]
    first = ingest(raw(rows), SETTINGS).corpus
    second = ingest(raw(rows[::-1]), SETTINGS).corpus
    assert first["id"].is_unique
    assert dict(zip(first["text"], first["id"], strict=True)) == dict(
        zip(second["text"], second["id"], strict=True)
    )


def test_the_evaluation_split_does_not_move_when_the_corpus_grows() -> None:
    rows = [(f"text {i}", i % 2) for i in range(500)]
    before = ingest(raw(rows[:400]), SETTINGS).evaluation_split
    after = ingest(raw(rows[::-1]), SETTINGS).evaluation_split
    assert set(before["text"]) <= set(after["text"])
    assert 60 <= len(before) <= 100  # about 20 %


def test_the_evaluation_split_depends_on_its_seed() -> None:
    rows = [(f"text {i}", i % 2) for i in range(200)]
    other = SPEC.model_copy(update={"evaluation": SPEC.evaluation.model_copy(update={"seed": 4})})
    sets = [
        set(ingest(raw(rows, spec=spec), SETTINGS).evaluation_split["text"])
        for spec in (SPEC, other)
    ]
    assert sets[0] != sets[1]


def test_equal_texts_are_never_on_both_sides() -> None:
    rows = [(f"text {i % 50}", (i // 50) % 2) for i in range(200)]
    result = ingest(raw(rows), SETTINGS)
    assert not set(result.corpus["text"]) & set(result.evaluation_split["text"])


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (["good", "bad"] * 20, ["bad", "good"]),
        ([10, 9] * 20, ["9", "10"]),
        ([True, False] * 20, ["false", "true"]),
    ],
)
def test_labels_left_out_are_found(values: list, names: list[str]) -> None:
    spec = SPEC.model_copy(update={"labels": None})
    rows = [(f"text {i}", value) for i, value in enumerate(values)]
    assert ingest(raw(rows, spec=spec), SETTINGS).report.labels == names


def test_a_label_may_be_given_by_name_or_id() -> None:
    rows = [("a", "good"), ("b", 1), ("c", "1"), ("d", 0)]
    corpus = ingest(raw(rows, [("e", 0)]), SETTINGS).corpus
    assert corpus["label"].tolist() == [1, 1, 1, 0]


def test_the_report_holds_no_text() -> None:
    rows = [(f"confidential {i}", i % 2) for i in range(100)]
    assert "confidential" not in ingest(raw(rows), SETTINGS).report.model_dump_json()


def test_the_report_repeats_the_description_of_the_corpus() -> None:
    about = About(licence="mit", language="en", citation="@misc{films}")
    rows = [(f"text {i}", i % 2) for i in range(100)]
    spec = SPEC.model_copy(update={"about": about})
    report = ingest(raw(rows, spec=spec), SETTINGS).report
    assert report.about == about
    assert CorpusReport.model_validate_json(report.model_dump_json()) == report


def test_a_report_of_version_0_1_is_still_read() -> None:
    rows = [(f"text {i}", i % 2) for i in range(100)]
    written = ingest(raw(rows), SETTINGS).report.model_dump(mode="json")
    del written["about"]
    assert CorpusReport.model_validate(written).about == About()


def with_groups(groups: list[object]) -> RawCorpus:
    spec = SPEC.model_copy(update={"columns": SPEC.columns.model_copy(update={"group": "topic"})})
    made = raw([(f"text {i}", i % 2) for i in range(len(groups))], spec=spec)
    train = RawSplit(made.train.rows.assign(group=pd.Series(groups, dtype=object)), "train.csv")
    return RawCorpus("films", spec, train, None)


def test_groups_stay_with_their_train_rows() -> None:
    result = ingest(with_groups([f" topic {i % 3}" for i in range(40)]), SETTINGS)
    numbers = result.corpus["text"].str.removeprefix("text ").astype(int)
    assert result.corpus["group"].tolist() == [f"topic {i % 3}" for i in numbers]
    assert "group" not in result.evaluation_split
    assert len(result.evaluation_split)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["a", None] * 20, r"train.csv, row 2, column 'group': the group is null"),
        (["a", ["b"]] * 20, r"row 2, column 'group'.*list"),
        ([f"id {i}" for i in range(1001)], r"1,001 different groups.*at most 1,000"),
    ],
)
def test_what_is_no_group_is_refused(groups, message) -> None:
    with pytest.raises(InputError, match=message):
        ingest(with_groups(groups), SETTINGS)


def test_groups_are_read_from_the_column_that_is_named(tmp_path: Path) -> None:
    rows = [{"text": f"text {i}", "label": i % 2, "source": i % 3} for i in range(40)]
    columns = {"text": "text", "label": "label", "group": "source"}
    result = corpora.run(corpora.jsonl(tmp_path, rows), columns=columns)
    numbers = result.corpus["text"].str.removeprefix("text ").astype(int)
    assert result.corpus["group"].tolist() == [str(i % 3) for i in numbers]
