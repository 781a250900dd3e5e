"""Held-out rows are held out: nothing like them is trained on."""

from __future__ import annotations

import numpy as np
import pytest

from take.generation.verifier.split import VerifierSplit, split_rows
from take.generation.verifier.verifier_settings import VerifierSettings
from take.text.copies import CopySettings
from take.text.related import RelatedRows


def numbered(n_rows: int) -> tuple[list[tuple[str, ...]], np.ndarray]:
    """Rows of eight random words, each also as a phrase of its first five words."""
    random = np.random.default_rng(0)
    words = [
        f"{a}{b}" for a in "bdfgklmnprstvz" for b in ("ala", "ebe", "iki", "omo", "unu", "ysy")
    ]
    whole = [" ".join(random.choice(words, 8)) for _ in range(n_rows // 2)]
    phrases = [" ".join(text.split()[:5]) for text in whole]
    return [(text,) for text in (*whole, *phrases)], np.arange(n_rows) % 3


def parts(split: VerifierSplit) -> list[np.ndarray]:
    return [split.train, split.validation, split.held_out]


def test_no_part_has_a_relative_of_a_row_of_another() -> None:
    rows, labels = numbered(600)
    split = split_rows(rows, labels, VerifierSettings(held_out_rows=90))
    related = RelatedRows(rows)
    assert len(split.held_out) >= 80
    assert len(split.validation) >= 20
    for part in parts(split):
        others = np.concatenate([other for other in parts(split) if other is not part])
        assert not related.to(part)[others].any()
    # That is not for want of relatives: most held-out rows have one, which is in no part.
    gone = np.setdiff1d(np.arange(600), np.concatenate(parts(split)))
    assert related.to(split.held_out)[gone].sum() >= 60


def test_both_texts_of_pairs_are_compared() -> None:
    """Each premise is in three rows, as in mnli; a whole premise is on one side."""
    premises, _ = numbered(120)
    long = [text for (text,) in premises[:60]]
    rows = [(f"{text} {text[::-1]}", f"so {n} {text[:4]}") for text in long for n in range(3)]
    split = split_rows(rows, np.arange(180) % 3, VerifierSettings(held_out_rows=30))
    assert len(split.held_out)
    owners = [set(part // 3) for part in parts(split)]
    assert not owners[0] & owners[2]
    assert not owners[0] & owners[1]
    assert not owners[1] & owners[2]


def test_held_out_rows_have_the_corpus_s_mix_of_classes() -> None:
    rows, _ = numbered(1000)
    labels = (np.arange(1000) % 10 == 0).astype(np.int64)
    split = split_rows(rows[:500], labels[:500], VerifierSettings(held_out_rows=60))
    assert labels[split.held_out].mean() == pytest.approx(0.1, abs=0.02)


def test_the_limit_leaves_every_class_and_depends_on_the_seed_alone() -> None:
    rows, _ = numbered(400)
    labels = np.zeros(400, dtype=np.int64)
    labels[[5, 17, 30]] = 1
    few = VerifierSettings(held_out_rows=20, max_rows=10)
    split = split_rows(rows, labels, few)
    assert len(split.tuned) == 10
    assert set(labels[split.tuned]) == {0, 1}
    assert set(split.tuned) < set(split.train)
    again = split_rows(rows, labels, few)
    for part, same in zip(parts(split), parts(again), strict=True):
        assert (part == same).all()
    other = split_rows(rows, labels, few.model_copy(update={"seed": 1}))
    assert set(other.held_out) != set(split.held_out)


@pytest.mark.parametrize("n_rows", [2, 5, 40])
def test_rows_that_are_all_alike_are_all_trained_on(n_rows: int) -> None:
    rows = [(f"the very same long review of one and the same film {n % 2}",) for n in range(n_rows)]
    split = split_rows(rows, np.arange(n_rows) % 2, VerifierSettings(), CopySettings())
    assert split.train.tolist() == list(range(n_rows))
    assert not len(split.validation)
    assert not len(split.held_out)
