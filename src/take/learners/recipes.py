"""What the recipes `lpft` and `contrastive` add to fine-tuning: a head that is solved, and pairs.

`lpft` (Kumar et al. 2022): a random head sends arbitrary gradients through good features. So the
head is solved first, by logistic regression on the states x of the transformer as it is; then all
weights are trained at a low rate. `contrastive` (SetFit, Tunstall et al. 2022): the transformer is
trained on pairs of rows, of which a few rows have many, and the head is solved afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from take.learners.base import Remembered, Texts, TrainingRows
from take.learners.convergence import ConvergenceSettings
from take.learners.features import WordCounts
from take.learners.linear import LinearLearner, LinearModel, LinearSettings
from take.rows.arrays import Float64

if TYPE_CHECKING:
    from take.learners.transformer import TransformerModel

_LEAST_SPREAD = 1e-3  # of states, as a share of their size: those of equal texts differ by rounding


class StandardStates:
    """The states of a frozen transformer, moved and scaled by those of the training rows.

        x̃ = (x − μ) / σ,   μ = mean x_n,   σ² = mean ‖x_n − μ‖².

    A penalty means the same for any transformer then: states of some lie in a narrow cone.
    """

    title, identity = "states of a transformer", ""

    def __init__(self, model: TransformerModel, rows: TrainingRows) -> None:
        states = model.states(rows.texts)
        self.mean: Float64 = states.mean(axis=0)
        spread = np.linalg.norm(states - self.mean) / np.sqrt(len(rows))
        self.scale = float(max(spread, _LEAST_SPREAD * np.linalg.norm(self.mean)))
        self._standardised = Remembered(
            lambda texts: (model.states(texts) - self.mean) / self.scale
        )

    def __call__(self, texts: Texts) -> Any:
        """(n, d)."""
        return self._standardised(texts)


def solve_head(
    model: TransformerModel,
    rows: TrainingRows,
    validation: TrainingRows | None = None,
    limits: ConvergenceSettings | None = None,
) -> None:
    """Give the model the head that logistic regression finds on its states x.

        W̃, b̃ = argmin ‖W̃‖²/2 + C Σ_n w_n · −log softmax(W̃ x̃_n + b̃)[y_n]
        W = W̃ / σ,   b = b̃ − W̃ μ / σ,   so that   W x + b = W̃ x̃ + b̃.

    `validation` rows choose C. A class without rows gets the bias −∞. Rows are of two classes or
    more.
    """
    import torch

    model.module.eval()
    states = StandardStates(model, rows)
    settings = LinearSettings(kind="siamese_lr" if model.pairs else "lr", features="phi")
    learner = LinearLearner(settings, WordCounts(), phi=states)
    if validation is None or limits is None:
        solved = learner.fit(rows, seed=0)
    else:
        solved = learner.fit_to_convergence(rows, validation, 0, limits).model
    weights, biases = cast(LinearModel, solved).coefficients()
    weights = weights / states.scale
    with torch.no_grad():
        model.module.head.weight.copy_(torch.from_numpy(weights))
        model.module.head.bias.copy_(torch.from_numpy(biases - weights @ states.mean))


def pair_loss(states: Any, labels: Any, weights: Any) -> Any:
    """How far the cosines of pairs are from 1 within a class, and from 0 between classes.

        L = mean_{i<j, y_i = y_j} w_i w_j (1 − cos_ij)² + mean_{i<j, y_i ≠ y_j} w_i w_j cos_ij²

    Each kind of pair counts the same, though there are more of the second if classes are many.

    >>> import torch
    >>> states = torch.tensor([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0]])
    >>> even = torch.ones(3)
    >>> float(pair_loss(states, torch.tensor([0, 0, 1]), even))
    0.0
    >>> float(pair_loss(states, torch.tensor([0, 1, 1]), even))  # 1 between, 0 within and between
    1.5
    """
    import torch

    directions = torch.nn.functional.normalize(states, dim=1)
    first, second = torch.triu_indices(len(states), len(states), offset=1)
    alike = labels[first] == labels[second]
    cosines = (directions[first] * directions[second]).sum(dim=1)
    losses = weights[first] * weights[second] * (cosines - alike.float()) ** 2
    return sum(losses[kind].mean() for kind in (alike, ~alike) if kind.any())
