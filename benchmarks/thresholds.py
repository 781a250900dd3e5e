"""The thresholds of screening and of the rule for copies, derived on train rows alone.

    kedro run --pipeline=embedding
    kedro run --pipeline=embedding --params=corpus=sst2,raw_root=…
    python benchmarks/thresholds.py [threshold …]

No evaluation row is read. Clean rows are train rows that no other train row contains, set apart and
searched for in the rest of train, without what they contain (take.audit.privacy.real_rows): what is
found in them is a false alarm. Planted rows are changes of other train rows; each threshold has the
changes that it is there to find.

The criterion, fixed before any value was looked at:

1. a value may be chosen if it gives at most 0.5 % false alarms in rotten_tomatoes and in sst2, of
   the whole rule that it is part of. For the label filter it is 2 %: a row with a right label that
   is dropped costs one more row to generate, one with a wrong label costs accuracy;
2. of these, values count that find the most planted rows, within half a point (the mean over
   changes and over both corpora);
3. of these, the one with the fewest false alarms is chosen; of equals, the strictest.

Thresholds are derived one at a time; the others have their defaults. The run takes 3 minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
from planted_rows import (
    ANY,
    Change,
    Corpus,
    added,
    changed,
    dropped,
    half_and_others,
    half_in_another_row,
    halves_swapped,
    looping,
    other_script,
    shuffled,
    stuttering,
    synonyms,
    unknown,
)

import take.text.copies
import take.text.overlap
from take.generation.screening.reasons import ScreeningSettings
from take.generation.screening.row_checks import CorpusLanguage, LoopBounds
from take.rows.arrays import Bools, Float32, Float64, Int64
from take.rows.pairs import nearest_by_cosine
from take.scoring.scoring_inputs import ScoringSettings
from take.scoring.trajectory import softmax, train_probe
from take.text.copies import CopyIndex, CopySettings
from take.text.normalise import TextRow, n_words

CORPORA = ("rotten_tomatoes", "sst2")
MOST_FALSE_ALARMS, MOST_RIGHT_LABELS_DROPPED, NEARLY_AS_MANY = 0.005, 0.02, 0.005
Judged = Callable[[Corpus, Any], tuple[Bools, list[Bools]]]
"""For a corpus and a value: which clean rows are flagged, and which planted rows of each kind."""
WORD_CHANGES = (changed(0.0), changed(0.2), dropped, added, shuffled, halves_swapped)
SHORT_CHANGES = (changed(0.0), dropped, added, shuffled)


@dataclass(frozen=True)
class Threshold:
    """A threshold, its grid from loose to strict, today's value, and how rows are judged by it."""

    name: str
    values: Sequence[Any]
    now: Any
    judged: Judged
    most_false_alarms: float = MOST_FALSE_ALARMS


@contextmanager
def constant(module: ModuleType, name: str, value: Any) -> Iterator[None]:
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


def found_by_words(rows: Sequence[TextRow], index: CopyIndex, spans: bool = True) -> Bools:
    flagged = np.zeros(len(rows), dtype=np.bool_)
    findings = index.find(rows).findings
    flagged[[f.query for f in findings if spans or f.kind != "shared_span"]] = True
    return flagged


def copy_rule(
    name: str,
    changes: Sequence[Change],
    sizes: tuple[int, int],
    module: ModuleType | None = None,
    clean_sizes: tuple[int, int] = ANY,
    spans: bool = False,
) -> Judged:
    """A setting or a constant of the rule for copies; `spans`: a shared span counts as found."""

    def judged(corpus: Corpus, value: Any) -> tuple[Bools, list[Bools]]:
        apart = corpus.apart(clean_sizes)
        known = [corpus.rows[i] for i in apart.rest]
        settings = CopySettings() if module else CopySettings(**{name: value})
        with constant(module, name, value) if module else nullcontext():
            index = CopyIndex(known, settings)
            clean = found_by_words([corpus.rows[i] for i in apart.rows], index)
            planted = [
                found_by_words(corpus.planted(change, sizes, apart.rest), index, spans)
                for change in changes
            ]
        return clean, planted

    return judged


@cache
def resemblance(corpus: Corpus) -> tuple[list[Bools], list[Float64]]:
    """Of clean rows and of synonyms: whether words find them, and the cosine of the nearest row."""
    known = [corpus.rows[i] for i in corpus.apart().rest]
    index, reference = CopyIndex(known, CopySettings()), corpus.embedded(known)
    both = [corpus.clean, corpus.planted(synonyms, (6, 1000), corpus.apart().rest)]
    flagged, cosines = [], []
    for some in both:
        near = nearest_by_cosine(corpus.embedded(some), reference).value
        is_long = np.array([n_words(row) >= 6 for row in some])
        flagged.append(found_by_words(some, index, spans=some is corpus.clean))
        cosines.append(np.where(is_long, near, 0.0))
    return flagged, cosines


def by_cosine(corpus: Corpus, value: float) -> tuple[Bools, list[Bools]]:
    flagged, cosines = resemblance(corpus)
    clean, planted = (f | (c >= value) for f, c in zip(flagged, cosines, strict=True))
    return clean, [planted]


@cache
def probed(corpus: Corpus) -> tuple[Float32, Int64]:
    """The probe's probabilities of clean rows, and their labels; it was trained on the rest."""
    labels = corpus.table["label"].to_numpy(dtype=np.int64)
    rest = corpus.embedded([corpus.rows[i] for i in corpus.apart().rest])
    probe = train_probe(rest, labels[corpus.apart().rest], labels.max() + 1, ScoringSettings())
    features = corpus.embedded(corpus.clean).read(0, len(corpus.clean))
    return softmax(features @ probe.weights[-1].T + probe.biases[-1]), labels[corpus.apart().rows]


def by_label(corpus: Corpus, value: float) -> tuple[Bools, list[Bools]]:
    """The planted rows are the clean ones with another label."""
    probabilities, labels = probed(corpus)
    likeliest, is_sure = probabilities.argmax(axis=1), probabilities.max(axis=1) >= value
    others = (labels + 1) % probabilities.shape[1]
    return is_sure & (likeliest != labels), [is_sure & (likeliest != others)]


def row_check(name: str, change: Change) -> Judged:
    """A setting of the checks that need only the row: loops or language."""

    def judged(corpus: Corpus, value: Any) -> tuple[Bools, list[Bools]]:
        settings = ScreeningSettings(**{name: value})
        rest = [corpus.rows[i] for i in corpus.apart().rest]
        sample = [text for (text,) in rest[:: -(-len(rest) // 20_000)]]
        if name.startswith("loop"):
            problem = LoopBounds.learn(sample, settings).problem
        else:
            problem = CorpusLanguage.learn(rest, sample, settings).problem
        planted = corpus.planted(change, (5, 1000), corpus.apart().rest)
        clean, found = (
            np.array([problem(text) is not None for (text,) in rows])
            for rows in (corpus.clean, planted)
        )
        return clean, [found]

    return judged


SCREENING, COPIES = ScreeningSettings(), CopySettings()
WORDS, OVERLAP = take.text.copies, take.text.overlap
LONG, HALVES = (5, 1000), (16, 1000)


def thresholds() -> Iterator[Threshold]:
    """All that decide whether a row is dropped and can be derived from planted rows."""
    overlaps = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8)
    for name, values in {
        "near_copy_overlap": overlaps,
        "chance_rows": (50.0, 5.0, 0.5, 0.05, 0.005, 0.0005),
    }.items():
        rule = copy_rule(name, WORD_CHANGES, LONG)
        yield Threshold(name, values, getattr(COPIES, name), rule)
    for name, values, sizes in (
        ("_SHORT_OVERLAP", (0.5, 0.6, 0.65, 0.75, 0.8), (3, 4)),
        ("_LONG_WORDS", (3, 4, 5, 6, 7), (3, 8)),
        ("_SHORT_WORDS", (1, 2, 3, 4, 5), (3, 4)),
    ):
        rule = copy_rule(name, SHORT_CHANGES, sizes, OVERLAP, clean_sizes=sizes)
        yield Threshold(name, values, getattr(OVERLAP, name), rule)
    for name, values in {
        "_COVERED_SHARE": (0.5, 0.6, 0.7, 0.75, 0.8, 0.9),
        "LONG_TEXT_WORDS": (5, 6, 7, 8, 10, 12),
        "_COMMON_ROWS": (100, 50, 20, 10, 5),
    }.items():
        rule = copy_rule(name, [half_and_others], HALVES, WORDS)
        yield Threshold(name, values, getattr(WORDS, name), rule)
    rule = copy_rule("span_words", [half_in_another_row], HALVES, spans=True)
    yield Threshold("span_words", (5, 6, 7, 8, 10, 12, 15), COPIES.span_words, rule)
    cosines = (0.75, 0.8, 0.85, 0.9, 0.95)
    yield Threshold("near_copy_cosine", cosines, SCREENING.near_copy_cosine, by_cosine)
    for name, values, change in (
        ("loop_repeats", (2, 3, 4, 5, 6), looping),
        ("loop_characters", (3, 4, 5, 6, 7, 10), stuttering),
        ("foreign_script_share", (0.02, 0.05, 0.1, 0.2, 0.3), other_script),
        ("unknown_word_share", (0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6), unknown),
    ):
        yield Threshold(name, values, getattr(SCREENING, name), row_check(name, change))
    yield Threshold(
        "contradiction_threshold",
        (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99),
        SCREENING.contradiction_threshold,
        by_label,
        MOST_RIGHT_LABELS_DROPPED,
    )


def chosen(alarms: Float64, found: Float64, most: float) -> int | None:
    """The place of the value that the criterion picks, if any.

    `alarms` are shares by value and corpus, `found` is a share by value, both from loose to strict.
    """
    allowed = np.flatnonzero((alarms <= most).all(axis=1))
    if not len(allowed):
        return None
    near = allowed[found[allowed] >= found[allowed].max() - NEARLY_AS_MANY]
    fewest = alarms[near].mean(axis=1)
    return int(near[fewest == fewest.min()][-1])


def main() -> None:
    wanted = sys.argv[1:]
    corpora = [Corpus(name) for name in CORPORA]
    for threshold in thresholds():
        if wanted and threshold.name not in wanted:
            continue
        judged = [[threshold.judged(c, value) for c in corpora] for value in threshold.values]
        alarms = np.array([[clean.mean() for clean, _ in row] for row in judged])
        shares = [[[kind.mean() for kind in kinds] for _, kinds in row] for row in judged]
        found = np.array(shares).mean(axis=(1, 2))
        pick = chosen(alarms, found, threshold.most_false_alarms)
        sizes = ", ".join(
            f"{name} {len(c)}" for name, (c, _) in zip(CORPORA, judged[0], strict=True)
        )
        print(f"\n{threshold.name}: clean rows {sizes}\n")
        print(f"| value | {' | '.join(f'false alarms, {name}' for name in CORPORA)} | found | |")
        print("|---|---|---|---|---|")
        for place, value in enumerate(threshold.values):
            marks = ["today's"] * (value == threshold.now) + ["chosen"] * (place == pick)
            columns = [*(f"{share:.2%}" for share in alarms[place]), f"{found[place]:.1%}"]
            print(f"| {value:g} | {' | '.join(columns)} | {', '.join(marks)} |", flush=True)


if __name__ == "__main__":
    main()
