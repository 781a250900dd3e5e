"""What the card says of privacy; made-up reports."""

from __future__ import annotations

import dataclasses

from take.audit.release.card import dataset_card
from take.audit.release.render import render_page
from take.generation.finetuning.fine_tuning_report import PrivacyReport as SpentBudget
from take.selection.selection_report import SelectionReport
from tests.audit.release.released import check, facts, filled, privacy, section
from tests.audit.release.sample import evidence


def test_privacy_is_called_screened_and_nothing_more() -> None:
    text = section(dataset_card(facts()), "Privacy")
    assert "Verdict: **review**" in text
    assert "screened" in text
    assert "not certified private" in text
    assert "| `pii` | review | 3 rows concern pii. |" in text
    assert "no ε is claimed" in text
    assert "overridden" not in text


def test_an_override_is_stated_with_who_and_why() -> None:
    found = privacy(check("verbatim", "block", "J. Doe: a *public* phrase"))
    text = section(dataset_card(facts(privacy=found)), "Privacy")
    assert "- `verbatim`: J. Doe: a \\*public\\* phrase" in text


def test_epsilon_is_stated_with_what_it_covers() -> None:
    spent = filled(SpentBudget, epsilon=7.96, delta=1e-5, repeatable=False)
    card = dataset_card(facts(privacy=privacy(spent=spent)))
    text = section(card, "Privacy")
    assert "ε = 7.96 at δ = 1e-05 covers the language model's fine-tuning" in text
    assert "It does not cover" in text
    assert "generator trained with ε = 7.96" in card.split("## ")[0]


def test_an_epsilon_with_repeatable_noise_is_not_in_the_summary() -> None:
    spent = filled(SpentBudget, epsilon=7.96, delta=1e-5, repeatable=True)
    card = dataset_card(facts(privacy=privacy(spent=spent)))
    assert "does not protect against anyone who knows it" in section(card, "Privacy")
    assert "ε" not in card.split("## ")[0]


def test_excluded_candidates_are_counted_by_reason() -> None:
    reasons = {"near_copy_of_train": 12, "personal_data": 1}
    chosen = filled(SelectionReport, selector="exam", pool_rows=5000, excluded=reasons)
    text = section(dataset_card(facts(selection_report=chosen)), "How it was made")
    assert "would object to them: 13 (near copy of train 12, personal data 1)." in text
    assert "Seeds: " in text  # the list ends before it
    none = filled(SelectionReport, selector="exam", pool_rows=5000)
    made = section(dataset_card(facts(selection_report=none)), "How it was made")
    assert "Excluded" not in made
    page = render_page(dataclasses.replace(evidence(), selection_report=chosen), release=True)
    assert "<dt>Excluded candidates</dt><dd>13 (near copy of train 12" in page
