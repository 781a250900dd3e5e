"""Wiring of `audit`."""

from typing import Literal

from kedro.pipeline import Pipeline

from take.pipelines import stage, step
from take.pipelines.audit.nodes import (
    attack_generator,
    export_release,
    gather_accuracy,
    judge_privacy,
    measure_balance,
    measure_distances,
    render_report,
    screen_rows,
    write_card,
)

_ROWS = ["distilled", "pool"]
# Fields of the evidence → datasets.
_CARD = {"privacy": "privacy_report", "balance": "balance_report"} | {
    name: name
    for name in (
        *("distilled", "corpus_report", "fine_tuning_report", "pool_quality"),
        *("selection_report", "distillation_report", "accuracy_summary", "provenance"),
    )
}
_REPORT = _CARD | {
    name: name
    for name in (
        *("lineage", "lineage_totals", "corpus", "scoring_report", "ledger_report"),
        *("budget_curve", "map_coordinates", "least_covered", "privacy_findings"),
        *("membership_scores", "balance_terms", "slice_accuracy"),
    )
}


def create_pipeline(evaluation: Literal["known", "evaluation"] = "known") -> Pipeline:
    """distilled, pool, corpus → privacy gate, balance, report, card, release.

    `evaluation` says whose cells and predictions are read: those of an earlier run, if there are
    any, or, in a pipeline that evaluates, those that it makes.
    """
    return stage(
        "audit",
        [
            step(
                screen_rows,
                [
                    *(*_ROWS, "corpus", "evaluation_split", "generator_rows"),
                    *("params:audit.copies", "params:audit.pii"),
                ],
                ["privacy_findings", "screening_counts"],
            ),
            step(
                measure_distances,
                [
                    *(*_ROWS, "pool_embeddings", "corpus", "embeddings", "generator_rows"),
                    "params:audit.distances",
                ],
                "distances_report",
            ),
            step(
                attack_generator,
                [
                    *("corpus", "generator_rows", "canaries", "pool", "ledger"),
                    *("language_model", "adapter"),
                    *("params:generation.fine_tuning", "params:audit.membership"),
                ],
                ["membership_report", "membership_scores"],
            ),
            step(
                judge_privacy,
                [
                    *("screening_counts", "distances_report", "membership_report"),
                    *("fine_tuning_report", "params:audit.gate"),
                ],
                "privacy_report",
            ),
            step(
                measure_balance,
                [*_ROWS, "corpus", "params:distillation.budget", "params:audit.balance"],
                ["balance_report", "balance_terms"],
            ),
            step(
                gather_accuracy,
                [
                    *(f"{evaluation}_cells", f"{evaluation}_outcomes"),
                    *("distilled", "evaluation_split", "params:audit.balance"),
                ],
                ["slice_accuracy", "accuracy_summary"],
            ),
            step(
                render_report,
                {"settings": "params:audit.report", **_REPORT},
                ["audit_page", "release_page"],
            ),
            step(write_card, _CARD, "dataset_card"),
            step(
                export_release,
                [
                    *("distilled", "lineage_totals", "corpus_report", "selection_report"),
                    *("fine_tuning_report", "privacy_report", "balance_report", "dataset_card"),
                    *("release_page", "provenance"),
                ],
                "release",
            ),
        ],
        exposed=["privacy_report", "balance_report", "audit_page", "dataset_card", "release"],
    )
