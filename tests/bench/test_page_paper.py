"""The paper's tables on the page of results."""

from __future__ import annotations

import re

from tests.bench.made_page import (
    MEANS,
    PUBLISHED,
    cells,
    figures,
    line,
    macro,
    page,
    rows_of,
    section,
    table_2,
    usual,
)


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


def test_published_figures_need_not_be_all():
    fewer = PUBLISHED.model_copy(update={"figures": PUBLISHED.figures[:1]})
    text = page(cells("sst2"), fewer)
    assert "90.21 → –" in text
    assert "SST-2 |" not in table_2(text)
