"""Figures that others have published, each with where it stands (conf/base/published.yml)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, ValidationError, field_validator, model_validator

from take.corpus.budget import Budget
from take.errors import InputError
from take.frozen import Frozen

Percent = Annotated[float, Field(ge=0, le=100)]


class PublishedSource(Frozen):
    """A paper."""

    title: str
    spread: str | None  # what its "±" is; None where that is not known


class Printed(NamedTuple):
    """A mean and its "±", as printed; some have none."""

    mean: Percent
    spread: Percent | None


class PublishedTable(Frozen):
    """Figures of one corpus at one budget, out of one table."""

    corpus: str
    budget: str
    source: str
    quoted_by: str | None = None
    table: int | None
    metric: Literal["accuracy", "accuracy_f1"] = "accuracy"
    methods: dict[str, dict[str, Printed]]  # by method, then by backbone

    @field_validator("budget")
    @classmethod
    def _is_a_budget(cls, written: str) -> str:
        return str(Budget.parse(written))


class PublishedFigure(Frozen):
    """One figure and where it stands."""

    corpus: str
    budget: str
    method: str
    backbone: str
    metric: Literal["accuracy", "accuracy_f1"]
    mean: float  # in %
    spread: float | None  # the "±"
    source: str
    quoted_by: str | None
    table: int | None

    @property
    def reference(self) -> str:
        """Where it stands, in a few words.

        >>> PublishedFigure(
        ...     corpus="sst2", budget="20/class", method="dilm", backbone="bert",
        ...     metric="accuracy", mean=80.3, spread=2.8, source="dilm", quoted_by="take", table=2,
        ... ).reference
        'dilm, quoted by take, table 2'
        """
        quoted = f", quoted by {self.quoted_by}" if self.quoted_by else ""
        table = "" if self.table is None else f", table {self.table}"
        return f"{self.source}{quoted}{table}"


class Published(Frozen):
    """All of them."""

    sources: dict[str, PublishedSource]
    figures: tuple[PublishedTable, ...]

    @model_validator(mode="after")
    def _sources_are_known(self) -> Published:
        for table in self.figures:
            for name in (table.source, table.quoted_by):
                if name is not None and name not in self.sources:
                    raise ValueError(f"source {name!r} is not among {', '.join(self.sources)}")
        return self

    def rows(self) -> list[PublishedFigure]:
        """Every figure on its own, in the file's order."""
        return [
            PublishedFigure(
                corpus=table.corpus,
                budget=table.budget,
                method=method,
                backbone=backbone,
                metric=table.metric,
                mean=printed.mean,
                spread=printed.spread,
                source=table.source,
                quoted_by=table.quoted_by,
                table=table.table,
            )
            for table in self.figures
            for method, backbones in table.methods.items()
            for backbone, printed in backbones.items()
        ]

    def of(
        self, corpus: str, method: str, backbone: str, table: int | None = None
    ) -> list[PublishedFigure]:
        """The figures of one cell: more than one where papers, or tables of one, disagree."""
        return [
            row
            for row in self.rows()
            if (row.corpus, row.method, row.backbone) == (corpus, method, backbone)
            and (table is None or row.table == table)
        ]


def published_figures(described: Mapping[str, Any]) -> Published:
    """What stands under `published` in the configuration, checked.

    >>> published_figures({"sources": {}, "figures": [{"corpus": "sst2"}]})
    Traceback (most recent call last):
    take.errors.InputError: published.yml: figures.0.budget: Field required; ...
    """
    try:
        return Published.model_validate(described)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, problem['loc'])) or 'published'}: "
            f"{problem['msg'].removeprefix('Value error, ').rstrip('.')}"
            for problem in error.errors()
        )
        raise InputError(
            problems, where="published.yml", remedy="write it as conf/base/published.yml does"
        ) from error


def read_published(path: Path) -> Published:
    """The figures out of a file such as conf/base/published.yml."""
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise InputError(
            f"not a YAML file that can be read ({type(error).__name__})",
            where=str(path),
            remedy="use conf/base/published.yml",
        ) from error
    if not isinstance(content, dict) or set(content) != {"published"}:
        raise InputError(
            "it does not hold 'published' and nothing else",
            where=str(path),
            remedy="use conf/base/published.yml",
        )
    return published_figures(content["published"])
