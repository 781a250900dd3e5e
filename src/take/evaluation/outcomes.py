"""What every cell predicted, and what was true: errors over evaluation rows are computed from it.

As a table (`evaluation_outcomes`, `benchmark_outcomes`): a row per computed cell with its
fingerprint and predictions; rows that have a corpus instead hold the true labels of its evaluation
rows. Slow learners are evaluated on fewer rows, which are listed with their own labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pandas as pd

from take.evaluation.bootstrap import resampled_scores
from take.evaluation.cells import Metric
from take.evaluation.sealed_split import SealedSplit
from take.evaluation.store import CellStore
from take.rows.arrays import Float64, Int64

_COLUMNS = ("corpus", "fingerprint", "predicted")


class EvaluatedOn(NamedTuple):
    """Which rows: those of a corpus, so many."""

    corpus: str
    n_rows: int


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Labels by rows, predictions by fingerprint.

    >>> on = EvaluatedOn("films", 4)
    >>> known = Outcomes({on: np.array([0, 0, 1, 1])}, {"f1": np.array([0, 1, 1, 1])})
    >>> known.table()
      corpus fingerprint     predicted
    0  films              [0, 0, 1, 1]
    1                 f1  [0, 1, 1, 1]
    >>> [float(found["accuracy"][0]) for found in known.resampled(on, ["f1", "f2"]).values()]
    [0.75]
    """

    labels: Mapping[EvaluatedOn, Int64]
    predictions: Mapping[str, Int64]
    _resampled: dict[tuple[EvaluatedOn, str], Mapping[Metric, Float64]] = field(
        default_factory=dict
    )

    @classmethod
    def collected(
        cls, cells: pd.DataFrame, splits: Mapping[str, SealedSplit], store: CellStore
    ) -> Outcomes:
        """Of the cells of a grid that is done; splits by corpus."""
        scored = cells[cells["error"].isna()]
        columns = ["corpus", "evaluation_rows", "fingerprint"]
        labels, predictions = {}, {}
        for corpus, n_rows, fingerprint in scored[columns].drop_duplicates().to_numpy().tolist():
            predicted = store.predictions(fingerprint)
            if predicted is not None:
                labels[EvaluatedOn(corpus, n_rows)] = splits[corpus].labels(n_rows)
                predictions[fingerprint] = predicted
        return cls(labels, predictions)

    @classmethod
    def of(cls, table: pd.DataFrame) -> Outcomes:
        """As they were written by `table`."""
        labels, predictions = {}, {}
        for corpus, fingerprint, values in table[list(_COLUMNS)].itertuples(index=False):
            found = np.asarray(values, dtype=np.int64)
            if corpus:
                labels[EvaluatedOn(str(corpus), len(found))] = found
            else:
                predictions[str(fingerprint)] = found
        return cls(labels, predictions)

    def table(self) -> pd.DataFrame:
        """Labels as the smallest integers that hold them."""
        rows = [(on.corpus, "", found) for on, found in self.labels.items()]
        rows += [("", fingerprint, found) for fingerprint, found in self.predictions.items()]
        small = np.min_scalar_type(max((int(found.max()) for *_, found in rows), default=0))
        compact = [(*names, found.astype(small)) for *names, found in rows]
        return pd.DataFrame(compact, columns=list(_COLUMNS))

    def resampled(
        self, on: EvaluatedOn, fingerprints: Iterable[str]
    ) -> Mapping[str, Mapping[Metric, Float64]]:
        """By fingerprint: the scores on these rows, and on resamples; without unknown cells."""
        labels, known = self.labels.get(on), self.predictions
        if labels is None:
            return {}
        wanted = dict.fromkeys(fingerprints)
        known = {n: known[n] for n in wanted if n in known and len(known[n]) == len(labels)}
        missing = [name for name in known if (on, name) not in self._resampled]
        if missing:
            predictions = [known[name] for name in missing]
            n_classes = 1 + max(int(one.max()) for one in (labels, *predictions))
            metrics: tuple[Metric, ...] = ("accuracy", "macro_f1")
            if n_classes == 2:
                metrics = (*metrics, "accuracy_f1")
            found = resampled_scores(labels, predictions, metrics)
            self._resampled.update(zip(((on, name) for name in missing), found, strict=True))
        return {name: self._resampled[on, name] for name in known}
