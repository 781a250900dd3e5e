"""Code that trains on a release as a recipe of the playoff does, without TAKE (`*.py.j2`).

Its numbers are the learner's own settings, its formulas those of `take.learners`: a test compares
the predictions of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from take.learners import DEFAULTS, TransformerSettings
from take.learners.transformer import TRAINED

if TYPE_CHECKING:
    from jinja2 import Environment

_MODEL = "sentence-transformers/all-MiniLM-L6-v2"  # the embedded weights, on the hub
_RECIPES = {name: one for name, one in DEFAULTS.items() if isinstance(one, TransformerSettings)}
"""With the settings that a playoff tries them with."""


def training_code(recipe: str, columns: Sequence[str]) -> str:
    """A script that reads the rows in its folder, trains as the recipe does, and predicts.

    >>> print(training_code("transformer_lpft", ["text"]).splitlines()[6])
    torch.manual_seed(0)
    """
    settings = _RECIPES[recipe]
    return (
        _environment()
        .get_template(f"{recipe}.py.j2")
        .render(
            model=_MODEL,
            columns=columns,
            training=settings.training,
            max_tokens=settings.max_tokens,
            head_dropout=settings.head_dropout,
        )
        .rstrip("\n")
    )


def in_words(recipe: str) -> str:
    """What the recipe does with the transformer.

    >>> in_words("transformer_lpft")
    'probed, then fully fine-tuned'
    """
    return TRAINED[_RECIPES[recipe].recipe]


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    return Environment(  # noqa: S701 — Python, made of names and numbers of this package
        loader=FunctionLoader(lambda name: files(__package__).joinpath(name).read_text("utf-8")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
