from __future__ import annotations

import pytest

from bench.page import Provenance, results_page
from bench.paper_comparison import Departures
from bench.published import read_published
from take.evaluation.cells import CellResult, cells_table

PUBLISHED = read_published()
PROVENANCE = Provenance(["kedro run --pipeline=benchmark"], "2026-01-02", machine="2 cores")
MEANS = {
    "full": 0.80,
    "random": 0.55,
    "kmeans": 0.60,
    "eda": 0.56,
    "take": 0.66,
    "take_without_kappa": 0.64,
    "take_kernel_last": 0.62,
    "take_exam": 0.70,
}
TITLES = {"transformer": "MiniLM, fully fine-tuned", "textcnn": "TextCNN on token vectors"}


def cells(corpus, learner="lr", budget="20/class", means=MEANS, **options):
    """Four seeds move each method by a point, take in another pattern than the others."""
    wobble = {name: (1, 1, -1, -1) if name == "take" else (1, -1, 1, -1) for name in means}
    return [
        CellResult(
            **{
                "corpus": corpus,
                "budget": budget,
                "method": method,
                "learner": learner,
                "set_seed": seed,
                "training_seed": 0,
                "accuracy": mean + (0 if method == "full" else wobble[method][seed] / 100),
                "macro_f1": mean,
                "accuracy_f1": mean + 0.1,
                "set_digest": f"{corpus}{budget}{method}{seed}",
                "rows": 1000 if method == "full" else 40,
                "evaluation_rows": 872,
                "learner_title": TITLES.get(learner, f"title of {learner}"),
                "code_version": "0.1.0+abc",
                **options,
            }
        )
        for method, mean in means.items()
        for seed in range(1 if method == "full" else 4)
    ]


def page(made, headline=None, **departures):
    table = cells_table(made)
    return results_page(table, PUBLISHED, headline or {}, PROVENANCE, Departures(**departures))


def section(text, title):
    """What stands under a heading, up to the next."""
    start = text.index(f"{title}\n")
    rest = text[start + len(title) :]
    ends = [rest.find(mark) for mark in ("\n## ", "\n### ") if mark in rest]
    return rest[: min(ends)] if ends else rest


def table_2(text):
    return section(text, "### Table 2. Classification accuracy (%) on AG News, IMDb, and SST-2")


def line(text, *names):
    (found,) = [one for one in text.splitlines() if all(name in one for name in names)]
    return [part.strip() for part in found.strip("|").split(" | ")]


def rows_of(text, corpus):
    """The rows of a corpus in a stacked table: its name stands in the first of them."""
    rows = [
        [part.strip() for part in one[1:-1].split("|")] for one in text.splitlines() if "|" in one
    ]
    start = next(n for n, row in enumerate(rows) if row[0].startswith(corpus))
    end = next((n for n in range(start + 1, len(rows)) if rows[n][0]), len(rows))
    return {row[1]: row for row in rows[start:end]}


def test_published_figures_are_next_to_ours():
    rows = rows_of(table_2(page(cells("sst2"))), "SST-2")
    # ± 1 point at 4 seeds: a standard error of √(4/3)/2.
    assert rows["**TAKE**"][3] == "65.05 → **66.00 ± 0.58**"
    assert rows["Full dataset"][2:4] == ["100%", "80.23 → **80.00**"]
    assert rows["Random"][2:4] == ["20/class → 40 rows", "55.28 → **55.00 ± 0.58**"]
    # Nothing of ours, nothing of theirs, neither.
    assert rows["**TAKE**"][4] == "70.65 → –"
    assert rows["DiLM"][3:] == ["–", "–", "–", "80.30† → –"]


def test_bert_is_compared_with_the_transformer_and_marked():
    found = table_2(page(cells("sst2", "transformer")))
    assert rows_of(found, "SST-2")["**TAKE**"][6] == "81.15 → **66.00 ± 0.58**"
    assert "| BERTᵃ |" in found
    assert "ᵃ Ours: MiniLM, fully fine-tuned. The paper's has other weights." in found


def test_fewer_evaluation_rows_are_marked():
    made = cells("sst2") + cells("sst2", "transformer", evaluation_rows=100)
    rows = rows_of(table_2(page(made)), "SST-2")
    assert rows["**TAKE**"][3] == "65.05 → **66.00 ± 0.58**"
    assert rows["**TAKE**"][6] == "81.15 → **66.00 ± 0.58**ᵇ"
    assert "ᵇ Evaluated on 100 of 872 evaluation rows of `sst2`." in page(made)
    known = page(cells("sst2"), evaluation_rows={"sst2": 1000})
    assert "ᵃ Evaluated on 872 of 1,000 evaluation rows of `sst2`." in known


def test_notes_and_other_budgets_are_marked():
    made = cells("ag_news", budget="30/class")
    text = page(made, notes={"ag_news": "34,266 of its 120,000 training rows"})
    assert "| AG Newsᵃᵇ | Full dataset |" in table_2(text)
    assert "ᵃ Ours, `ag_news`: 34,266 of its 120,000 training rows." in text
    assert "ᵇ Ours, `ag_news`, at 30/class; the paper's budget is 0.1%." in text
    share = page(cells("ag_news", budget="0.1%"), notes={"ag_news": "a third of it"})
    assert "ᵃ Ours, `ag_news`: a third of it; 0.1% of that is 40 rows." in share
    assert "the paper's budget" not in share


def test_the_budget_compared_with_the_paper_s_can_be_named():
    made = cells("ag_news", budget="0.1%") + cells(
        "ag_news", budget="30/class", means={"take": 0.75, "random": 0.6}
    )
    take = "77.07 → **{}.00 ± 0.58**"
    assert take.format(66) in table_2(page(made))
    assert take.format(75) in table_2(page(made, budgets={"ag_news": "30/class"}))


def test_mrpc_replaces_qqp_with_a_note():
    text = page(cells("mrpc", "siamese_lr"), {"mrpc": "accuracy_f1"})
    found = section(text, "### Table 3. NLI accuracy (%) on MNLI-m and QQP")
    # In accuracy, as printed, though another metric is our headline.
    rows = rows_of(found, "QQP → MRPCᵃ")
    assert rows["**TAKE**"][3] == "60.04 → **66.00 ± 0.58**"
    assert "ᵃ Ours is MRPC, which stands in for QQP" in found
    assert "stands in" not in page(cells("qqp", "siamese_lr"))


def test_figures_in_another_metric_are_compared_in_it():
    made = cells("qqp", "transformer", means=MEANS | {"dilm": 0.5})
    found = section(page(made), "### Table 3. NLI accuracy (%) on MNLI-m and QQP")
    assert rows_of(found, "QQP")["DiLM"][4].startswith("64.40†ᵇ → **60.00")
    assert "ᵇ (accuracy + F1) / 2, on both sides" in found


def test_kernels_have_the_paper_s_names():
    text = page(cells("ag_news", budget="0.1%"))
    found = section(
        text, "### Table 5. Distillation accuracy (%) with alternative temporal kernels"
    )
    assert line(found, "Last checkpoint")[1] == "75.24 → **62.00 ± 0.58**"
    assert line(found, "TAKE without κ")[1] == "75.82 → **64.00 ± 0.58**"
    assert line(found, "Linear")[1] == "76.20 → –"
    assert line(found, "Exponential")[1] == "77.07 → **66.00 ± 0.58**"


def test_the_page_begins_with_take_and_its_competitors():
    found = section(page(cells("sst2")), "## In short")
    row = line(found, "`sst2`", "`lr`")
    assert row[3:6] == ["**66.0 ± 0.6**", "55.0 ± 0.6", "60.0 ± 0.6 `kmeans`"]
    assert row[6:8] == ["80.0", "82.5"]
    assert row[8].startswith("+11.0 [")
    assert row[8].endswith("better")
    assert "Against random rows, `take` is shown to be better in 1 of 1 cases" in found


def test_verdicts_only_if_a_difference_is_shown():
    means = {"random": 0.655, "kmeans": 0.5, "eda": 0.8, "take": 0.66}
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
    assert [cell.split()[0] for cell in row[2:]] == ["+1.0", "+2.0", "+0.0"]
    assert line(found, "| `take_exam` |")[3].startswith("-4.0 [")


def test_failed_cells_are_listed_with_their_errors():
    failed = {"accuracy": None, "macro_f1": None, "accuracy_f1": None, "error": "no | memory"}
    made = cells("sst2") + cells("sst2", "textcnn", means={"take": 0.5}, **failed)
    row = line(section(page(made), "## Failed cells"), "textcnn")
    assert row == ["sst2", "20/class", "take", "textcnn", "0/0, 1/0, 2/0, 3/0", "no \\| memory"]
    assert "None." in section(page(cells("sst2")), "## Failed cells")


def test_the_page_says_what_was_run_and_how():
    text = page(cells("sst2") + cells("sst2", "transformer", updates=200))
    assert "kedro run --pipeline=benchmark" in section(text, "## How to regenerate")
    assert "2026-01-02; scores computed by take 0.1.0+abc; 2 cores" in text
    found = section(text, "## What was run")
    assert line(found, "| `sst2` |")[1:6] == ["1,000", "872", "accuracy", "20/class", "4 sets × 1"]
    assert line(found, "| `transformer` |")[1:3] == ["MiniLM, fully fine-tuned", "200"]


def test_unknown_names_are_shown_as_they_are():
    text = page(cells("mine", "my_learner", budget="all", means={"my_method": 0.5, "take": 0.6}))
    row = line(section(text, "## In short"), "`mine`")
    assert row[2:6] == ["`my_learner`", "**60.0 ± 0.6**", "–", "50.0 ± 0.6 `my_method`"]
    assert "### `mine` at all" in text


@pytest.mark.parametrize("made", [[], cells("sst2", means={"random": 0.5})])
def test_pages_of_few_cells(made):
    text = page(made)
    assert "80.23 → –" in text
    assert "What the parts are worth" not in text
    assert "nan" not in text.lower().replace("finance", "")


def test_published_figures_need_not_be_all():
    fewer = PUBLISHED.model_copy(update={"figures": PUBLISHED.figures[:1]})
    text = results_page(cells_table(cells("sst2")), fewer, {}, PROVENANCE)
    assert "90.21 → –" in text
    assert "SST-2 |" not in table_2(text)


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
    assert "`sst2` at 20/class, `transformer`: `eda`, `kmeans`" in listed
    assert "`take` (3 of 4 sets)" in listed
    assert "`lr`" not in listed
    assert "What was not run" not in page(cells("sst2"))


def test_notes_on_a_learner_are_shown():
    shown = page(cells("sst2", "transformer"), learners={"transformer": "batches of 8"})
    assert "MiniLM, fully fine-tuned (batches of 8)" in shown


def test_a_method_with_one_seed_is_not_the_best_competitor():
    lucky = [c for c in cells("sst2", means={"herding": 0.9}) if c.set_seed == 0]
    shown = line(section(page([*cells("sst2"), *lucky]), "## In short"), "`sst2`")
    assert "60.0 ± 0.6 `kmeans`" in shown
