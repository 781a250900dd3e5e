"""Everything a user may set about screening, with bounds."""

from __future__ import annotations

from pydantic import Field

from take.frozen import Frozen


class ScreeningSettings(Frozen):
    """`screening` within `params:generation`.

    >>> ScreeningSettings(contradiction_threshold=None).near_copy_overlap
    0.65
    """

    loop_repeats: int = Field(
        default=4, ge=2, le=100, description="a phrase of 1 … 4 words this often in a row is a loop"
    )
    loop_characters: int = Field(
        default=7, ge=3, le=1000, description="one character this often in a row is a loop"
    )
    foreign_script_share: float = Field(
        default=0.1, ge=0, le=1, description="most letters in scripts the corpus hardly uses"
    )
    unknown_word_share: float = Field(
        default=0.45,
        ge=0,
        le=1,
        description="words the corpus does not know are never too many below this share",
    )
    corpus_tail: float = Field(
        default=0.001,
        ge=0,
        le=0.1,
        description="share of the corpus's own texts that bounds learned from it may exceed; "
        "loops and unknown words are allowed what all other texts do",
    )
    verbatim_words: int = Field(
        default=8,
        ge=1,
        le=1000,
        description="from this length on, one copied text makes a pair a copy",
    )
    near_copy_words: int = Field(
        default=6, ge=1, le=1000, description="shorter rows are copies only if they are equal"
    )
    near_copy_overlap: float = Field(
        default=0.65, ge=0.3, le=1, description="Jaccard index of words that makes a near copy"
    )
    near_copy_cosine: float | None = Field(
        default=0.9,
        ge=0.5,
        le=1,
        description="cosine of embeddings that makes a near copy; null turns it off",
    )
    contradiction_threshold: float | None = Field(
        default=0.9,
        gt=0,
        le=1,
        description="the probe's confidence in another label that drops a row; null turns it off",
    )
