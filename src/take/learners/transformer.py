"""`transformer`: a pretrained transformer with a linear head, all of it fine-tuned.

    logits = W · dropout(x) + b,   x = pool(h_1 … h_L): mean of the states, or the last if causal

There are three recipes. `dilm`, DiLM's evaluator's: from a random head, AdamW at 1e-4, 200 updates,
rate rising over the first half and falling as a cosine over the second, decay 0.01, gradients
clipped at 1, batches of at most 64. `lpft` and `contrastive`: see `take.learners.recipes`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from take.encoder.backends import equal_length_batches
from take.errors import InputError
from take.learners.base import Model, OneClass, Texts, TrainingRows, check_same_task
from take.learners.convergence import (
    Converged,
    ConvergenceSettings,
    mean_loss,
    run_to_convergence,
)
from take.learners.pretrained import Narrowed, Pretrained, Tokens, TransformerSettings
from take.learners.recipes import pair_loss, solve_head
from take.learners.training import padded, run_updates, seeded
from take.precision import Precision, products, resolved
from take.rows.arrays import Float64, Int64

_BATCH_TOKENS = 2048  # of a batch of rows to predict
PADDING = 0  # any id will do: it is masked
_PASS_COST = 100  # of one more forward and backward pass, in tokens (about)
_HEAD_SPREAD = 0.02  # of a fresh head's weights, as BERT's
_NAMES = {"embedded_lm": "embedded_lm", "embedded_e5": "e5"}
TRAINED = {
    "dilm": "fully fine-tuned",
    "lpft": "probed, then fully fine-tuned",
    "contrastive": "fine-tuned on pairs of rows, then probed",
}


@dataclass(frozen=True)
class TransformerLearner:
    """A transformer with the pretrained weights that it is given."""

    settings: TransformerSettings
    pretrained: Pretrained

    @property
    def name(self) -> str:
        """Its name in the registry."""
        name = _NAMES.get(self.settings.model, self.settings.kind)
        return name if self.settings.recipe == "dilm" else f"{name}_{self.settings.recipe}"

    @property
    def title(self) -> str:
        """Whose weights, the recipe, and how they are computed with if not in float32."""
        narrow = " with bfloat16 products" if self._precision == "bfloat16" else ""
        return f"{self.pretrained.title}, {TRAINED[self.settings.recipe]}{narrow}"

    @property
    def identity(self) -> str:
        """A digest of settings and weights; the path of the weights does not count.

        The precision is the one that this machine computes with, because it changes results.
        """
        used = self.settings.model_copy(update={"precision": self._precision})
        settings = used.model_dump_json(exclude={"model", "revision"})
        return hashlib.sha256((settings + self.pretrained.identity).encode()).hexdigest()

    @property
    def _precision(self) -> Precision:
        return resolved(self.settings.precision)

    def fit(self, rows: TrainingRows, seed: int, updates: int | None = None) -> Model:
        """The transformer after its updates on these rows."""
        training, ids, recipe = self.settings.training, self._ids(rows), self.settings.recipe
        if recipe != "dilm" and rows.is_one_class:
            return OneClass(rows)
        with seeded(seed):
            model = self._fresh(rows)
            if recipe == "lpft":
                solve_head(model, rows)
            narrowed = Narrowed(model.module.transformer, ids)
            gradient = self._of_pairs if recipe == "contrastive" else self._of_rows
            backward = gradient(model.module, rows)
            kept_share = run_updates(model.module, backward, len(rows), training, seed, updates)
        narrowed.widen(kept_share)
        if recipe == "contrastive":
            solve_head(model, rows)
        return model

    def fit_to_convergence(
        self, rows: TrainingRows, validation: TrainingRows, seed: int, limits: ConvergenceSettings
    ) -> Converged:
        """The transformer, trained until the validation rows' loss falls no more.

        `contrastive` has the ceiling of `lpft`: pairs are for few rows.
        """
        rows = limits.part(rows, seed)
        ids = self._ids(rows) | self._ids(validation)  # the latter alone have no gradient either
        is_probed = self.settings.recipe != "dilm"
        if is_probed and rows.is_one_class:
            only = OneClass(rows)
            loss = mean_loss(only.logits(validation.texts), validation)
            return Converged(only, (loss,), len(rows))
        with seeded(seed):
            model = self._fresh(rows)
            if is_probed:
                solve_head(model, rows, validation, limits)
            narrowed = Narrowed(model.module.transformer, ids)
            curve = run_to_convergence(
                model.module,
                self._of_rows(model.module, rows),
                lambda: mean_loss(model.logits(validation.texts), validation),
                np.array([len(ids) for ids in self.pretrained.tokens(rows.texts).ids]),
                self.settings.training,
                limits,
                seed,
            )
        narrowed.widen(curve.kept_share)
        return Converged(model, curve.losses, len(rows), curve.updates, curve.epochs)

    def _ids(self, rows: TrainingRows) -> set[int]:
        return {PADDING, *chain.from_iterable(self.pretrained.tokens(rows.texts).ids)}

    def _fresh(self, rows: TrainingRows) -> TransformerModel:
        used = self.settings.model_copy(update={"precision": self._precision})
        module = build_classifier(used, self.pretrained, rows.n_classes)
        return TransformerModel(
            module, self.pretrained, pairs=rows.texts.is_pair, n_classes=rows.n_classes
        )

    def _of_rows(self, module: Any, rows: TrainingRows) -> Callable[[Int64], float]:
        """The gradient of the rows' mean cross-entropy."""
        import torch

        tokens, labels, weights = self._given(rows)

        def backward(batch: Int64) -> float:
            total = 0.0
            # Rows of similar length go together; their gradients add up to the batch's.
            for chosen in _alike(tokens, batch):
                losses = torch.nn.functional.cross_entropy(
                    module(tokens, chosen), labels[chosen], reduction="none"
                )
                loss: Any = (weights[chosen] * losses).sum() / len(batch)
                loss.backward()
                total += float(loss.detach())
            return total

        return backward

    def _of_pairs(self, module: Any, rows: TrainingRows) -> Callable[[Int64], float]:
        """The gradient of the loss of all pairs in a batch."""
        import torch

        tokens, labels, weights = self._given(rows)

        def backward(batch: Int64) -> float:
            groups = _alike(tokens, batch)
            states = torch.cat([module.pooled(tokens, group) for group in groups])
            chosen = np.concatenate(groups)
            loss = pair_loss(states, labels[chosen], weights[chosen])
            loss.backward()
            return float(loss.detach())

        return backward

    def _given(self, rows: TrainingRows) -> tuple[Tokens, Any, Any]:
        import torch

        labels = torch.from_numpy(rows.labels).long()
        weights = torch.from_numpy(rows.relative_weights).float()
        return self.pretrained.tokens(rows.texts), labels, weights


class TransformerModel(Model):
    """A fine-tuned transformer."""

    def __init__(self, module: Any, pretrained: Pretrained, *, pairs: bool, n_classes: int) -> None:
        self.module, self._pretrained = module, pretrained
        self.pairs, self._n_classes = pairs, n_classes

    def logits(self, texts: Texts) -> Float64:
        """Predicted in batches of equal length: nothing is computed on padding."""
        return self._computed(self.module, texts, self._n_classes)

    def states(self, texts: Texts) -> Float64:
        """What the head reads of each row: x."""
        return self._computed(self.module.pooled, texts, self.module.head.in_features)

    def _computed(self, compute: Any, texts: Texts, width: int) -> Float64:
        import torch

        check_same_task(texts, pairs=self.pairs)
        tokens = self._pretrained.tokens(texts)
        found = np.empty((len(texts), width))
        with torch.inference_mode():
            for batch in equal_length_batches(tokens.ids, _BATCH_TOKENS):
                found[batch.indices] = compute(tokens, batch.indices).numpy()
        return found


def build_classifier(settings: TransformerSettings, pretrained: Pretrained, n_classes: int) -> Any:
    """A torch module: tokens and which rows of them → logits."""
    import torch
    from torch import nn

    transformer = pretrained.fresh()
    limit = getattr(transformer.config, "max_position_embeddings", None)
    if limit is not None and settings.max_tokens > limit:
        raise InputError(
            f"max_tokens is {settings.max_tokens}",
            where="transformer",
            allowed=f"at most {limit}, what {pretrained.title} reads",
        )
    extra = {} if not pretrained.is_causal else {"use_cache": False}

    class Classifier(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.transformer = transformer
            self.dropout = nn.Dropout(settings.head_dropout)
            self.head = nn.Linear(transformer.config.hidden_size, n_classes)
            nn.init.normal_(self.head.weight, std=_HEAD_SPREAD)
            nn.init.zeros_(self.head.bias)

        def pooled(self, tokens: Tokens, rows: Int64) -> torch.Tensor:
            ids = [tokens.ids[row] for row in rows]
            lengths = torch.tensor([len(row) for row in ids])
            inside = torch.arange(int(lengths.max()))[None, :] < lengths[:, None]
            inputs = {"input_ids": padded(ids), "attention_mask": inside.long(), **extra}
            if pretrained.reads_segments:
                inputs["token_type_ids"] = padded([tokens.segments[row] for row in rows])
            with products(settings.precision):
                states = self.transformer(**inputs).last_hidden_state.float()
            pooled: torch.Tensor
            if pretrained.is_causal:
                pooled = states[torch.arange(len(ids)), lengths - 1]
            else:
                pooled = (states * inside[:, :, None]).sum(dim=1) / lengths[:, None]
            return pooled

        def forward(self, tokens: Tokens, rows: Int64) -> torch.Tensor:
            logits: torch.Tensor = self.head(self.dropout(self.pooled(tokens, rows)))
            return logits

    return Classifier()


def _alike(tokens: Tokens, batch: Int64) -> list[Int64]:
    """The rows of a batch in groups of similar length."""
    groups = cheap_groups([len(tokens.ids[row]) for row in batch], _PASS_COST)
    return [batch[group] for group in groups]


def cheap_groups(lengths: Sequence[int], pass_cost: int) -> list[Int64]:
    """Rows in groups of similar length, so that padding and passes together cost the least.

        min over cuts of the rows, shortest first:  Σ_groups  rows · longest + pass_cost

    solved exactly, from the shortest row up.

    >>> [group.tolist() for group in cheap_groups([9, 50, 10, 48], pass_cost=20)]
    [[0, 2], [3, 1]]
    >>> [group.tolist() for group in cheap_groups([9, 12, 10], pass_cost=20)]
    [[0, 2, 1]]
    """
    order = np.argsort(lengths, kind="stable")
    ordered = [lengths[row] for row in order]
    best, cut = [0.0], [0]
    for stop in range(1, len(ordered) + 1):
        costs = [best[s] + (stop - s) * ordered[stop - 1] + pass_cost for s in range(stop)]
        cut.append(int(np.argmin(costs)))
        best.append(min(costs))
    groups, stop = [], len(ordered)
    while stop:
        groups.append(order[cut[stop] : stop])
        stop = cut[stop]
    return groups[::-1]
