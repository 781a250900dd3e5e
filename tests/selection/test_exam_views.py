from __future__ import annotations

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from take.selection.exam.views import fitted_tfidf


def test_tfidf_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    columns = [
        [" ".join(f"Ŵ{word}" for word in rng.zipf(1.4, size=8)) for _ in range(500)] for _ in "ab"
    ]
    ours = fitted_tfidf(columns)
    theirs = TfidfVectorizer(dtype=np.float32).fit([*columns[0], *columns[1]])
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    np.testing.assert_array_equal(ours.idf_, theirs.idf_)
    new = ["Ŵ1 Ŵ2 unseen Ŵ1", "", "!"]
    assert (ours.transform(new) != theirs.transform(new)).nnz == 0
