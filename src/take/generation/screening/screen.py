"""Screening: every generated row is kept, or dropped for a recorded reason (METHOD §2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from take.encoder.embeddings import Embeddings
from take.encoder.encode import EmbeddingSettings, Encoder, embed_corpus
from take.generation.screening.copies import (
    Candidate,
    Details,
    KeptRows,
    KnownRows,
)
from take.generation.screening.reasons import KEPT, Reason, ScreeningSettings, Verdict
from take.generation.screening.row_checks import RowChecks
from take.generation.verifier.verifier import Verifier
from take.generation.verifier.verifier_settings import TITLES
from take.learners.base import Texts
from take.rows.arrays import Float64
from take.rows.labelled import TEXT_COLUMNS, class_names, task_of
from take.text.copies import CopySettings
from take.text.normalise import TextRow, as_columns, text_rows

_ROW_COLUMNS = ("label", "index", "raw", "finished", "tokens")


@dataclass(frozen=True)
class Reference:
    """What generated rows are compared with."""

    corpus: pd.DataFrame
    """Train rows: id, text or text_a and text_b, label (int64), label_name."""
    evaluation_split: pd.DataFrame
    embeddings: Embeddings
    """Rows aligned with the corpus."""
    encoder: Encoder
    verifier: Verifier
    """Predicts labels."""
    min_tokens: int
    max_tokens: int
    markers: tuple[str, ...]
    """Special tokens and template markers, which no kept text may hold."""
    most_digits: int | None = None
    """The longest number, in digits, that a kept text may hold; None: any."""

    def __post_init__(self) -> None:
        n_rows = self.embeddings.shape[0]
        if n_rows != len(self.corpus):
            raise ValueError(f"embeddings have {n_rows} rows, the corpus has {len(self.corpus)}")
        names = class_names(self.corpus)
        if list(self.verifier.classes) != names:
            raise ValueError(
                f"the verifier's classes are {list(self.verifier.classes)}, not {names}"
            )
        if not 0 <= self.min_tokens <= self.max_tokens:
            raise ValueError(f"min_tokens is {self.min_tokens}, max_tokens is {self.max_tokens}")
        if not all(self.markers):
            raise ValueError("a marker is empty: every text would hold it")


class Screen:
    """Judges rows in the order they come; later rows are compared with the rows it keeps.

    Rows judged in one call or in several, in the same order, get the same verdicts.
    """

    def __init__(
        self, reference: Reference, settings: ScreeningSettings, copies: CopySettings
    ) -> None:
        self._reference = reference
        self._settings = settings
        self._columns = TEXT_COLUMNS[task_of(reference.corpus)]
        self._train = KnownRows("train", reference.corpus, self._columns, copies)
        bounds = (reference.min_tokens, reference.max_tokens)
        self._row_checks = RowChecks(
            self._train.rows, reference.markers, bounds, settings, reference.most_digits
        )
        # A small split does not show what is common in the corpus; train does.
        self._evaluation = KnownRows(
            "evaluation", reference.evaluation_split, self._columns, copies, self._train.rows
        )
        self._kept = KeptRows(copies.near_copy_overlap, settings.near_copy_cosine)
        classes = reference.corpus.drop_duplicates("label")
        self._label_names = dict(zip(classes["label"], classes["label_name"], strict=True))

    def judge(self, rows: pd.DataFrame, room: Mapping[int, int] | None = None) -> pd.DataFrame:
        """Label, reason ("" if kept), detail, verifier_label and verifier_confidence of each row.

        The label is the prompt's, but for kept rows that were relabelled.

        `room` is how many more rows of each class are wanted; what passes beyond it is surplus.
        The verifier's columns are filled for the rows that were embedded.
        """
        needed = (*_ROW_COLUMNS, *self._columns)
        if missing := [column for column in needed if column not in rows.columns]:
            raise ValueError(f"generated rows have no column {', '.join(map(repr, missing))}")
        texts, labels = text_rows(rows, self._columns), [int(label) for label in rows["label"]]
        verdicts = [
            self._row_checks.verdict(row, bool(finished), int(tokens))
            for row, finished, tokens in zip(texts, rows["finished"], rows["tokens"], strict=True)
        ]
        passed = [i for i, verdict in enumerate(verdicts) if verdict is None]
        names = [
            f"{self._label_name(label)} {index}"
            for label, index in zip(labels, rows["index"], strict=True)
        ]
        candidates = self._examined([Candidate(names[i], texts[i], labels[i]) for i in passed])
        verified: dict[int, Float64] = {}
        decided = self._kept.decide(candidates, room)
        for i, candidate, verdict in zip(passed, candidates, decided, strict=True):
            verdicts[i] = verdict
            # A duplicate of a row of this call was embedded; a duplicate of an earlier call's row
            # was not. So that calls make no difference, neither gets the verifier's columns.
            is_duplicate = verdict is not None and verdict[0] is Reason.DUPLICATE
            if candidate.probabilities is not None and not is_duplicate:
                verified[i] = candidate.probabilities
            if verdict is None:
                labels[i] = candidate.label
        return _judged(rows.index, labels, verdicts, verified)

    def _examined(self, candidates: list[Candidate]) -> list[Candidate]:
        """The candidates with all that does not depend on which others are kept."""
        # A row that equals a kept row is dropped, whatever else is found.
        new = [i for i, each in enumerate(candidates) if not self._kept.holds(each.row)]
        copies = self._copies([candidates[i].row for i in new])
        for i, copy in zip(new, copies, strict=True):
            candidates[i] = replace(candidates[i], copy=copy)
        original = [i for i in new if candidates[i].copy is None]
        rows = [candidates[i].row for i in original]
        embedded = self._embedded(rows)
        if embedded is None:
            return candidates
        texts = Texts.of(*as_columns(rows))
        probabilities = self._reference.verifier.probabilities(texts, embedded)
        resemblances = self._resemblances(rows, embedded)
        for number, i in enumerate(original):
            examined = replace(
                candidates[i],
                copy=resemblances[number],
                vectors=embedded.strings.take(embedded.rows[number]),
                probabilities=probabilities[number],
            )
            candidates[i] = self._with_label_checked(examined, probabilities[number])
        return candidates

    def _copies(self, rows: list[TextRow]) -> list[Verdict | None]:
        """Copies by their words."""
        of_train, near_train = self._train.copied(rows)
        of_evaluation, near_evaluation = self._evaluation.copied(rows)
        return _first_reasons(
            {
                Reason.COPY_OF_TRAIN: of_train,
                Reason.COPY_OF_EVALUATION: of_evaluation,
                Reason.NEAR_COPY_OF_TRAIN: near_train,
                Reason.NEAR_COPY_OF_EVALUATION: near_evaluation,
            }
        )

    def _resemblances(self, rows: list[TextRow], embedded: Embeddings) -> list[Verdict | None]:
        """Copies by their embeddings."""
        threshold = self._settings.near_copy_cosine
        if threshold is None:
            return [None] * len(rows)
        train, evaluation = self._reference.embeddings, self._evaluation_embeddings
        return _first_reasons(
            {
                Reason.NEAR_COPY_OF_TRAIN: self._train.resembled(rows, embedded, train, threshold),
                Reason.NEAR_COPY_OF_EVALUATION: self._evaluation.resembled(
                    rows, embedded, evaluation, threshold
                ),
            }
        )

    def _embedded(self, rows: list[TextRow]) -> Embeddings | None:
        settings = self._settings
        is_off = settings.near_copy_cosine is None and settings.contradiction_threshold is None
        return None if is_off or not rows else self._embed(rows)

    @cached_property
    def _evaluation_embeddings(self) -> Embeddings:
        return self._embed(self._evaluation.rows)

    def _embed(self, rows: list[TextRow]) -> Embeddings:
        encoder = self._reference.encoder
        return embed_corpus(as_columns(rows), encoder, EmbeddingSettings()).embeddings

    def _with_label_checked(self, candidate: Candidate, probabilities: Float64) -> Candidate:
        """The candidate, dropped or relabelled if the verifier is sure of another label."""
        threshold = self._settings.contradiction_threshold
        likeliest = int(probabilities.argmax())
        confidence = float(probabilities[likeliest])
        if threshold is None or likeliest == candidate.label or confidence < threshold:
            return candidate
        if self._settings.contradicted == "relabel":
            return replace(candidate, label=likeliest)
        who = TITLES[self._reference.verifier.kind]
        detail = f"{who} predicts {self._label_name(likeliest)} at {confidence:.2f}"
        return replace(candidate, contradiction=(Reason.LABEL_CONTRADICTED, detail))

    def _label_name(self, label: int) -> str:
        return str(self._label_names.get(label, label))


def _first_reasons(details: dict[Reason, Details]) -> list[Verdict | None]:
    """The first reason of each row that has a detail."""
    return [
        next(((reason, text) for reason, text in zip(details, row, strict=True) if text), None)
        for row in zip(*details.values(), strict=True)
    ]


def _judged(
    index: pd.Index,
    labels: Sequence[int],
    verdicts: Sequence[Verdict | None],
    verified: dict[int, Float64],
) -> pd.DataFrame:
    rows = range(len(verdicts))
    return pd.DataFrame(
        {
            "label": np.array(labels, dtype=np.int64),
            "reason": pd.array([v[0].value if v else KEPT for v in verdicts], dtype="str"),
            "detail": pd.array([v[1] if v else "" for v in verdicts], dtype="str"),
            "verifier_label": pd.array(
                [int(verified[i].argmax()) if i in verified else None for i in rows], dtype="Int64"
            ),
            "verifier_confidence": np.array(
                [float(verified[i].max()) if i in verified else np.nan for i in rows],
                dtype=np.float64,
            ),
        },
        index=index,
    )
