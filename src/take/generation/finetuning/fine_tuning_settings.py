"""The settings of fine-tuning, checked before anything is computed."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from take.frozen import Frozen, Quantiles
from take.precision import Precision, resolved


class PrivacySettings(Frozen):
    """Differentially private fine-tuning (DP-SGD): how much one training row may show."""

    target_epsilon: float = Field(gt=0, le=100)
    """ε that all updates together may spend; 1 to 10 is usual."""
    delta: float | None = Field(default=None, gt=0, lt=0.1)
    """δ, the chance that ε does not hold; by default a tenth of 1 / training rows."""
    clip_norm: float = Field(default=1.0, gt=0, le=1000)
    """Largest norm of one row's gradient; noise is in units of it."""
    accountant: Literal["prv", "rdp"] = "prv"
    """How ε is counted: 'prv' needs 5 to 20 % less noise, 'rdp' is a looser bound."""
    noise_seed: int | None = Field(default=None, ge=0)
    """Without it, noise and row sampling come from the operating system's entropy, and no two runs
    are the same; a number makes the run repeatable, but anyone who knows it can remove the noise:
    for tests only."""


class CanarySettings(Frozen):
    """Made-up secrets among the training rows, with which the audit measures memorisation."""

    planted: int = Field(default=32, ge=0, le=10_000)
    """Secrets trained on; 0: none, and no such test."""
    controls: int = Field(default=448, ge=32, le=100_000)
    """Secrets drawn in the same way but not trained on; with fewer than 440, what is found at 1 %
    false alarms has no lower bound."""
    repeats: int = Field(default=1, ge=1, le=1000)
    """How often each is among the rows: more than 1 shows what happens to a text that the
    corpus repeats."""
    most_share: float = Field(default=0.05, gt=0, le=1)
    """Of the training tokens, at most: a small corpus has fewer canaries."""


class FineTuningSettings(Frozen):
    """`fine_tuning` within `params:generation`.

    >>> FineTuningSettings(token_budget=50_000).method
    'lora'
    """

    method: Literal["lora", "full"] = "lora"
    """'lora' trains small matrices in all linear layers but the head; 'full' trains all weights, at
    four times the memory."""
    lora_rank: int = Field(default=16, ge=1, le=1024)
    lora_alpha: int = Field(default=32, ge=1, le=10_000)
    """The adapter counts alpha / rank times."""
    lora_dropout: float = Field(default=0.0, ge=0, lt=1)

    token_budget: int = Field(default=80_000, ge=1, le=10**12)
    """Tokens of prompts and texts to train on, all epochs together; a large corpus is cut to it,
    evenly over classes, a small one repeats up to max_epochs."""
    max_epochs: int = Field(default=3, ge=1, le=1000)
    """Times a row is seen, at most."""
    max_text_tokens: int = Field(default=256, ge=2, le=100_000)
    """With the end token; longer texts are cut, longer pairs left out."""
    row_sampling: Literal["balanced", "knowledge"] = "balanced"
    """Which rows of a class are taken if the budget does not reach all: any, or the more likely the
    more weight scoring gave them."""

    length_quantiles: Quantiles = (0.0, 1.0)
    """Of the corpus's lengths in words: shorter and longer rows are not trained on. (0.5, 1) makes
    a generator of the longer half."""

    precision: Precision = "auto"
    """Of matrix products; auto: bfloat16 where it runs and is faster. Under privacy float32."""
    batch_rows: int = Field(default=8, ge=1, le=4096)
    """Rows in memory at a time."""
    accumulation: int = Field(default=1, ge=1, le=4096)
    """Batches per update."""
    learning_rate: float = Field(default=1e-3, gt=0, le=1)
    """At its highest; 3e-4 to 2e-3 suits 'lora', 1e-5 to 5e-5 suits 'full'."""
    weight_decay: float = Field(default=0.0, ge=0, le=1)
    clip_norm: float = Field(default=1.0, gt=0, le=1000)
    """Largest norm of an update's gradient; under privacy its own clip_norm counts."""

    validation_rows: int = Field(default=256, ge=0, le=100_000)
    """Train rows that the loss is measured on and that are never trained on; at most a fifth of a
    class."""
    evaluations: int = Field(default=4, ge=0, le=1000)
    """How often the validation loss is measured after the start; the weights with the lowest are
    kept. 0: there are no validation rows, and the last weights are kept."""
    patience: int = Field(default=2, ge=1, le=1000)
    """Stop after this many evaluations in a row without a lower validation loss."""
    checkpoint_seconds: float = Field(default=30, ge=0, le=86_400)
    """What a killed run loses at most; longer where writing takes long."""
    privacy: PrivacySettings | None = None
    """Differential privacy of the training rows; needs take[privacy]."""
    canaries: CanarySettings = CanarySettings()
    seed: int = Field(default=0, ge=0, lt=2**32)

    @property
    def used_precision(self) -> Precision:
        """The precision on this machine."""
        return "float32" if self.privacy else resolved(self.precision)

    @model_validator(mode="after")
    def _privacy_is_possible(self) -> FineTuningSettings:
        if self.privacy is None:
            return self
        if self.method != "lora":
            raise ValueError(
                "privacy requires method 'lora': one gradient is kept for each row, "
                "which for all weights would not fit in memory"
            )
        if self.row_sampling != "balanced":
            raise ValueError(
                "privacy requires row_sampling 'balanced': weights are computed from all rows, "
                "which ε does not cover"
            )
        if self.length_quantiles != (0.0, 1.0):
            raise ValueError(
                "privacy requires length_quantiles [0, 1]: quantiles are computed from all rows, "
                "which ε does not cover"
            )
        if self.evaluations:
            raise ValueError(
                f"privacy requires evaluations 0, not {self.evaluations}: choosing weights or "
                "stopping by the validation loss reads rows that ε does not cover"
            )
        return self
