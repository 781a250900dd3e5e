"""A small run to show: random vectors and made-up texts, through the real functions of each stage.

No encoder and no language model: what is shown is not what they are good for, but where it stands.
"""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd

from take.audit.balance.measure import measure_balance
from take.audit.balance.terms import BalanceSettings
from take.audit.intervals import auc_interval, tpr_at_fpr
from take.audit.privacy.distances import DistanceSettings, measure_distances
from take.audit.privacy.pii import PiiSettings
from take.audit.privacy.report import Attack, MembershipReport
from take.audit.privacy.screening import screened
from take.audit.privacy.verdict import GateSettings, judge
from take.audit.release.evidence import ReportEvidence
from take.generation.finetuning.fine_tuning_report import FineTuningReport
from take.generation.pool import LedgerReport
from take.generation.quality.report import PoolQuality
from take.rows.blocks import ArrayBlocks
from take.scoring.report import ScoringReport
from take.selection.describe.curve import CurveOptions, budget_curve
from take.selection.describe.distillation import Distillation
from take.selection.describe.distillation_report import (
    ClassDistilled,
    DistillationReport,
    Region,
    RunFacts,
)
from take.selection.describe.lineage import lineage_tables, trace
from take.selection.describe.map import map_coordinates
from take.selection.selection_report import SelectionReport
from take.text.copies import CopySettings
from tests.audit.release.released import MADE, corpus_report, evaluated, filled

NAMES = ["bad", "good"]
WORDS = ["she", "he", "film", "story", "plot", "actor", "music", "dull", "bright", "slow", "the"]
CORPUS_ROWS = 60  # of each class

HOSTILE = [
    "<script>window.x=1</script>",
    '"><img src=x onerror="window.x=2">',
    "</style></details></body><b>bold</b>",
    "{{ 7*7 }} {% raw %} ${1+1}",
    "it's \"quoted\" & 'so' &lt;on&gt; &#120;",
    "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd \u0645\u0631\u062d\u0628\u0627",
    "\n  two\n\n  lines\tand a tab",
    "https://example.org/?a=1&b=2 javascript:alert(1)",
    ("ten kilobytes <i>of</i> text " * 400)[:10_240],
    "x" * 10_240,
]
HOSTILE_NAMES = ['<u title="q">bad</u>', "'good'</style>"]
VOID = {"meta", "br", "img", "link", "input", "hr", "base"}


class Page(HTMLParser):
    """Tags, attributes, and the texts of the corpus as a browser would have them."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: list[str] = []
        self.words: list[str] = []
        self._open: list[tuple[str, bool]] = []
        self.feed(html)
        self.close()
        assert not self._open, f"left open: {self._open}"

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attributes]
        classes = (dict(attributes).get("class") or "").split()
        is_text = tag == "bdi" and "text" in classes and "head" not in classes
        if is_text:
            self.texts.append("")
        if tag not in VOID:
            self._open.append((tag, is_text))

    def handle_endtag(self, tag: str) -> None:
        assert self._open[-1][0] == tag, (tag, self._open[-4:])
        self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1][1]:
            self.texts[-1] += data
        if not self._open or self._open[-1][0] != "style":
            self.words.append(data)

    def all_words(self) -> str:
        return " ".join(" ".join(self.words).split())


def sentence(random: np.random.Generator) -> str:
    return " ".join(random.choice(WORDS, 9))


def table(texts: list[str], labels: list[int], names: list[str], pair: bool) -> pd.DataFrame:
    columns = {"text_a": texts, "text_b": texts[::-1]} if pair else {"text": texts}
    ids = [f"{'p' if pair else 's'}{len(texts)}-{place:04d}" for place in range(len(texts))]
    named = [names[label] for label in labels]
    return pd.DataFrame({"id": ids, **columns, "label": labels, "label_name": named})


def units(rows: int, random: np.random.Generator) -> np.ndarray:
    vectors = random.standard_normal((rows, 8))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def evidence(
    texts: list[str] | None = None,
    source_texts: list[str] | None = None,
    names: list[str] | None = None,
    rows_per_class: int = 2,
    pair: bool = False,
    **given: Any,
) -> ReportEvidence:
    """A run; `texts` are of the first distilled rows, `source_texts` of the first corpus rows."""
    names = names or NAMES
    random, n_classes = np.random.default_rng(0), len(names)
    n_distilled, n_corpus = rows_per_class * n_classes, CORPUS_ROWS * n_classes
    labels = np.arange(n_corpus) % n_classes
    pool_labels = np.arange(2 * n_distilled) % n_classes
    written = [sentence(random) for _ in range(n_corpus)]
    written[: len(source_texts or [])] = source_texts or []
    corpus = table(written, labels.tolist(), names, pair)
    generated = [sentence(random) for _ in pool_labels]
    generated[: len(texts or [])] = texts or []
    pool = table(generated, pool_labels.tolist(), names, pair)
    vectors, pool_vectors = units(n_corpus, random), units(len(pool), random)
    weights = np.full(n_corpus, 1 / n_corpus)
    distillation = Distillation(
        ArrayBlocks(vectors), weights, labels, pool_vectors, pool_labels, np.arange(n_distilled)
    )
    traced = trace(distillation)
    distilled = pool[:n_distilled].assign(weight=1.0)
    lineage, totals, _ = lineage_tables(traced, corpus, distilled)
    curve = budget_curve(distillation, CurveOptions(largest=rows_per_class))
    balance = measure_balance(
        distilled, pool, corpus, [1 / n_classes] * n_classes, BalanceSettings(draws=10)
    )
    findings, counts = screened(
        {"distilled": distilled, "pool": pool},
        corpus,
        corpus[:20],
        pd.DataFrame({"id": corpus["id"], "role": "unread"}),
        CopySettings(),
        PiiSettings(),
    )
    half = n_corpus // 2
    distances = measure_distances(
        *(pool_vectors, vectors[:half], vectors[half:], labels[:half], labels[half:]),
        DistanceSettings(bins=12),
    )
    membership, scores = remembered(random)
    by_table = {"distilled": distances, "pool": distances}
    made: dict[str, Any] = {
        "corpus_report": corpus_report(names, task="pair" if pair else "single"),
        "distilled": distilled,
        "lineage_totals": totals,
        "distillation_report": filled(
            DistillationReport,
            run=RunFacts(selector="exam", scope="class", budget="2/class", seed=0),
            rows=n_distilled,
            classes={name: filled(ClassDistilled, rows=rows_per_class) for name in names},
            regions={"1": filled(Region)},
            knee=curve.knee,
        ),
        "selection_report": filled(SelectionReport, selector="exam", pool_rows=len(pool)),
        "scoring_report": scoring(names),
        "budget_curve": curve.table,
        "pool_quality": filled(PoolQuality),
        "fine_tuning_report": filled(FineTuningReport),
        "ledger_report": LedgerReport.of(
            pd.DataFrame(
                {
                    "label": pool_labels,
                    "prompt_label": pool_labels,
                    "reason": ["", "duplicate"] * n_distilled,
                }
            ),
            names,
        ),
        "privacy": judge(counts, by_table, membership, None, GateSettings()),
        "privacy_findings": findings,
        "balance": balance.report,
        "reproduction": MADE,
        "lineage": lineage,
        "corpus": corpus,
        "map_coordinates": map_coordinates(distillation, traced),
        "least_covered": least_covered(corpus, distilled, pair),
        "membership_scores": scores,
        "balance_terms": balance.terms,
        "accuracy_summary": evaluated(),
        "slice_accuracy": slices(),
        "costs": pd.DataFrame(
            {
                "stage": ["scoring", "audit"],
                "node": ["score_rows", "write_page"],
                "seconds": [70.0, None],
                "peak_megabytes": [300.0, None],
                "bytes": [1000, 2000],
            }
        ),
    }
    return ReportEvidence(**{**made, **given})


def remembered(random: np.random.Generator) -> tuple[MembershipReport, pd.DataFrame]:
    inside, outside = random.normal(0.5, 1, 40), random.normal(0, 1, 40)
    attack = Attack(
        members=40,
        others=40,
        auc=auc_interval(inside, outside),
        tpr=tpr_at_fpr(inside, outside),
        mean_difference=0.5,
    )
    scores = [
        pd.DataFrame({"group": group, "member": member, "score": values})
        for group in ("canaries", "rows")
        for member, values in ((True, inside), (False, outside))
    ]
    report = filled(MembershipReport, canaries=attack, rows=attack)
    return report, pd.concat(scores, ignore_index=True)


def scoring(names: list[str]) -> ScoringReport:
    shares = {name: 1 / len(names) for name in names}
    weights = dict.fromkeys(
        ("effective_share", "top_percent_share", "floored_share", "largest_weight"), 0.5
    )
    weights |= {"n_rows": 120, "capped_rows": 3, "effective_rows": 60.0}
    return filled(
        ScoringReport,
        weights={**weights, "low_effective_share": True},
        class_share=shares,
        weight_share=shares,
        histogram_edges=[0.0, 1.0, 2.0],
        histogram_counts=[70, 50],
    )


def least_covered(corpus: pd.DataFrame, distilled: pd.DataFrame, pair: bool) -> pd.DataFrame:
    columns = ["text_a", "text_b"] if pair else ["text"]
    rows = corpus[["id", "label_name", *columns]].head(2).reset_index(drop=True)
    closest = distilled[columns].head(1).add_prefix("closest_")
    closest = pd.concat([closest] * 2, ignore_index=True)
    return rows.assign(region=1, distance=1.2).join(closest)


def slices() -> pd.DataFrame:
    row = {"learner": "lr", "slice": "length", "name": "longest", "rows": 40, "accuracy": 0.7}
    row |= {"difference": -0.1, "verdict": "shifted"}
    return pd.DataFrame([row, {**row, "name": "shortest", "difference": 0.0, "verdict": "even"}])
