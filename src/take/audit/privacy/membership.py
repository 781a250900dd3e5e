r"""Membership inference: what the language model reveals about its training rows.

The score of a text x is how much fine-tuning has lowered its loss,

    s(x) = ( −ln p_base(x) + ln p_tuned(x) ) / tokens,

so that texts which are easy for any model are not taken for memorised ones (Carlini et al. 2022,
Watson et al. 2022). Scores of texts that were trained on are compared with scores of texts that
were not; nothing but a seeded draw separates the two:

- canaries: made-up secrets, planted and not planted;
- rows: corpus rows that were trained on, and validation rows.

AUC 0.5 is what a model that memorised nothing gives. The attacker modelled here has both models;
one who has only the distilled rows learns less.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pydantic import Field

from take.audit.intervals import auc_interval, tpr_at_fpr
from take.audit.privacy.report import Attack, MembershipReport
from take.frozen import Frozen
from take.generation.finetuning.canaries import canary_rows, numbers_of, phrase_of
from take.generation.finetuning.examples import labelled_rows
from take.generation.finetuning.token_rows import Rows
from take.generation.finetuning.updates import row_losses
from take.generation.template import Template
from take.precision import Precision, products
from take.rows.arrays import Float64
from take.rows.random import rng

Losses = Callable[[Rows], Float64]
"""Mean −ln p per token of each row, by some model."""

_FPR = 0.01
_BATCH_ROWS = 64
_MOST_LOGITS = 100_000_000  # in memory at a time, in three copies: about a gigabyte


class MembershipSettings(Frozen):
    """`params:audit.membership`."""

    rows: int = Field(
        default=96,
        ge=20,
        le=100_000,
        description="rows trained on, and as many validation rows, whose losses are compared",
    )
    precision: Precision = Field(
        default="auto",
        description="of the products; auto: bfloat16 where it runs and is faster, which adds an "
        "eighth of the spread that scores of canaries have anyway",
    )
    seed: int = Field(default=0, ge=0, lt=2**32)


class Membership(NamedTuple):
    """The report, and every score: group, member, score. No text."""

    report: MembershipReport
    scores: pd.DataFrame


def model_losses(model: Any, template: Template, settings: MembershipSettings) -> Losses:
    """The losses of texts by a loaded language model."""
    most_tokens = _MOST_LOGITS // model.get_output_embeddings().weight.shape[0]

    def mean_losses(rows: Any) -> Any:
        longest = int(rows.lengths.max())
        batch_rows = max(1, min(_BATCH_ROWS, most_tokens // longest))
        with products(settings.precision):
            losses = row_losses(model, rows, batch_rows, template.end_id)
        return losses.total / losses.tokens

    return mean_losses


def attack(
    canaries: pd.DataFrame,
    members: Rows,
    others: Rows,
    template: Template,
    base: Losses,
    tuned: Losses,
) -> tuple[dict[str, Attack | None], pd.DataFrame]:
    """Both tests, and the scores behind them."""

    def score(rows: Rows) -> Float64:
        return base(rows) - tuned(rows) if len(rows) else np.zeros(0)

    is_planted = canaries["read"].to_numpy() > 0
    # A canary that only updates after the kept one read shows nothing, and neither does a control
    # of a class without a planted one.
    is_control = canaries["planted"].to_numpy() == 0
    is_control &= canaries["label"].isin(set(canaries.loc[is_planted, "label"])).to_numpy()
    by_canary = score(canary_rows(canaries, template))
    tested = {
        "canaries": (by_canary[is_planted], by_canary[is_control]),
        "rows": (score(members), score(others)),
    }
    scores = [
        pd.DataFrame({"group": group, "member": member, "score": values})
        for group, sides in tested.items()
        for member, values in zip((True, False), sides, strict=True)
    ]
    attacks = {group: _attack(*sides) for group, sides in tested.items()}
    return attacks, pd.concat(scores, ignore_index=True)


def drawn_rows(
    corpus: pd.DataFrame,
    generator_rows: pd.DataFrame,
    template: Template,
    settings: MembershipSettings,
) -> tuple[Rows, Rows]:
    """Training and validation rows, as tokens: as many of each class on both sides."""
    by_id = generator_rows.set_index("id")
    role = corpus["id"].map(by_id["role"])
    # Rows that only updates after the kept one read show nothing either way.
    role = role.where((role != "trained") | (corpus["id"].map(by_id["read"]) > 0))
    # Rows trained on for their weights differ from others by more than memorisation.
    is_fair = "excluded" not in set(generator_rows["role"])
    labels = corpus["label"].to_numpy()
    random = rng(settings.seed, "membership sample")
    sides: dict[str, list[int]] = {"trained": [], "validation": []}
    n_classes = len(np.unique(labels))
    for label in np.unique(labels):
        places = {
            side: random.permutation(np.flatnonzero((role == side).to_numpy() & (labels == label)))
            for side in sides
        }
        wanted = max(1, settings.rows // n_classes) if is_fair else 0
        count = min(wanted, *(len(found) for found in places.values()))
        for side, found in places.items():
            sides[side] += found[:count].tolist()
    trained, validation = (labelled_rows(corpus, rows, template) for rows in sides.values())
    return trained, validation


def extracted(texts: pd.Series, canaries: pd.DataFrame) -> tuple[int, int, int]:
    """Generated rows that begin like a canary; planted numbers and controls that any contains."""
    phrase = phrase_of(canaries)
    if phrase is None:
        return 0, 0, 0
    raw = texts.str.casefold()
    # However its digits are grouped, and whatever surrounds it.
    runs = raw.str.replace(r"(?<=\d)[\s.,-]+(?=\d)", "", regex=True).str.findall(r"\d{9,}")
    written = {
        run[start : start + 9]
        for run in set(runs.explode().dropna())
        for start in range(len(run) - 8)
    }
    is_planted = canaries["planted"] > 0
    planted, controls = (set(numbers_of(canaries[side])) for side in (is_planted, ~is_planted))
    shaped = int(raw.str.contains(phrase.casefold(), regex=False).sum())
    return shaped, len(written & planted), len(written & controls)


def _attack(members: Float64, others: Float64) -> Attack | None:
    if not len(members) or not len(others):
        return None
    return Attack(
        members=len(members),
        others=len(others),
        auc=auc_interval(members, others),
        tpr=tpr_at_fpr(members, others, _FPR),
        mean_difference=float(members.mean() - others.mean()),
    )
