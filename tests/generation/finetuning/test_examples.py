import numpy as np
import pandas as pd
import pytest

from take.errors import InputError
from take.generation.finetuning.examples import choose_rows
from take.generation.template import Template
from take.pipelines.generation.nodes import fine_tune
from take.text.copies import CopySettings
from tests.generation import tiny
from tests.generation.finetuning.conftest import films, quick


def labels_of(rows, corpus):
    return np.bincount(corpus["label"].to_numpy()[rows.positions], minlength=2).tolist()


def test_a_large_corpus_is_cut_to_the_budget_evenly_over_classes(bench):
    corpus = films(400)
    chosen = choose_rows(corpus, bench("llama").template, quick(token_budget=1000))
    tokens = chosen.train.lengths.sum()
    assert 1000 <= tokens < 1000 + chosen.train.lengths.max()
    zeros, ones = labels_of(chosen.train, corpus)
    assert abs(zeros - ones) <= 1
    assert chosen.counts.train_rows_by_class == [zeros, ones]
    assert chosen.counts.train_tokens == tokens


def test_rows_are_prompt_text_and_end_token(bench):
    corpus, template = films(40), bench("gemma").template
    chosen = choose_rows(corpus, template, quick())
    for ids, prompt, row in zip(
        chosen.train.token_ids, chosen.train.prompt_lengths, chosen.train.positions, strict=True
    ):
        assert list(ids[:prompt]) == template.prompt(int(corpus["label"][row]))
        assert list(ids[prompt:]) == template.encode([corpus["text"][row]])
        assert ids[-1] == template.end_id


def test_validation_rows_are_never_trained_on_and_do_not_depend_on_the_sampling(bench):
    corpus, template = films(200), bench("qwen").template
    plain = choose_rows(corpus, template, quick(validation_rows=20))
    weighted = choose_rows(
        corpus, template, quick(validation_rows=20, row_sampling="knowledge"), np.ones(200)
    )
    assert len(plain.validation) == 20
    assert labels_of(plain.validation, corpus) == [10, 10]
    assert not set(plain.validation.positions) & set(plain.train.positions)
    assert plain.validation.positions.tolist() == weighted.validation.positions.tolist()


def test_a_small_corpus_holds_out_no_more_than_a_fifth_of_a_class(bench):
    assert len(choose_rows(films(20), bench("qwen").template, quick()).validation) == 4


def test_without_evaluations_there_are_no_validation_rows(bench):
    chosen = choose_rows(films(20), bench("qwen").template, quick(evaluations=0))
    assert (len(chosen.validation), len(chosen.train)) == (0, 20)


def test_a_length_target_trains_on_the_longer_rows_and_says_which_it_left_out(bench):
    corpus = films(200)
    corpus["text"] = [f"{text} and on" * (1 + i % 4) for i, text in enumerate(corpus["text"])]
    words = corpus["text"].str.split().str.len().to_numpy()
    settings = quick(length_quantiles=(0.5, 1.0), validation_rows=20)
    chosen = choose_rows(corpus, bench("qwen").template, settings)
    shortest = np.sort(words)[99]
    for rows in (chosen.train, chosen.validation):
        assert words[rows.positions].min() >= shortest
    assert chosen.other_lengths.tolist() == np.flatnonzero(words < shortest).tolist()
    assert len(chosen.other_lengths) > 50
    anything = choose_rows(corpus, bench("qwen").template, quick(validation_rows=20))
    assert words[anything.train.positions].min() < shortest
    assert not len(anything.other_lengths)


def test_same_seed_same_rows(bench):
    first, again, other = (
        choose_rows(films(200), bench("gpt2").template, quick(token_budget=500, seed=seed))
        for seed in (3, 3, 4)
    )
    assert first.train.token_ids == again.train.token_ids
    assert set(first.train.positions) != set(other.train.positions)


def test_a_short_class_is_not_repeated_and_is_named(bench, caplog):
    corpus = films(200)
    corpus = pd.concat([corpus[corpus["label"] == 0], corpus[corpus["label"] == 1][:4]])
    corpus = corpus.reset_index(drop=True)
    chosen = choose_rows(corpus, bench("qwen").template, quick(token_budget=1500, evaluations=0))
    zeros, ones = labels_of(chosen.train, corpus)
    assert (ones, zeros > 4) == (4, True)
    assert len(set(chosen.train.positions)) == len(chosen.train)
    assert chosen.counts.short_classes == [1]
    assert "too few rows" in caplog.text


def test_knowledge_draws_rows_by_weight_within_each_class(bench):
    corpus = films(400)
    weights = np.ones(400)
    weights[:40], weights[40:60] = 50, 0
    settings = quick(token_budget=1000, row_sampling="knowledge", evaluations=0)
    chosen = choose_rows(corpus, bench("qwen").template, settings, weights)
    rows = chosen.train.positions
    assert (rows < 40).mean() > 0.7  # evenly it would be 0.1
    assert not ((rows >= 40) & (rows < 60)).any()
    zeros, ones = labels_of(chosen.train, corpus)
    assert abs(zeros - ones) <= 1


@pytest.mark.parametrize("weights", [None, np.ones(3), np.full(40, np.nan), np.full(40, -1.0)])
def test_refuses_weights_that_are_none(bench, weights):
    with pytest.raises(InputError, match="scoring"):
        choose_rows(films(40), bench("qwen").template, quick(row_sampling="knowledge"), weights)


def test_long_texts_are_cut_and_counted(bench, caplog):
    corpus = films(40)
    corpus.loc[0, "text"] = "a dull film. " * 40
    chosen = choose_rows(corpus, bench("llama").template, quick(evaluations=0))
    assert chosen.counts.cut_texts == 1
    assert max(chosen.train.lengths - chosen.train.prompt_lengths) <= 48
    assert "were cut" in caplog.text


def test_pairs_too_long_are_left_out_and_counted():
    corpus = pd.DataFrame(
        {"text_a": ["a film"] * 20, "text_b": ["a plot"] * 20, "label": [0, 1] * 10}
    )
    corpus.loc[[2, 5], "text_b"] = "very dull " * 60
    template = Template(tiny.tokenizer("gpt2"), ["no", "yes"], "pair", 48)
    chosen = choose_rows(corpus, template, quick(evaluations=0))
    assert chosen.counts.left_out_pairs == 2
    assert not {2, 5} & set(chosen.train.positions)
    assert len(chosen.train) == 18


def test_refuses_a_corpus_of_which_nothing_is_left():
    corpus = pd.DataFrame(
        {"text_a": ["very dull " * 60] * 4, "text_b": ["x"] * 4, "label": [0, 1] * 2}
    )
    template = Template(tiny.tokenizer("gpt2"), ["no", "yes"], "pair", 48)
    with pytest.raises(InputError, match="no row is left"):
        choose_rows(corpus, template, quick())


def test_template_and_settings_must_have_one_limit_of_tokens(bench):
    with pytest.raises(ValueError, match="48 tokens, the settings say 64"):
        choose_rows(films(8), bench("gpt2").template, quick(max_text_tokens=64))


def test_a_corpus_of_special_tokens_is_refused_before_anything_is_trained(bench):
    language_model = bench("llama").language_model
    corpus = films(20).assign(label_name=["bad", "good"] * 10)
    corpus["text"] += "</s>"
    weights = pd.DataFrame({"weight": np.full(20, 0.05)})
    with pytest.raises(InputError, match="every text of class 'bad' holds a special token"):
        fine_tune(corpus, weights, language_model, quick(), CopySettings())
