"""Which verifier is chosen, and by what: tiny transformers are really trained."""

from __future__ import annotations

import numpy as np
import pytest

from take.errors import InputError
from take.generation.verifier.training import Tuned, train_verifier
from take.generation.verifier.verifier import Probe, load_verifier, predicted_labels
from take.generation.verifier.verifier_settings import Scores, VerifierReport, VerifierSettings
from take.learners import Texts
from take.rows.labelled import class_ids, text_columns

from .conftest import EXACT, embedded, pair_corpus, single_corpus

pytestmark = pytest.mark.tiny_lm


def test_where_the_label_depends_on_both_texts_a_cross_encoder_is_chosen(
    settings, tmp_path
) -> None:
    corpus = pair_corpus(1500)
    vectors = embedded(corpus, shows_mood=False)
    settings = settings.model_copy(update={"max_rows": 1000})
    trained = train_verifier(corpus, vectors, settings, EXACT)
    report = trained.report
    assert report.trained_rows == report.cross_encoder.trained_rows == 1000
    assert report.probe.trained_rows > 1000
    assert report.kind == "cross_encoder"
    assert report.probe.accuracy < 0.65  # chance is 0.5
    assert report.cross_encoder.accuracy > 0.85
    assert report.scores == report.cross_encoder
    assert report.held_out_rows == np.sum(report.cross_encoder.confusion) >= 190
    assert report.precision == "float32"
    assert report.epochs > 0
    assert "cross-encoder" in report.summary()
    assert VerifierReport.model_validate_json(report.model_dump_json()) == report

    # It is as good on new rows as it says, and the same when loaded again.
    new = pair_corpus(400, seed=7)
    texts, phi = Texts.of(*text_columns(new)), embedded(new, shows_mood=False)
    predicted = predicted_labels(trained.verifier, texts, phi)
    assert (predicted == class_ids(new)).mean() == pytest.approx(
        report.cross_encoder.accuracy, abs=0.1
    )
    trained.verifier.save(tmp_path / "verifier")
    kinds = {path.suffix for path in (tmp_path / "verifier").iterdir()}
    assert kinds == {".json", ".safetensors"}
    loaded = load_verifier(tmp_path / "verifier")
    before = trained.verifier.probabilities(texts, phi)
    np.testing.assert_array_equal(loaded.probabilities(texts, phi), before)
    np.testing.assert_allclose(before.sum(axis=1), 1)
    loaded.save(tmp_path / "again")
    for path in (tmp_path / "verifier").iterdir():
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()


def test_a_good_probe_is_kept_and_nothing_else_is_trained(settings, tmp_path) -> None:
    corpus = single_corpus(800)
    vectors = embedded(corpus, shows_mood=True)
    no_model = settings.model_copy(update={"model": "no such folder"})
    trained = train_verifier(corpus, vectors, no_model, EXACT)
    report = trained.report
    assert (report.kind, report.cross_encoder, report.precision) == ("probe", None, None)
    assert report.probe.accuracy > 0.95
    assert report.scores == report.probe

    trained.verifier.save(tmp_path / "verifier")
    texts = Texts.of(*text_columns(corpus))
    loaded = load_verifier(tmp_path / "verifier")
    probabilities = loaded.probabilities(texts, vectors)
    np.testing.assert_array_equal(probabilities, trained.verifier.probabilities(texts, vectors))
    assert loaded.classes == ("mixed", "good")


@pytest.mark.parametrize(("right_on", "kind"), [(0.9, "cross_encoder"), (0.3, "probe")])
def test_auto_chooses_by_accuracy_on_held_out_rows(settings, right_on: float, kind: str) -> None:
    corpus = pair_corpus(600)
    truth = dict(zip(zip(*text_columns(corpus), strict=True), class_ids(corpus), strict=True))
    seen: list[int] = []
    asked: list[VerifierSettings] = []

    class Right:
        """Right on some of the rows."""

        kind, classes = "cross_encoder", ("mixed", "good")

        def probabilities(self, texts, phi):
            seen.append(len(texts))
            labels = np.array([truth[row] for row in zip(*texts.columns, strict=True)])
            wrong = np.random.default_rng(0).random(len(labels)) > right_on
            return np.eye(2)[np.where(wrong, 1 - labels, labels)]

        def save(self, folder): ...

    def tune(rows, validation, classes, given):
        shared = set(zip(*rows.texts.columns, strict=True)) & set(
            zip(*validation.texts.columns, strict=True)
        )
        assert not shared
        asked.append(given)
        return Tuned(Right(), "a stand-in", 1.0, "float32")

    vectors = embedded(corpus, shows_mood=False)
    trained = train_verifier(corpus, vectors, settings, EXACT, tune)
    assert trained.report.kind == kind
    assert trained.verifier.kind == kind
    assert trained.report.cross_encoder.accuracy == pytest.approx(right_on, abs=0.1)
    assert seen == [trained.report.held_out_rows]
    forced = settings.model_copy(update={"kind": "cross_encoder"})
    assert train_verifier(corpus, vectors, forced, EXACT, tune).report.kind == "cross_encoder"
    assert asked == [settings, forced]
    only_probe = settings.model_copy(update={"kind": "probe"})
    assert train_verifier(corpus, vectors, only_probe, EXACT, tune).report.cross_encoder is None
    satisfied = settings.model_copy(update={"weak_below": 0.0})
    assert train_verifier(corpus, vectors, satisfied, EXACT, tune).report.cross_encoder is None


def test_a_cross_encoder_that_is_asked_for_is_used_even_if_it_is_worse(settings) -> None:
    corpus = single_corpus(400)
    forced = settings.model_copy(update={"kind": "cross_encoder"})

    def tune(*_: object) -> Tuned:
        worse = Probe(("mixed", "good"), np.zeros((2, 12)), np.array([9.0, 0.0]))
        return Tuned(worse, "always the first class", None, "float32")

    vectors = embedded(corpus, shows_mood=True)
    report = train_verifier(corpus, vectors, forced, EXACT, tune).report
    assert report.kind == "cross_encoder"
    assert report.cross_encoder.accuracy < report.probe.accuracy
    assert report.title == "always the first class"


def test_without_rows_to_hold_out_the_probe_is_trained_on_all_and_not_measured(settings) -> None:
    corpus = single_corpus(6)
    vectors = embedded(corpus, shows_mood=True)
    trained = train_verifier(corpus, vectors, settings, EXACT)
    assert trained.report.probe is None
    assert trained.report.trained_rows == 6
    assert trained.report.agreement(np.array([0.5, 0.5])) is None
    assert "not measured" in trained.report.summary()
    texts = Texts.of(*text_columns(corpus))
    assert (predicted_labels(trained.verifier, texts, vectors) == class_ids(corpus)).all()
    forced = settings.model_copy(update={"kind": "cross_encoder"})
    with pytest.raises(InputError, match=r"6 rows are too few.*kind to probe"):
        train_verifier(corpus, vectors, forced, EXACT)


def test_the_same_seed_gives_the_same_verifier(settings, tmp_path) -> None:
    corpus = pair_corpus(300)
    vectors = embedded(corpus, shows_mood=False)
    short = settings.model_copy(update={"kind": "cross_encoder", "max_epochs": 1})
    for name in ("one", "two"):
        train_verifier(corpus, vectors, short, EXACT).verifier.save(tmp_path / name)
    for path in (tmp_path / "one").iterdir():
        assert (tmp_path / "two" / path.name).read_bytes() == path.read_bytes()


def test_a_probe_s_probabilities_are_the_learner_s(settings) -> None:
    """Of three classes, one of which the training part has a single row of."""
    corpus = single_corpus(300)
    labels = class_ids(corpus).copy()
    labels[0] = 2
    corpus = corpus.assign(label=labels, label_name=np.array(["a", "b", "c"])[labels])
    vectors = embedded(corpus, shows_mood=True)
    probe = train_verifier(corpus, vectors, settings, EXACT).verifier
    texts = Texts.of(*text_columns(corpus))
    probabilities = probe.probabilities(texts, vectors)
    assert probabilities.shape == (300, 3)
    assert (probabilities.argmax(axis=1) == labels).mean() > 0.95
    assert probe.probabilities(Texts.of([]), vectors.subset(np.arange(0))).shape == (0, 3)
    with pytest.raises(InputError, match=r"vectors of shape \(1, 12\)"):
        probe.probabilities(texts, vectors.subset(np.arange(1)))


def test_other_folders_are_refused(tmp_path) -> None:
    with pytest.raises(InputError, match=r"no verifier\.json"):
        load_verifier(tmp_path)


def test_scores_leave_out_classes_that_do_not_occur() -> None:
    scores = Scores.of(np.array([0, 0, 1]), np.array([0, 0, 1]), 3, seconds=1.0)
    assert scores.macro_f1 == scores.accuracy == 1
    assert np.isnan(scores.recall[2])


@pytest.mark.parametrize(
    "wrong", [{"kind": "oracle"}, {"weak_below": 2}, {"max_rows": 0}, {"revision": "main"}]
)
def test_bad_settings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        VerifierSettings.model_validate(wrong)
