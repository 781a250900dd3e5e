"""Feature spaces: what a surrogate compares two rows by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from take.encoder.embeddings import pair_features, sparse_pairs
from take.learners import Texts
from take.learners.word_vectors import WordVectorSettings, load_word_vectors
from take.rows.arrays import Float32, Int64


@dataclass(frozen=True)
class Views:
    """The features of some rows: a matrix for each feature space, rows of norm 1 or 0.

    >>> Views({"phi": np.eye(3, dtype=np.float32)}).take(np.array([2]))["phi"].tolist()
    [[0.0, 0.0, 1.0]]
    """

    features: Mapping[str, Any]  # (n, d) float32 arrays or scipy CSR matrices

    def __getitem__(self, name: str) -> Any:
        """The matrix of a feature space."""
        return self.features[name]

    def __len__(self) -> int:
        return int(next(iter(self.features.values())).shape[0])

    def take(self, rows: Int64) -> Views:
        """Some of the rows."""
        return Views({name: matrix[rows] for name, matrix in self.features.items()})


Viewer = Callable[[Float32, Sequence[Sequence[str]]], Views]
"""φ and the text columns of some rows, to their views."""


def fitted_tfidf(texts: Sequence[Sequence[str]]) -> Any:
    """scikit-learn's TF-IDF with the vocabulary and idf of all columns of `texts`.

    It is what `TfidfVectorizer.fit` gives, which holds the counts of every text while it fits; this
    holds the vocabulary.

    >>> fitted = fitted_tfidf([["a dull film", "a film"]])
    >>> fitted.get_feature_names_out().tolist(), [f"{idf:.3f}" for idf in fitted.idf_]
    (['dull', 'film'], ['1.405', '1.000'])
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    words_of = TfidfVectorizer().build_analyzer()
    n_texts, texts_with = 0, Counter[str]()
    for text in chain.from_iterable(texts):
        n_texts += 1
        texts_with.update(set(words_of(text)))
    vocabulary = sorted(texts_with)
    found = np.array([texts_with[word] for word in vocabulary], dtype=np.float32)
    fitted = TfidfVectorizer(dtype=np.float32, vocabulary=vocabulary)
    fitted.idf_ = np.log(np.float32(n_texts + 1) / (found + 1)) + np.float32(1)
    return fitted


def make_viewer(tfidf: Any, mean: Float32, names: Collection[str] = ("phi", "lexical")) -> Viewer:
    """A function from φ and texts to the named views.

    `phi` is φ, `centred` is φ without its `mean`, `lexical` is TF-IDF, `words` the mean of
    pretrained word vectors. A pair becomes [u ; v ; |u−v| ; u·v] with quarters of equal norm, as in
    φ.

    >>> tfidf = fitted_tfidf([["a good film", "a bad film"]])
    >>> view = make_viewer(tfidf, np.zeros(2, dtype=np.float32))
    >>> rows = view(np.eye(2, dtype=np.float32), [["good film", "unheard"]])
    >>> rows["lexical"].shape, float(rows["lexical"][1].sum())
    ((2, 3), 0.0)
    """
    from sklearn.preprocessing import normalize

    def lexical(_: Float32, texts: Sequence[Sequence[str]]) -> Any:
        columns = [tfidf.transform(column) for column in texts]
        return columns[0] if len(columns) == 1 else sparse_pairs(*columns)

    makers: dict[str, Callable[[Float32, Sequence[Sequence[str]]], Any]] = {
        "phi": lambda phi, _: phi,
        "centred": lambda phi, _: normalize(phi - mean),
        "lexical": lexical,
        "words": lambda _, texts: word_means(texts),
    }

    def view(phi: Float32, texts: Sequence[Sequence[str]]) -> Views:
        return Views({name: makers[name](phi, texts) for name in names})

    return view


def word_means(columns: Sequence[Sequence[str]]) -> Float32:
    """The mean of a text's pretrained word vectors, the first thing that TextCNN and TextRNN see.

    >>> rows = word_means([["a fine film", "a grand movie", "tax law"]])
    >>> bool(rows[0] @ rows[1] > rows[0] @ rows[2])
    True
    """
    from sklearn.preprocessing import normalize

    vectors = load_word_vectors(WordVectorSettings())
    means = [
        normalize(np.stack([vectors.matrix[ids].mean(axis=0) for ids in column]))
        for column in vectors.ids(Texts.of(*columns))
    ]
    return means[0] if len(means) == 1 else pair_features(*means)
