"""Wiring of `audit`.

Nodes stand in several modules because a node runs again when the code of its module changed: a
word in the report shall not run the language model again.
"""

from kedro.pipeline import Pipeline

from take.pipelines import stage, step
from take.pipelines.audit.balance_nodes import gather_accuracy, measure_balance
from take.pipelines.audit.generator_nodes import attack_generator
from take.pipelines.audit.release_nodes import export_release, render_report, write_card
from take.pipelines.audit.screening_nodes import measure_distances, screen_rows
from take.pipelines.audit.verdict_nodes import judge_privacy

_REPORTS = [
    "corpus_report",
    "fine_tuning_report",
    "pool_quality",
    "selection_report",
    "distillation_report",
    "privacy_report",
    "balance_report",
]


def create_pipeline(cells: str = "known_cells") -> Pipeline:
    """distilled, pool, corpus → privacy gate, balance, report, card, release.

    `cells` names the evaluation's cells: those of an earlier run, if there are any, or, in a
    pipeline that evaluates, those that it makes.
    """
    return stage(
        "audit",
        [
            step(
                screen_rows,
                [
                    "distilled",
                    "pool",
                    "corpus",
                    "evaluation_split",
                    "params:audit.copies",
                    "params:audit.pii",
                ],
                ["privacy_findings", "screening_counts"],
            ),
            step(
                measure_distances,
                [
                    "distilled",
                    "pool",
                    "pool_embeddings",
                    "corpus",
                    "embeddings",
                    "generator_rows",
                    "params:audit.distances",
                ],
                "distances_report",
            ),
            step(
                attack_generator,
                [
                    "corpus",
                    "generator_rows",
                    "canaries",
                    "pool",
                    "ledger",
                    "language_model",
                    "adapter",
                    "params:generation.fine_tuning",
                    "params:audit.membership",
                ],
                ["membership_report", "membership_scores"],
            ),
            step(
                judge_privacy,
                [
                    "screening_counts",
                    "distances_report",
                    "membership_report",
                    "fine_tuning_report",
                    "params:audit.gate",
                ],
                "privacy_report",
            ),
            step(
                measure_balance,
                [
                    "distilled",
                    "pool",
                    "corpus",
                    "params:distillation.budget",
                    "params:audit.balance",
                ],
                ["balance_report", "balance_terms"],
            ),
            step(
                gather_accuracy,
                [
                    cells,
                    "prediction_folder",
                    "distilled",
                    "evaluation_split",
                    "params:evaluation",
                    "params:audit.balance",
                ],
                ["slice_accuracy", "accuracy_summary"],
            ),
            step(
                render_report,
                [
                    "distilled",
                    "lineage",
                    "lineage_totals",
                    "corpus",
                    *_REPORTS,
                    "scoring_report",
                    "ledger_report",
                    "budget_curve",
                    "map_coordinates",
                    "least_covered",
                    "privacy_findings",
                    "membership_scores",
                    "balance_terms",
                    "slice_accuracy",
                    "accuracy_summary",
                    "provenance",
                    "params:audit.report",
                ],
                ["audit_page", "release_page"],
            ),
            step(
                write_card,
                ["distilled", "corpus", *_REPORTS, "accuracy_summary", "provenance"],
                "dataset_card",
            ),
            step(
                export_release,
                [
                    "distilled",
                    "corpus",
                    "lineage_totals",
                    "corpus_report",
                    "selection_report",
                    "privacy_report",
                    "balance_report",
                    "dataset_card",
                    "release_page",
                    "provenance",
                ],
                "release",
            ),
        ],
        exposed=["privacy_report", "balance_report", "audit_page", "dataset_card", "release"],
    )
