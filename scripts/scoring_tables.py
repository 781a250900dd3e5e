"""The tables of docs/scoring.md, from the reports that runs have left under data/.

python scripts/scoring_tables.py sst2 ag_news mnli
"""

from __future__ import annotations

import sys
from typing import Any

from report_tables import newest_report, print_table

HESSIANS = {
    "influence_self": "exact",
    "influence_self_kfac": "K-FAC",
    "influence_self_ekfac": "EKFAC",
}


def main(corpora: list[str]) -> None:
    """Print one table after the other."""
    studies = {corpus: newest_report(corpus, "scoring_study") for corpus in corpora}
    reports = {corpus: newest_report(corpus, "scoring_report") for corpus in corpora}
    _scorers(studies)
    _weights(studies, reports)
    _shares(reports)
    _self_influences(studies)
    _proposition_1(studies)
    _proposition_2(studies)


def _scorers(studies: dict[str, Any]) -> None:
    head = [f"{corpus} {figure}" for corpus in studies for figure in ("ESS/N", "AUC")]
    names = next(iter(studies.values()))["auc"]
    rows = [
        [
            f"`{name}`",
            *(
                f"{study[figure][name]:.3f}"
                for study in studies.values()
                for figure in ("effective_share", "auc")
            ),
        ]
        for name in names
    ]
    print_table(["scorer", *head], rows)


def _weights(studies: dict[str, Any], reports: dict[str, Any]) -> None:
    head = ["κ on", "rows", "probe, validation rows", "T_m", "λ*", "ESS/N", "floored", "capped"]
    head += ["top 1 % holds", "total variation", "ρ with length"]
    rows = []
    for corpus, report in reports.items():
        weights, study = report["weights"], studies[corpus]
        rows.append(
            [
                corpus,
                f"{weights['n_rows']:,}",
                f"{report['probe']['validation_accuracy'][-1]:.1%}",
                str(study["onset"]),
                f"{study['decay']:.2f}",
                f"{weights['effective_share']:.3f}",
                f"{weights['floored_share']:.1%}",
                f"{weights['capped_rows']:,}",
                f"{weights['top_percent_share']:.1%}",
                f"{weights['total_variation']:.3f}",
                f"{report['length_correlation']:+.2f}",
            ]
        )
    print_table(head, rows)


def _shares(reports: dict[str, Any]) -> None:
    rows = [
        [corpus, name, f"{share:.1%}", f"{report['weight_share'][name]:.1%}"]
        for corpus, report in reports.items()
        for name, share in report["class_share"].items()
    ]
    print_table(["corpus", "class", "of rows", "of weight"], rows)


def _self_influences(studies: dict[str, Any]) -> None:
    rows = [
        [
            corpus,
            HESSIANS[name],
            f"{1 - study['auc'][name]:.4f}",
            f"{study['effective_share'][name]:.3f}",
            *(f"{ranks[other]:.4f}" if other in ranks else "–" for other in HESSIANS),
        ]
        for corpus, study in studies.items()
        for name, ranks in study["self_influence_ranks"].items()
    ]
    head = ["corpus", "Hessian", "AUC of detecting flipped labels", "ESS/N"]
    print_table([*head, *(f"ρ with {hessian}" for hessian in HESSIANS.values())], rows)


def _gap(gap: dict[str, float], digits: str = ",.0f") -> str:
    return f"{gap['value']:{digits}} [{gap['low']:{digits}}, {gap['high']:{digits}}]"


def _proposition_1(studies: dict[str, Any]) -> None:
    head = ["corpus", "Hessian", "Δ_HSB", "over the mean", "δ", "ε", "right side of Eq. 6"]
    rows = [
        [
            corpus,
            HESSIANS[name],
            _gap(bias["gap"]),
            f"{bias['relative_gap']:.2f}",
            f"{bias['noisy_norm_minimum']:.2f}",
            f"{bias['clean_norm_maximum']:.2f}",
            f"{bias['lower_bound']:.1e}",
            "yes" if bias["assumptions_hold"] else "no",
            bias["verdict"],
        ]
        for corpus, study in studies.items()
        for name, bias in study["proposition_1"].items()
    ]
    print_table([*head, "premises hold", "verdict on Δ_HSB > 0"], rows)


def _proposition_2(studies: dict[str, Any]) -> None:
    head = ["corpus", "κ gap (left of Eq. 10)", "κ† gap (right)", "as written"]
    head += ["normalised κ† − κ", "normalised", "premise A3 (κ† gap > 0)"]
    rows = []
    for corpus, study in studies.items():
        gap = study["proposition_2"]
        rows.append(
            [
                corpus,
                _gap(gap["kappa"], ".3g"),
                _gap(gap["last_checkpoint"], ".3g"),
                gap["as_written"],
                _gap(gap["normalised_difference"], ".3f"),
                gap["normalised"],
                gap["premise"],
            ]
        )
    print_table(head, rows)


if __name__ == "__main__":
    main(sys.argv[1:])
