"""The dataset card of a distilled set: README.md of its release, in the Hugging Face format.

A YAML header, then Markdown. All of it comes from the reports of the run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from take.audit.release.card_sections import (
    UNSEEN,
    balance,
    code,
    fenced,
    inline,
    licence,
    privacy,
    quality,
    reproduction,
)
from take.audit.release.exports import to_jsonl
from take.evaluation.markdown import table
from take.reuse.records import flatten
from take.rows.labelled import TEXT_COLUMNS, task_of

if TYPE_CHECKING:
    from take.audit.balance.report import BalanceReport
    from take.audit.privacy.report import PrivacyReport
    from take.audit.release.manifest import Reproduction
    from take.corpus.ingest import CorpusReport
    from take.generation.finetuning.report import FineTuningReport
    from take.generation.quality.report import PoolQuality
    from take.selection.describe.report import DistillationReport
    from take.selection.report import SelectionReport

# Said, not left to the names of files: other tables stand in the folder that are no rows.
DATA_FILES = "data/train-*.parquet"
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_LOAD = 'from datasets import load_dataset\n\nrows = load_dataset("<this folder>", split="train")'
_EXAMPLE_CHARS = 600


@dataclass(frozen=True, eq=False)
class CardFacts:
    """All that the card is made of."""

    corpus_report: CorpusReport
    distilled: pd.DataFrame
    class_names: Sequence[str]
    selection_report: SelectionReport
    distillation_report: DistillationReport
    pool_quality: PoolQuality
    fine_tuning_report: FineTuningReport
    privacy: PrivacyReport
    balance: BalanceReport
    evaluation_summary: pd.DataFrame | None
    """`take.evaluation.summary.summary_table` of these rows; None where they were not evaluated."""
    reproduction: Reproduction


def dataset_card(facts: CardFacts) -> str:
    """The card."""
    name = inline(facts.corpus_report.corpus)
    sections = {
        f"# {name}, distilled to {len(facts.distilled):,} rows": _summary,
        "## What it is for": _uses,
        "## Structure": _structure,
        "## How it was made": _making,
        "## Composition": _composition,
        "## Quality": quality,
        "## Privacy": privacy,
        "## Balance": balance,
        "## Licence and provenance": licence,
        "## Limits": _limits,
        "## How to reproduce": reproduction,
        "## Citation": _citation,
    }
    body = ["\n\n".join([title, *section(facts)]) for title, section in sections.items()]
    return f"---\n{_header(facts)}---\n\n" + "\n\n".join(body) + "\n"


def _header(facts: CardFacts) -> str:
    import pyarrow as pa
    import yaml

    report, rows = facts.corpus_report, len(facts.distilled)
    names = {str(label): name for label, name in enumerate(facts.class_names)}
    kinds: dict[str, Any] = {"label": {"class_label": {"names": names}}, "weight": "float64"}
    columns = facts.distilled.columns
    size = pa.table({name: facts.distilled[name].tolist() for name in columns}).nbytes
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


def _summary(facts: CardFacts) -> Iterator[str]:
    report, rows = facts.corpus_report, len(facts.distilled)
    what = "pairs of texts" if report.task == "pair" else "texts"
    yield (
        f"{rows:,} synthetic, labelled {what} that stand for the {report.train.rows_kept:,} "
        f"training rows of **{inline(report.corpus)}** "
        f"({100 * rows / max(1, report.train.rows_kept):.2f} %). A language model fine-tuned on "
        "that corpus wrote them; TAKE chose them so that a model taught with them alone gets as "
        "much right as it can."
    )
    yield (
        f"- Privacy checks: **{facts.privacy.verdict}**, {inline(facts.privacy.word)} "
        "([what that means](#privacy))\n"
        f"- Licence of the source corpus: **{inline(report.about.licence)}** "
        "([what to check](#licence-and-provenance))"
    )


def _uses(_: CardFacts) -> Iterator[str]:
    yield (
        "For teaching classifiers quickly and cheaply, for comparing them, for tests and "
        "prototypes, and for reading what a corpus teaches."
    )
    yield (
        "Not for measuring: no row is a test of anything. Not for counting: classes, lengths and "
        "words do not have the shares they have in the corpus. Not for facts: the texts are made "
        "up. Not as anonymised data: they are screened, no more ([Privacy](#privacy))."
    )


def _structure(facts: CardFacts) -> Iterator[str]:
    texts = TEXT_COLUMNS[task_of(facts.distilled)]
    meanings = {
        "id": ("string", "by content: the same texts and label have the same id"),
        **dict.fromkeys(texts, ("string", "generated text")),
        "label": ("class label", "the class's number"),
        "label_name": ("string", "the class's name"),
        "weight": ("float64", "what the row counts in training"),
    }
    rows = [[code(name), *meaning] for name, meaning in meanings.items()]
    yield table(["column", "type", "meaning"], rows, left=3)
    yield "One split, `train`. A row of middling length:"
    yield fenced(_example(facts.distilled, texts), "json")
    yield fenced(_LOAD, "python")
    yield (
        "`distilled.jsonl` holds the same rows, and so does `distilled.csv`, for spreadsheets: "
        "where they would read a formula, an apostrophe stands before it. `report.html` shows the "
        "rows and all that was measured, `audit.json` has every figure of the checks, "
        "`lineage_totals.parquet` says how much of the corpus each row stands for."
    )


def _example(distilled: pd.DataFrame, texts: Sequence[str]) -> str:
    rows = zip(*(distilled[column].tolist() for column in texts), strict=True)
    lengths = [sum(map(len, row)) for row in rows]
    place = sorted(range(len(lengths)), key=lengths.__getitem__)[(len(lengths) - 1) // 2]
    row = json.loads(to_jsonl(distilled.iloc[[place]]))
    for column in texts:
        if len(row[column]) > _EXAMPLE_CHARS:
            row[column] = row[column][:_EXAMPLE_CHARS] + "…"
    shown = [f"  {json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in row.items()]
    escaped = [UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", line) for line in shown]
    return "{\n" + ",\n".join(escaped) + "\n}"


def _making(facts: CardFacts) -> Iterator[str]:
    tuning, pool, chosen = facts.fine_tuning_report, facts.pool_quality, facts.selection_report
    parameters = flatten(facts.reproduction.shareable().parameters)
    scorer = [code(value) for name, value in parameters.items() if name.endswith(".scorer")]
    seeds = {".".join(name.split(".")[-2:]): value for name, value in parameters.items()}
    listed = [f"{code(name)} {value}" for name, value in seeds.items() if name.endswith(".seed")]
    yield (
        f"1. Each of the {facts.corpus_report.train.rows_kept:,} training rows was given a weight"
        f"{f' (scorer {scorer[0]})' if scorer else ''}.\n"
        f"2. The language model {inline(tuning.language_model)} was fine-tuned "
        f"({inline(tuning.method)}) on {tuning.rows.train_rows:,} of them, for {tuning.tokens:,} "
        "tokens.\n"
        f"3. It wrote {pool.generated:,} rows, of which {pool.rows:,} passed screening: "
        "well-formed, no duplicate, no copy of a training row, no label that a probe contradicts.\n"
        f"4. Of {chosen.pool_rows:,} candidates the selector {code(chosen.selector)} chose "
        f"{chosen.rows:,} (budget {code(chosen.budget)}, scope {code(chosen.scope)}, seed "
        f"{chosen.seed})."
    )
    if listed:
        yield f"Seeds: {', '.join(listed)}."


def _composition(facts: CardFacts) -> Iterator[str]:
    sizes = facts.distilled["label"].value_counts()
    corpus = facts.corpus_report.train.rows_by_class
    rows = [
        [inline(name), f"{int(sizes.get(label, 0)):,}", f"{corpus.get(name, 0):,}"]
        for label, name in enumerate(facts.class_names)
    ]
    yield table(["class", "rows", "training rows of the corpus"], rows)


def _limits(facts: CardFacts) -> Iterator[str]:
    yield "\n".join(
        [
            "- A small language model wrote the texts: some are odd, and some labels do not hold "
            "([Quality](#quality)).",
            f"- {len(facts.distilled):,} rows leave out most of what is rare in the corpus.",
            "- What is wrong or unfair in the corpus, the rows may teach, too; [Balance](#balance) "
            "compares them with the corpus, not with the world.",
            "- A row stands for the training rows it is nearest to; it need not say the same.",
            "- Figures are of this run; other seeds, learners and evaluation rows give others.",
        ]
    )


def _citation(facts: CardFacts) -> Iterator[str]:
    about = facts.corpus_report.about
    yield f"Of the source corpus, {inline(facts.corpus_report.corpus)}:"
    yield fenced(about.citation) if about.citation else "not stated."
    yield (
        "Of the method: *TAKE: Trajectory-Aware Knowledge Estimation for Text Dataset "
        "Distillation*."
    )
