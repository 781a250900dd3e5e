"""Why a generated row is dropped, and the thresholds that decide it."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from take.frozen import Frozen

KEPT = ""
"""The reason of a row that was not dropped."""


class Reason(StrEnum):
    """In the order of the checks: the first check that fails is recorded.

    >>> Reason("too_short") == "too_short"
    True
    """

    PARSE_FAILURE = "parse_failure"
    EMPTY = "empty"
    LEAKED_MARKER = "leaked_marker"
    TOO_SHORT = "too_short"
    TOO_LONG = "too_long"
    REPETITION_LOOP = "repetition_loop"
    WRONG_LANGUAGE = "wrong_language"
    DUPLICATE = "duplicate"
    COPY_OF_TRAIN = "copy_of_train"
    COPY_OF_EVALUATION = "copy_of_evaluation"
    NEAR_COPY_OF_TRAIN = "near_copy_of_train"
    NEAR_COPY_OF_EVALUATION = "near_copy_of_evaluation"
    NEAR_DUPLICATE = "near_duplicate"
    LABEL_CONTRADICTED = "label_contradicted"
    SURPLUS = "surplus"
    """Passed every check, but its class already had its share."""


Verdict = tuple[Reason, str]
"""Why a row is dropped, and a detail that quotes no text."""


class ScreeningSettings(Frozen):
    """`screening` within `params:generation`; `params:audit.copies` says what copies words.

    >>> ScreeningSettings(contradiction_threshold=None).near_copy_cosine
    0.85
    """

    loop_repeats: int = Field(default=3, ge=2, le=100)
    """A phrase of 1 … 4 words this often in a row is a loop."""
    loop_characters: int = Field(default=4, ge=3, le=1000)
    """One character this often in a row is a loop."""
    foreign_script_share: float = Field(default=0.02, ge=0, le=1)
    """Most letters in scripts that the corpus hardly uses."""
    unknown_word_share: float = Field(default=0.4, ge=0, le=1)
    """A share of words unknown to the corpus that is always allowed."""
    corpus_tail: float = Field(default=0.001, ge=0, le=0.1)
    """Share of the corpus's own texts that may exceed the bounds on loops and unknown words learned
    from it."""
    near_copy_cosine: float | None = Field(default=0.85, ge=0.5, le=1)
    """Cosine of embeddings that makes a near copy, too; null turns it off."""
    contradiction_threshold: float | None = Field(default=0.95, gt=0, le=1)
    """The verifier's confidence in another label that contradicts a row's; null turns it off."""
    contradicted: Literal["drop", "relabel"] = "drop"
    """What becomes of such a row: it is dropped, or kept under the verifier's label."""
