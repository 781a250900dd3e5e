"""Wiring of `audit`.

Nodes stand in several modules because a node runs again when the code of its module changed: a
word in the report shall not ask the language model again.
"""

from kedro.pipeline import Pipeline, node

from take.pipelines.audit.balance_nodes import accuracy, balance
from take.pipelines.audit.generator_nodes import membership
from take.pipelines.audit.release_nodes import card, pages, release
from take.pipelines.audit.screening_nodes import distances, findings
from take.pipelines.audit.verdict_nodes import verdict

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

    `cells` names the evaluation's: whatever is known of it, or, in a pipeline that evaluates, what
    it makes.
    """
    return Pipeline(
        [
            node(
                findings,
                inputs=[
                    "distilled",
                    "pool",
                    "corpus",
                    "evaluation_split",
                    "params:audit.copies",
                    "params:audit.pii",
                ],
                outputs=["privacy_findings", "screening_counts"],
                name="screen_rows",
            ),
            node(
                distances,
                inputs=[
                    "distilled",
                    "pool",
                    "pool_embeddings",
                    "corpus",
                    "embeddings",
                    "generator_rows",
                    "params:audit.distances",
                ],
                outputs="distances_report",
                name="measure_distances",
            ),
            node(
                membership,
                inputs=[
                    "corpus",
                    "generator_rows",
                    "canaries",
                    "samples",
                    "language_model",
                    "adapter",
                    "params:generation.fine_tuning",
                    "params:audit.membership",
                ],
                outputs=["membership_report", "membership_scores"],
                name="attack_generator",
            ),
            node(
                verdict,
                inputs=[
                    "screening_counts",
                    "distances_report",
                    "membership_report",
                    "fine_tuning_report",
                    "params:audit.gate",
                ],
                outputs="privacy_report",
                name="judge_privacy",
            ),
            node(
                balance,
                inputs=[
                    "distilled",
                    "pool",
                    "corpus",
                    "params:distillation.budget",
                    "params:audit.balance",
                ],
                outputs=["balance_report", "balance_terms"],
                name="measure_balance",
            ),
            node(
                accuracy,
                inputs=[
                    cells,
                    "prediction_folder",
                    "distilled",
                    "evaluation_split",
                    "params:evaluation",
                    "params:audit.balance",
                ],
                outputs=["slice_accuracy", "accuracy_summary"],
                name="gather_accuracy",
            ),
            node(
                pages,
                inputs=[
                    "distilled",
                    "lineage",
                    "lineage_totals",
                    "corpus",
                    *_REPORTS,
                    "scoring_report",
                    "ledger_report",
                    "budget_curve",
                    "transport_map",
                    "least_covered",
                    "privacy_findings",
                    "membership_scores",
                    "balance_terms",
                    "slice_accuracy",
                    "accuracy_summary",
                    "provenance",
                    "params:audit.report",
                ],
                outputs=["audit_page", "release_page"],
                name="render_report",
            ),
            node(
                card,
                inputs=["distilled", "corpus", *_REPORTS, "accuracy_summary", "provenance"],
                outputs="dataset_card",
                name="write_card",
            ),
            node(
                release,
                inputs=[
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
                outputs="release",
                name="export_release",
            ),
        ],
        tags="audit",
    )
