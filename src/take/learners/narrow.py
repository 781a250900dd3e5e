"""Fine-tuning only the rows of a vocabulary that the taught texts use, with the same result.

Half of a small transformer's weights are its vocabulary, and a few rows of text use a few hundred
words of it. A word that is not used has gradient 0, so AdamW does nothing to its vector e but

    e ← e · Π_t (1 − η_t · decay).

That is done once, at the end, instead of carrying all words through every update.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class Narrowed:
    """A transformer whose vocabulary is, for now, the ids in use.

    Texts keep their own ids: what stands in for the vocabulary looks up where each has gone.
    """

    def __init__(self, transformer: Any, ids_in_use: Iterable[int]) -> None:
        import torch

        inner = transformer.get_input_embeddings()
        used = torch.tensor(sorted(set(ids_in_use)))
        self._transformer, self._inner, self._used = transformer, inner, used
        self._full, self._padding = inner.weight.detach(), inner.padding_idx
        place = torch.full((len(self._full),), -1)  # an id that is not in use fails loudly
        place[used] = torch.arange(len(used))

        class InUse(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.inner = inner

            def forward(self, ids: torch.Tensor) -> torch.Tensor:
                vectors: torch.Tensor = self.inner(place[ids])
                return vectors

        inner.weight = torch.nn.Parameter(self._full[used].clone())
        # A vocabulary's own padding has no gradient; some models use that id for other things.
        moved = -1 if self._padding is None else int(place[self._padding])
        inner.padding_idx = None if moved < 0 else moved
        transformer.set_input_embeddings(InUse())

    def widen(self, kept_share: float) -> None:
        """Give the transformer its vocabulary back; `kept_share` is what decay left of a weight."""
        import torch

        with torch.no_grad():
            full = self._full * kept_share
            full[self._used] = self._inner.weight.detach()
        self._inner.weight = torch.nn.Parameter(full)
        self._inner.padding_idx = self._padding
        self._transformer.set_input_embeddings(self._inner)
