"""Why a generated row is dropped."""

from __future__ import annotations

from enum import StrEnum

KEPT = ""
"""The reason of a row that was not dropped."""


class Reason(StrEnum):
    """In the order of the checks: the first that fails is the one recorded.

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
    """Passed every check when its class already had its share."""


Verdict = tuple[Reason, str]
"""Why a row is dropped, and the detail: a fragment of a sentence that quotes no text."""
