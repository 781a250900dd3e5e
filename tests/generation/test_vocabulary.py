from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from take.generation.finetuning.examples import choose_rows
from take.generation.finetuning.fine_tuning_settings import FineTuningSettings, PrivacySettings
from take.generation.template import Template
from take.generation.vocabulary import WHOLE, Vocabulary, vocabulary_of
from tests.generation.tiny import FAMILIES, model, tokenizer

TEXTS = ["a warm and funny film", "the plot is dull", "it 's charming , if slight", "worse"]
CORPUS = pd.DataFrame(
    {"text": TEXTS, "label": [0, 1, 0, 1], "label_name": ["good", "bad", "good", "bad"]}
)


def template(family: str) -> Template:
    return Template(tokenizer(family), ["good", "bad"], "single", 50)


def test_it_holds_every_token_of_the_corpus_the_prompts_and_the_end() -> None:
    made = template("gpt2")
    kept = set(vocabulary_of(CORPUS, made, FineTuningSettings()).ids.tolist())
    texts = {token for text in TEXTS for token in made.encode([text])}
    assert kept == texts | {made.end_id, *(t for prompt in made.prompts for t in prompt)}


def test_rows_that_are_not_of_the_corpus_are_held_too() -> None:
    made = template("gpt2")
    settings = FineTuningSettings(evaluations=0, max_text_tokens=50)
    secret = pd.DataFrame({"text": ["xyz 987"] * 2, "label": [0, 1], "label_name": ["good", "bad"]})
    rows = choose_rows(secret, made, settings)
    vocabulary = vocabulary_of(CORPUS, made, settings, [rows.train])
    compact = vocabulary.rows(rows.train)
    assert [vocabulary.original(ids) for ids in compact.token_ids] == list(rows.train.token_ids)
    with pytest.raises(ValueError, match="not in the vocabulary"):
        vocabulary_of(CORPUS, made, settings).rows(rows.train)


@pytest.mark.parametrize(
    "settings",
    [
        FineTuningSettings(method="full"),
        FineTuningSettings(evaluations=0, privacy=PrivacySettings(target_epsilon=8)),
    ],
)
def test_all_tokens_are_kept_where_the_corpus_must_not_decide(settings) -> None:
    assert vocabulary_of(CORPUS, template("gpt2"), settings) is WHOLE


@pytest.mark.tiny_lm
@pytest.mark.parametrize("family", FAMILIES)
def test_the_distribution_over_kept_tokens_is_the_same(family: str) -> None:
    """Softmax over the kept logits = the whole softmax, given that a kept token comes next."""
    made = template(family)
    vocabulary = vocabulary_of(CORPUS, made, FineTuningSettings())
    whole, cut = (model(family, len(tokenizer(family))) for _ in range(2))
    vocabulary.cut(cut)
    assert cut.get_output_embeddings().weight.shape[0] == len(vocabulary) < len(tokenizer(family))
    ids = [*made.prompt(0), *made.encode(TEXTS[:1])]
    with torch.inference_mode():
        expected = whole(input_ids=torch.tensor([ids])).logits[0][:, vocabulary.ids]
        found = cut(input_ids=torch.tensor([vocabulary.compact(ids)])).logits[0]
    np.testing.assert_allclose(found.softmax(-1), expected.softmax(-1), atol=1e-6)


def test_a_pair_s_line_break_and_label_are_held() -> None:
    pairs = pd.DataFrame(
        {
            "text_a": ["a film", "a plot"],
            "text_b": ["is dull", "is warm"],
            "label": [0, 1],
            "label_name": ["good", "bad"],
        }
    )
    made = Template(tokenizer("qwen"), ["good", "bad"], "pair", 50)
    vocabulary = Vocabulary.of([pairs["text_a"], pairs["text_b"]], made)
    row = made.whole(1, made.encode(["a plot", "is warm"]))
    assert vocabulary.original(vocabulary.compact(row.token_ids)) == row.token_ids
