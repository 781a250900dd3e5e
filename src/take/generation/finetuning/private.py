r"""Differentially private updates (DP-SGD, Abadi et al. 2016) of a LoRA adapter, with Opacus.

Each update draws every row with chance q on its own, clips each row's gradient g_i to norm C, adds
noise, and divides by the number of rows expected:

    g = ( Σ_i g_i · min(1, C / ‖g_i‖)  +  N(0, σ²C²) ) / (q N)

σ is the least noise with which all updates together spend no more than the target ε at δ. Rows
are clipped on the mean loss over their tokens, so that long rows are not clipped more than short
ones. Sampling and noise of an update depend only on a 128-bit secret and the update's number: a
resumed training continues exactly, and nobody without the secret can repeat either.

Limits: the noise consists of floating-point numbers (Mironov 2012) from NumPy's generator, which is
not a cryptographic one.
"""

from __future__ import annotations

import logging
import math
import secrets
import warnings
from functools import cache
from typing import Any

import numpy as np

from take.errors import InputError
from take.generation.finetuning.fine_tuning_report import PrivacyReport
from take.generation.finetuning.fine_tuning_settings import FineTuningSettings, PrivacySettings
from take.generation.finetuning.token_rows import Rows
from take.generation.finetuning.updates import PaddedBatch, Stepped, adamw, padded, token_losses
from take.rows.arrays import Int64

_logger = logging.getLogger(__name__)

_SECRET_BITS = 128
_SAMPLING, _NOISE = 0, 1


def require_opacus() -> None:
    """Refuse before anything is computed if Opacus is not installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import opacus  # noqa: F401
    except ImportError as error:
        raise InputError(
            "private fine-tuning needs Opacus, which is not installed",
            remedy="pip install 'take[privacy]', or leave out `privacy`",
        ) from error


def fresh_secret(privacy: PrivacySettings) -> int:
    """The seed of noise and sampling."""
    if privacy.noise_seed is None:
        return secrets.randbits(_SECRET_BITS)
    _logger.warning("noise_seed is set: anyone who knows it can remove the noise from the adapter.")
    return privacy.noise_seed


class PrivateStepper:
    """DP-SGD updates; a `Stepper`."""

    def __init__(
        self,
        model: Any,
        rows: Rows,
        settings: FineTuningSettings,
        pad_id: int,
        secret: int,
    ) -> None:
        require_opacus()
        if settings.privacy is None:
            raise ValueError("the settings have no privacy")
        self._model, self._rows, self._pad_id = model, rows, pad_id
        self._privacy, self._secret = settings.privacy, secret
        self._batch_rows = settings.batch_rows
        expected_rows = min(len(rows), settings.batch_rows * settings.accumulation)
        self._sample_rate = expected_rows / len(rows)
        tokens = int(rows.lengths.sum())
        epochs = min(settings.max_epochs, settings.token_budget / tokens)
        self.updates = max(1, round(epochs / self._sample_rate))
        self.tokens = round(self.updates * self._sample_rate * tokens)
        self._delta = self._privacy.delta or 0.1 / len(rows)
        self._noise_multiplier = self._least_noise()
        self._samples = _per_row_gradients(model)
        self._check_per_row_gradients()
        self._parameters = [p for p in model.parameters() if p.requires_grad]
        self.optimizer = adamw(self._parameters, settings)
        self._private = _private_optimizer(
            self.optimizer, self._noise_multiplier, self._privacy.clip_norm, expected_rows
        )

    def step(self, update: int) -> Stepped:
        """Do update number `update`."""
        drawn = self._draw(update)
        self._private.noise_source = self._source(_NOISE, update)
        # Sorted by length for less padding, and in parts that fit in memory: what is clipped is
        # each row's own gradient, so parts make no difference.
        drawn = drawn[np.argsort(self._rows.lengths[drawn], kind="stable")]
        starts = range(0, len(drawn), self._batch_rows)
        batches = [
            padded(self._rows, drawn[start : start + self._batch_rows], self._pad_id)
            for start in starts
        ]
        total = 0.0
        for i, batch in enumerate(batches):
            losses = self._row_losses(batch)
            total += float(losses.detach().sum())
            _backward(losses.sum())
            self._private.signal_skip_step(do_skip=i < len(batches) - 1)
            self._private.step()
            self._private.zero_grad(set_to_none=True)
        if not batches:  # pure noise: skipping the update would show that no row was drawn
            for parameter in self._parameters:
                parameter.grad_sample = parameter.new_zeros((0, *parameter.shape))
            self._private.step()
            self._private.zero_grad(set_to_none=True)
        return Stepped(
            total / len(drawn) if len(drawn) else None,
            sum(batch.tokens for batch in batches),
            sum(batch.token_ids.size for batch in batches),
        )

    def spent(self, updates: int) -> PrivacyReport:
        """ε after that many updates."""
        return PrivacyReport(
            epsilon=spent_epsilon(
                self._noise_multiplier,
                self._delta,
                self._sample_rate,
                updates,
                self._privacy.accountant,
            ),
            delta=self._delta,
            target_epsilon=self._privacy.target_epsilon,
            noise_multiplier=self._noise_multiplier,
            clip_norm=self._privacy.clip_norm,
            sample_rate=self._sample_rate,
            accountant=self._privacy.accountant,
            updates=updates,
            repeatable=self._privacy.noise_seed is not None,
        )

    def _draw(self, update: int) -> Int64:
        """Poisson sampling: each row with chance q, independently of the others."""
        chances = self._source(_SAMPLING, update).random(len(self._rows))
        return np.flatnonzero(chances < self._sample_rate)

    def _source(self, stream: int, update: int) -> np.random.Generator:
        return np.random.default_rng([self._secret, stream, update])

    def _row_losses(self, batch: PaddedBatch) -> Any:
        """Mean loss over each row's tokens."""
        import torch

        losses = token_losses(self._model, batch)
        rows = torch.from_numpy(batch.target_rows)
        counts = torch.bincount(rows, minlength=len(batch.token_ids))
        sums = losses.new_zeros(len(batch.token_ids)).index_add(0, rows, losses)
        return sums / counts.clamp(min=1)

    def _least_noise(self) -> float:
        target = self._privacy.target_epsilon
        try:
            return least_noise(
                target, self._delta, self._sample_rate, self.updates, self._privacy.accountant
            )
        except ValueError as error:
            raise InputError(
                f"no amount of noise gives ε = {target:g} at δ = {self._delta:.1e} over "
                f"{self.updates:,} updates ({error})",
                where="fine_tuning.privacy",
                remedy="raise target_epsilon or delta",
            ) from error

    def _check_per_row_gradients(self) -> None:
        """Check on a trial batch that every weight gets one gradient per row, not per token."""
        token_ids = np.full((3, 5), self._pad_id, dtype=np.int64)
        trial = Rows(tuple(map(tuple, token_ids)), np.ones(3, np.int64), np.arange(3))
        batch = padded(trial, np.arange(3), self._pad_id)
        try:
            _backward(self._row_losses(batch).sum())
        except Exception as error:  # whatever Opacus' hooks may raise
            raise _unsupported(f"Opacus fails with {error!r}"[:300]) from error
        for name, parameter in self._model.named_parameters():
            if not parameter.requires_grad:
                continue
            gradients = getattr(parameter, "grad_sample", None)
            if gradients is None or len(gradients) != len(token_ids):
                raise _unsupported(f"its weight {name} does not get one gradient per row")
            parameter.grad_sample = parameter.grad = None


@cache  # the search takes seconds
def least_noise(
    target_epsilon: float, delta: float, sample_rate: float, updates: int, accountant: str
) -> float:
    """The smallest σ with which that many updates spend no more than the target ε at δ."""
    from opacus.accountants.utils import get_noise_multiplier

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the first guesses of the search
        return float(
            get_noise_multiplier(
                target_epsilon=target_epsilon,
                target_delta=delta,
                sample_rate=sample_rate,
                steps=updates,
                accountant=accountant,
                epsilon_tolerance=min(0.01, target_epsilon / 100),
            )
        )


def spent_epsilon(
    sigma: float, delta: float, sample_rate: float, updates: int, accountant: str
) -> float:
    """ε at δ of that many Poisson-sampled updates with noise σ."""
    from opacus.accountants import create_accountant

    counted = create_accountant(mechanism=accountant)
    counted.history = [(sigma, sample_rate, updates)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(counted.get_epsilon(delta=delta))


def _per_row_gradients(model: Any) -> Any:
    """The model with Opacus' hooks, which keep each row's gradient apart."""
    from opacus.grad_sample import GradSampleModule
    from torch import nn

    for name, module in model.named_modules():
        trains = any(p.requires_grad for p in module.parameters(recurse=False))
        if trains and not isinstance(module, nn.Linear):
            raise _unsupported(f"its trainable layer {name} is a {type(module).__name__}")
    return GradSampleModule(model, loss_reduction="sum", strict=False)


def _backward(loss: Any) -> None:
    # torch warns because a frozen embedding gives the first layers inputs without a gradient.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Full backward hook is firing")
        loss.backward()


def _unsupported(reason: str) -> InputError:
    return InputError(
        f"this language model cannot be fine-tuned privately: {reason}",
        where="fine_tuning.privacy",
        remedy="use another language model (Llama, GPT-2, Gemma and Qwen kinds work), "
        "or leave out `privacy`",
    )


def _private_optimizer(optimizer: Any, sigma: float, clip_norm: float, expected: int) -> Any:
    """Opacus' optimizer, with noise from a generator that has more than torch's 32 bits of seed."""
    import torch
    from opacus.optimizers import DPOptimizer

    class PrivateOptimizer(DPOptimizer):  # type: ignore[misc]
        noise_source: np.random.Generator

        def add_noise(self) -> None:
            for parameter in self.params:
                noise = self.noise_source.standard_normal(parameter.shape, dtype=np.float32)
                noisy = parameter.summed_grad + torch.from_numpy(noise) * (sigma * clip_norm)
                parameter.grad = noisy.view_as(parameter)

    if not math.isfinite(sigma):
        raise ValueError(f"the noise multiplier is {sigma}")
    return PrivateOptimizer(
        optimizer, noise_multiplier=sigma, max_grad_norm=clip_norm, expected_batch_size=expected
    )
