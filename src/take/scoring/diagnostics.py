"""Do the paper's propositions hold here? Gaps with confidence intervals, verdicts, and AUCs.

Everything is measured on the copy whose flipped rows are known (`noise.NoisyCopy`). These are
indicators for one corpus and one probe, not certificates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import BaseModel

from take.rows.arrays import Bools, Float32, Float64, Int64
from take.rows.blocks import RowBlocks, block_bounds
from take.rows.passes import compute_each
from take.rows.random import rng
from take.scoring.noise import make_noisy_copy
from take.scoring.scorers import SCORERS, Evidence, score
from take.scoring.scoring_inputs import ScoringSettings, check_features
from take.scoring.self_influence import MAX_DENSE_PARAMETERS, SelfInfluence

Verdict = Literal["holds", "does not hold here", "undecided"]
CONFIDENCE = 0.95
MIN_NOISY_ROWS = 10
_RESAMPLED_AT_ONCE = 2**16


@dataclass(frozen=True)
class Gap:
    """E_noisy[v] − E_clean[v], with a 95 % bootstrap interval over rows."""

    value: float
    low: float
    high: float
    n_noisy: int


@dataclass(frozen=True)
class HardSampleBias:
    """Proposition 1, measured: self-influence of noisy rows against clean ones, and the bound."""

    gap: Gap  # Δ_HSB of Eq. 6
    relative_gap: float  # Δ_HSB over the mean of all rows
    verdict: Verdict  # Δ_HSB > 0
    noisy_norm_minimum: float  # δ
    clean_norm_maximum: float  # ε
    lower_bound: float  # (δ² − cond(H) ε²) / λ_max(H), the right side of Eq. 6
    assumptions_hold: bool  # δ > ε √cond(H), without which the bound says nothing


@dataclass(frozen=True)
class TrajectoryGap:
    """Proposition 2, measured: how much κ favours noisy rows, against the last checkpoint."""

    kappa: Gap  # left side of Eq. 10
    last_checkpoint: Gap  # right side of Eq. 10
    as_written: Verdict  # left < right in the units of Eq. 10
    normalised: Verdict  # left < right after dividing both scores by their own mean
    normalised_difference: Gap
    premise: Verdict  # assumption A3 of the proof: the last checkpoint favours noisy rows


def bootstrap_gap(values: Float64, is_noisy: Bools, resamples: int, seed: int) -> Gap:
    """Difference of means, noisy minus clean, and the percentile interval of its bootstrap.

    >>> values, is_noisy = np.array([1.0, 1.0, 3.0, 3.0]), np.array([False, False, True, True])
    >>> bootstrap_gap(values, is_noisy, resamples=100, seed=0)
    Gap(value=2.0, low=2.0, high=2.0, n_noisy=2)
    """
    random = rng(seed, "diagnostics bootstrap")
    groups = [values[is_noisy], values[~is_noisy]]
    means = [resampled_means(group, resamples, random) for group in groups]
    low, high = np.quantile(means[0] - means[1], [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    value = float(groups[0].mean() - groups[1].mean())
    return Gap(value, float(low), float(high), len(groups[0]))


def resampled_means(values: Float64, resamples: int, random: np.random.Generator) -> Float64:
    """The means of samples as large as the values, drawn from them with replacement.

    How many fall into each block of values is multinomial, and within a block they are uniform. So
    what is drawn from at a time stays in a core's cache, however many values there are.
    """
    bounds = list(block_bounds(len(values), _RESAMPLED_AT_ONCE))
    shares = np.array([stop - start for start, stop in bounds]) / len(values)
    drawn = random.multinomial(len(values), shares, size=resamples)
    totals = np.zeros(resamples)
    for (start, stop), counts in zip(bounds, drawn.T, strict=True):
        block = values[start:stop]
        for i, count in enumerate(counts.tolist()):
            totals[i] += block[random.integers(len(block), size=count)].sum()
    return totals / len(values)


def verdict_positive(gap: Gap) -> Verdict:
    """Whether the gap is above zero, when its interval allows an answer.

    >>> verdict_positive(Gap(1.0, 0.5, 1.5, 99)), verdict_positive(Gap(0.1, -0.5, 0.6, 99))
    ('holds', 'undecided')
    """
    if gap.n_noisy < MIN_NOISY_ROWS:
        return "undecided"  # so few rows say nothing about others
    if gap.low > 0:
        return "holds"
    return "does not hold here" if gap.high < 0 else "undecided"


def hard_sample_bias(
    influence: SelfInfluence, last_norms: Float32, is_noisy: Bools, resamples: int, seed: int
) -> HardSampleBias:
    """Eq. 6: Δ_HSB = E_noisy[I_self] − E_clean[I_self] ≥ (δ² − cond(H) ε²) / λ_max(H).

    `last_norms` are the gradient norms at the last checkpoint; δ is the smallest among noisy rows
    and ε the largest among clean ones, as the proposition has it.
    """
    gap = bootstrap_gap(influence.values, is_noisy, resamples, seed)
    delta, epsilon = float(last_norms[is_noisy].min()), float(last_norms[~is_noisy].max())
    condition = influence.largest_eigenvalue / influence.smallest_eigenvalue
    return HardSampleBias(
        gap=gap,
        relative_gap=gap.value / float(influence.values.mean()),
        verdict=verdict_positive(gap),
        noisy_norm_minimum=delta,
        clean_norm_maximum=epsilon,
        lower_bound=(delta**2 - condition * epsilon**2) / influence.largest_eigenvalue,
        assumptions_hold=delta > epsilon * condition**0.5,
    )


def trajectory_gap(
    kappa: Float64, last: Float64, is_noisy: Bools, resamples: int, seed: int
) -> TrajectoryGap:
    """Eq. 10: E_noisy[κ] − E_clean[κ] < E_noisy[κ†] − E_clean[κ†], where κ† = 1/I(·, T−1).

    κ sums T checkpoints and κ† takes one, so κ is larger by about Σ k(t), and a negative gap grows
    with it: as written, Eq. 10 can hold by scale alone. Dividing each score by its own mean, as the
    weights do, removes that; both verdicts are given.
    """

    def gap(values: Float64) -> Gap:
        return bootstrap_gap(values, is_noisy, resamples, seed)

    differences = last - kappa, last / last.mean() - kappa / kappa.mean()
    kappa_gap, last_gap, as_written, normalised = compute_each(gap, [kappa, last, *differences])
    return TrajectoryGap(
        kappa=kappa_gap,
        last_checkpoint=last_gap,
        as_written=verdict_positive(as_written),
        normalised=verdict_positive(normalised),
        normalised_difference=normalised,
        premise=verdict_positive(last_gap),
    )


def flipped_label_auc(scores: Float64, is_flipped: Bools) -> float:
    """Chance that a flipped row scores below a clean one, ties counting half (ROC-AUC).

    1 means that the scorer ranks every wrong label low; 0.5 that it does not see them; below 0.5
    that it favours them, which for a scorer is the hard-sample bias.

    >>> flipped_label_auc(np.array([0.1, 0.9, 0.5]), np.array([True, False, False]))
    1.0
    """
    from scipy.stats import rankdata

    n_flipped = int(is_flipped.sum())
    n_clean = len(scores) - n_flipped
    above = rankdata(scores)[~is_flipped].sum() - n_clean * (n_clean + 1) / 2
    return float(above / (n_clean * n_flipped))


def rank_correlation(first: Float64, second: Float64) -> float:
    """Spearman's ρ, e.g. of weights and text lengths, which shows a score that follows length.

    >>> round(rank_correlation(np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 40.0])), 6)
    1.0
    """
    from scipy.stats import rankdata

    # Not scipy's spearmanr, whose last digit differs from reports made before.
    ranks = [rankdata(values) for values in (first, second)]
    if any(np.ptp(rank) == 0 for rank in ranks):
        return 0.0  # a constant has no order to agree with
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


class StudyReport(BaseModel):
    """What the copy whose wrong labels are known shows about the corpus, probe and scorers."""

    onset: int
    """T_m: the checkpoint at which wrong labels start to be memorised; T if never."""
    decay: float
    """λ* = T / T_m."""
    flipped_norms: list[float]
    """Mean gradient norm of the flipped rows, by checkpoint."""
    clean_norms: list[float]
    """And of the other rows."""
    auc: dict[str, float]
    """Each scorer's chance to rank a flipped row below a clean one."""
    effective_share: dict[str, float]
    """ESS / N of each scorer's weights on the copy."""
    proposition_1: dict[str, HardSampleBias]
    """By self-influence scorer: exact, K-FAC or EKFAC Hessian."""
    proposition_2: TrajectoryGap
    self_influence_ranks: dict[str, dict[str, float]] = {}
    """Spearman's ρ between the scores of each two of them."""


def study_scorers(
    features: RowBlocks,
    labels: Int64,
    n_classes: int,
    settings: ScoringSettings,
    scorers: Sequence[str] = tuple(SCORERS),
) -> StudyReport:
    """Flip labels in a copy, weigh it with each scorer, and test Propositions 1 and 2 on it.

    `influence_self` is left out for a head too large for a dense Hessian.
    """
    check_features(features, settings.block_rows)
    if n_classes * (features.shape[1] + 1) > MAX_DENSE_PARAMETERS:
        scorers = [name for name in scorers if name != "influence_self"]
    copy = make_noisy_copy(features, labels, n_classes, settings)
    evidence = Evidence(
        features,
        copy.labels,
        settings,
        n_classes=n_classes,
        trajectory=copy.trajectory,
        influence=copy.influence,
        decay=copy.decay,
    )
    noisy, resamples, seed = copy.is_flipped, settings.bootstrap_resamples, settings.seed
    scored = {name: score(evidence, name) for name in scorers}
    self_influences = {
        "influence_self_kfac": evidence.self_influence_kfac,
        "influence_self_ekfac": evidence.self_influence_ekfac,
    }
    if "influence_self" in scorers:
        self_influences["influence_self"] = evidence.self_influence
    last_norms = np.ascontiguousarray(copy.influence[:, -1])

    def bias(values: SelfInfluence) -> HardSampleBias:
        return hard_sample_bias(values, last_norms, noisy, resamples, seed)

    return StudyReport(
        onset=copy.onset,
        decay=copy.decay,
        flipped_norms=copy.flipped_norms.tolist(),
        clean_norms=copy.clean_norms.tolist(),
        auc={name: flipped_label_auc(rows.scores, noisy) for name, rows in scored.items()},
        effective_share={name: rows.report.effective_share for name, rows in scored.items()},
        proposition_1=dict(
            zip(self_influences, compute_each(bias, self_influences.values()), strict=True)
        ),
        proposition_2=trajectory_gap(
            score(evidence, "trajectory").scores,
            score(evidence, "last_checkpoint").scores,
            noisy,
            resamples,
            seed,
        ),
        self_influence_ranks={
            name: {
                other: rank_correlation(mine.values, theirs.values)
                for other, theirs in self_influences.items()
            }
            for name, mine in self_influences.items()
        },
    )
