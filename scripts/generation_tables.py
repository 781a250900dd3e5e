"""The tables of docs/generation.md, from the reports that runs have left under data/.

python scripts/generation_tables.py sst2 ag_news mnli [--examples 20]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import pandas as pd
from report_tables import newest_path, newest_report, print_table

Reports = dict[str, dict[str, Any]]
_NONE = "–"


def main() -> None:
    """Print one table after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpora", nargs="+")
    parser.add_argument("--examples", type=int, default=0, help="generated rows shown per class")
    options = parser.parse_args()
    names = ("fine_tuning_report", "sampling_report", "ledger_report", "pool_quality")
    reports = {
        name: {corpus: newest_report(corpus, name) for corpus in options.corpora} for name in names
    }
    _cost(reports["fine_tuning_report"], reports["sampling_report"])
    _ledger(reports["ledger_report"])
    _quality(reports["pool_quality"])
    _classes(reports["pool_quality"])
    for corpus in options.corpora:
        _examples(corpus, options.examples)


def _cost(tuning: Reports, sampling: Reports) -> None:
    head = ["corpus", "fine-tuned on", "tokens/s", "minutes", "validation loss", "generated"]
    head += ["tokens each", "tokens/s", "minutes"]
    rows = []
    for corpus, tuned in tuning.items():
        sampled, losses = sampling[corpus], tuned["validation_loss"]
        fall = (
            f"{losses[0]['loss']:.2f} → {min(p['loss'] for p in losses[1:]):.2f}"
            if losses
            else _NONE
        )
        rows.append(
            [
                corpus,
                f"{tuned['tokens']:,} tokens, {tuned['rows']['train_rows']:,} rows",
                f"{tuned['tokens_per_second']:.0f}",
                f"{tuned['seconds'] / 60:.1f}",
                fall,
                f"{sampled['rows_generated']:,}",
                f"{sampled['mean_tokens']:.1f}",
                f"{sampled['tokens_per_second']:.0f}",
                f"{sampled['seconds'] / 60:.1f}",
            ]
        )
    print_table(head, rows)


def _ledger(reports: Reports) -> None:
    totals = {corpus: report["totals"] for corpus, report in reports.items()}
    reasons = next(iter(totals.values()))["dropped"]
    rows = [["generated", *(f"{total['generated']:,}" for total in totals.values())]]
    rows.append(["**kept**", *(f"**{total['kept']:,}**" for total in totals.values())])
    relabelled = [total["relabelled"] for total in totals.values()]
    if any(relabelled):
        rows.append(["of them relabelled", *(f"{count:,}" for count in relabelled)])
    for reason in reasons:
        counts = [total["dropped"][reason] for total in totals.values()]
        if any(counts):
            rows.append([f"`{reason}`", *(f"{count:,}" for count in counts)])
    print_table(["", *totals], rows)


def _figure(value: float | None, form: str) -> str:
    return _NONE if value is None else format(value, form)


def _pair(
    part: dict[str, Any] | None, form: str, names: tuple[str, str] = ("pool", "corpus")
) -> str:
    """A figure of the pool, and that of real rows in brackets."""
    if part is None:
        return _NONE
    ours, theirs = (_figure(part[name], form) for name in names)
    return f"{ours} ({theirs})"


def _verifier(report: dict[str, Any]) -> str:
    known = report["verifier"]
    return _NONE if known is None else f"{known['name']}, {_figure(known['accuracy'], '.1%')}"


def _quality(reports: Reports) -> None:
    def wording(report: dict[str, Any], name: str) -> str:
        diversity = report["diversity"]
        return _pair({side: diversity[side][name] for side in ("pool", "corpus")}, ".3f")

    def closest(report: dict[str, Any], name: str) -> str:
        record = report["closest_record"]
        return _NONE if record is None else format(record[name], ".2%")

    measures: dict[str, Callable[[dict[str, Any]], str]] = {
        "verifier, on held-out train rows": _verifier,
        "it predicts the label of the prompt": lambda r: _pair(
            r["agreement"], ".1%", ("before", "corpus")
        ),
        "unique as generated": lambda r: _figure(r["uniqueness"]["generated"], ".1%"),
        "r̄, × equally many real rows": lambda r: _figure(
            r["coverage"]["any_class"]["ratio"], ".3f"
        ),
        "the same within the class": lambda r: _figure(r["coverage"]["own_class"]["ratio"], ".3f"),
        "the same over rows not seen": lambda r: _figure(
            r["coverage"]["any_class"]["unseen_ratio"], ".3f"
        ),
        "real rows that cover as well": lambda r: (
            f"{r['coverage']['equivalent_rows']:,.0f} of {r['compared']:,}"
        ),
        "MAUVE": lambda r: _pair(r["mauve"], ".3f"),
        "distinct-1": lambda r: wording(r, "distinct_1"),
        "distinct-2": lambda r: wording(r, "distinct_2"),
        "distinct-3": lambda r: wording(r, "distinct_3"),
        "self-BLEU": lambda r: wording(r, "self_bleu"),
        "words, mean": lambda r: _pair(
            {side: r["words"][side]["mean"] for side in ("pool", "corpus")}, ".1f"
        ),
        "perplexity, base model": lambda r: _pair(r["perplexity"], ".0f"),
        "closer to a trained row than 99 % of real rows": lambda r: closest(r, "below_real_p1"),
        "closer to a trained row than 95 % of real rows": lambda r: closest(r, "below_real_p5"),
    }
    rows = [[name, *map(show, reports.values())] for name, show in measures.items()]
    print_table(["pool (real rows in brackets)", *reports], rows)


def _classes(reports: Reports) -> None:
    rows = [
        [
            corpus,
            name,
            f"{part['rows']:,}",
            _figure(part["agreement"]["before"], ".1%"),
            _figure(part["agreement"]["corpus"], ".1%"),
            _pair(part, ".1f", ("words_pool", "words_corpus")),
            _figure(part["coverage_ratio"], ".3f"),
        ]
        for corpus, report in reports.items()
        for name, part in report["classes"].items()
    ]
    head = [
        "corpus",
        "class",
        "rows",
        "verifier agrees",
        "on held-out real rows",
        "words (real)",
        "r̄ ×",
    ]
    print_table(head, rows)


def _examples(corpus: str, count: int) -> None:
    if not count:
        return
    table = pd.read_parquet(newest_path(corpus, "pool_examples", ".parquet"))
    columns = [name for name in ("text", "text_a", "text_b") if name in table]
    for name, rows in table.groupby("label_name", sort=False):
        print(f"{corpus}, {name}:")
        for texts in rows.head(count)[columns].itertuples(index=False):
            print("- " + " ⏎ ".join(texts))
        print()


if __name__ == "__main__":
    main()
