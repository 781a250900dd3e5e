from __future__ import annotations

import re
from functools import cache
from zlib import crc32

import numpy as np
import pytest
from sklearn.metrics import f1_score

from bench.page import results_page
from bench.paper_comparison import Provenance
from bench.published import read_published
from take.evaluation.cells import CellResult, cells_table
from take.evaluation.outcomes import EvaluatedOn, Outcomes

PUBLISHED = read_published()
PROVENANCE = Provenance(command="make benchmark", date="2026-01-02", machine="2 cores")
MEANS = {
    "full": 0.80,
    "constant": 0.50,
    "random": 0.55,
    "random_unstratified": 0.54,
    "kmeans": 0.60,
    "eda": 0.56,
    "take": 0.66,
    "take_without_kappa": 0.64,
    "take_kernel_last": 0.62,
    "take_exam": 0.70,
}
SINGLE = ("full", "constant")
TITLES = {"transformer": "MiniLM, fully fine-tuned", "textcnn": "TextCNN on token vectors"}
INDEPENDENT = ("textcnn", "textrnn", "e5", "char_lr")
ROWS = 1000


def predicted(accuracy, fingerprint, rows):
    """As many wrong rows as the accuracy says, all of class 0; another draw for each cell."""
    truth = np.arange(rows) % 2
    draw = np.random.default_rng(crc32(fingerprint.encode()))
    wrong = draw.permutation(np.flatnonzero(truth == 0))[: round((1 - accuracy) * rows)]
    return truth, np.where(np.isin(np.arange(rows), wrong), 1, truth)


def scores(accuracy, fingerprint="", rows=ROWS):
    truth, found = predicted(accuracy, fingerprint, rows)
    f1 = f1_score(truth, found, average=None)
    right = float((truth == found).mean())
    return {"accuracy": right, "macro_f1": f1.mean(), "accuracy_f1": (right + f1[1]) / 2}


def shown(mean, *, single=False):
    """Accuracy / macro F1 of a method with this mean."""
    each = [scores(mean + by)["macro_f1"] for by in ((0,) if single else (0.01, -0.01))]
    return f"{100 * mean:.1f} / {100 * np.mean(each):.1f}"


def macro(mean, *, single=False):
    return shown(mean, single=single).split(" / ")[1]


def cells(corpus, learner="lr", budget="20/class", means=MEANS, **options):
    """Four seeds move each method by a point, take in another pattern than the others."""
    wobble = {name: (1, 1, -1, -1) if name == "take" else (1, -1, 1, -1) for name in means}
    rows = options.get("evaluation_rows", ROWS)
    made = []
    for method, mean in means.items():
        for seed in range(1 if method in SINGLE else 4):
            fingerprint = f"{corpus}{budget}{method}{learner}{seed}"
            accuracy = mean + (0 if method in SINGLE else wobble[method][seed] / 100)
            values = {
                "corpus": corpus,
                "budget": budget,
                "method": method,
                "learner": learner,
                "set_seed": seed,
                "training_seed": 0,
                **scores(accuracy, fingerprint, rows),
                "set_digest": f"{corpus}{budget}{method}{seed}",
                "fingerprint": fingerprint,
                "rows": {"constant": 0, "full": 1000}.get(method, 40),
                "evaluation_rows": rows,
                "independent": learner in INDEPENDENT,
                "pool": seed % 2 if method.startswith("take") else None,
                "updates": 200,
                "learner_title": TITLES.get(learner, f"title of {learner}"),
                "code_version": "0.1.0 (1a2b3c4)",
            }
            made.append(CellResult(**{**values, **options}))
    return made


def outcomes(table):
    labels, predictions = {}, {}
    for cell in table[table["error"].isna()].to_dict("records"):
        fingerprint, rows = cell["fingerprint"], cell["evaluation_rows"]
        truth, found = predicted(cell["accuracy"], fingerprint, rows)
        labels[EvaluatedOn(cell["corpus"], rows)] = truth
        predictions[fingerprint] = found
    return Outcomes(labels, predictions).table()


def page(made, published=PUBLISHED, **known):
    table = cells_table(made)
    provenance = PROVENANCE.model_copy(update=known)
    return results_page(table, outcomes(table), published, provenance)


@cache
def usual():
    """The page of one corpus and one learner."""
    return page(cells("sst2"))


def figures(text):
    """Without errors, which are those of a bootstrap."""
    return re.sub(r" ± [0-9.]+", "", text)


def section(text, title):
    """What stands under a heading, up to the next."""
    start = text.index(f"{title}\n")
    rest = text[start + len(title) :]
    ends = [rest.find(mark) for mark in ("\n## ", "\n### ") if mark in rest]
    return rest[: min(ends)] if ends else rest


def table_2(text):
    return section(text, "### Table 2. Classification accuracy (%) on AG News, IMDb, and SST-2")


def line(text, *names):
    """The cells of the one line of a table that has these names."""
    lines = [one for one in text.splitlines() if one.startswith("|")]
    (found,) = [one for one in lines if all(name in one for name in names)]
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
    text = table_2(usual())
    assert re.search(rf"65.05 → \*\*66.00 ± \d\.\d\d\*\* / {macro(0.66)}", text)
    rows = rows_of(figures(text), "SST-2")
    assert rows["**TAKE**"][3] == f"65.05 → **66.00** / {macro(0.66)}"
    assert rows["Full dataset"][2:4] == ["100%", f"80.23 → **80.00** / {macro(0.8, single=True)}"]
    assert rows["Random"][2:4] == ["20/class → 40 rows", f"55.28 → **55.00** / {macro(0.55)}"]
    # Nothing of ours, nothing of theirs, neither.
    assert rows["**TAKE**"][4] == "70.65 → –"
    assert rows["DiLM"][3:] == ["–", "–", "–", "80.30† → –"]


def test_bert_is_compared_with_the_transformer_and_marked():
    found = table_2(page(cells("sst2", "transformer")))
    assert rows_of(figures(found), "SST-2")["**TAKE**"][6] == f"81.15 → **66.00** / {macro(0.66)}"
    assert "| BERTᵃ |" in found
    assert "ᵃ Ours: MiniLM, fully fine-tuned. The paper's has other weights." in found


def test_fewer_evaluation_rows_are_marked():
    made = cells("sst2") + cells("sst2", "transformer", evaluation_rows=100)
    rows = rows_of(figures(table_2(page(made))), "SST-2")
    assert rows["**TAKE**"][3] == f"65.05 → **66.00** / {macro(0.66)}"
    assert rows["**TAKE**"][6] == f"81.15 → **66.00** / {macro(0.66)}ᵇ"
    assert "ᵇ Evaluated on 100 of 1,000 evaluation rows of `sst2`." in page(made)
    known = page(cells("sst2"), evaluation_rows={"sst2": 1200})
    assert "ᵃ Evaluated on 1,000 of 1,200 evaluation rows of `sst2`." in known


def test_smaller_corpora_other_budgets_and_true_shares_are_marked():
    text = page(cells("ag_news", budget="30/class"), training_rows={"ag_news": 34_266})
    assert "| AG Newsᵃᵇᶜ | Full dataset |" in table_2(text)
    assert "ᵃ Ours, `ag_news`: 34,266 of its 120,000 training rows." in text
    assert "ᵇ Ours, `ag_news`, at 30/class; the paper's budget is 0.1%." in text
    assert "ᶜ Ours, `ag_news`: 40 rows are 0.12 % of 34,266." in text
    assert "30/class: 40 rows, 0.12 % of 34,266" in section(text, "## In short")
    same = page(cells("ag_news", budget="0.1%"), training_rows={"ag_news": 120_000})
    assert "of its 120,000" not in same
    assert "the paper's budget" not in same


def test_no_corpus_stands_in_for_another():
    text = page(cells("mrpc", "siamese_lr"))
    found = section(text, "### Table 3. NLI accuracy (%) on MNLI-m and QQP")
    assert rows_of(found, "QQP")["**TAKE**"][3] == "60.04 → –"
    assert "MRPC" not in text
    assert "`mrpc`" in text


def test_dilm_s_metric_is_only_next_to_its_own_figures():
    made = cells("qqp", "transformer", means=MEANS | {"dilm": 0.6}, metric="macro_f1")
    text = page(made)
    found = section(text, "### Table 3. NLI accuracy (%) on MNLI-m and QQP")
    assert rows_of(figures(found), "QQP")["DiLM"][4].startswith("64.40†ᵇ → **65.7")
    assert "ᵇ (accuracy + F1) / 2, on both sides" in found
    assert text.count("(accuracy + F1)") == 1


def test_kernels_have_the_paper_s_names():
    text = figures(page(cells("ag_news", budget="0.1%")))
    found = section(
        text, "### Table 5. Distillation accuracy (%) with alternative temporal kernels"
    )
    assert line(found, "Last checkpoint")[1] == f"75.24 → **62.00** / {macro(0.62)}"
    assert line(found, "TAKE without κ")[1] == f"75.82 → **64.00** / {macro(0.64)}"
    assert line(found, "Linear")[1] == "76.20 → –"
    assert line(found, "Exponential")[1] == f"77.07 → **66.00** / {macro(0.66)}"


def short(text):
    """The whole first section."""
    return text[text.index("## In short") : text.index("## How to regenerate")]


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


def test_published_figures_need_not_be_all():
    fewer = PUBLISHED.model_copy(update={"figures": PUBLISHED.figures[:1]})
    text = page(cells("sst2"), fewer)
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
    assert "`sst2` at 20/class, `transformer`: `constant`, `random_unstratified`, `eda`" in listed
    assert "`take` (3 of 4 sets)" in listed
    assert "`lr`" not in listed
    assert "What was not run" not in usual()


def test_a_method_with_one_seed_is_not_the_best_competitor():
    lucky = [c for c in cells("sst2", means={"herding": 0.9}) if c.set_seed == 0]
    row = line(figures(short(page([*cells("sst2"), *lucky]))), "`sst2`", "`lr`", "accuracy")
    assert f"{shown(0.6)} `kmeans`" in row
