"""Facts of a made-up run, for card and release: real models, with values their types allow."""

from __future__ import annotations

import types
from dataclasses import replace
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin

import pandas as pd
from pydantic import BaseModel

from take.audit.audited import AuditedRows
from take.audit.balance.report import BalanceReport
from take.audit.privacy.report import PrivacyReport
from take.audit.release.card import dataset_card
from take.audit.release.evidence import CardEvidence
from take.audit.release.folder import Release
from take.audit.release.manifest import Reproduction
from take.corpus.ingest import CorpusReport
from take.corpus.spec import About
from take.evaluation.cells import CellResult, cells_table
from take.evaluation.summary import summary_table
from take.generation.finetuning.fine_tuning_report import FineTuningReport
from take.generation.quality.report import PoolQuality
from take.selection.describe.distillation_report import DistillationReport
from take.selection.selection_report import SelectionReport

NAMES = ["bad", "good"]
MADE = Reproduction(
    command="kedro run --pipeline=distill --params=corpus=films,budget=2/class",
    code_version="0.1.0 (1a2b3c4)",
    parameters={
        "select_rows": {"distillation": {"selection": {"selector": "exam", "seed": 7}}},
        "score_rows": {"scoring": {"scorer": "trajectory", "seed": 3}},
    },
    inputs={"raw_corpus": "c" * 64, "language_model": "d" * 64},
    made_at="2026-11-16T12:00:00+00:00",
)
TERMS = "Small_LM is provided under terms found at example.org/terms"
ABOUT = About(
    licence="cc-by-4.0",
    licence_note="Named in the archive.",
    source="Jo Doe, https://example.org/films",
    citation="@misc{films,\n  title = {Films},\n}",
    language="en",
    contains_personal_data="no",
)


def filled(model: type[BaseModel], **given: Any) -> Any:
    """An instance whose fields, where not given, have a value of their type."""
    values = {
        name: given[name] if name in given else _value(field.annotation)
        for name, field in model.model_fields.items()
        if name in given or field.is_required()
    }
    return model(**values)


def _value(kind: Any) -> Any:
    if get_origin(kind) is Literal:
        return get_args(kind)[0]
    if get_origin(kind) in (Union, types.UnionType):
        return None if type(None) in get_args(kind) else _value(get_args(kind)[0])
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return filled(kind)
    if get_origin(kind) in (dict, list):
        return get_origin(kind)()
    return {float: 0.5, int: 1, str: "x", bool: False}[kind]


TUNING = filled(FineTuningReport, language_model="Small_LM (4-bit)")


def check(name: str, verdict: str = "pass", overridden: str | None = None) -> dict[str, Any]:
    sentence = f"3 rows concern {name}."
    return {"name": name, "verdict": verdict, "sentence": sentence, "overridden": overridden}


def privacy(*checks: dict[str, Any], **given: Any) -> PrivacyReport:
    checks = checks or (check("verbatim"), check("pii", "review"))
    verdicts = [found["verdict"] for found in checks]
    worst = max(verdicts, key=["pass", "review", "block"].index)
    blocked = any(c["verdict"] == "block" and not c["overridden"] for c in checks)
    return filled(PrivacyReport, checks=checks, verdict=worst, blocked=blocked, **given)


def balance(sentence: str = "Twice as many as in the corpus.") -> BalanceReport:
    finding = {"value": 2.0, "low": 1.5, "high": 2.5, "p_adjusted": 0.001, "sentence": sentence}
    findings = [
        {**finding, "name": f"{verdict} figure", "where": "distilled", "verdict": verdict}
        for verdict in ("shifted", "even", "inconclusive")
    ]
    return filled(BalanceReport, findings=findings)


def rows(names: list[str] = NAMES, texts: list[str] | None = None) -> pd.DataFrame:
    texts = texts or ["dull", "a grand film, and a true one", "flat as a board", "fine"]
    labels = [place % 2 for place in range(len(texts))]
    return pd.DataFrame(
        {
            "id": [f"d{place:04x}" for place in range(len(texts))],
            "text": texts,
            "label": labels,
            "label_name": [names[label] for label in labels],
            "weight": 1.0,
        }
    )


METHODS = {"full": 0.9, "constant": 0.5, "random": 0.6, "distilled": 0.8}


def evaluated(**learners: float) -> pd.DataFrame:
    """Scores of these learners by what they add to a usual one.

    All are independent but `lr`, which is the only one if none is named.
    """
    return _evaluated(tuple((learners or {"lr": 0.0}).items())).copy()


@cache
def _evaluated(learners: tuple[tuple[str, float], ...]) -> pd.DataFrame:
    cells = [
        CellResult(
            corpus="films",
            budget="2/class",
            method=method,
            learner=learner,
            independent=learner != "lr",
            set_seed=seed,
            training_seed=0,
            accuracy=accuracy + 0.01 * seed + (more if method == "distilled" else 0.0),
            macro_f1=accuracy - 0.1,
            set_digest=f"{method}{seed}",
        )
        for learner, more in learners
        for method, accuracy in METHODS.items()
        for seed in ((0,) if method in ("full", "constant") else (0, 1))
    ]
    return summary_table(cells_table(cells))


def corpus_report(names: list[str] = NAMES, **given: Any) -> CorpusReport:
    counts = filled(
        CorpusReport.model_fields["train"].annotation,
        rows_kept=2_000,
        rows_by_class=dict.fromkeys(names, 1_000),
    )
    given = {"corpus": "films", "task": "single", "budget": "2/class", "about": ABOUT, **given}
    return filled(CorpusReport, labels=names, train=counts, evaluation=counts, **given)


def facts(names: list[str] = NAMES, **given: Any) -> CardEvidence:
    distilled = given.pop("distilled", rows(names))
    made = {
        "corpus_report": corpus_report(names),
        "selection_report": filled(SelectionReport, selector="exam", budget="2/class", rows=4),
        "distillation_report": filled(DistillationReport),
        "pool_quality": filled(PoolQuality, generated=8_000, rows=5_000),
        "fine_tuning_report": TUNING,
        "privacy": privacy(),
        "balance": balance(),
        "accuracy_summary": None,
        "reproduction": MADE,
    }
    return CardEvidence(distilled=distilled, **{**made, **given})


def totals(distilled: pd.DataFrame) -> pd.DataFrame:
    """As `take.selection.describe.lineage.lineage_tables` makes it."""
    return pd.DataFrame(
        {
            "id": distilled["id"],
            "label_name": distilled["label_name"],
            "assigned_mass": 1 / len(distilled),
            "listed_mass": 0.1,
            "unlisted_mass": 1 / len(distilled) - 0.1,
            "rows": 500,
            "mean_distance": 1.1,
        }
    )


def bound(evidence: CardEvidence) -> CardEvidence:
    """The evidence with reports that are about its rows."""
    audited = AuditedRows.of(evidence.distilled, evidence.distilled)
    reports = {"privacy": evidence.privacy, "balance": evidence.balance}
    stated = {k: report.model_copy(update={"audited": audited}) for k, report in reports.items()}
    return replace(evidence, **stated)


def released(evidence: CardEvidence | None = None, **given: Any) -> Release:
    evidence = bound(evidence or facts())
    made = {
        "distilled": evidence.distilled,
        "class_names": evidence.corpus_report.labels,
        "card": dataset_card(evidence),
        "page": f"<!doctype html>\n<title>films</title>\n{' '.join(evidence.digests)}",
        "lineage_totals": totals(evidence.distilled),
        "fine_tuning": evidence.fine_tuning_report,
        "privacy": evidence.privacy,
        "balance": evidence.balance,
        "corpus": evidence.corpus_report.corpus,
        "budget": evidence.corpus_report.budget,
        "reproduction": evidence.reproduction,
    }
    return Release(**{**made, **given})


def section(card: str, title: str) -> str:
    return card.split(f"\n## {title}\n")[1].split("\n## ", maxsplit=1)[0]
