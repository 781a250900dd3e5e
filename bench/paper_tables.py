"""The paper's tables 2 to 5 in its layout, with our figures next to its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.markdown import Footnotes, code, percent, points, table
from bench.paper_comparison import Comparison, Row, normal_budget
from bench.published import PublishedFigure
from take.evaluation.names import DISTILLED, FULL, RANDOM
from take.evaluation.summary import VS_RANDOM
from take.evaluation.tables import METRICS, score
from take.text.format import MISSING, share

_BACKBONES = {
    **{"lr": "LR", "textcnn": "TextCNN", "textrnn": "TextRNN"},
    **{"siamese_lr": "Siamese LR", "bert": "BERT"},
}
_CORPORA = {
    **{"ag_news": "AG News", "imdb": "IMDb", "sst2": "SST-2"},
    **{"mnli": "MNLI-m", "qnli": "QNLI", "qqp": "QQP", "mrpc": "MRPC"},
}
# Learners that use other weights or vectors than the paper's; their titles say which.
_OTHER_MATERIAL = {"bert": "weights", "textcnn": "word vectors", "textrnn": "word vectors"}


@dataclass(frozen=True)
class PaperTable:
    """The layout of a table of the paper, by the names of published.yml."""

    number: int
    caption: str
    corpora: tuple[str, ...]
    backbones: tuple[str, ...]
    rows: Mapping[str, str]
    stacked: bool = True
    """Corpora below each other; otherwise next to each other."""


_TASK_ROWS = {FULL: "Full dataset", RANDOM: "Random", "eda": "EDA", "dallme": "DaLLME"}
_TASK_ROWS |= {"dilm": "DiLM", "take": "**TAKE**"}
_COMPONENT_ROWS = {RANDOM: "Random", "kmeans": "k-Means nearest"}
_COMPONENT_ROWS |= {"take_without_kappa": "TAKE without κ", "take": "**TAKE**"}
_KERNEL_ROWS = {"take_without_kappa": "TAKE without κ", "take_last": "Last checkpoint"}
_KERNEL_ROWS |= {"take_constant": "Constant", "take_linear": "Linear", "take_cosine": "Cosine"}
_KERNEL_ROWS |= {"take": "Exponential (**TAKE**)"}
_SINGLE, _PAIRS = ("lr", "textcnn", "textrnn", "bert"), ("siamese_lr", "bert")
_ABLATED, _EITHER = ("ag_news", "qqp"), ("lr", "siamese_lr", "bert")
PAPER_TABLES = (
    PaperTable(
        2,
        "Classification accuracy (%) on AG News, IMDb, and SST-2",
        ("ag_news", "imdb", "sst2"),
        _SINGLE,
        _TASK_ROWS,
    ),
    PaperTable(
        3, "NLI accuracy (%) on MNLI-m and QQP", ("mnli", "qnli", "qqp"), _PAIRS, _TASK_ROWS
    ),
    PaperTable(
        4,
        "Distillation accuracy (%) under TAKE component ablation",
        _ABLATED,
        _EITHER,
        _COMPONENT_ROWS,
        stacked=False,
    ),
    PaperTable(
        5,
        "Distillation accuracy (%) with alternative temporal kernels",
        _ABLATED,
        _EITHER,
        _KERNEL_ROWS,
        stacked=False,
    ),
)


def paper_table(layout: PaperTable, paper: Comparison) -> str:
    """One of the paper's tables, each cell as `65.05 → **68.10 ± 0.41**`: published → ours."""
    notes = Footnotes()
    lay_out = _stacked if layout.stacked else _side_by_side
    body = lay_out(layout, paper, notes)
    parts = (f"### Table {layout.number}. {layout.caption}", body, str(notes))
    return "\n\n".join(part for part in parts if part)


def gains_table(paper: Comparison) -> str:
    """TAKE's gain over random rows, the paper's and ours: comparable even with other weights."""
    rows, notes = [], Footnotes()
    for layout in PAPER_TABLES[:2]:
        for corpus in layout.corpora:
            budget = paper.printed_budget(corpus, layout.number)
            if budget is None:
                continue
            title = _corpus_title(corpus, budget, paper, notes)
            for backbone in layout.backbones:
                take, random = (
                    paper.figure(corpus, method, backbone, layout.number)
                    for method in ("take", RANDOM)
                )
                theirs = f"{take.mean - random.mean:+.2f}" if take and random else MISSING
                row = paper.ours(corpus, "take", backbone, budget) or {}
                rows.append([title, _BACKBONES[backbone], theirs, points(row, VS_RANDOM, 2)])
                title = ""
    body = table(["", "learner", "the paper's", "ours, 95 % interval"], rows, left=2)
    return "\n\n".join(part for part in (body, str(notes)) if part)


def elsewhere_table(paper: Comparison) -> str:
    """Published figures that the paper does not print."""
    notes, rows = Footnotes(), []
    for figure in paper.published.rows():
        if figure.table is not None:
            continue
        cell = _cell(figure.corpus, figure.method, figure.backbone, None, paper, notes)
        title = _corpus_title(figure.corpus, figure.budget, paper, notes)
        learner = _backbone_title(figure.backbone, (figure.corpus,), paper, notes)
        source = paper.published.sources[figure.source].title
        rows.append([title, code(figure.method), source, learner, cell])
    if not rows:
        return ""
    body = table(["", "method", "source", "learner", "published → ours"], rows, left=4)
    return "\n\n".join(part for part in (body, str(notes)) if part)


def _stacked(layout: PaperTable, paper: Comparison, notes: Footnotes) -> str:
    learners = [_backbone_title(name, layout.corpora, paper, notes) for name in layout.backbones]
    rows = []
    for corpus in layout.corpora:
        budget = paper.printed_budget(corpus, layout.number)
        if budget is None:
            continue
        title = _corpus_title(corpus, budget, paper, notes)
        n_rows = paper.budget_rows(corpus, budget)
        ours = "" if n_rows is None else f" → {n_rows:,} rows"
        for method, name in layout.rows.items():
            cells = [
                _cell(corpus, method, backbone, layout.number, paper, notes)
                for backbone in layout.backbones
            ]
            if any(cell != MISSING for cell in cells):
                rows.append([title, name, "100%" if method == FULL else budget + ours, *cells])
                title = ""
    return table(["", "Method", "Budget", *learners], rows, left=3)


def _side_by_side(layout: PaperTable, paper: Comparison, notes: Footnotes) -> str:
    columns = [
        (corpus, backbone)
        for corpus in layout.corpora
        for backbone in layout.backbones
        if paper.figure(corpus, "take", backbone, layout.number)
    ]
    header = [""]
    for corpus, backbone in columns:
        budget = paper.printed_budget(corpus, layout.number) or ""
        title = _corpus_title(corpus, budget, paper, notes)
        header.append(f"{title}<br>{_backbone_title(backbone, layout.corpora, paper, notes)}")
    rows = [
        [name, *(_cell(c, method, b, layout.number, paper, notes) for c, b in columns)]
        for method, name in layout.rows.items()
    ]
    return table(header, rows)


def _cell(
    printed: str,
    method: str,
    backbone: str,
    number: int | None,
    paper: Comparison,
    notes: Footnotes,
) -> str:
    figure = paper.figure(printed, method, backbone, number)
    budget = figure.budget if figure else paper.printed_budget(printed, number) or ""
    ours = paper.ours(printed, method, backbone, budget, figure.metric if figure else "accuracy")
    if figure is None and ours is None:
        return MISSING
    return f"{_theirs(figure, notes)} → {_ours(ours, paper, notes)}"


def _theirs(figure: PublishedFigure | None, notes: Footnotes) -> str:
    if figure is None:
        return MISSING
    text = f"{figure.mean:.2f}" + ("†" if figure.quoted_by else "")
    if figure.metric != "accuracy":
        text += notes.mark(f"{METRICS[figure.metric]}, on both sides: its authors report that.")
    return text


def _ours(row: Row | None, paper: Comparison, notes: Footnotes) -> str:
    if row is None:
        return MISSING
    text = f"**{score(row, 2)}** / {percent(row['macro_f1'])}"
    rows, whole = int(row["evaluation_rows"]), paper.whole_split(row["corpus"])
    if rows < whole:
        text += notes.mark(
            f"Evaluated on {rows:,} of {whole:,} evaluation rows of {code(row['corpus'])}."
        )
    if row["method"] == DISTILLED:
        text += notes.mark("One distilled set, not one for each seed.")
    return text


def _corpus_title(corpus: str, budget: str, paper: Comparison, notes: Footnotes) -> str:
    """The corpus as printed, with marks for what is different about ours."""
    title = _CORPORA.get(corpus, corpus)
    return title + "".join(notes.mark(text) for text in _corpus_notes(corpus, budget, paper))


def _corpus_notes(corpus: str, budget: str, paper: Comparison) -> Iterator[str]:
    ours, note = paper.budget(corpus, budget), paper.corpus_note(corpus)
    if ours is None:
        return
    if note:
        yield f"Ours, {code(corpus)}: {note}."
    if normal_budget(ours) != normal_budget(budget):
        yield f"Ours, {code(corpus)}, at {ours}; the paper's budget is {budget}."
    rows, all_rows = paper.budget_rows(corpus, budget), paper.provenance.training_rows.get(corpus)
    if rows is not None and all_rows:
        yield f"Ours, {code(corpus)}: {rows:,} rows are {share(rows / all_rows)} of {all_rows:,}."


def _backbone_title(
    backbone: str, corpora: Sequence[str], paper: Comparison, notes: Footnotes
) -> str:
    title, material = _BACKBONES.get(backbone, backbone), _OTHER_MATERIAL.get(backbone)
    titles = paper.learner_titles(backbone, corpora)
    if material is None or not titles:
        return title
    return title + notes.mark(f"Ours: {'; or '.join(titles)}. The paper's has other {material}.")
