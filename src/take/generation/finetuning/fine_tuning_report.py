"""What fine-tuning did, in numbers for JSON, MLflow and plots. Holds no text."""

from __future__ import annotations

from itertools import pairwise

from take.frozen import Frozen


class RowCounts(Frozen):
    """How much of the corpus was trained on."""

    corpus_rows: int
    train_rows: int
    validation_rows: int
    train_tokens: int
    """Prompts, texts and end tokens of the training rows."""
    train_rows_by_class: list[int]
    short_classes: list[int]
    """Classes that ran out of rows while others had some left: their rows are not repeated, the
    others took their share."""
    cut_texts: int
    """Texts too long, cut after a whole sentence if one fits."""
    left_out_pairs: int
    """Pairs too long, not used at all."""


class ValidationLoss(Frozen):
    """Mean cross-entropy per token, in nats, on the validation rows."""

    update: int
    """After how many updates; 0 is before training."""
    loss: float


class PrivacyReport(Frozen):
    """The privacy budget that DP-SGD spent."""

    epsilon: float
    """Of the adapter's fine-tuning on the chosen rows, for one row more or less; it does not cover
    what else is computed from the corpus (scores, the choice of rows by their length, screening,
    selection)."""
    delta: float
    target_epsilon: float
    noise_multiplier: float
    clip_norm: float
    sample_rate: float
    """Each row's chance to be in an update."""
    accountant: str
    updates: int
    """Including those that drew no row."""
    repeatable: bool
    """Whether a setting seeded the noise: then ε does not protect from those who know it."""


class FineTuningReport(Frozen):
    """The numbers of one fine-tuning."""

    language_model: str
    terms: str = ""
    """Of use of the language model; empty for an open-source licence, or where TAKE knows none."""
    method: str
    precision: str = "float32"
    """Of matrix products."""
    vocabulary: int = 0
    """Tokens that the model was trained to choose from."""
    trainable_parameters: int
    rows: RowCounts
    updates: int
    planned_updates: int
    stopped_early: bool
    epochs: float
    """Tokens trained on, over the tokens of the training rows."""
    tokens: int
    """Trained on, repeats counted, padding not."""
    padding_share: float
    """Share of the computed positions that are padding."""
    tokens_per_second: float
    """In updates, without evaluations."""
    seconds: float
    """In total, over all resumed parts."""
    resumed: int
    """How often it continued from a checkpoint."""
    train_loss: list[float]
    """Mean per token over equal parts of the updates, at most 100; empty under privacy, because it
    is computed from the rows without noise."""
    validation_loss: list[ValidationLoss]
    kept_update: int
    """The update whose weights were kept."""
    privacy: PrivacyReport | None = None

    @property
    def did_harm(self) -> bool:
        """Whether no evaluation found a lower validation loss than before training."""
        losses = [point.loss for point in self.validation_loss]
        return bool(losses) and min(losses[1:]) >= losses[0]

    def summary(self) -> str:
        """The cost, and the privacy budget if it was counted."""
        spent = self.privacy
        budget = f" Spent ε = {spent.epsilon:.2f} at δ = {spent.delta:.1e}." if spent else ""
        rate = f"{self.tokens_per_second:.0f} tokens/s, {self.seconds:.0f} s in total"
        return (
            f"Fine-tuned {self.language_model} on {self.tokens:,} tokens in {self.updates:,} "
            f"updates ({rate}).{budget}"
        )


def loss_curve(losses: list[float], points: int = 100) -> list[float]:
    """Means over equal parts of the updates, in order.

    >>> loss_curve([4.0, 2.0, 3.0, 1.0], points=2)
    [3.0, 2.0]
    """
    count = min(points, len(losses))
    bounds = [len(losses) * i // count for i in range(count + 1)] if count else []
    return [sum(losses[start:stop]) / (stop - start) for start, stop in pairwise(bounds)]
