"""What a corpus is, as `conf/base/corpora.yml` describes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from take.errors import InputError, closest, problems
from take.frozen import Frozen
from take.rows.labelled import TEXT_COLUMNS, Task

# The name becomes a folder of artifacts, so it may not leave the folder it is put in.
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")


class PackageSource(Frozen):
    """A CSV file inside an installed Python package."""

    kind: Literal["package"]
    package: str
    file: str
    where: dict[str, str] = Field(default_factory=dict)
    """Keep the rows whose columns hold these values."""


class HubSource(Frozen):
    """A data set on the hub at a pinned revision, or `<raw_root>/<corpus>/{train,test}.parquet`."""

    kind: Literal["hub"]
    repository: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")]
    """organisation/name. Not `path`: Kedro makes values of that key paths of this machine."""
    name: str | None = None
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
    train: str = "train"
    evaluation: str = "test"


class FilesSource(Frozen):
    """The user's own .csv, .tsv, .jsonl or .parquet files.

    A split is a file, a folder of files, or a pattern such as `rows/*.parquet`.
    """

    kind: Literal["files"]
    train: str
    evaluation: str | None = None
    encoding: str = "utf-8"


class Columns(Frozen):
    """Which source column holds what."""

    text: str | None = None
    text_a: str | None = None
    text_b: str | None = None
    label: str
    group: str | None = None
    """A topic, source or language, of which `distillation.selection.coupling` makes use."""


class EvaluationShare(Frozen):
    """Train rows that become the evaluation split of a source that has none."""

    fraction: Annotated[float, Field(gt=0, lt=1)] = 0.1
    seed: int = 0


def _as_written(value: Any) -> Any:
    """As written in the file: YAML reads `yes` and `no` (also Norwegian) as Booleans."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value


def _listed(value: Any) -> Any:
    """One language without brackets is a list of one."""
    values = [value] if isinstance(value, str | bool) else value
    return [_as_written(item) for item in values] if isinstance(values, list) else values


def _quoted(value: Any) -> Any:
    """Names of labels that YAML does not read as something else."""
    for name in value if isinstance(value, list | tuple) else ():
        if not isinstance(name, str):
            raise ValueError(
                f"{name!r:.40} is not a string (YAML reads yes, no, on, off, true, false, null and "
                "numbers as other values): quote every label, as in ['yes', 'no']"
            )
    return value


def _lower(value: Any) -> Any:
    return value.strip().lower() if isinstance(value, str) else value


_Words = Annotated[str, StringConstraints(strip_whitespace=True, max_length=10_000)]


class About(Frozen):
    """Source, licence and language, for the dataset card; they do not affect the computation.

    >>> About(licence="CC-BY-4.0", language="en").licence
    'cc-by-4.0'
    """

    licence: Annotated[str, BeforeValidator(_lower), Field(pattern=r"^[a-z0-9][a-z0-9.+-]*$")] = (
        "unknown"
    )
    """An SPDX identifier or a licence tag of the Hugging Face hub, `other` and `unknown` too."""
    licence_note: _Words = ""
    source: _Words = ""
    """Who made it, where it is from."""
    citation: _Words = ""
    """BibTeX, or a sentence."""
    language: Annotated[
        tuple[Annotated[str, Field(pattern=r"^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$")], ...],
        BeforeValidator(_listed),
    ] = ()
    """BCP 47."""
    contains_personal_data: Annotated[
        Literal["yes", "no", "unknown"], BeforeValidator(_as_written)
    ] = "unknown"


class CorpusSpec(Frozen):
    """One entry of corpora.yml."""

    task: Task
    source: Annotated[PackageSource | HubSource | FilesSource, Field(discriminator="kind")]
    columns: Columns
    labels: Annotated[tuple[str, ...], Field(min_length=2), BeforeValidator(_quoted)] | None = None
    """Label names by id; left out, they are the sorted values of the label column."""
    prompts: dict[str, Annotated[str, Field(min_length=1, max_length=200)]] = Field(
        default_factory=dict
    )
    """By label name: a short phrase that the language model reads instead of the name."""
    evaluation: EvaluationShare = EvaluationShare()
    about: About = About()

    @property
    def text_columns(self) -> tuple[str, ...]:
        """The corpus's own names of its text columns: text, or text_a and text_b."""
        return TEXT_COLUMNS[self.task]

    @property
    def column_mapping(self) -> dict[str, str]:
        """Source column → the corpus's own name for it."""
        own_names = (*self.text_columns, "label", *(["group"] if self.columns.group else []))
        return {getattr(self.columns, own): own for own in own_names}

    @model_validator(mode="after")
    def _columns_fit_the_task(self) -> CorpusSpec:
        wanted = set(self.text_columns)
        given = {own for own in ("text", "text_a", "text_b") if getattr(self.columns, own)}
        if given != wanted:
            raise ValueError(
                f"a '{self.task}' corpus maps the columns {sorted(wanted)}, but {sorted(given)} "
                f"are mapped"
            )
        if len(self.column_mapping) != len(wanted) + 1 + bool(self.columns.group):
            raise ValueError(
                "two of the mapped columns are the same source column; each needs its own"
            )
        if self.labels and len(set(self.labels)) != len(self.labels):
            raise ValueError(f"a label name is listed twice in {list(self.labels)}")
        return self


def check_corpus_name(name: object) -> str:
    """The name, if it can safely be a folder's name.

    >>> check_corpus_name("ag_news")
    'ag_news'
    >>> check_corpus_name("../secrets")
    Traceback (most recent call last):
    take.errors.InputError: Corpus name '../secrets' cannot name a folder. Allowed: ...
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InputError(
            f"corpus name {name!r} cannot name a folder",
            allowed="1 to 64 of a-z, 0-9, '_' and '-', starting with a letter",
            remedy="rename the corpus in corpora.yml",
        )
    return name


def artifact_folder(corpus: str, pool: int | str = 0) -> str:
    """The folder of a corpus's artifacts; runs with another pool have one of their own.

    A pool's number seeds its generation. No corpus name contains "@".

    >>> artifact_folder("films"), artifact_folder("films", 2)
    ('films', 'films@2')
    >>> artifact_folder("films", -1)
    Traceback (most recent call last):
    take.errors.InputError: --params or globals.yml: pool is '-1'. Allowed: a whole number from 0...
    """
    written = str(pool)
    if not re.fullmatch(r"0|[1-9][0-9]{0,5}", written):
        raise InputError(
            f"pool is {written!r}",
            where="--params or globals.yml",
            allowed="a whole number from 0 to 999999",
        )
    return corpus if written == "0" else f"{corpus}@{written}"


def corpus_and_pool(folder: str) -> tuple[str, int]:
    """The corpus and the number of the pool of a folder of artifacts.

    >>> corpus_and_pool("films"), corpus_and_pool("films@2")
    (('films', 0), ('films', 2))
    """
    corpus, _, pool = folder.partition("@")
    return corpus, int(pool or 0)


def select_corpus(corpora: Mapping[str, Any], name: object) -> CorpusSpec:
    """The named corpus's validated description out of corpora.yml."""
    checked = check_corpus_name(name)
    if checked not in corpora:
        raise InputError(
            f"there is no corpus {checked!r}",
            where="corpora.yml",
            remedy=f"{closest(checked, corpora)} Or describe it in conf/local/corpora.yml",
        )
    where = f"corpora.yml, corpus '{checked}'"
    _check_repository_key(corpora[checked], where)
    try:
        return CorpusSpec.model_validate(corpora[checked])
    except ValidationError as error:
        raise InputError(problems(error), where=where, remedy="see docs/corpora.md") from error


def _check_repository_key(entry: Any, where: str) -> None:
    """Refuse the key by which a hub source named its repository before."""
    source = entry.get("source") if isinstance(entry, Mapping) else None
    if isinstance(source, Mapping) and source.get("kind") == "hub" and "path" in source:
        raise InputError(
            "a hub source has the key 'path', which Kedro turns into a path of this machine",
            where=f"{where}, source",
            allowed="repository: organisation/name",
            remedy="rename the key 'path' to 'repository'",
        )
