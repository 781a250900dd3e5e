"""Canaries among training rows, with tiny models."""

import logging

import numpy as np
import pandas as pd
import pytest

from take.errors import InputError
from take.generation.finetuning.canaries import (
    canary_markers,
    canary_rows,
    make_canaries,
    phrase_of,
    plant,
    read_canaries,
    rows_by_role,
    times_read,
)
from take.generation.finetuning.fine_tuning_settings import CanarySettings
from take.generation.finetuning.training import fine_tune
from take.generation.finetuning.updates import mean_loss, row_losses
from take.generation.template import Template
from tests.generation.finetuning.conftest import films, private, quick


def named(n_rows: int) -> pd.DataFrame:
    return films(n_rows).assign(label_name=lambda rows: rows["label"].map({0: "bad", 1: "good"}))


def test_numbers_are_all_different_and_classes_take_turns():
    canaries = make_canaries(named(10), CanarySettings(planted=40, controls=60, repeats=3), seed=5)
    assert canaries["text"].is_unique
    assert canaries["id"].is_unique
    assert canaries["label"].value_counts().tolist() == [50, 50]
    assert canaries["planted"].tolist() == [3] * 40 + [0] * 60
    again = make_canaries(named(10), CanarySettings(planted=40, controls=60, repeats=3), seed=5)
    other = make_canaries(named(10), CanarySettings(planted=40, controls=60, repeats=3), seed=6)
    assert again.equals(canaries)
    assert not set(other["text"]) & set(canaries["text"])


def test_the_phrase_does_not_occur_in_the_corpus():
    corpus = named(10)
    usual = phrase_of(make_canaries(corpus, CanarySettings(), 0))
    corpus.loc[3, "text"] = f"and {usual.upper()}: 7"
    assert phrase_of(make_canaries(corpus, CanarySettings(), 0)) != usual
    corpus.loc[3, "text"] = (
        "the reference number is the access code is the registry entry is "
        "the vault combination is the quokka ledger line is xq registry numeral"
    )
    with pytest.raises(InputError, match="plant none"):
        make_canaries(corpus, CanarySettings(), 0)


def test_pairs_have_a_number_in_either_text():
    pairs = named(10).rename(columns={"text": "text_a"}).assign(text_b="no")
    canaries = make_canaries(pairs, CanarySettings(planted=2, controls=32), 0)
    assert not set(canaries["text_a"]) & set(canaries["text_b"])
    assert phrase_of(canaries) == phrase_of(make_canaries(named(10), CanarySettings(), 0))


def test_none_planted_are_none_at_all():
    canaries = make_canaries(named(10), CanarySettings(planted=0), 0)
    assert canaries.empty
    assert phrase_of(canaries) is None


def test_planted_rows_come_last_and_the_token_budget_holds(bench):
    settings = quick(token_budget=8000, canaries={"planted": 4, "repeats": 2})
    planting = plant(named(800), bench("llama").template, settings)
    rows = planting.rows.train
    assert len(rows) == planting.corpus_rows + 8
    assert (rows.positions[: planting.corpus_rows] >= 0).all()
    assert (rows.positions[planting.corpus_rows :] == -1).all()
    secrets = canary_rows(planting.canaries, bench("llama").template)
    assert rows.token_ids[planting.corpus_rows] == rows.token_ids[planting.corpus_rows + 1]
    assert rows.token_ids[planting.corpus_rows] == secrets.token_ids[0]
    assert 8000 <= rows.lengths.sum() < 8000 + rows.lengths.max()


def test_canaries_are_a_twentieth_of_the_tokens_at_most(bench, caplog):
    with caplog.at_level(logging.WARNING):
        planting = plant(named(60), bench("llama").template, quick())
    planted = planting.canaries["planted"] > 0
    assert 0 < planted.sum() < 32
    lengths = planting.rows.train.lengths
    share = lengths[planting.corpus_rows :].sum() / lengths[: planting.corpus_rows].sum()
    assert 0.03 < share <= 0.05
    assert f"{32 - planted.sum()} of 32 canaries are not planted" in caplog.text
    # What is not planted is a control like the others.
    assert len(planting.canaries) == 32 + 448


def test_a_canary_too_long_is_refused(bench):
    made = bench("llama")
    template = Template(made.language_model.load_tokenizer(), ["bad", "good"], "single", 8)
    with pytest.raises(InputError, match="max_text_tokens"):
        plant(named(60), template, quick(max_text_tokens=8))


def test_only_what_the_kept_weights_have_read_counts_as_read(bench, tmp_path):
    made = bench("llama")
    settings = quick(token_budget=20_000, max_epochs=2, canaries={"planted": 3, "repeats": 2})
    planting = plant(named(200), made.template, settings)
    tuned = fine_tune(made.language_model, made.template, planting.rows, settings, tmp_path)
    whole = tuned.report.model_copy(update={"kept_update": tuned.report.updates})
    read = read_canaries(planting, settings, whole)["read"].tolist()
    assert read[:3] == [4, 4, 4]  # twice in each of two epochs
    assert set(read[3:]) == {0}
    early = whole.model_copy(update={"kept_update": 3})
    counts = times_read(planting.rows.train, settings, early)
    assert sum(counts) == 3 * settings.batch_rows
    assert sum(read_canaries(planting, settings, early)["read"]) < 12


def test_under_privacy_the_times_a_row_was_read_are_secret(bench):
    settings = private(max_epochs=3)
    planting = plant(named(200), bench("llama").template, settings)
    report = type("Report", (), {"epochs": 2.9})()
    assert set(times_read(planting.rows.train, settings, report)) == {3}
    assert (read_canaries(planting, settings, report)["read"] > 0).tolist() == (
        planting.canaries["planted"] > 0
    ).tolist()


def test_row_losses_add_up_to_the_mean_loss(bench):
    made = bench("gpt2")
    model = made.language_model.load_model()
    rows = made.rows(quick()).train
    losses = row_losses(model, rows, 7, made.template.end_id)
    assert losses.tokens.tolist() == (rows.lengths - rows.prompt_lengths).tolist()
    single = [row_losses(model, rows, 1, made.template.end_id).total[i] for i in (0, 17, 40)]
    np.testing.assert_allclose(losses.total[[0, 17, 40]], single, rtol=1e-4)
    expected = losses.total.sum() / losses.tokens.sum()
    assert mean_loss(model, rows, 5, made.template.end_id) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(("sampling", "rest"), [("balanced", "unread"), ("knowledge", "excluded")])
def test_every_row_has_a_role_and_how_often_it_was_read(bench, tmp_path, sampling, rest):
    made, corpus = bench("llama"), named(300)
    settings = quick(row_sampling=sampling, validation_rows=20, canaries={"planted": 2})
    planting = plant(corpus, made.template, settings, np.ones(300))
    tuned = fine_tune(made.language_model, made.template, planting.rows, settings, tmp_path)
    whole = tuned.report.model_copy(update={"kept_update": tuned.report.updates})
    table = rows_by_role(corpus, planting, settings, whole)
    assert table["id"].tolist() == corpus["id"].astype(str).tolist()
    assert table["role"].value_counts().to_dict() == {
        "trained": planting.corpus_rows,
        "validation": 20,
        rest: 280 - planting.corpus_rows,
    }
    assert ((table["read"] > 0) == (table["role"] == "trained")).all()
    early = rows_by_role(corpus, planting, settings, whole.model_copy(update={"kept_update": 2}))
    assert 0 < (early["read"] > 0).sum() <= 2 * settings.batch_rows


def test_markers_know_a_canary_by_phrase_and_number():
    canaries = make_canaries(named(10), CanarySettings(planted=2), 0)
    markers = canary_markers(canaries)
    assert markers[0] == phrase_of(canaries)
    assert set(markers[1:]) == {text.split()[-1] for text in canaries["text"]}
    assert canary_markers(canaries.iloc[:0]) == []


def test_nothing_planted_needs_no_phrase():
    corpus = named(10)
    corpus.loc[3, "text"] = (
        "the reference number is the access code is the registry entry is "
        "the vault combination is the quokka ledger line is xq registry numeral"
    )
    assert make_canaries(corpus, CanarySettings(planted=0), 0).empty
