"""From the evidence of a run to one HTML file that needs nothing else: no script, no link, no font.

Every text of the corpus and every name goes through the template engine's escaping; charts escape
on their own (`charts_svg.element`). A content policy in the page forbids scripts and requests, so
that even a mistake here could run nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from take.audit.release import (
    sections,
    sections_balance,
    sections_fit,
    sections_privacy,
    sections_run,
)
from take.audit.release import sections_rows as rows
from take.audit.release.charts_rows import bar, bars
from take.audit.release.evidence import ReportEvidence
from take.text import format as written

if TYPE_CHECKING:
    from jinja2 import Environment

CONTENTS = (
    ("verdict", "Verdict"),
    ("rows", "Rows"),
    ("coverage", "Coverage"),
    ("budget", "Budget"),
    ("weights", "Weights"),
    ("privacy", "Privacy"),
    ("balance", "Balance"),
    ("accuracy", "Accuracy"),
    ("cost", "Cost"),
    ("reproduce", "Reproduce"),
    ("limits", "Limits"),
)
_FILTERS: dict[str, Callable[..., str]] = {
    "count": written.count,
    "number": written.number,
    "share": written.share,
    "percent": written.percent,
    "points": written.points,
    "duration": written.duration,
    "size": written.size,
    "unbroken": written.unbroken,
    "moment": written.moment,
    "megabytes": lambda value: written.size(None if value is None else 1e6 * value),
}


def render_page(evidence: ReportEvidence, *, release: bool) -> str:
    """The page. With `release`, texts, words and ids of the corpus are left out."""
    template = _environment().get_template("page.html.j2")
    return template.render(
        style=Markup(_read("style.css")),  # noqa: S704 — a file of this package
        release=release,
        contents=CONTENTS,
        corpus_name=evidence.corpus_report.corpus,
        n_rows=len(evidence.distilled),
        scope=evidence.distillation_report.run.scope,
        verdict=sections.verdict(evidence),
        tiles=sections.key_figures(evidence),
        groups=rows.groups(evidence, release=release),
        has_lineage=evidence.lineage is not None,
        coverage=sections_fit.coverage(evidence, release=release),
        budget=sections_fit.budget(evidence),
        weights=sections_fit.weights(evidence),
        privacy=sections_privacy.privacy(evidence, release=release),
        balance=sections_balance.balance(evidence, release=release),
        accuracy=sections_run.accuracy(evidence),
        cost=sections_run.cost(evidence),
        facts=sections_run.facts(evidence),
        reproduce=sections_run.reproduction(evidence, release=release),
        limits=sections_run.limits(evidence, release=release),
    )


def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(_read), autoescape=True, undefined=StrictUndefined
    )
    environment.filters.update(_FILTERS)
    environment.globals.update(bar=bar, bars=_bars)
    return environment


def _bars(rows_: list[tuple[str, int]]) -> Any:
    return bars([(name, float(n), written.count(n)) for name, n in rows_])


def _read(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
