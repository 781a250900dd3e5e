"""The dataset card: made-up reports; PyYAML, huggingface_hub and a Markdown reader are real."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

from take.audit.release.card import dataset_card
from take.corpus.spec import About
from take.selection.describe.distillation_report import (
    Coverage,
    Covering,
    DistillationReport,
    RunFacts,
)
from tests.audit.release.released import (
    MADE,
    TERMS,
    TUNING,
    balance,
    check,
    corpus_report,
    evaluated,
    facts,
    filled,
    privacy,
    rows,
    section,
)

HOSTILE = [
    "yes: no",
    "#1",
    "|a|",
    "'",
    '"',
    "- [x] {a}",
    "no",
    "<b>&amp;</b>",
    "`c`",
    "\\|",
    "1",
    "---",
    "*e*_f_",
]


def header(card: str) -> dict[str, Any]:
    assert card.startswith("---\n")
    found = yaml.safe_load(card.split("\n---\n", maxsplit=1)[0].removeprefix("---\n"))
    assert isinstance(found, dict)
    return found


def cells(line: str) -> list[str]:
    """A table's row as GitHub splits it: at bars that no backslash stands before."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def unescaped(cell: str) -> str:
    """What is shown of a cell: first the table, then the text takes its backslashes away."""
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", cell.replace("\\|", "|"))


def test_the_header_has_the_hubs_fields() -> None:
    found = header(dataset_card(facts()))
    assert found["language"] == ["en"]
    assert found["license"] == "cc-by-4.0"
    assert found["task_categories"] == ["text-classification"]
    assert found["size_categories"] == ["n<1K"]
    assert found["source_datasets"] == ["films"]
    assert "synthetic" in found["tags"]
    assert "films" in found["pretty_name"]
    [split] = found["dataset_info"]["splits"]
    assert (split["name"], split["num_examples"]) == ("train", 4)
    features = {feature["name"]: feature["dtype"] for feature in found["dataset_info"]["features"]}
    assert features["label"] == {"class_label": {"names": {"0": "bad", "1": "good"}}}
    assert (features["text"], features["weight"]) == ("string", "float64")
    files = [{"split": "train", "path": "data/train-*.parquet"}]
    assert found["configs"] == [{"config_name": "default", "data_files": files}]


def test_hugging_face_reads_the_card() -> None:
    hub = pytest.importorskip("huggingface_hub")
    card = hub.DatasetCard(dataset_card(facts(HOSTILE)))
    assert isinstance(card.data, hub.DatasetCardData)
    assert card.data.license == "cc-by-4.0"
    assert card.data.language == ["en"]
    assert card.data.size_categories == ["n<1K"]
    assert card.text.lstrip().startswith("# films")


def test_an_unknown_language_is_not_claimed() -> None:
    card = dataset_card(facts(corpus_report=corpus_report(about=About())))
    assert "language" not in header(card)
    assert header(card)["license"] == "unknown"
    assert "not stated" in section(card, "Licence and provenance")


@pytest.mark.parametrize(
    ("n_rows", "size"), [(999, "n<1K"), (1_000, "1K<n<10K"), (10_000, "10K<n<100K")]
)
def test_the_size_is_the_hubs(n_rows: int, size: str) -> None:
    distilled = rows(texts=[f"film {place}" for place in range(n_rows)])
    assert header(dataset_card(facts(distilled=distilled)))["size_categories"] == [size]


def test_the_share_of_the_corpus_is_stated() -> None:
    assert "2,000 training rows of **films** (0.20 %)" in dataset_card(facts())


def test_every_section_is_there_in_order() -> None:
    titles = re.findall(r"^## (.+)$", dataset_card(facts()), flags=re.MULTILINE)
    assert titles == [
        *("What it is for", "Structure", "How it was made", "Composition", "Quality", "Privacy"),
        *("Balance", "Licence and provenance", "Limits", "How to reproduce", "Citation"),
    ]


def test_hostile_class_names_are_shown_and_break_nothing() -> None:
    card = dataset_card(facts(HOSTILE))
    names = header(card)["dataset_info"]["features"][2]["dtype"]["class_label"]["names"]
    assert list(names.values()) == HOSTILE
    table = [line for line in section(card, "Composition").splitlines() if line.startswith("|")][2:]
    assert [unescaped(cells(line)[0]) for line in table] == HOSTILE
    assert [cells(line)[1:] for line in table] == [["2", "1,000"]] * 2 + [["0", "1,000"]] * 11
    body = card.split("\n---\n", 1)[1]
    assert not re.search(r"(?<!\\)<b", body)
    assert not re.search(r"^(---|#1)", body, flags=re.MULTILINE)


def test_hostile_sentences_stay_in_their_cell() -> None:
    nasty = "a | b\n\n# c <script>alert(1)</script> [x](javascript:1) ![y](z) \u202ed"
    text = privacy({**check("pii", "review"), "sentence": nasty})
    card = dataset_card(facts(privacy=text, balance=balance(nasty)))
    for title, column in (("Privacy", 2), ("Balance", 3)):
        line = next(line for line in section(card, title).splitlines() if "script" in line)
        shown = unescaped(cells(line)[column])
        assert shown == " ".join(nasty.split()).replace("\u202e", "\ufffd")
        assert "\\<script\\>" in line
        assert "\\[x\\](" in line


@pytest.mark.parametrize(
    "text",
    [
        "```\n</details>",
        "\u202egnp\u0000\u2028.exe",
        'q "x" \\ y',
        "x" * 10_240,
        "film 🎬",
        "---\na: b",
    ],
)
def test_the_example_row_is_json_whatever_its_text(text: str) -> None:
    card = dataset_card(facts(distilled=rows(texts=[text])))
    fence, example = re.findall(r"^(`{3,})json\n(.*?)\n\1$", card, flags=re.MULTILINE | re.DOTALL)[
        0
    ]
    assert fence not in example
    shown = json.loads(example)["text"]
    assert shown == text or (len(shown) == 601 and text.startswith(shown[:600]))
    assert not re.search("[\x00-\x09\x0b-\x1f\u2028\u202e]", card)
    assert header(card)["license"] == "cc-by-4.0"


def test_the_example_is_of_median_length() -> None:
    texts = ["x" * 500, "y", "middling text", "z" * 90, "w"]
    card = dataset_card(facts(distilled=rows(texts=texts)))
    assert '"text": "middling text"' in card
    assert "x" * 500 not in card


def test_pairs_have_both_texts() -> None:
    distilled = rows().rename(columns={"text": "text_a"})
    distilled.insert(2, "text_b", ["so it is"] * 4)
    card = dataset_card(facts(distilled=distilled, corpus_report=corpus_report(task="pair")))
    assert "| `text_b` | string | generated text |" in card
    assert '"text_b": "so it is"' in card
    assert "labelled pairs of texts" in card
    names = [feature["name"] for feature in header(card)["dataset_info"]["features"]]
    assert names == ["id", "text_a", "text_b", "label", "label_name", "weight"]


def test_it_says_how_the_rows_were_made() -> None:
    text = section(dataset_card(facts()), "How it was made")
    assert "scorer `trajectory`" in text
    assert "Small\\_LM (4-bit)" in text
    assert "It generated 8,000 rows, of which 5,000 passed" in text
    assert "selector `exam` chose 4 (budget `2/class`" in text
    assert "`selection.seed` 7" in text
    assert "`scoring.seed` 3" in text


def test_terms_of_the_language_model_come_first_and_with_its_name() -> None:
    tuning = TUNING.model_copy(update={"terms": TERMS})
    card = dataset_card(facts(fine_tuning_report=tuning))
    shown = "Small\\_LM is provided under terms found at example.org/terms."
    assert f"- Language model: **Small\\_LM (4-bit)**. {shown}\n" in card.split("\n## ")[0]
    licence = section(card, "Licence and provenance")
    assert f"| language model | Small\\_LM (4-bit). {shown} |" in licence
    without = dataset_card(facts())
    assert "- Language model:" not in without
    assert "| language model | Small\\_LM (4-bit) |" in section(without, "Licence and provenance")


@pytest.mark.parametrize(
    ("scope", "shown"), [("class", "of its class (φ, 0 to 2) | 1.300"), ("global", "1.100")]
)
def test_coverage_is_compared_with_a_random_choice_of_the_same_scope(
    scope: str, shown: str
) -> None:
    means = {"any_class": 1.1, "own_class": 1.3, "random": 1.4}
    parts = {name: filled(Covering, mean=mean) for name, mean in means.items()}
    report = filled(
        DistillationReport,
        run=filled(RunFacts, scope=scope),
        coverage=filled(Coverage, **parts),
    )
    text = section(dataset_card(facts(distillation_report=report)), "Quality")
    assert f"{shown} | 1.400 (random rows) |" in text
    assert ("of its class" in text) is (scope == "class")


def test_scores_are_shown_if_there_are_any_of_this_set() -> None:
    assert "was not measured" in section(dataset_card(facts()), "Quality")
    found = section(dataset_card(facts(accuracy_summary=evaluated())), "Quality")
    kind = "in the selector's feature spaces"
    assert f"| `lr` | {kind} | `distilled` | 80.5 % | 70.0 % | 76 % |" in found
    assert f"| `lr` | {kind} | `full` | 90.0 % | 80.0 % | – |" in found
    assert f"| `lr` | {kind} | `constant` | 50.0 % | 40.0 % | 0 % |" in found
    assert "The headline metric of this corpus is accuracy" in found
    assert "1 learner in the selector's feature spaces (80.5 % to 80.5 %" in found
    assert "no independent learner was run" in found
    assert "was not measured" not in found
    other = evaluated().assign(budget="5/class")
    assert "was not measured" in section(dataset_card(facts(accuracy_summary=other)), "Quality")


def test_the_headline_of_the_card_is_the_median_over_independent_learners() -> None:
    summary = evaluated(lr=0.1, textcnn=-0.1, e5=0.0, textrnn=-0.2)
    found = section(dataset_card(facts(accuracy_summary=summary)), "Quality")
    assert "**70.5 % accuracy, the median of 3 independent learners (60.5 % to 80.5 %; " in found
    assert "1 learner in the selector's feature spaces: 90.5 %" in found
    assert found.index("| `textrnn` | independent |") < found.index("| `lr` |")


def test_what_shifted_is_listed_and_the_rest_counted() -> None:
    text = section(dataset_card(facts()), "Balance")
    assert "1 of 3 figures have shifted compared with the corpus; 1 are inconclusive" in text
    assert "| shifted figure | distilled | shifted | Twice as many as in the corpus. |" in text
    assert "even figure" not in text


def test_licence_and_provenance_come_from_corpora_yml() -> None:
    card = dataset_card(facts(corpus_report=corpus_report(origin="films.csv")))
    text = section(card, "Licence and provenance")
    for part in (
        "`cc-by-4.0`. Named in the archive.",
        "Jo Doe, https://example.org/films",
        "films.csv",
    ):
        assert part in text
    assert "may carry its terms" in text
    assert "```\n@misc{films,\n  title = {Films},\n}\n```" in section(card, "Citation")


def test_folders_of_this_machine_are_left_out() -> None:
    made = MADE._replace(
        command="kedro run --params=raw_root=/srv/secret/raw,corpus=films",
        parameters={"n": {"model": "/srv/secret/lm", "other": "C:\\Users\\jo secret\\lm"}},
    )
    report = corpus_report(origin="/srv/secret/films.csv")
    card = dataset_card(facts(reproduction=made, corpus_report=report))
    assert "secret" not in card
    assert "raw_root=…/raw,corpus=films" in card
    assert "films.csv" in card


def test_it_says_how_to_reproduce_and_check() -> None:
    text = section(dataset_card(facts()), "How to reproduce")
    assert f"```bash\n{MADE.command}\n```" in text
    assert "0.1.0 (1a2b3c4)" in text
    assert MADE.shareable().parameters_digest in text
    assert f"| `raw_corpus` | `{'c' * 64}` |" in text
    assert "sha256sum -c SHA256SUMS" in text
