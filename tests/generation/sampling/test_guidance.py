"""Guidance: logits as the formula says, and pairs whose second text alone knows the label."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from take.generation.sampling import guidance
from take.generation.sampling.decoders import load_decoder
from take.generation.sampling.guidance import GuidedDecoder, rival_labels
from take.generation.sampling.rows import LengthBounds, SamplingSettings, write_rows
from take.generation.sampling.writer import RowStore, RowWriter
from take.generation.template import Template
from take.generation.vocabulary import Vocabulary
from tests.generation.tiny import model, tokenizer

LABELS = ["negative", "positive", "neutral"]
BOUNDS = LengthBounds(shortest=2, longest=12)
SETTINGS = SamplingSettings(batch_rows=8, seed=3)
NOT_GIVEN = np.full(8, -1)

pytestmark = pytest.mark.tiny_lm


@pytest.fixture(scope="module")
def decoder():
    return load_decoder("openvino_int8", model("llama", len(tokenizer("llama"))))


def template(task: str = "single") -> Template:
    return Template(tokenizer("llama"), LABELS, task, 50)


def guided(decoder, strength: float, task: str = "single", label: int = 0) -> GuidedDecoder:
    labels = [label, *rival_labels(label, len(LABELS), 3, seed=0)]
    return GuidedDecoder(decoder, template(task), labels, strength)


def test_logits_are_those_of_the_formula(decoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guidance, "_ALPHA", 0.5)  # random weights: no token is improbable
    made, tokens = template(), np.arange(8) + 20
    each = []
    for label in range(3):
        decoder.begin(made.prompt(label))
        each.append(decoder.step(tokens, np.zeros(8, dtype=np.int64)).copy())
    both = guided(decoder, 0.7)
    both.begin()
    logits = both.step(tokens, np.zeros(8, dtype=np.int64), NOT_GIVEN)
    found = both.guided(logits, np.ones(8, dtype=np.bool_))
    expected = each[0] + 0.7 * (each[0] - (each[1] + each[2]) / 2)
    likely = each[0] >= each[0].max(axis=1, keepdims=True) + np.log(0.5)
    np.testing.assert_allclose(found[likely], expected[likely], atol=1e-4)
    assert np.isneginf(found[~likely]).all()
    assert likely.any(axis=1).all()
    assert not likely.all()


def test_where_the_only_probable_token_may_not_come_another_does(decoder) -> None:
    """A row that is too short may not end, however probable its end is."""

    class Ending:
        def begin(self, *prompts):
            return self.ending(decoder.begin(*prompts))

        def step(self, tokens, parents):
            return self.ending(decoder.step(tokens, parents))

        def ending(self, logits: np.ndarray) -> np.ndarray:
            logits = logits.copy()
            logits[:, template().end_id] += 1000
            return logits

    both = GuidedDecoder(Ending(), template(), [0, 1], 0.5)
    rows = write_rows(both, range(16), BOUNDS, SETTINGS)
    assert (rows["tokens"] == BOUNDS.shortest).all()
    assert rows["raw"].nunique() > 8  # of logits that are all −∞, all rows get the same token


def test_guided_rows_do_not_depend_on_the_batch(decoder) -> None:
    both = guided(decoder, 1.0)
    whole = write_rows(both, range(40), BOUNDS, SETTINGS)
    parts = [write_rows(both, range(i, i + 5), BOUNDS, SETTINGS) for i in range(0, 40, 5)]
    pd.testing.assert_frame_equal(pd.concat(parts, ignore_index=True), whole)
    plain = write_rows(GuidedDecoder(decoder, template(), [0]), range(40), BOUNDS, SETTINGS)
    assert plain["raw"].tolist() != whole["raw"].tolist()


def test_many_labels_have_a_few_rivals_that_are_always_the_same() -> None:
    drawn = [rival_labels(label, 77, 3, seed=1) for label in range(77)]
    assert drawn == [rival_labels(label, 77, 3, seed=1) for label in range(77)]
    assert all(len(set(found)) == 3 and label not in found for label, found in enumerate(drawn))
    assert len({other for found in drawn for other in found}) > 50


COLUMNS = (["a warm film", "the plot"], ["is dull", "it is old"])


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return Vocabulary.of(COLUMNS, template("pair"))


@pytest.fixture(scope="module")
def few(vocabulary: Vocabulary):
    cut = model("llama", len(tokenizer("llama")))
    vocabulary.cut(cut)
    return load_decoder("torch", cut)


def few_ids(pair: Template) -> list[int]:
    """Tokens of a text."""
    return pair.encode(["a warm film", "is dull"])


class TestPairs:
    """With few tokens to choose from, random weights end both texts soon."""

    def rows(self, few, vocabulary: Vocabulary, strength: float, label: int = 0) -> pd.DataFrame:
        others = rival_labels(label, len(LABELS), 3, seed=0) if strength else []
        made = GuidedDecoder(few, template("pair"), [label, *others], strength, vocabulary)
        bounds = LengthBounds(shortest=2, longest=60)
        return write_rows(made, range(64), bounds, SETTINGS)

    def test_every_row_has_two_texts_and_no_label(self, few, vocabulary: Vocabulary) -> None:
        rows = self.rows(few, vocabulary, 1.0)
        finished = rows[rows["finished"]]
        assert len(finished) > 20
        assert finished["raw"].str.count("\n").eq(1).all()
        assert finished["tokens"].between(2, 60).all()
        # The label is a token of the vocabulary, so chance writes it now and then.
        assert finished["raw"].str.split("\n").str[1].str.startswith(LABELS[0]).mean() < 0.3

    def test_the_first_text_does_not_depend_on_guidance(self, few, vocabulary: Vocabulary) -> None:
        """Before the label is given, all labels' logits are the same."""
        weak, strong = (
            self.rows(few, vocabulary, strength)["raw"].str.split("\n", n=1)
            for strength in (0.0, 3.0)
        )
        assert weak.str[0].tolist() == strong.str[0].tolist()
        assert weak.str[-1].tolist() != strong.str[-1].tolist()

    def test_copies_under_other_labels_begin_with_the_label(
        self, few, vocabulary: Vocabulary
    ) -> None:
        """A pair costs one pass up to its label; then its logits are those of the formula."""
        pair, sizes = template("pair"), []

        class Watched:
            def begin(self, *prompts):
                return few.begin(*prompts)

            def step(self, tokens, parents):
                sizes.append(len(tokens))
                return few.step(tokens, parents)

        both = GuidedDecoder(Watched(), pair, [0, 1, 2], 1.0, vocabulary)
        n_given = both.n_between
        both.begin()
        text = vocabulary.compact(few_ids(pair)[:2])
        (line_break,) = vocabulary.compact([pair.break_id])
        first, rows = np.array([*text, line_break]), np.arange(8)
        parents = np.zeros(8, dtype=np.int64)
        for token in first:
            logits = both.step(np.full(8, token), parents, np.full(8, -1))
            parents = rows
        assert sizes == [8] * 3
        np.testing.assert_array_equal(logits.own, logits.others)
        for place in range(n_given):
            # Only half of the rows have reached their label.
            places = np.where(rows < 4, place, -1)
            tokens = np.where(rows < 4, both.given(np.full(8, place)), text[0])
            logits = both.step(tokens, rows, places)
        assert sizes[3:] == [16] * n_given
        each = []
        for label in range(3):
            few.begin(vocabulary.compact(pair.prompt(label)))
            for token in (*first, *vocabulary.compact(pair.between(label))):
                found = few.step(np.array([token]), np.zeros(1, dtype=np.int64))
            each.append(found[0])
        np.testing.assert_allclose(logits.own[0], each[0], atol=1e-4)
        np.testing.assert_allclose(logits.others[3], (each[1] + each[2]) / 2, atol=1e-4)
        np.testing.assert_array_equal(logits.own[4:], logits.others[4:])

    def test_the_label_is_read_between_the_texts(self, few, vocabulary: Vocabulary) -> None:
        """What the decoder has read is the row as it would be trained on."""
        pair = template("pair")
        read: list[int] = []

        class Watched:
            def begin(self, prompt):
                read[:] = vocabulary.original(prompt)
                return few.begin(prompt)

            def step(self, tokens, parents):
                read.extend(vocabulary.original(tokens[:1]))
                return few.step(tokens, parents)

        watched = GuidedDecoder(Watched(), pair, [2], 0.0, vocabulary)
        bounds = LengthBounds(shortest=2, longest=60)
        rows = (write_rows(watched, [number], bounds, SETTINGS).iloc[0] for number in range(40))
        row = next(row for row in rows if row["finished"])
        start = len(pair.prompt(2))
        first = read.index(pair.break_id, start) + 1
        assert read[first : first + len(pair.between(2))] == pair.between(2)
        assert row["tokens"] == len(read) - start - len(pair.between(2))
        texts = (read[start : first - 1], read[first + len(pair.between(2)) :])
        assert row["raw"] == "\n".join(map(pair.decode, texts))


@pytest.mark.parametrize(("task", "strength"), [("single", 0.5), ("pair", 1.0)])
def test_by_default_pairs_are_guided_more(tmp_path: Path, task: str, strength: float) -> None:
    tiny = model("llama", len(tokenizer("llama")))

    def rows(guidance: float | None) -> list[str]:
        settings = SETTINGS.model_copy(update={"guidance": guidance})
        store = RowStore(tmp_path / f"{guidance}")
        writer = RowWriter(lambda: tiny, template(task), BOUNDS, settings, store)
        return writer.read(0, 0, 16)["raw"].tolist()

    assert rows(None) == rows(strength)
    assert rows(None) != rows(0.2)
