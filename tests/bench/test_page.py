"""The page of results, but for the paper's tables."""

from __future__ import annotations

import pytest

from tests.bench.made_page import MEANS, cells, figures, line, page, section, short, shown, usual


def test_the_page_begins_with_what_is_not_shown():
    means = MEANS | {"eda": 0.80, "kmeans": 0.655}
    text = page(cells("sst2", "textcnn", means=means))
    first = short(text).split("\n\n")[1]
    place = "on `sst2` at 20/class with `textcnn` than"
    assert f"is shown to be worse, even without a correction: {place} `eda`." in first
    assert f"Where it is not shown to be better: {place} `kmeans`." in first
    assert first.endswith("In 3 of 5 comparisons with a rival it is shown to be better (Holm).")
    better = page(cells("sst2", means={"random": 0.55, "take": 0.9}))
    assert (
        "even without a correction: nowhere. Where it is not shown to be better: nowhere." in better
    )
    assert "No difference of `take` to a rival was measured." in page(
        cells("sst2", means={"take": 0.9})
    )


def test_independent_learners_come_first_and_are_counted_apart():
    made = cells("sst2") + cells("sst2", "textcnn", means={**MEANS, "take": 0.70})
    found = short(page(made))
    assert found.index("### Independent learners") < found.index("### Learners in the selector")
    medians = [one for one in figures(found).splitlines() if one.startswith(("| indep", "| learn"))]
    assert [one.split(" | ")[5] for one in medians] == ["**70.0**", "**66.0**"]
    assert [one.split(" | ")[4] for one in medians] == ["1", "1"]
    assert "Holm" in found
    every = section(page(made), "### `sst2` at 20/class")
    assert "| method | seeds | `textcnn` | `lr` |" in every


def test_scores_are_accuracy_and_macro_f1_with_the_share_kept_above_chance():
    row = line(figures(short(usual())), "`sst2`", "`lr`")
    assert row[3:6] == ["accuracy", f"**{shown(0.66)}**", shown(0.55)]
    assert row[6:8] == [shown(0.5, single=True), f"{shown(0.6)} `kmeans`"]
    assert row[8:10] == [shown(0.8, single=True), "53.3"]  # (66 − 50) / (80 − 50)
    assert row[10].startswith("+11.0 [")
    assert row[10].endswith("better")


def test_the_headline_metric_is_named_and_decides():
    made = cells("mrpc", "siamese_lr", metric="macro_f1")
    row = line(figures(short(page(made))), "`mrpc`", "`siamese_lr`")
    assert row[3] == "macro F1"
    found = section(page(made), "### `mrpc` at 20/class")
    assert "Accuracy / macro F1 in %; macro F1 counts." in found
    for name in ("`constant`", "`random_unstratified`"):
        assert name in found


def test_verdicts_only_if_a_difference_is_shown():
    means = {"random": 0.655, "kmeans": 0.55, "eda": 0.8, "take": 0.66}
    found = section(page(cells("sst2", means=means)), "### `sst2` at 20/class")
    less = found[found.index("`take` minus each method") :]
    less = less[: less.index("</details>")]
    assert line(less, "`random`")[1].endswith("]")
    assert line(less, "`kmeans`")[1].endswith("better")
    assert line(less, "`eda`")[1].endswith("worse**")  # in bold: the best rival


def test_a_part_is_worth_what_is_lost_without_it():
    made = cells("sst2") + cells("sst2", "lr_phi", means={"take": 0.7, "take_without_kappa": 0.7})
    text = page(made)
    found = text[text.index("## What the parts are worth") : text.index("## Cost")]
    row = line(found, "| `take_without_kappa` |")
    assert row[0] == "κ: every row weighs the same"
    assert [cell.split()[0] for cell in row[2:]] == ["+1.0", "+0.0", "+2.0"]
    assert line(found, "| `take_exam` |")[4].startswith("-4.0 [")


def test_ceilings_say_how_far_training_went():
    full = {"means": {"full": 0.8}, "rows": 700}
    made = cells("sst2", "textcnn", curve=(0.7, 0.4, 0.5), **full)
    made += cells("sst2", "e5", curve=(0.7, 0.4), updates=900, **full)
    made += cells("sst2", "lr", curve=(0.7, 0.4, 0.5), updates=None, **full)
    found = section(page(made, training_rows={"sst2": 1400}), "## Full data")
    assert line(found, "`textcnn` |")[2:5] == [
        "700, 50 % of 1,400",
        "200",
        "0.700 → 0.400 (2nd of 3)",
    ]
    assert line(found, "`e5` |")[4] == "0.700 → 0.400 (last of 2, still falling)"
    assert line(found, "`lr` |")[3:5] == ["to the optimum", "0.400, lowest of 3 penalties"]
    assert "- `sst2`, `e5`: 0.700, 0.400" in found
    assert "## Full data" not in page(cells("sst2", means={"take": 0.6}))


def test_failed_cells_are_listed_with_their_errors():
    failed = {"accuracy": None, "macro_f1": None, "accuracy_f1": None, "error": "no | memory"}
    made = cells("sst2") + cells("sst2", "textcnn", means={"take": 0.5}, **failed)
    row = line(section(page(made), "## Failed cells"), "textcnn")
    assert row == ["sst2", "20/class", "take", "textcnn", "0/0, 1/0, 2/0, 3/0", "no \\| memory"]
    assert "None." in section(usual(), "## Failed cells")


def test_the_page_says_what_was_run_and_how():
    text = page(cells("sst2") + cells("sst2", "transformer"), training_rows={"sst2": 1400})
    assert "make benchmark" in section(text, "## How to regenerate")
    assert "Made on 2026-01-02 by take 0.1.0 (1a2b3c4) on 2 cores." in text
    found = section(text, "## What was run")
    row = line(found, "| `sst2` |")
    assert row[1:7] == [
        "1,400",
        "1,000",
        "accuracy",
        "20/class: 40 rows, 2.9 % of 1,400",
        "4 × 1",
        "2",
    ]
    assert line(found, "| `transformer` |")[2:4] == ["MiniLM, fully fine-tuned", "200"]


def test_unknown_names_are_shown_as_they_are():
    text = page(cells("mine", "my_learner", budget="all", means={"my_method": 0.55, "take": 0.6}))
    row = line(figures(short(text)), "`mine`", "`my_learner`", "accuracy")
    assert row[4:8] == [f"**{shown(0.6)}**", "–", "–", f"{shown(0.55)} `my_method`"]
    assert "### `mine` at all" in text


@pytest.mark.parametrize("made", [[], cells("sst2", means={"random": 0.5})])
def test_pages_of_few_cells(made):
    text = page(made)
    assert "80.23 → –" in text
    assert "What the parts are worth" not in text
    assert "nan" not in text.lower().replace("finance", "")


def test_tables_are_rectangular():
    made = cells("sst2") + cells("sst2", "transformer") + cells("mrpc", "siamese_lr")
    width = None
    for one in page(made).splitlines():
        if not one.startswith("|"):
            width = None
            continue
        columns = one.replace("\\|", "").count("|")
        assert width in (None, columns), one
        width = columns


def test_what_was_not_run_is_listed():
    few = {name: MEANS[name] for name in ("full", "random", "take")}
    made = [*cells("sst2"), *cells("sst2", "transformer", means=few)]
    made = [
        cell
        for cell in made
        if not (cell.learner == "transformer" and cell.method == "take" and cell.set_seed == 3)
    ]
    listed = section(page(made), "## What was not run")
    assert "`sst2` at 20/class, `transformer`: `constant`, `random_unstratified`, `eda`" in listed
    assert "`take` (3 of 4 sets)" in listed
    assert "`lr`" not in listed
    assert "What was not run" not in usual()


def test_a_method_with_one_seed_is_not_the_best_competitor():
    lucky = [c for c in cells("sst2", means={"herding": 0.9}) if c.set_seed == 0]
    row = line(figures(short(page([*cells("sst2"), *lucky]))), "`sst2`", "`lr`", "accuracy")
    assert f"{shown(0.6)} `kmeans`" in row
