"""Everything a user may set about bias and balance, with bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, field_validator

from take.audit.balance.terms import DEFAULT_GROUPS
from take.errors import InputError
from take.frozen import Frozen
from take.text.normalise import words

Factor = Annotated[float, Field(gt=1, le=100)]


class BalanceSettings(Frozen):
    """`balance` within `params:audit`.

    >>> BalanceSettings(identity_groups={"pets": {"cats": ["cat", "cats"]}}).factor
    1.25
    """

    identity_groups: Mapping[str, Mapping[str, tuple[str, ...]]] = Field(
        default=DEFAULT_GROUPS,
        description="group → side → words or phrases that mention it, whatever their case; of a "
        "group with two sides the ratio of the sides is measured too",
    )
    factor: Factor = Field(
        default=1.25,
        description="classes, mentions, vocabulary: what differs by less than this factor is even",
    )
    length_factor: Factor = Field(default=1.25, description="the same for the mean number of words")
    label_gap: float = Field(
        default=0.1,
        gt=0,
        lt=1,
        description="labels among the rows that mention a group: a share that differs by less is "
        "even",
    )
    accuracy_gap: float = Field(
        default=0.05,
        gt=0,
        lt=1,
        description="accuracy on a slice of the evaluation rows: what differs from the other rows "
        "by less is even",
    )
    confidence: float = Field(
        default=0.95,
        ge=0.5,
        le=0.9999,
        description="of each interval; 1 minus this is how often, at most, anything at all is "
        "called shifted in a set that is drawn from the corpus (Holm)",
    )
    draws: int = Field(
        default=100,
        ge=10,
        le=10_000,
        description="random samples of the corpus that the vocabulary is compared with",
    )
    listed_terms: int = Field(
        default=25, ge=0, le=10_000, description="words listed of each kind, over and under"
    )
    prior_share: float = Field(
        default=0.1,
        gt=0,
        le=10,
        description="words in the prior of the log-odds, as a share of those in the set",
    )
    seed: int = Field(default=0, ge=0, lt=2**32)

    @field_validator("identity_groups")
    @classmethod
    def _terms_have_words(
        cls, groups: Mapping[str, Mapping[str, tuple[str, ...]]]
    ) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
        for group, its in groups.items():
            if not group.strip() or not its or not all(side.strip() for side in its):
                raise InputError(
                    f"group {group!r} has the sides {list(its)}",
                    where="identity_groups",
                    allowed="a name for each group and side, one side or more",
                )
            for side, terms in its.items():
                wordless = [term for term in terms if not words(term)]
                if not terms or wordless:
                    raise InputError(
                        f"{side!r} has {len(terms)} terms, {len(wordless)} of them without a word",
                        where=f"identity_groups.{group}",
                        allowed="one term or more, of letters or digits",
                    )
        return groups
