"""Words per text of a set beside its corpus."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from take.audit.balance.findings import Bounds, Draft, times
from take.audit.balance.report import LengthShift, Quantiles
from take.audit.balance.rows import Reference, Rows, effective
from take.audit.balance.settings import BalanceSettings
from take.rows.arrays import Float64
from take.rows.labelled import TEXT_COLUMNS

_LEVELS = {"p5": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95}


class Lengths(NamedTuple):
    """By column of texts."""

    shifts: dict[str, LengthShift]
    drafts: list[Draft]


class _Ratio(NamedTuple):
    value: float
    low: float
    high: float
    p: float


def length_shifts(rows: Rows, reference: Reference, settings: BalanceSettings) -> Lengths:
    """Means, spread and the ratio of the means, for each column of texts."""
    found = Lengths({}, [])
    names = TEXT_COLUMNS["single" if rows.tokens.n_columns == 1 else "pair"]
    bounds = Bounds.factor(settings.length_factor)
    for column, name in enumerate(names):
        shares, sizes = _histograms(rows, reference, column)
        means, variances = _moments(shares)
        unbiased = variances * sizes / np.maximum(sizes - 1, 1)
        ratio = mean_ratio(means, unbiased, sizes, settings.confidence)
        found.shifts[name] = _shift(shares, sizes)
        is_only = len(names) == 1
        sentence = (
            f"{'Texts' if is_only else f'Texts in {name}'} have {means[0]:.3g} words on average, "
            f"{means[1]:.3g} in the corpus: {times(*ratio[:3])}."
        )
        title = "length" if is_only else f"length of {name}"
        found.drafts.append(Draft(title, *ratio, bounds, sentence))
    return found


def mean_ratio(means: Float64, variances: Float64, sizes: Float64, confidence: float) -> _Ratio:
    """The ratio of two means, by the delta method on its logarithm.

        log(x̄ / ȳ) ± t_{n−1} √(s²_x/(n x̄²) + s²_y/(m ȳ²))

    There are n − 1 degrees of freedom: the first sample is by far the smaller.

    >>> found = mean_ratio(np.array([10, 20]), np.array([16, 36]), np.array([400, 9000]), 0.95)
    >>> [round(part, 3) for part in found]
    [0.5, 0.48, 0.52, 0.0]
    """
    from scipy.stats import t

    freedom = sizes[0] - 1
    if freedom <= 0 or not means.all():
        value = float(means[0] / means[1]) if means[1] else np.inf
        return _Ratio(value, 0.0, np.inf, 1.0)
    centre = float(np.log(means[0] / means[1]))
    error = float(np.sqrt((variances / (sizes * np.square(means))).sum()))
    reach = error * float(t.ppf((1 + confidence) / 2, freedom))
    p = float(2 * t.sf(abs(centre) / error, freedom)) if error else float(centre == 0)
    value, low, high = (float(np.exp(centre + step)) for step in (0.0, -reach, reach))
    return _Ratio(value, low, high, p)


def _histograms(rows: Rows, reference: Reference, column: int) -> tuple[Float64, Float64]:
    """Set and corpus × number of words: share of the rows; and how many rows each is worth."""
    mine, corpus = rows.tokens.lengths[column], reference.rows.tokens.lengths[column]
    weights = reference.row_weight(rows)
    size = int(max(mine.max(), corpus.max())) + 1
    shares = np.stack(
        [
            np.bincount(mine, minlength=size) / len(rows),
            np.bincount(corpus, weights[reference.rows.labels], minlength=size),
        ]
    )
    return shares, np.array([len(rows), float(effective(weights, reference.rows.class_sizes))])


def _moments(shares: Float64) -> tuple[Float64, Float64]:
    values = np.arange(shares.shape[1])
    means = shares @ values
    return means, np.maximum(shares @ np.square(values) - np.square(means), 0)


def _shift(shares: Float64, sizes: Float64) -> LengthShift:
    from scipy.special import kolmogorov

    means, variances = _moments(shares)
    spread = float(np.sqrt(variances.mean()))
    gap = float(np.abs(np.diff(np.cumsum(shares, axis=1), axis=0)).max())
    return LengthShift(
        mean=means[0],
        corpus_mean=means[1],
        quantiles=_quantiles(shares[0]),
        corpus_quantiles=_quantiles(shares[1]),
        standardised_difference=float(means[0] - means[1]) / spread if spread else None,
        ks=gap,
        ks_p=float(kolmogorov(gap * np.sqrt(sizes.prod() / sizes.sum()))),
    )


def _quantiles(shares: Float64) -> Quantiles:
    # Sums of weights can fall short, by rounding, of a level that they reach.
    cumulative = np.cumsum(shares) + 1e-9
    return Quantiles(
        **{name: int(np.searchsorted(cumulative, level)) for name, level in _LEVELS.items()}
    )
