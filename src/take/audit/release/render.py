"""From the evidence of a run to one HTML file that needs nothing else: no script, link or font.

Every text of the corpus and every name is escaped by the template engine. A content policy in the
page forbids scripts and requests, so that even a mistake here could run nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from pydantic import Field

from take.audit.release import report_charts, report_rows
from take.audit.release.accuracy import headline, score_table, scores
from take.audit.release.charts import bar, bars
from take.audit.release.evidence import ReportEvidence
from take.evaluation.names import meaning
from take.frozen import Frozen
from take.reuse.records import flatten
from take.text import format as formats

if TYPE_CHECKING:
    from jinja2 import Environment

_TITLES = (
    *("Verdict", "Rows", "Coverage", "Budget", "Weights", "Privacy", "Balance", "Accuracy"),
    *("Cost", "Reproduce", "Limits"),
)
CONTENTS = tuple((title.lower(), title) for title in _TITLES)
_FORMATS = ("count", "number", "share", "percent", "points", "duration", "size", "moment")


class ReportSettings(Frozen):
    """`params:audit.report`."""

    release: bool = Field(
        default=False,
        description="leave training rows out of the report; those of an export never have any",
    )


def render_page(evidence: ReportEvidence, *, release: bool) -> str:
    """The page. With `release`, texts, words and ids of the corpus are left out."""
    made = evidence.reproduction.shareable() if release else evidence.reproduction
    measured = scores(evidence)
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            style=Markup(_read("style.css")),  # noqa: S704 — a file of this package
            release=release,
            contents=CONTENTS,
            e=evidence,
            made=made,
            parameters=flatten(made.parameters),
            accuracy=_accuracy_tile(evidence),
            score_table=[] if measured is None else score_table(measured),
            closest=_closest(evidence),
            slices=_slices(evidence),
        )
    )


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(_read), autoescape=True, undefined=StrictUndefined
    )
    environment.filters.update(
        {name: _unbroken(getattr(formats, name)) for name in _FORMATS},
        megabytes=_unbroken(lambda value: formats.size(None if value is None else 1e6 * value)),
        plural=formats.plural,
        as_words=formats.as_words,
        unbroken=_unbroken(lambda sentence: sentence),
        visible=formats.visible,
        opening=formats.opening,
    )
    environment.globals.update(
        charts=report_charts,
        texts=report_rows,
        tables=report_rows.TABLES,
        long_text=report_rows.LONG,
        folded_text=report_rows.FOLDED,
        meaning=meaning,
        bar=bar,
        bars=_bars,
    )
    return environment


def _unbroken(write: Callable[..., str]) -> Callable[..., str]:
    def written(*values: Any) -> str:
        text = write(*values)
        found = formats.unbroken(text)
        # What is safe stays safe: a caption, rendered by the engine.
        return Markup(found) if isinstance(text, Markup) else found  # noqa: S704

    return written


def _bars(counts: Mapping[str, int]) -> Markup:
    """The largest first."""
    found = sorted(((formats.as_words(k), n) for k, n in counts.items() if n), key=lambda r: -r[1])
    return bars([(name, float(n), formats.count(n)) for name, n in found])


def _read(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _accuracy_tile(evidence: ReportEvidence) -> tuple[str, str, str]:
    """The median score of the learners trained on the rows, and their range."""
    found = headline(scores(evidence))
    if found is None:
        return (formats.MISSING, "accuracy", "not evaluated in this run")
    return (formats.percent(found.first.median), found.title, found.details)


def _closest(evidence: ReportEvidence) -> list[dict[str, Any]]:
    """Distances to the closest row trained on, with those of real rows below each table."""
    lines: list[dict[str, Any]] = []
    for table, found in evidence.privacy.distances.items():
        for name, distances, ratio, real in (
            (report_rows.TABLES[table], found.closest_member, found.ratio, False),
            ("real rows, for comparison", found.unseen_closest_member, found.unseen_ratio, True),
        ):
            lines.append({"name": name, "real": real, "ratio": ratio.median, "found": distances})
    # The real rows of both tables are the same where both tables are compared with all of them.
    return [line for i, line in enumerate(lines) if line not in lines[i + 1 :]]


def _slices(evidence: ReportEvidence) -> list[dict[str, Any]]:
    """By learner: accuracy on slices of the evaluation split, the worst first."""
    table = evidence.slice_accuracy
    if table is None or table.empty:
        return []
    return [
        {
            "learner": str(learner),
            "shifted": int((mine["verdict"] == "shifted").sum()),
            "rows": mine.sort_values("difference").to_dict("records"),
        }
        for learner, mine in table.groupby("learner", sort=False)
    ]
