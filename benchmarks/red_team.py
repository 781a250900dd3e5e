"""How much of what is disguised on purpose the privacy gate finds, and what it finds in clean rows.

    python benchmarks/red_team.py

Train rows of the built-in corpus are disguised in one way at a time and searched for among the
train rows. Clean rows are other train rows, set apart and not searched for, in the same disguise:
what is found in them is a false alarm. Personal data is made up and put into rows. No evaluation
row is used.
"""

from __future__ import annotations

import base64
import random
import re
import string
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import yaml

from take.audit.privacy.pii import find_pii
from take.corpus.ingest import IngestionSettings, ingest
from take.corpus.sources import CorpusSource
from take.corpus.spec import select_corpus
from take.evaluation.methods.eda import augmented, load_wordnet
from take.evaluation.methods.material import EdaSettings
from take.text.copies import CopyIndex, CopySettings
from take.text.normalise import TextRow

CORPORA = Path(__file__).parent.parent / "conf/base/corpora.yml"
ROWS, FEWEST_WORDS, SEED = 500, 8, 0
Disguise = Callable[[str, random.Random], list[str]]
"""A text as the rows that it becomes; it is found if one of them is."""


def _table(characters: str, others: Sequence[str]) -> dict[str, str]:
    return dict(zip(characters, others, strict=True))


# Ruff takes look-alikes for mistakes; here they are the point.
CYRILLIC = _table("acehijopsxyABCEHIJKMOPSTXY", "асеһіјорѕхуАВСЕНІЈКМОРЅТХУ")
GREEK = _table("aeiknoptuvxyABEHIKMNOPTXYZ", "αεικηορτυνχγΑΒΕΗΙΚΜΝΟΡΤΧΥΖ")
LEET = _table("aeiost", "431057")
ARABIC = _table(string.digits, "٠١٢٣٤٥٦٧٨٩")
SPELT_OUT = _table(
    string.digits,
    ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"],
)
OTHER_SENTENCES = ("that is what my neighbour told me about it yesterday evening", "so it goes")


def unchanged(text: str, chance: random.Random) -> list[str]:
    return [text]


def mapped(table: dict[str, str], share: float = 1.0) -> Disguise:
    """Characters exchanged for others that look alike."""

    def disguise(text: str, chance: random.Random) -> list[str]:
        return [
            "".join(table.get(c, c) if chance.random() < share else c for c in text),
        ]

    return disguise


def between(mark: str) -> Disguise:
    """A mark after each letter or digit."""
    return lambda text, chance: ["".join(c + mark if c.isalnum() else c for c in text)]


def fullwidth(text: str, chance: random.Random) -> list[str]:
    return ["".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)]


def shuffled(text: str, chance: random.Random) -> list[str]:
    found = text.split()
    return [" ".join(chance.sample(found, len(found)))]


def halves(text: str) -> tuple[str, str]:
    found = text.split()
    return " ".join(found[: len(found) // 2]), " ".join(found[len(found) // 2 :])


def paraphrased(alpha: float) -> Disguise:
    """One random operation of EDA: synonyms, words added, swapped or left out."""
    synonyms = load_wordnet(EdaSettings().wordnet).synonyms

    def disguise(text: str, chance: random.Random) -> list[str]:
        draws = np.random.default_rng(chance.randrange(2**32))
        ((found,),) = augmented((text,), EdaSettings(times=2, alpha=alpha), synonyms, draws)
        return [found]

    return disguise


def copy_disguises() -> dict[str, Disguise]:
    """Ways to hide that a row is a copy."""
    return {
        "none": unchanged,
        "case, punctuation, blanks": lambda text, chance: [f"« {text.upper()} »  ..."],
        "full-width letters": fullwidth,
        "zero-width characters": between("\u200b"),
        "variation selectors": between("\ufe0f"),
        "accents": between("\u0301"),
        "blanks between letters": lambda text, chance: [" ".join(text)],
        "homoglyphs, Cyrillic": mapped(CYRILLIC),
        "homoglyphs, Greek": mapped(GREEK),
        "homoglyphs, a third of the letters": mapped(CYRILLIC, 0.3),
        "word order": shuffled,
        "halves swapped": lambda text, chance: [" ".join(reversed(halves(text)))],
        "EDA, 10 % of the words": paraphrased(0.1),
        "EDA, 30 % of the words": paraphrased(0.3),
        "a sentence inserted": lambda text, chance: [f"{text} {OTHER_SENTENCES[0]}"],
        "between two sentences": lambda text, chance: [
            f"{OTHER_SENTENCES[0]} {text} {OTHER_SENTENCES[1]}"
        ],
        "split over two rows": lambda text, chance: list(halves(text)),
        "leetspeak": mapped(LEET),
        "letters reversed": lambda text, chance: [text[::-1]],
        "base64": lambda text, chance: [base64.b64encode(text.encode()).decode()],
    }


PII_DISGUISES: dict[str, Disguise] = {
    "none": unchanged,
    "full-width characters": fullwidth,
    "zero-width characters": between("\u200b"),
    "Arabic digits": mapped(ARABIC),
    "a blank after each character": lambda text, chance: [" ".join(text.replace(" ", ""))],
    "dashes and dots": lambda text, chance: [text.replace(" ", "-").replace("@", " @ ")],
    "homoglyphs, Cyrillic": mapped(CYRILLIC),
    "[at] and [dot]": lambda text, chance: [text.replace("@", " [at] ").replace(".", " [dot] ")],
    "at and dot": lambda text, chance: [text.replace("@", " at ").replace(".", " dot ")],
    "digits spelt out": lambda text, chance: [
        re.sub("[0-9]", lambda found: f"{SPELT_OUT[found[0]]} ", text.replace(" ", ""))
    ],
    "letters for digits": mapped({"0": "O", "1": "l"}),
    "split over two rows": lambda text, chance: [text[: len(text) // 2], text[len(text) // 2 :]],
}


def card(chance: random.Random) -> str:
    """A card number with a valid check digit."""
    body = "4" + "".join(chance.choices(string.digits, k=14))
    doubled = [int(d) * (2 if i % 2 == 0 else 1) for i, d in enumerate(reversed(body))]
    check = -sum(d - 9 if d > 9 else d for d in doubled) % 10
    return " ".join(f"{body}{check}"[i : i + 4] for i in range(0, 16, 4))


def phone(chance: random.Random) -> str:
    """An international number."""
    return f"+44 20 7{chance.randrange(100, 1000)} {chance.randrange(1000, 10000)}"


def email(chance: random.Random) -> str:
    """An address that may exist."""
    return f"{''.join(chance.choices(string.ascii_lowercase, k=6))}@example.org"


PII = {"card": card, "phone": phone, "email": email}


def train_texts() -> list[str]:
    """The train rows of the built-in corpus that are long enough for halves to mean something."""
    corpora = yaml.safe_load(CORPORA.read_text())["corpora"]
    source = CorpusSource("rotten_tomatoes", select_corpus(corpora, "rotten_tomatoes"))
    corpus = ingest(source.read(), IngestionSettings(budget="20/class")).corpus
    return [text for text in corpus["text"] if len(text.split()) >= FEWEST_WORDS]


class CopyHunt:
    """Some train rows to disguise, the train rows to search in, and clean rows."""

    def __init__(self, texts: Sequence[str], n_rows: int = ROWS) -> None:
        chance = random.Random(SEED)
        drawn = chance.sample(range(len(texts)), 2 * n_rows)
        self.planted = [texts[i] for i in drawn[:n_rows]]
        self.clean = [texts[i] for i in drawn[n_rows:]]
        apart = set(drawn[n_rows:])
        known: list[TextRow] = [(text,) for i, text in enumerate(texts) if i not in apart]
        self._index = CopyIndex(known, CopySettings())

    def found(self, texts: Sequence[str], disguise: Disguise) -> tuple[float, float]:
        """Shares of texts that block the release, and that are found at all."""
        chance = random.Random(SEED)
        rows = [disguise(text, chance) for text in texts]
        owner = [i for i, made in enumerate(rows) for _ in made]
        findings = self._index.find([(row,) for made in rows for row in made]).findings
        blocked = {owner[f.query] for f in findings if f.kind != "shared_span"}
        return len(blocked) / len(texts), len({owner[f.query] for f in findings}) / len(texts)


def pii_found(texts: Sequence[str], disguise: Disguise, kind: str | None) -> float | None:
    """The share of texts in which made-up personal data of a kind, or nothing, is found.

    None if the disguise changes nothing.
    """
    chance, found, changed = random.Random(SEED), 0, False
    for text in texts:
        secret = PII[kind](chance) if kind else text
        parts = disguise(secret, chance)
        changed |= parts != [secret]
        found += bool(find_pii([f"{text} : {part}" for part in parts] if kind else parts))
    return found / len(texts) if changed or disguise is unchanged else None


def percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"


def main() -> None:
    hunt = CopyHunt(train_texts())
    print("| disguise of a train row | blocked | found | clean rows, blocked | found |")
    print("|---|---|---|---|---|")
    for name, disguise in copy_disguises().items():
        shares = [*hunt.found(hunt.planted, disguise), *hunt.found(hunt.clean, disguise)]
        print(f"| {name} | {' | '.join(map(percent, shares))} |", flush=True)
    print(f"\n| disguise of personal data | {' | '.join(PII)} | clean rows |")
    print("|---|---|---|---|---|")
    for name, disguise in PII_DISGUISES.items():
        found = [pii_found(hunt.clean, disguise, kind) for kind in (*PII, None)]
        print(f"| {name} | {' | '.join(map(percent, found))} |", flush=True)


if __name__ == "__main__":
    main()
