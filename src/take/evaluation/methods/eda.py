"""EDA, "easy data augmentation" (Wei & Zou 2019): each row ten times, with words changed."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from take.evaluation.methods.corpus_rows import random
from take.evaluation.methods.material import BaselineSettings, EdaSettings, Material, TrainingSet
from take.evaluation.methods.wordnet import load_wordnet
from take.rows.random import rng

Synonyms = Callable[[str], tuple[str, ...]]
Words = list[str]

_TRIES = 10  # words that insertion tries for a synonym
_CORE = re.compile(r"\w(?:.*\w)?", re.DOTALL)  # a word without punctuation: "film," → film
# Function words have misleading synonyms: "to" has "atomic number 52".
_FUNCTION_WORDS = """
    a about above after again against all am an and any are as at be because been before being
    below between both but by can did do does doing don down during each few for from further had
    has have having he her here hers herself him himself his how i if in into is it its itself just
    me more most my myself no nor not now of off on once only or other our ours ourselves out over
    own s same she should so some such t than that the their theirs them themselves then there these
    they this those through to too under until up very was we were what when where which while who
    whom why will with you your yours yourself yourselves
"""
STOP_WORDS = frozenset(_FUNCTION_WORDS.split())


def eda(material: Material, settings: BaselineSettings, seed: int) -> TrainingSet:
    """The rows that `random` draws with this seed, each followed by its augmented copies.

    Both texts of a pair go through the same operation and keep their order.
    """
    drawn = random(material, settings, seed)
    synonyms = load_wordnet(settings.eda.wordnet).synonyms
    rows: list[tuple[str, ...]] = []
    for number, row in enumerate(zip(*drawn.texts, strict=True)):
        draws = rng(seed, "eda", number)
        rows += [row, *augmented(row, settings.eda, synonyms, draws)]
    texts = [list(column) for column in zip(*rows, strict=True)]
    labels = np.repeat(drawn.labels, settings.eda.times)
    return TrainingSet(texts, labels, np.ones(len(labels)))


def augmented(
    row: tuple[str, ...], settings: EdaSettings, synonyms: Synonyms, draws: np.random.Generator
) -> list[tuple[str, ...]]:
    """The times − 1 variants of a row, the four operations in shares as equal as they can be.

    In a text of l words, an operation changes n = max(1, ⌊α·l⌋) of them; deletion drops each with
    probability α.

    >>> draws = np.random.default_rng(0)
    >>> settings = EdaSettings(times=5)
    >>> for variant in augmented(("a dull film",), settings, lambda word: ("movie",), draws):
    ...     print(variant)
    ('film dull a',)
    ('a dull movie',)
    ('a dull film movie',)
    ('a dull film',)
    """
    wanted = settings.times - 1
    operations: list[Callable[[Words, int], Words]] = [
        lambda words, n: replaced(words, n, synonyms, draws),
        lambda words, n: inserted(words, n, synonyms, draws),
        lambda words, n: swapped(words, n, draws),
        lambda words, n: deleted(words, settings.alpha, draws),
    ]
    # As in the authors' code: enough of each operation, then a random choice.
    rounds = -(-wanted // len(operations))
    order = draws.permutation(rounds * len(operations))[:wanted]
    variants = []
    for place in order:
        operation = operations[place % len(operations)]
        variants.append(tuple(_operated(text, operation, settings.alpha) for text in row))
    return variants


def _operated(text: str, operation: Callable[[Words, int], Words], alpha: float) -> str:
    words = text.split()
    return " ".join(operation(words, max(1, int(alpha * len(words)))))


def replaced(words: Words, n: int, synonyms: Synonyms, draws: np.random.Generator) -> Words:
    """Synonym replacement: n different words, each by one synonym wherever it occurs.

    >>> draws = np.random.default_rng(0)
    >>> replaced(["a", "dull", "film"], 1, {"film": ("movie",)}.get, draws)
    ['a', 'dull', 'movie']
    """
    cores = {word: core for word in words if (core := _replaceable(word))}
    different = sorted(set(cores.values()))
    changed = 0
    for index in draws.permutation(len(different)):
        if changed == n:
            break
        core = different[index]
        if others := synonyms(core):
            synonym = others[int(draws.integers(len(others)))]
            words = [
                word.replace(_core(word), synonym) if cores.get(word) == core else word
                for word in words
            ]
            changed += 1
    return words


def inserted(words: Words, n: int, synonyms: Synonyms, draws: np.random.Generator) -> Words:
    """Random insertion: n times, a synonym of a random word at a random place."""
    words = list(words)
    cores = [core for word in words if (core := _replaceable(word))]
    for _ in range(n if cores else 0):
        for _ in range(_TRIES):
            if others := synonyms(cores[int(draws.integers(len(cores)))]):
                place = int(draws.integers(len(words) + 1))
                words.insert(place, others[int(draws.integers(len(others)))])
                break
    return words


def swapped(words: Words, n: int, draws: np.random.Generator) -> Words:
    """Random swap: n times, two words at different places.

    >>> swapped(["dull", "film"], 1, np.random.default_rng(0))
    ['film', 'dull']
    """
    words = list(words)
    if len(words) < 2:
        return words
    for _ in range(n):
        i, j = draws.choice(len(words), size=2, replace=False)
        words[i], words[j] = words[j], words[i]
    return words


def deleted(words: Words, probability: float, draws: np.random.Generator) -> Words:
    """Random deletion: each word with that probability; at least one word stays."""
    if len(words) < 2:
        return words
    kept = [
        word
        for word, draw in zip(words, draws.random(len(words)), strict=True)
        if draw >= probability
    ]
    return kept or [words[int(draws.integers(len(words)))]]


def _replaceable(word: str) -> str:
    """The word without punctuation, in lower case; empty for function words."""
    core = _core(word).lower()
    return "" if core in STOP_WORDS else core


def _core(word: str) -> str:
    found = _CORE.search(word)
    return found[0] if found else ""
