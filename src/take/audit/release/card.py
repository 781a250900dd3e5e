"""The dataset card: README.md of a release, in the Hugging Face format (`card.md.j2`).

Names and sentences are escaped, so that a class called `|a|` or `<b>` is shown as it is.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING, Any

from take.audit.audited import to_jsonl
from take.audit.release.accuracy import headline, metric_name, score_table, scores
from take.audit.release.recipes import in_words, training_code
from take.reuse.records import flatten
from take.rows.labelled import TEXT_COLUMNS, task_of
from take.text.characters import Translation, is_misleading
from take.text.format import count, percent, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from jinja2 import Template

    from take.audit.release.evidence import CardEvidence

# Named explicitly: the folder holds other Parquet files that are not rows of the dataset.
DATA_FILES = "data/train-*.parquet"
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_EXAMPLE_CHARS = 600
_MARKS = re.compile(r"([\\`*_\[\]<>#~&$!])")


def dataset_card(evidence: CardEvidence) -> str:
    """The card, rendered from the reports of the run."""
    return _template().render(_values(evidence))


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(  # noqa: S701 — Markdown, escaped by `inline` and `code`
        undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True
    )
    environment.filters.update(
        inline=inline, code=code, count=count, percent=percent, plural=plural
    )
    environment.globals.update(fenced=fenced, cells=cells)
    text = files(__package__).joinpath("card.md.j2").read_text(encoding="utf-8")
    return environment.from_string(text)


def _values(evidence: CardEvidence) -> dict[str, Any]:
    made, origin = evidence.reproduction.shareable(), evidence.corpus_report.origin
    texts = TEXT_COLUMNS[task_of(evidence.distilled)]
    parameters = flatten(made.parameters)
    seeds = {".".join(name.split(".")[-2:]): value for name, value in parameters.items()}
    is_local = PureWindowsPath(origin).is_absolute() or origin.startswith(("/", "~"))
    return {
        "header": _header(evidence),
        "e": evidence,
        "texts": texts,
        "example": _example(evidence.distilled, texts),
        "scorer": next((v for name, v in parameters.items() if name.endswith(".scorer")), None),
        "seeds": [(name, value) for name, value in seeds.items() if name.endswith(".seed")],
        "sizes": evidence.distilled["label"].value_counts(),
        "accuracy": _accuracy(evidence),
        "training": _training(evidence, texts),
        "origin": PureWindowsPath(origin).name if is_local else origin,
        "made": made,
    }


def _header(evidence: CardEvidence) -> str:
    import pyarrow as pa
    import yaml

    report, distilled = evidence.corpus_report, evidence.distilled
    rows, columns = len(distilled), distilled.columns
    names = {str(label): name for label, name in enumerate(report.labels)}
    kinds: dict[str, Any] = {"label": {"class_label": {"names": names}}, "weight": "float64"}
    size = pa.table({name: distilled[name].tolist() for name in columns}).nbytes
    header: dict[str, Any] = {
        "language": list(report.about.language),
        "license": report.about.licence,
        "pretty_name": f"{report.corpus}, distilled to {rows} rows",
        "annotations_creators": ["machine-generated"],
        "language_creators": ["machine-generated"],
        "task_categories": ["text-classification"],
        "size_categories": [next((size for most, size in _SIZES if rows < most), "n>1M")],
        "source_datasets": [report.corpus],
        "tags": ["synthetic", "dataset-distillation", "take"],
        "dataset_info": {
            "features": [{"name": name, "dtype": kinds.get(name, "string")} for name in columns],
            "splits": [{"name": "train", "num_bytes": size, "num_examples": rows}],
            "dataset_size": size,
        },
        "configs": [
            {"config_name": "default", "data_files": [{"split": "train", "path": DATA_FILES}]}
        ],
    }
    if not header["language"]:
        del header["language"]
    return str(yaml.safe_dump(header, sort_keys=False, allow_unicode=True))


def _example(distilled: pd.DataFrame, texts: Sequence[str]) -> str:
    """A row of median length as JSON, long texts cut."""
    lengths = distilled[list(texts)].map(len).sum(axis=1).to_numpy()
    place = lengths.argsort(kind="stable")[(len(lengths) - 1) // 2]
    row = json.loads(to_jsonl(distilled.iloc[[place]]))
    for column in texts:
        if len(row[column]) > _EXAMPLE_CHARS:
            row[column] = row[column][:_EXAMPLE_CHARS] + "…"
    written = json.dumps(row, ensure_ascii=False, indent=2).split("\n")
    return "\n".join(line.translate(_ESCAPED) for line in written)


def _json_escape(character: str) -> str:
    """As JSON writes it: two escapes for what is beyond U+FFFF."""
    if not is_misleading(character):
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


_ESCAPED = Translation(_json_escape)
_REPLACED = Translation(lambda character: "\ufffd" if is_misleading(character) else character)


def _accuracy(evidence: CardEvidence) -> dict[str, Any] | None:
    """The headline, and the scores of every learner and method; None if there are none."""
    summary = scores(evidence)
    if summary is None:
        return None
    found = headline(summary)
    return {
        "headline": found and f"{percent(found.first.median)} {found.title} ({found.details})",
        "metric": metric_name(summary),
        "rows": [
            [
                code(row["learner"]),
                row["kind"],
                code(row["method"]),
                row["accuracy"],
                row["macro_f1"],
                row["kept"],
            ]
            for row in score_table(summary)
        ],
    }


def _training(evidence: CardEvidence, texts: Sequence[str]) -> dict[str, Any] | None:
    """The recipe that did best, the figures of all, and code; None where none was tried."""
    playoff = evidence.selection_report.playoff
    if playoff is None or playoff.recipe is None:
        return None
    figures = ("accuracy", "fresh_accuracy")
    return {
        "playoff": playoff,
        "best": playoff.recipe,
        "words": in_words(playoff.recipe.learner),
        "rows": [
            [
                code(trial.learner),
                in_words(trial.learner),
                *(percent(getattr(trial, name)) for name in figures),
            ]
            for trial in playoff.recipes
        ],
        "code": training_code(playoff.recipe.learner, texts),
        "is_weighted": evidence.distilled["weight"].nunique() > 1,
    }


def inline(text: object) -> str:
    r"""A name or sentence within a line of Markdown, shown as it is; `cells` escapes "|".

    >>> print(inline("a_b <b>*x*</b>"))
    a\_b \<b\>\*x\*\</b\>
    """
    return _MARKS.sub(r"\\\1", _visible(text))


def code(text: object) -> str:
    """A name as code, whatever backticks it holds.

    >>> code("exam"), code("a`b")
    ('`exam`', '`` a`b ``')
    """
    name = _visible(text)
    return f"{_fence(name, 1)} {name} {_fence(name, 1)}" if "`" in name else f"`{name}`"


def fenced(text: str, language: str = "") -> str:
    """A block of text as it is.

    >>> print(fenced("a ``` b"))
    ````
    a ``` b
    ````
    """
    fence = _fence(text, 3)
    return f"{fence}{language}\n{text}\n{fence}"


def cells(*values: str) -> str:
    r"""A line of a table.

    >>> print(cells("a|b", "2"))
    | a\|b | 2 |
    """
    return "| " + " | ".join(value.replace("|", "\\|") for value in values) + " |"


def _visible(text: object) -> str:
    return " ".join(str(text).split()).translate(_REPLACED)


def _fence(text: str, least: int) -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    return "`" * max(least, longest + 1)
