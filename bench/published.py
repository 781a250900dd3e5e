"""Figures that others have published, each with its source (bench/published.yml)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, ValidationError, field_validator, model_validator

from take.corpus.budget import Budget
from take.errors import InputError
from take.frozen import Frozen

FILE = Path(__file__).with_name("published.yml")

Percent = Annotated[float, Field(ge=0, le=100)]


class PublishedSource(Frozen):
    """A paper."""

    title: str
    spread: str | None  # what its "±" is; None if not known


class Printed(NamedTuple):
    """A mean and its "±" (if any), as printed."""

    mean: Percent
    spread: Percent | None


class PublishedTable(Frozen):
    """Figures of one corpus at one budget, from one table."""

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
    """One figure and its source."""

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
        """Its source in a few words.

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
    """All published figures."""

    sources: dict[str, PublishedSource]
    training_rows: dict[str, int] = Field(default_factory=dict)
    """Of each corpus as published."""
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
        """The figures of one cell: several if papers or tables disagree."""
        return [
            row
            for row in self.rows()
            if (row.corpus, row.method, row.backbone) == (corpus, method, backbone)
            and (table is None or row.table == table)
        ]


def published_figures(described: Mapping[str, Any]) -> Published:
    """The content of published.yml, checked.

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
            problems, where="published.yml", remedy="follow the format of bench/published.yml"
        ) from error


def read_published(path: Path = FILE) -> Published:
    """The figures of bench/published.yml, or of another such file."""
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise InputError(
            f"not a YAML file that can be read ({type(error).__name__})",
            where=str(path),
            remedy="use bench/published.yml",
        ) from error
    if not isinstance(content, dict) or set(content) != {"published"}:
        raise InputError(
            "it does not hold 'published' and nothing else",
            where=str(path),
            remedy="use bench/published.yml",
        )
    return published_figures(content["published"])
