"""Intervals, verdicts and figures, on made-up rows; the built-in corpus is in test_planted_skew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import jensenshannon
from scipy.stats import ks_2samp

from take.audit.balance.measure import measure_balance
from take.audit.balance.report import BalanceReport, Finding
from take.audit.balance.terms import BalanceSettings
from take.audit.balance.vocabulary import PRIOR_SHARE, jensen_shannon
from take.errors import InputError
from tests.audit.release.released import filled

SETTINGS = BalanceSettings(draws=20)
EVEN = [0.5, 0.5]
FILLING = [
    *("the", "a", "film", "plot", "scene", "story", "is", "was", "good", "bad", "very", "too"),
    *("long", "short", "dull", "grand"),
]


def table(n_rows: int, seed: int = 0, share: float = 0.5, pair: bool = False) -> pd.DataFrame:
    """Rows of 4 … 20 words; one in ten mentions a woman, one in five a man."""
    random = np.random.default_rng(seed)

    def text() -> str:
        words = random.choice(FILLING, random.integers(4, 20)).tolist()
        words += ["she"] * (random.random() < 0.1) + ["he"] * (random.random() < 0.2)
        return " ".join(random.permutation(words))

    labels = (random.random(n_rows) < share).astype(np.int64)
    columns = ["text_a", "text_b"] if pair else ["text"]
    return pd.DataFrame(
        {
            "id": [f"row-{row}" for row in range(n_rows)],
            **{column: [text() for _ in range(n_rows)] for column in columns},
            "label": labels,
            "label_name": np.array(["bad", "good"])[labels],
        }
    )


def named(report: BalanceReport, name: str, where: str = "distilled") -> Finding:
    (found,) = [f for f in report.findings if f.name == name and f.where == where]
    return found


def report_of(distilled: pd.DataFrame, corpus: pd.DataFrame, **changes: Any) -> BalanceReport:
    settings = SETTINGS.model_copy(update=changes)
    return measure_balance(distilled, corpus[:200], corpus, EVEN, settings).report


def test_classes_are_compared_with_what_the_budget_sets() -> None:
    corpus = table(4000, share=0.8)
    balanced = pd.concat([corpus[corpus["label"] == label][:20] for label in (0, 1)])
    report = report_of(balanced, corpus)
    found = named(report, "class 'bad'")
    assert (found.value, found.verdict) == (1.0, "even")
    corpus_share = report.distilled.classes["bad"].corpus
    assert corpus_share == pytest.approx(0.2, abs=0.02)
    assert f"as the budget sets; the corpus has {100 * corpus_share:.0f} %" in found.sentence
    skewed = pd.concat([corpus[corpus["label"] == label][:n] for label, n in ((0, 300), (1, 100))])
    found = named(report_of(skewed, corpus), "class 'bad'")
    assert (found.value, found.verdict) == (1.5, "shifted")


def test_the_mix_of_classes_alone_is_no_shift() -> None:
    """One class of five is long and about women: a balanced set of it has twice as much of both."""
    corpus = table(6000, share=0.2)
    is_good = corpus["label"] == 1
    corpus.loc[is_good, "text"] = [
        f"{text} {'she ' * (row % 2)}{text}" for row, text in enumerate(corpus.loc[is_good, "text"])
    ]
    balanced = pd.concat([corpus[corpus["label"] == label][:300] for label in (0, 1)])
    report = report_of(balanced, corpus)
    assert report.of("distilled", "shifted") == []
    mentions = report.distilled.mentions["gender: female"]
    assert mentions.share > 1.4 * mentions.corpus  # it is there, and stated
    assert mentions.share == pytest.approx(mentions.corpus_reweighted, rel=0.15)


def test_lengths_are_those_that_scipy_finds() -> None:
    corpus, other = table(3000), table(100, seed=1)
    other["text"] = other["text"] + " and on and on"
    found = report_of(other, corpus).distilled.lengths["text"]
    lengths, its = (frame["text"].str.split().str.len() for frame in (other, corpus))
    assert found.mean == pytest.approx(lengths.mean())
    assert found.corpus_mean == pytest.approx(its.mean(), abs=0.1)  # by the mix of classes
    assert found.ks == pytest.approx(ks_2samp(lengths, its).statistic, abs=0.02)
    assert found.ks_p == pytest.approx(ks_2samp(lengths, its).pvalue, rel=1)
    assert found.quantiles.p50 == pytest.approx(lengths.quantile(0.5), abs=1)
    assert found.standardised_difference == pytest.approx(
        (lengths.mean() - its.mean()) / np.sqrt((lengths.var() + its.var()) / 2), abs=0.03
    )


def test_divergence_is_that_of_scipy() -> None:
    p, q = np.array([0.5, 0.3, 0.2, 0.0]), np.array([0.1, 0.0, 0.5, 0.4])
    seen = p > 0
    assert jensen_shannon(p[seen], q[seen]) == pytest.approx(jensenshannon(p, q, base=2) ** 2)


@pytest.mark.parametrize("n_rows", [10, 40, 400])
def test_a_small_set_is_not_shifted_by_its_size(n_rows: int) -> None:
    corpus = table(5000)
    found = report_of(table(n_rows, seed=1), corpus).distilled.vocabulary
    assert found is not None
    assert found.random_low * 0.9 <= found.divergence.value <= found.random_high * 1.1
    assert found.distinct_1.value == pytest.approx(found.distinct_1.random_rows, rel=0.2)
    assert found.known_share.value == 1


def test_other_words_are_a_shift_and_listed() -> None:
    corpus = table(3000)
    other = table(200, seed=1)
    other["text"] = other["text"].str.replace("good", "splendid", regex=False)
    balance = measure_balance(other, corpus[:300], corpus, EVEN, SETTINGS)
    terms = balance.terms[balance.terms["where"] == "distilled"]
    over, under = (terms[terms["direction"] == which] for which in ("over", "under"))
    assert over.iloc[0]["term"] == "splendid"
    assert under.iloc[0]["term"] == "good"
    assert over.iloc[0]["corpus_count"] == 0
    assert over.iloc[0]["z"] > 3 > -3 > under.iloc[0]["z"]
    assert named(balance.report, "vocabulary").verdict == "shifted"
    vocabulary = balance.report.distilled.vocabulary
    assert vocabulary is not None
    assert vocabulary.known_share.value < 0.97


def test_log_odds_are_those_of_the_formula() -> None:
    corpus, other = table(500), table(60, seed=1)
    balance = measure_balance(other, corpus[:100], corpus, EVEN, SETTINGS)
    row = balance.terms[balance.terms["where"] == "distilled"].iloc[0]
    mine = pd.Series(" ".join(other["text"]).split()).value_counts()
    share = other["label"].value_counts(normalize=True)
    weights = corpus["label"].map(share / corpus["label"].value_counts())
    worth = weights.sum() ** 2 / (weights**2).sum()
    parts = corpus["text"].str.split().explode()
    theirs = pd.Series(weights.loc[parts.index].to_numpy()).groupby(parts.to_numpy()).sum() * worth
    both = mine.add(theirs, fill_value=0)
    prior = both / both.sum() * PRIOR_SHARE * mine.sum()
    term = row["term"]
    y, z, a = mine.get(term, 0), theirs.get(term, 0), prior[term]
    n, m, a0 = mine.sum(), theirs.sum(), prior.sum()
    delta = np.log((y + a) / (n + a0 - y - a)) - np.log((z + a) / (m + a0 - z - a))
    assert row["log_odds"] == pytest.approx(delta)
    assert row["z"] == pytest.approx(delta / np.sqrt(1 / (y + a) + 1 / (z + a)))


def test_labels_that_go_with_a_group_are_reported() -> None:
    """As many rows mention women as ever, but now nearly all of them are bad."""
    corpus, other = table(6000), table(2000, seed=1)
    female = other["text"].str.split().map(lambda words: "she" in words)
    moved = female & (other["label"] == 1) & (np.arange(len(other)) % 5 > 0)
    other.loc[moved, ["label", "label_name"]] = [0, "bad"]
    found = named(report_of(other, corpus), "'good' given gender: female")
    assert found.verdict == "shifted"
    assert found.value is not None
    assert found.value < -0.25
    assert named(report_of(other, corpus), "'good' given gender: male").verdict != "shifted"


def test_sides_are_compared_with_each_other() -> None:
    corpus, other = table(6000), table(800, seed=1)
    other["text"] = other["text"].str.replace(r"\bhe\b", "she", regex=True)
    report = report_of(other, corpus)
    found = named(report, "gender: female to male")
    assert found.verdict == "shifted"
    assert found.value is None  # not one man is left, so there is no upper end
    assert found.high is None
    assert found.low is not None
    assert found.low > 10
    assert "all to none" in found.sentence


def test_forty_rows_are_too_few_to_call_a_mention_even() -> None:
    corpus = table(4000)
    report = report_of(table(40, seed=3), corpus)
    found = named(report, "mentions of gender: female")
    assert found.verdict == "inconclusive"
    assert found.sentence.endswith("Inconclusive: too few rows.")


# --- the report


def test_the_report_has_names_and_numbers_and_no_word_of_the_corpus() -> None:
    corpus = table(500)
    corpus["text"] = corpus["text"] + " zyzzyva"
    other = table(50, seed=1).assign(text="quux quux she")
    balance = measure_balance(other, corpus[:100], corpus, EVEN, SETTINGS)
    written = balance.report.model_dump_json()
    assert BalanceReport.model_validate_json(written) == balance.report
    assert "zyzzyva" not in written
    assert "quux" not in written
    assert {"zyzzyva", "quux"} <= set(balance.terms["term"])
    assert "distilled: " in balance.report.summary()
    assert "pool: 0 of" in balance.report.summary()


def test_every_figure_of_the_report_has_a_meaning() -> None:
    from take.generation.quality.report import meanings

    assert all(meanings(BalanceReport).values())


def test_the_same_input_gives_the_same_figures() -> None:
    corpus, other = table(800), table(60, seed=1)
    first, second = (measure_balance(other, corpus[:100], corpus, EVEN, SETTINGS) for _ in "ab")
    assert first.report == second.report
    pd.testing.assert_frame_equal(first.terms, second.terms)


def test_pairs_are_measured_column_by_column() -> None:
    corpus, other = table(1500, pair=True), table(300, seed=1, pair=True)
    other["text_b"] = other["text_b"] + " " + other["text_b"]
    report = report_of(other, corpus)
    assert named(report, "length of text_a").verdict == "even"
    found = named(report, "length of text_b")
    assert found.verdict == "shifted"
    assert found.value == pytest.approx(2, abs=0.1)


@pytest.mark.parametrize("n_rows", [1, 2])
def test_a_set_of_a_row_or_two_is_measured(n_rows: int) -> None:
    corpus = table(300)
    report = report_of(table(n_rows, seed=1), corpus)
    assert report.distilled.rows == n_rows
    assert report.of("distilled", "shifted") == []


def test_a_set_larger_than_its_corpus_is_measured() -> None:
    corpus = table(300)
    assert report_of(table(2000, seed=1), corpus).of("distilled", "shifted") == []


def test_texts_without_words_are_measured() -> None:
    corpus = table(300)
    report = report_of(table(20, seed=1).assign(text="?!"), corpus)
    assert report.distilled.vocabulary is None
    assert report.distilled.lengths["text"].mean == 0
    assert named(report, "length").value == 0
    BalanceReport.model_validate_json(report.model_dump_json())


def test_without_groups_there_are_no_mentions() -> None:
    corpus = table(300)
    report = report_of(table(40, seed=1), corpus, identity_groups={})
    assert report.distilled.mentions == {}
    assert {finding.name for finding in report.of("distilled")} == {
        *("class 'bad'", "class 'good'", "length", "vocabulary")
    }


@pytest.mark.parametrize(
    ("shares", "problem"),
    [
        ([0.5], "1 shares"),
        ([0.5, 0.6], "add up to 1.1"),
        ([0.0, 1.0], "2 shares"),
        ([], "0 shares"),
    ],
)
def test_bad_shares_are_refused(shares: list[float], problem: str) -> None:
    corpus = table(100)
    with pytest.raises(InputError, match=problem):
        measure_balance(corpus[:10], corpus[:20], corpus, shares, SETTINGS)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda rows: rows[:0], "distilled: 0 rows"),
        (lambda rows: rows.assign(label=2), "labels 2 … 2"),
        (lambda rows: table(5, pair=True), "task 'pair'"),
    ],
)
def test_rows_of_another_kind_are_refused(change: Any, problem: str) -> None:
    corpus = table(100)
    with pytest.raises(InputError, match=problem):
        measure_balance(change(corpus[:10]), corpus[:20], corpus, EVEN, SETTINGS)


def test_the_summary_names_four_shifted_figures_and_counts_the_rest() -> None:
    shifted = filled(Finding, where="distilled", verdict="shifted")
    report = filled(
        BalanceReport, findings=[shifted.model_copy(update={"name": n}) for n in "abcdef"]
    )
    ours, pool = report.summary().split("; ")
    assert ours == "distilled: 6 of 6 figures shifted (a, b, c, d and 2 more), 0 inconclusive"
    assert pool == "pool: 0 of 0 figures shifted, 0 inconclusive"
