"""Which train rows a verifier is trained on, which end its training, and which are held out.

Held-out rows are drawn first, in proportion to the classes; then validation rows from what is
unrelated to them. No row of one part contains a row of another, lies in one or nearly repeats one
(`RelatedRows`). Where rows are so much alike that too little would be left, fewer are held out,
or none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from take.generation.verifier.verifier_settings import VerifierSettings
from take.rows.arrays import Bools, Int64
from take.rows.random import rng
from take.text.copies import CopySettings
from take.text.normalise import TextRow
from take.text.related import RelatedRows

_LARGEST_HELD_OUT_SHARE = 0.2  # of a class: most of a small corpus is trained on
_LARGEST_VALIDATION_SHARE, _MOST_VALIDATION_ROWS = 0.1, 1000
_PROBE_ROWS = 20_000  # bounds memory; more would hardly help a linear model
_LEAST_LEFT = 0.5  # of the rows, after those drawn and their relatives are taken away


@dataclass(frozen=True)
class VerifierSplit:
    """Positions of corpus rows, in order. A part may be empty, but for the first."""

    train: Int64
    """At most 20,000, for the probe."""
    tuned: Int64
    """As many of them as `max_rows` allows, for the cross-encoder."""
    validation: Int64
    held_out: Int64


def split_rows(
    rows: Sequence[TextRow],
    labels: Int64,
    settings: VerifierSettings,
    copies: CopySettings | None = None,
) -> VerifierSplit:
    """Part the rows of a corpus; every class has a row to train on.

    >>> texts = [(f"{word} film number {n}",) for n, word in enumerate(["good", "bad"] * 40)]
    >>> settings = VerifierSettings(held_out_rows=10)
    >>> split = split_rows(texts, np.arange(80) % 2, settings, CopySettings(near_copy_overlap=1))
    >>> len(split.held_out), len(split.validation), len(split.train)
    (10, 6, 64)
    """
    related = RelatedRows(rows, copies)
    usable, seed = ~related.common, settings.seed
    share = min(_LARGEST_HELD_OUT_SHARE, settings.held_out_rows / len(labels))
    held_out, rest = _drawn(labels, usable, related, share, seed, "verifier held-out rows")
    nothing = np.empty(0, dtype=np.int64)
    if not len(held_out):
        return _parts(settings, labels, np.arange(len(labels)), nothing, nothing)
    share = min(_LARGEST_VALIDATION_SHARE, _MOST_VALIDATION_ROWS / max(1, int(rest.sum())))
    validation, rest = _drawn(labels, rest, related, share, seed, "verifier validation rows")
    return _parts(settings, labels, np.flatnonzero(rest), validation, held_out)


def _parts(
    settings: VerifierSettings, labels: Int64, rest: Int64, validation: Int64, held_out: Int64
) -> VerifierSplit:
    train = _at_most(_PROBE_ROWS, rest, labels, settings.seed)
    tuned = _at_most(settings.max_rows, train, labels, settings.seed)
    return VerifierSplit(train, tuned, validation, held_out)


def _drawn(
    labels: Int64, usable: Bools, related: RelatedRows, share: float, seed: int, stream: str
) -> tuple[Int64, Bools]:
    """A share of each class's usable rows, and which usable rows are unrelated to them."""
    classes = np.unique(labels)
    orders = [
        rng(seed, stream, int(label)).permutation(np.flatnonzero(usable & (labels == label)))
        for label in classes
    ]
    while share * usable.sum() >= 1:
        drawn = np.sort(np.concatenate([order[: int(share * len(order))] for order in orders]))
        rest = usable & ~related.to(drawn)
        has_all = len(np.unique(labels[rest])) == len(classes)
        if len(drawn) and has_all and rest.sum() >= _LEAST_LEFT * usable.sum():
            return drawn, rest
        share /= 2
    return np.empty(0, dtype=np.int64), usable


def _at_most(count: int, rows: Int64, labels: Int64, seed: int) -> Int64:
    """At most `count` of the rows: at random, but one of each class at least."""
    order = rng(seed, "verifier training rows").permutation(rows)
    firsts = np.unique(labels[order], return_index=True)[1]
    order = np.concatenate([order[firsts], np.delete(order, firsts)])
    return np.sort(order[: max(count, len(firsts))])
