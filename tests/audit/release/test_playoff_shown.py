"""What card and report say of a playoff, and that they say nothing where there was none."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from take.audit.release.card import dataset_card
from take.audit.release.recipes import training_code
from take.audit.release.render import render_page
from take.selection.exam.playoff import Playoff
from take.selection.selection_report import SelectionReport
from take.selection.selection_settings import RecipeName
from tests.audit.release.playoffs import decided
from tests.audit.release.released import corpus_report, facts, filled, rows, section
from tests.audit.release.sample import Page, evidence

TITLE = "How to train on these rows"


def card(playoff: Playoff | None, **given: object) -> str:
    report = filled(SelectionReport, selector="exam", rows=4, playoff=playoff)
    return dataset_card(facts(selection_report=report, **given))


def page(playoff: Playoff | None) -> Page:
    report = filled(SelectionReport, selector="exam", playoff=playoff)
    return Page(render_page(evidence(selection_report=report), release=True))


def test_the_card_recommends_what_did_best_on_validation_rows() -> None:
    text = section(card(decided("transformer_contrastive")), TITLE)
    assert "3 recipes for training all-MiniLM-L6-v2" in text
    assert "so recommended: `transformer_contrastive` (fine-tuned on pairs of rows" in text
    assert "**88.0 %** correct on validation rows, **79.0 %** on fresh rows" in text
    assert "| validation rows (1,234) | fresh rows (432) |" in text
    assert "| `transformer` | fully fine-tuned | 61.0 % | 79.0 % |" in text
    assert text.count("```python") == 1
    assert "same weight" not in text


def test_rows_are_not_counted_where_the_playoff_did_not() -> None:
    old = decided().model_copy(update={"validation_rows": None, "fresh_rows": None})
    assert "| validation rows | fresh rows |" in section(card(old), TITLE)
    assert "Both kinds are training rows. The better half" in page(old).all_words()


def test_one_recipe_is_not_called_the_best() -> None:
    text = section(card(decided(recipes=("transformer",))), TITLE)
    assert "1 recipe for training" in text
    assert "was tried on these rows, once each. `transformer` (fully" in text
    assert "Best on" not in text


@pytest.mark.parametrize("playoff", [None, decided(recipes=())], ids=["no playoff", "no recipe"])
def test_without_recipes_the_card_recommends_nothing(playoff: Playoff | None) -> None:
    assert TITLE not in card(playoff)
    assert card(playoff) == card(None)


def test_a_card_says_that_the_recipe_leaves_weights_out() -> None:
    uneven = rows().assign(weight=[0.5, 1.5, 1.0, 1.0])
    assert "It gives every row the same weight, as it was tried." in card(
        decided(), distilled=uneven
    )


def test_code_for_pairs_reads_both_texts() -> None:
    distilled = rows().rename(columns={"text": "text_a"})
    distilled.insert(2, "text_b", ["so it is"] * 4)
    pairs = card(decided(), distilled=distilled, corpus_report=corpus_report(task="pair"))
    code = section(pairs, TITLE).split("```python\n")[1]
    assert 'states(batch["text_a"], batch["text_b"])' in code


@pytest.mark.parametrize("columns", [["text"], ["text_a", "text_b"]])
@pytest.mark.parametrize("recipe", get_args(RecipeName))
def test_every_recipe_has_code_that_does_not_need_take(recipe: str, columns: list[str]) -> None:
    code = training_code(recipe, columns)
    compile(code, recipe, "exec")
    libraries = set(re.findall(r"^(?:from|import) (\w+)", code, flags=re.MULTILINE))
    assert libraries <= {"torch", "datasets", "sklearn", "transformers"}
    assert max(map(len, code.splitlines())) <= 100
    assert len(code.splitlines()) <= 65


def test_the_report_shows_every_set_and_what_the_choice_gained() -> None:
    shown = page(decided()).all_words().replace("\N{NO-BREAK SPACE}", " ")
    # (0.80 + 0.75 + 0.82 + 0.77) / 4 on fresh rows, and the mean of the three first trainings
    assert "3 sets of rows, compared by training on each: the chosen one has +3.3 points" in shown
    assert "transformer_lpft, validation rows transformer_lpft, fresh rows textcnn" in shown
    assert "1 86.0 % 81.0 % 81.0 % 76.0 % chosen 2 " in shown
    assert shown.count(" chosen 2 ") == 1
    assert "has 83.5 % on validation rows" in shown
    assert "it has 78.5 %, all sets 75.2 % on average" in shown
    assert "transformer_lpft did best on validation rows: 88.0 %, and 79.0 % on fresh" in shown


def test_the_report_says_nothing_where_there_was_no_playoff() -> None:
    assert "compared by training" not in page(None).all_words()


def test_recipes_without_a_playoff_are_shown_and_no_table_of_sets() -> None:
    one = decided().model_copy(update={"trials": ()})
    words = page(one).all_words()
    assert "transformer_lpft did best on validation rows: 88.0 %" in words
    assert "sets of rows, compared" not in words
    assert "did best on validation rows" not in page(decided(recipes=())).all_words()
    assert "`transformer_lpft`" in section(card(one), TITLE)
