"""The checks that compare meanings, with the real encoder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from take.learners import Texts
from take.text.copies import CopySettings

from .conftest import PAIR_EVALUATION, PAIRS, MakeScreen, candidates

pytestmark = pytest.mark.encoder

# Of train row 6, "every scene is a small delight and the ending is perfect": few words in common.
PARAPHRASE = "each scene is a little delight and its ending is just perfect"
WORDS = CopySettings(near_copy_overlap=0.9)
OF_EVALUATION = "you will walk out of the cinema smiling and humming those songs"


def test_a_paraphrase_is_a_near_copy_by_its_embedding(real_screen: MakeScreen) -> None:
    made = candidates([PARAPHRASE, OF_EVALUATION, "a quiet victory"])
    judged = real_screen(copies=WORDS).judge(made)
    assert judged["reason"].tolist() == ["near_copy_of_train", "near_copy_of_evaluation", ""]
    assert judged["detail"][0].startswith("train row train6, cosine 0.9")
    assert judged["detail"][1].startswith("evaluation row evaluation1, cosine 0.9")
    assert judged["verifier_label"].notna().all()
    off = real_screen(copies=WORDS, near_copy_cosine=None).judge(made)
    assert off["reason"].tolist() == ["", "", ""]


def test_a_paraphrase_of_a_kept_row_is_a_near_duplicate(real_screen: MakeScreen) -> None:
    one = "the camera lingers on faces and tells us nothing about them"
    other = "the camera lingers upon faces yet tells us nothing at all about them"
    judged = real_screen(copies=WORDS).judge(candidates([one, other], label=0))
    assert judged["reason"].tolist() == ["", "near_duplicate"]
    assert judged["detail"][1].startswith("kept bad 0, cosine 0.9")


def test_a_label_the_probe_is_sure_against_drops_the_row(real_screen: MakeScreen) -> None:
    praise = "a delightful and moving film with a wonderful cast"
    made = candidates([praise], label=0)
    judged = real_screen().judge(made).iloc[0]
    assert judged["reason"] == "label_contradicted"
    assert judged["verifier_label"] == 1
    assert judged["detail"] == f"probe predicts good at {judged['verifier_confidence']:.2f}"
    assert judged["verifier_confidence"] >= 0.9
    assert real_screen(contradiction_threshold=None).judge(made)["reason"].tolist() == [""]
    assert real_screen(contradiction_threshold=1.0).judge(made)["reason"].tolist() == [""]
    assert real_screen().judge(candidates([praise], label=1))["reason"].tolist() == [""]


def test_a_contradicted_row_has_no_duplicates(real_screen: MakeScreen) -> None:
    praise = "a delightful and moving film with a wonderful cast"
    made = pd.concat([candidates([praise], label=0), candidates([praise] * 2, label=1)])
    judged = real_screen().judge(made)
    assert judged["reason"].tolist() == ["label_contradicted", "", "duplicate"]
    assert judged["verifier_label"].isna().tolist() == [False, False, True]


def test_parts_and_whole_agree(real_screen: MakeScreen) -> None:
    lines = [
        "the camera lingers on faces and tells us nothing about them",
        "the camera lingers upon faces yet tells us nothing at all about them",
        PARAPHRASE,
        PARAPHRASE,
        "a delightful and moving film with a wonderful cast",
        "A delightful and moving film, with a wonderful cast",
        "a moving and delightful film with one wonderful cast",
        None,
        "the best scenes are the ones without any dialogue",
    ]
    made = pd.concat([candidates(lines, label=0), candidates(lines, label=1)], ignore_index=True)
    whole = real_screen().judge(made)
    assert set(whole["reason"]) >= {
        "",
        "duplicate",
        "near_duplicate",
        "near_copy_of_train",
        "label_contradicted",
        "parse_failure",
    }
    for size in (1, 4, 11):
        screen = real_screen()
        parts = [screen.judge(made.iloc[i : i + size]) for i in range(0, len(made), size)]
        pd.testing.assert_frame_equal(pd.concat(parts), whole, rtol=1e-5)


def test_a_pair_is_near_if_both_its_texts_are(real_screen: MakeScreen) -> None:
    premise = "an old lady sells fresh bread in the market each morning"
    made = candidates(
        [(premise, "she is selling food"), (premise, "the market closes early on sundays")]
    )
    copies = CopySettings(near_copy_overlap=0.95)
    settings = {"near_copy_cosine": 0.8, "contradiction_threshold": None}
    judged = real_screen(PAIRS, PAIR_EVALUATION, copies=copies, **settings).judge(made)
    assert judged["reason"].tolist() == ["near_copy_of_train", ""]
    assert judged["detail"][0].startswith("train row train2, cosine 0.")
    assert judged["verifier_confidence"].between(0.5, 1).all()


def test_a_contradicted_row_is_relabelled_and_counts_for_its_new_class(
    real_screen: MakeScreen,
) -> None:
    praise = "a delightful and moving film with a wonderful cast"
    more = "one of the finest and funniest films of the whole year"
    made = candidates([praise, more], label=0)
    screen = real_screen(contradicted="relabel")
    judged = screen.judge(made, {0: 2, 1: 1})
    assert judged["reason"].tolist() == ["", "surplus"]  # class 1 wanted one row
    assert judged["label"].tolist() == [1, 0]  # a row that is dropped keeps its prompt's label
    assert judged["verifier_label"].tolist() == [1, 1]
    unsure = real_screen(contradicted="relabel", contradiction_threshold=1.0).judge(made)
    assert unsure["label"].tolist() == [0, 0]
    again = screen.judge(candidates([praise], label=1), {0: 1, 1: 1})
    assert again["reason"].tolist() == ["duplicate"]


class _Cheerful:
    """A verifier that reads texts: sure of class 1 where it reads 'film'."""

    kind, classes = "cross_encoder", ("bad", "good")

    def probabilities(self, texts: Texts, phi: object) -> np.ndarray:
        sure = np.array([0.99 if "film" in text else 0.5 for text in texts.columns[-1]])
        return np.stack([1 - sure, sure], axis=1)

    def save(self, folder: Path) -> None: ...


def test_any_verifier_will_do_and_is_named(real_screen: MakeScreen) -> None:
    made = candidates(["the long and tedious film never ends", "nothing else to see"], label=0)
    judged = real_screen(verifier=_Cheerful()).judge(made)
    assert judged["reason"].tolist() == ["label_contradicted", ""]
    assert judged["detail"][0] == "cross-encoder predicts good at 0.99"
