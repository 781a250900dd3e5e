"""What the card says of privacy; made-up reports."""

from __future__ import annotations

from take.audit.release.card import dataset_card
from take.generation.finetuning.fine_tuning_report import PrivacyReport as SpentBudget
from tests.audit.release.released import check, facts, filled, privacy, section


def test_privacy_is_screened_and_never_more() -> None:
    told = section(dataset_card(facts()), "Privacy")
    assert "Verdict: **review**" in told
    assert "screened" in told
    assert "not certified private" in told
    assert "| `pii` | review | 3 rows concern pii. |" in told
    assert "no ε is claimed" in told
    assert "overridden" not in told


def test_an_override_is_told_with_who_and_why() -> None:
    found = privacy(check("verbatim", "block", "J. Doe: a *public* phrase"))
    told = section(dataset_card(facts(privacy=found)), "Privacy")
    assert "- `verbatim`: J. Doe: a \\*public\\* phrase" in told


def test_epsilon_is_told_with_what_it_covers() -> None:
    spent = filled(SpentBudget, epsilon=7.96, delta=1e-5, repeatable=False)
    card = dataset_card(facts(privacy=privacy(spent=spent)))
    told = section(card, "Privacy")
    assert "ε = 7.96 at δ = 1e-05 covers the language model's fine-tuning" in told
    assert "It does not cover" in told
    assert "generator trained with ε = 7.96" in card.split("## ")[0]


def test_an_epsilon_whose_noise_can_be_repeated_is_not_boasted_of() -> None:
    spent = filled(SpentBudget, epsilon=7.96, delta=1e-5, repeatable=True)
    card = dataset_card(facts(privacy=privacy(spent=spent)))
    assert "protects nothing" in section(card, "Privacy")
    assert "ε" not in card.split("## ")[0]
