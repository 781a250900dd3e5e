"""Planted skews are found and random samples are not called shifted, on the built-in corpus.

The rows are real ones: reviews of films, drawn so that one thing is twice what it should be.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
import yaml

from take.audit.balance.measure import measure_balance, measure_set
from take.audit.balance.report import Finding
from take.audit.balance.rows import Reference
from take.audit.balance.terms import BalanceSettings
from take.corpus.ingest import IngestionSettings, ingest
from take.corpus.sources import CorpusSource
from take.corpus.spec import select_corpus
from tests.conftest import ROOT

NAME = "rotten_tomatoes"
SETTINGS = BalanceSettings()
FEMALE = 0  # the first side of the first group
SAMPLES = 200


class Built(NamedTuple):
    corpus: pd.DataFrame
    reference: Reference
    shares: np.ndarray

    def draw(self, n_rows: int, seed: int, among: np.ndarray | None = None) -> pd.DataFrame:
        """Rows at random; with replacement, as many as requested whatever the corpus has."""
        rows = np.arange(len(self.corpus)) if among is None else np.flatnonzero(among)
        return self.corpus.iloc[np.random.default_rng(seed).choice(rows, n_rows)]

    def findings(
        self, rows: pd.DataFrame, settings: BalanceSettings = SETTINGS
    ) -> dict[str, Finding]:
        _, found, _ = measure_set(rows, "distilled", self.reference, self.shares, settings)
        return {finding.name: finding for finding in found}


@pytest.fixture(scope="module")
def built() -> Built:
    corpora = yaml.safe_load((ROOT / "conf/base/corpora.yml").read_text(encoding="utf-8"))
    source = CorpusSource(NAME, select_corpus(corpora["corpora"], NAME))
    corpus = ingest(source.read(), IngestionSettings(budget="20/class")).corpus
    shares = corpus["label"].value_counts(normalize=True, sort=False).sort_index().to_numpy()
    return Built(corpus, Reference(corpus, SETTINGS.identity_groups), shares)


def with_women(built: Built, n_rows: int, seed: int, times: float) -> pd.DataFrame:
    """Random rows, with this many times as many that mention women."""
    female = built.reference.rows.mentions[:, FEMALE]
    n_female = round(times * female.mean() * n_rows)
    parts = [
        built.draw(n_female, seed, among=female),
        built.draw(n_rows - n_female, seed, among=~female),
    ]
    return pd.concat(parts)


@pytest.mark.parametrize("n_rows", [400, 5000])
@pytest.mark.parametrize("times", [2.0, 0.5])
def test_twice_or_half_as_many_women_are_found(built: Built, n_rows: int, times: float) -> None:
    """Half of 5.5 % is inconclusive with 400 rows (11 of 22), with 5,000 it is shown."""
    for seed in range(5):
        found = built.findings(with_women(built, n_rows, seed, times))
        mentions = found["mentions of gender: female"]
        assert mentions.value == pytest.approx(times, rel=0.05)
        expected = "inconclusive" if (n_rows, times) == (400, 0.5) else "shifted"
        assert mentions.verdict == expected, seed
        if n_rows == 5000:
            assert found["gender: female to male"].verdict == "shifted"


def test_forty_rows_with_twice_as_many_women_are_not_called_even(built: Built) -> None:
    found = built.findings(with_women(built, 40, 0, 2.0))
    assert found["mentions of gender: female"].verdict == "inconclusive"


@pytest.mark.parametrize("n_rows", [400, 5000])
def test_a_class_with_twice_its_share_is_found(built: Built, n_rows: int) -> None:
    """A quarter by the budget, a half in the set."""
    corpus = built.corpus
    is_good = corpus["label"].to_numpy() == 1
    few = np.flatnonzero(is_good)[: int((~is_good).sum()) // 3]
    lopsided = corpus.iloc[np.sort(np.concatenate([np.flatnonzero(~is_good), few]))]
    rows = pd.concat(
        [built.draw(n_rows // 2, 0, among=is_good), built.draw(n_rows // 2, 0, among=~is_good)]
    )
    report = measure_balance(rows, rows, lopsided, [0.75, 0.25], SETTINGS).report
    found = {finding.name: finding for finding in report.of("distilled")}
    assert found["class 'positive'"].verdict == "shifted"
    assert found["class 'positive'"].value == pytest.approx(2, rel=0.01)
    # The other figures are at the set's mix of classes: only the classes have shifted.
    assert {name for name, its in found.items() if its.verdict == "shifted"} == {
        *("class 'positive'", "class 'negative'")
    }


@pytest.mark.parametrize("n_rows", [40, 400])
def test_texts_twice_as_long_are_found(built: Built, n_rows: int) -> None:
    rows, more = built.draw(n_rows, 0), built.draw(n_rows, 1)
    rows = rows.assign(text=[f"{a} {b}" for a, b in zip(rows["text"], more["text"], strict=True)])
    length = built.findings(rows)["length"]
    assert length.verdict == "shifted"
    assert length.value == pytest.approx(2, rel=0.2)


@pytest.mark.parametrize("n_rows", [40, 400])
def test_random_samples_are_hardly_ever_called_shifted(built: Built, n_rows: int) -> None:
    """At most 5 % of samples have any figure at all called shifted; +3 % for 200 samples."""
    quick = SETTINGS.model_copy(update={"draws": 10})
    alarms = 0
    for seed in range(SAMPLES):
        found = built.findings(built.draw(n_rows, seed), quick)
        alarms += any(finding.verdict == "shifted" for finding in found.values())
    assert alarms <= (0.05 + 0.03) * SAMPLES


def test_a_random_pool_is_even_or_inconclusive(built: Built) -> None:
    found = built.findings(built.draw(5000, 0))
    assert {finding.verdict for finding in found.values()} == {"even", "inconclusive"}
    assert found["length"].verdict == "even"
    assert found["vocabulary"].verdict == "even"
    assert found["mentions of gender: male"].verdict == "even"
