"""Learners outside the panel: they tell whether the rows teach, or only pass the exam.

None of them is kernel ridge, and none steered the search. Two read what the panel reads with
another loss; the others differ in kind.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from take.rows.arrays import Int64
from take.selection.exam.sitting import Asked, Pool


@dataclass(frozen=True)
class OutsideMark:
    """Accuracy of one learner, weighted as the rows asked are."""

    learner: str
    features: str
    accuracy: float


def outside_marks(pool: Pool, rows: Int64, asked: Asked) -> tuple[OutsideMark, ...]:
    """Teach each outside learner with the pool's `rows`; mark it on `asked`.

    Needs two classes or more among the rows.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC, LinearSVC

    learners = [
        ("logistic regression", "phi", LogisticRegression(max_iter=1000)),
        ("logistic regression", "lexical", LogisticRegression(max_iter=1000)),
        ("linear SVM", "lexical", LinearSVC(random_state=0)),
        ("naive Bayes", "lexical", MultinomialNB()),
        ("RBF SVM", "phi", SVC(C=3.0, gamma=2.0)),
        ("nearest neighbours", "phi", KNeighborsClassifier(min(5, len(rows)))),
    ]
    marks = []
    for name, view, learner in learners:
        learner.fit(getattr(pool.views, view)[rows], pool.labels[rows])
        right = learner.predict(getattr(asked.views, view)) == asked.labels
        accuracy = float(asked.weights @ np.asarray(right, dtype=np.float64))
        marks.append(OutsideMark(name, view, accuracy))
    return tuple(marks)
