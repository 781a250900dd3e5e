"""How many planted copies screening catches, and how many real rows it takes for copies.

    kedro run --pipeline=embedding
    python benchmarks/near_copies.py rotten_tomatoes

1,000 train rows are set aside and screened as if they were generated: those dropped are dropped
wrongly (except rows that really recur). Then copies of 300 of the other rows, of 6 words or more,
changed in one way at a time, are screened. No evaluation row is used.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from take.encoder.embeddings import Embeddings
from take.encoder.encode import Encoder
from take.encoder.models import EncoderSettings
from take.generation.screening.reasons import ScreeningSettings
from take.generation.screening.screen import Reference, Screen
from take.generation.verifier.verifier import Probe
from take.rows.labelled import TEXT_COLUMNS, class_names, task_of
from take.text.copies import CopySettings
from take.text.normalise import words

DATA = Path("data")
SET_ASIDE, PLANTED, FEWEST_WORDS = 1000, 300, 6
Change = Callable[[list[str], random.Random], list[str]]


def one_word_changed(text: list[str], chance: random.Random) -> list[str]:
    place = chance.randrange(len(text))
    return [*text[:place], "otherwise", *text[place + 1 :]]


def halves_swapped(text: list[str], chance: random.Random) -> list[str]:
    middle = len(text) // 2
    return text[middle:] + text[:middle]


def shuffled(text: list[str], chance: random.Random) -> list[str]:
    return chance.sample(text, len(text))


CHANGES: dict[str, Change] = {
    "verbatim": lambda text, chance: text,
    "in capitals": lambda text, chance: [word.upper() for word in text],
    "other punctuation and blanks": lambda text, chance: ["--", *(f"{w}," for w in text), " !"],
    "one word changed": one_word_changed,
    "halves swapped": halves_swapped,
    "words shuffled": shuffled,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus")
    corpus_name = parser.parse_args().corpus
    folder = DATA / "02_intermediate" / corpus_name
    corpus = pd.read_parquet(sorted(folder.glob("corpus.parquet/*/corpus.parquet"))[-1])
    columns = TEXT_COLUMNS[task_of(corpus)]
    features = Embeddings.load(DATA / f"04_feature/{corpus_name}/embeddings.safetensors")
    chance = random.Random(0)
    set_aside = np.zeros(len(corpus), dtype=np.bool_)
    set_aside[chance.sample(range(len(corpus)), min(SET_ASIDE, len(corpus) // 5))] = True
    known = corpus[~set_aside].reset_index(drop=True)
    names = class_names(known)
    zeros = np.zeros(len(names))
    screen = Screen(
        Reference(
            corpus=known,
            evaluation_split=known.head(1),  # a screen needs some; this one is known anyway
            embeddings=Embeddings(features.strings, features.rows[~set_aside]),
            encoder=Encoder(EncoderSettings(), DATA / "04_feature/embedding_cache"),
            verifier=Probe(tuple(names), np.zeros((len(names), features.shape[1])), zeros),
            min_tokens=0,
            max_tokens=10**6,
            markers=("<|im_end|>",),
        ),
        ScreeningSettings(contradiction_threshold=None),
        CopySettings(),
    )

    def dropped(rows: pd.DataFrame) -> pd.Series:
        made = rows.reset_index(drop=True)[list(columns)].assign(
            label=0, index=range(len(rows)), raw="", finished=True, tokens=10
        )
        return screen.judge(made)["reason"].value_counts(normalize=True).drop("", errors="ignore")

    wrong = dropped(corpus[set_aside])
    print(f"real rows of {corpus_name} dropped:", (wrong * 100).round(2).to_dict(), "%\n")
    long_enough = [
        i
        for i, row in enumerate(zip(*(known[c] for c in columns), strict=True))
        if all(len(words(text)) >= FEWEST_WORDS for text in row)
    ]
    sources = known.iloc[chance.sample(long_enough, min(PLANTED, len(long_enough)))]
    print("| planted copies | caught |\n|---|---|")
    for name, change in CHANGES.items():
        copies = sources.copy()
        for column in columns:
            copies[column] = [" ".join(change(text.split(), chance)) for text in sources[column]]
        print(f"| {name} | {dropped(copies).sum():.1%} |")


if __name__ == "__main__":
    main()
