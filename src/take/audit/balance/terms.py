"""Identity terms: the settings, and finding terms as whole words.

The default lists (`identity_terms.yml`) are short and English. They find common names of groups,
not every way to mention people. Words that mostly mean something else are left out ("black",
"straight", "blind") or only part of phrases ("black people").
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator
from yaml import safe_load

from take.errors import InputError
from take.frozen import Frozen
from take.text.normalise import words
from take.text.tokens import Tokens, Vocabulary

Groups = Mapping[str, Mapping[str, tuple[str, ...]]]
"""Group → side → terms, such as gender → female → (she, her, …)."""

_TERMS = files(__package__).joinpath("identity_terms.yml").read_text(encoding="utf-8")
DEFAULT_GROUPS: Groups = {
    group: {side: tuple(terms) for side, terms in its.items()}
    for group, its in safe_load(_TERMS).items()
}


class BalanceSettings(Frozen):
    """`params:audit.balance`.

    >>> BalanceSettings(identity_groups={"pets": {"cats": ["cat", "cats"]}}).draws
    100
    """

    identity_groups: Groups = Field(
        default=DEFAULT_GROUPS,
        description="group → side → words or phrases that mention it, whatever their case; of a "
        "group with two sides the ratio of the sides is measured too",
    )
    draws: int = Field(
        default=100,
        ge=10,
        le=10_000,
        description="random samples of the corpus that the vocabulary is compared with",
    )
    seed: int = Field(default=0, ge=0, lt=2**32)

    @field_validator("identity_groups")
    @classmethod
    def _terms_have_words(cls, groups: Groups) -> Groups:
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


class Side(NamedTuple):
    """One side of a group."""

    group: str
    side: str

    def __str__(self) -> str:
        return f"{self.group}: {self.side}"


def sides(groups: Groups) -> list[Side]:
    """All sides in order: the columns of `mentions`.

    >>> [str(side) for side in sides({"gender": {"female": ("she",), "male": ("he",)}})]
    ['gender: female', 'gender: male']
    """
    return [Side(group, side) for group, its in groups.items() for side in its]


def mentions(tokens: Tokens, vocabulary: Vocabulary, groups: Groups) -> NDArray[np.bool_]:
    """Rows × sides: whether any text of a row has a term of the side, as whole words in order.

    >>> vocabulary = Vocabulary()
    >>> rows = vocabulary.read([["Her film!", "a hero", "The OLD-MAN"]])
    >>> found = mentions(rows, vocabulary, {"who": {"her": ("her",), "old": ("old man",)}})
    >>> found.astype(int).tolist()
    [[1, 0], [0, 0], [0, 1]]
    """
    lists = [terms for its in groups.values() for terms in its.values()]
    phrases = [
        (column, [vocabulary.get(word, -1) for word in words(term)])
        for column, terms in enumerate(lists)
        for term in terms
    ]
    phrases = [(column, ids) for column, ids in phrases if ids and min(ids) >= 0]
    found = np.zeros((tokens.n_rows, len(lists)), dtype=np.bool_)
    if not phrases or not tokens.ids.size:
        return found
    starts_a_term = np.zeros(len(vocabulary), dtype=np.bool_)
    starts_a_term[[ids[0] for _, ids in phrases]] = True
    places = np.flatnonzero(starts_a_term[tokens.ids])
    # Sorted by first word, so that each term checks its own places only.
    places = places[np.argsort(tokens.ids[places], kind="stable")]
    firsts = tokens.ids[places]
    text_ends = tokens.starts[np.searchsorted(tokens.starts, places, side="right")]
    for column, ids in phrases:
        mine = slice(*np.searchsorted(firsts, [ids[0], ids[0] + 1]))
        at = places[mine]
        at = at[at + len(ids) <= text_ends[mine]]
        for step, word in enumerate(ids[1:], start=1):
            at = at[tokens.ids[at + step] == word]
        found[tokens.row_of(at), column] = True
    return found
