"""What a calibration finds out about this machine, and what is believed without measuring."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from take.rows.arrays import Float64

KEEP_RATE = 0.9
"""Share of the generated rows that screening keeps: 0.82 to 0.96, of five corpora."""
LENGTH_SHARE = 0.8
"""Tokens of a generated row over those of a corpus row: 0.63 to 0.94, of the same five."""
EXAM_SWEEPS = 8
"""Sweeps of the selector `exam` until it stops by itself: 6 to 10, of the same five."""


@dataclass(frozen=True)
class Curve:
    """Seconds by size, measured at a few sizes: straight between them, in proportion beyond.

    >>> Curve((10.0, 20.0), (1.0, 3.0)).at([5, 15, 40]).tolist()
    [0.5, 2.0, 6.0]
    """

    sizes: tuple[float, ...]
    """Rising."""
    seconds: tuple[float, ...]

    @classmethod
    def of(cls, measured: dict[float, float]) -> Curve:
        """A curve through seconds by size."""
        sizes = sorted(measured)
        return cls(tuple(sizes), tuple(measured[size] for size in sizes))

    def at(self, sizes: ArrayLike) -> Float64:
        """Seconds at these sizes."""
        wanted = np.asarray(sizes, dtype=np.float64)
        inside = np.clip(wanted, self.sizes[0], self.sizes[-1])
        found: Float64 = np.interp(inside, self.sizes, self.seconds) * (wanted / inside)
        return found


@dataclass(frozen=True)
class Pace:
    """Seconds here for one second on the machine that the constants of `work.py` are from."""

    arithmetic: float = 1.0
    """For matrix products."""
    interpreter: float = 1.0
    """For plain Python."""


@dataclass(frozen=True)
class EncoderRates:
    """The encoder on this machine."""

    load_seconds: float
    seconds_per_string: Curve
    """By tokens of the string, in full batches."""
    peak_megabytes: float


@dataclass(frozen=True)
class TuningRates:
    """Fine-tuning on this machine."""

    load_seconds: float
    """Of the language model."""
    update_seconds: Curve
    """By tokens of the update."""
    evaluation_seconds_per_token: float
    trained_bytes: int
    """Of what is trained, as it is kept."""
    peak_megabytes: float


@dataclass(frozen=True)
class WritingRates:
    """Sampling, and reading with the same model, on this machine."""

    model_seconds: float
    """To load the language model."""
    load_seconds: float
    """To load it and make the decoder from it."""
    step_seconds: Curve
    """One token on each row, by rows."""
    loss_seconds_per_token: float
    peak_megabytes: float
    reading_peak_megabytes: float


@dataclass(frozen=True)
class Rates:
    """All that was measured; None for what the run does not need."""

    pace: Pace
    base_megabytes: float
    """Of the process before any model was loaded."""
    resting_megabytes: float
    """Of the process after models were loaded and let go: what they leave behind."""
    encoder: EncoderRates | None = None
    tuning: TuningRates | None = None
    writing: WritingRates | None = None
    seconds: float = 0.0
    """What the calibration itself took."""
