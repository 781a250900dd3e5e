"""A labelled corpus of any size, from a seed: for measuring how time and memory grow.

    python benchmarks/corpora.py build/corpus --rows 1_000_000 --classes 4 --task single
    python benchmarks/corpora.py build/pairs --rows 1_000_000 --task pair --format jsonl.gz

writes `<folder>/train/part-00000.parquet` … and `<folder>/evaluation/part-00000.parquet`, with the
columns text (or text_a, text_b) and label; `--shard-rows` as large as `--rows` makes one file.

Sentences are made of templates, words of the class's topic and words spelt from syllables. A word's
rank r has P(rank > r) = (1 + r / 50)^−0.6, so that new words keep coming, as in real corpora.

Of the rows of each shard, the shares `--exact`, `--conflicting` and `--near` repeat an earlier row
of it: whole, with another label, or with one word changed; `--shared` of the evaluation rows are in
the first train shard. A shard is a function of the options, the seed and its number.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from take.rows.labelled import TEXT_COLUMNS

TOPICS = {
    "sport": "match goal team coach league referee striker season stadium medal race sprint",
    "money": "bank loan market shares profit invoice budget interest investor tax price merger",
    "health": "doctor clinic patient fever vaccine surgery nurse symptom therapy dose virus heart",
    "music": "guitar concert album singer chord melody band drummer opera rhythm lyric choir",
    "travel": "airport hotel luggage passport ferry tourist journey museum harbour ticket beach",
    "science": "laboratory molecule theory telescope particle experiment enzyme orbit fossil laser",
    "food": "kitchen recipe butter oven spice dinner baker flavour noodle salad chef dessert",
    "law": "court judge lawyer verdict witness appeal statute trial sentence contract jury plea",
    "weather": "storm rainfall forecast thunder drought breeze snow humidity flood frost hail",
    "software": "server browser compiler database keyboard network password script cache kernel",
}
QUALIFIERS = ["early", "late", "public", "private", "small", "large", "modern", "ancient"]
# {t}: a word of the topic; {w}: any word.
SENTENCES = (
    "the {t} of {w} {w} made {w} and {w} wonder about {w}",
    "{w} {w} said that a {t} near {w} had {w} {w} since {w}",
    "after {w} the {w} {t} was {w} by {w} and {w}",
    "nobody in {w} knew why {w} {w} the {t} for {w} {w}",
    "a {w} {t} with {w} {w} is {w} than {w} or {w}",
    "{w} asked {w} whether {w} {t} could {w} {w} {w} again",
    "there were {w} {w} at {w} when {w} lost its {t} to {w}",
    "in {w} one {w} {t} out of {w} may {w} {w} before {w}",
)
SLOTS = 8
SYLLABLES = [c + v for c in "bdfghklmnprstvz" for v in ("a", "e", "i", "o", "u", "an", "or", "il")]
SCALE, TAIL = 50, 0.6
EVALUATION = 1_000_000
"""Numbers of evaluation shards start here."""

Row = tuple[str, ...]


class Options(NamedTuple):
    """What a corpus is made from."""

    rows: int = 100_000
    evaluation_rows: int = 2_000
    classes: int = 4
    task: Literal["single", "pair"] = "single"
    exact: float = 0.01
    conflicting: float = 0.001
    near: float = 0.02
    shared: float = 0.01
    shard_rows: int = 100_000
    seed: int = 0


class _Words(dict[int, str]):
    """Words by rank."""

    def __missing__(self, rank: int) -> str:
        letters, left = "", rank + len(SYLLABLES)
        while left:
            left, place = divmod(left, len(SYLLABLES))
            letters += SYLLABLES[place]
        self[rank] = letters
        return letters


WORDS = _Words()


def class_topics(classes: int) -> list[list[str]]:
    """The words of each class's topic; of up to 90, those beyond the tenth qualify another's."""
    topics = [words.split() for words in TOPICS.values()]
    return [
        [f"{QUALIFIERS[c // 10 - 1]} {word}" if c >= 10 else word for word in topics[c % 10]]
        for c in range(classes)
    ]


def drawn(rng: np.random.Generator, n: int, options: Options) -> tuple[list[Row], list[int]]:
    """Rows of their own, and their labels."""
    topics = class_topics(options.classes)
    labels = rng.integers(options.classes, size=n).tolist()
    columns = []
    for _ in TEXT_COLUMNS[options.task]:
        template = rng.integers(len(SENTENCES), size=n).tolist()
        topic = rng.integers(2**31, size=n).tolist()
        rank = np.minimum(SCALE * (rng.random((n, SLOTS)) ** (-1 / TAIL) - 1), 2**50)
        columns.append(
            [
                _filled(SENTENCES[template[i]], topics[labels[i]], topic[i], ranks)
                for i, ranks in enumerate(rank.astype(np.int64).tolist())
            ]
        )
    return list(zip(*columns, strict=True)), labels


def _filled(sentence: str, topic: list[str], place: int, ranks: list[int]) -> str:
    ranked = iter(ranks)
    words = [WORDS[next(ranked)] if part == "{w}" else part for part in sentence.split()]
    return " ".join(words).replace("{t}", topic[place % len(topic)])


def shard(number: int, n: int, options: Options) -> tuple[list[Row], list[int]]:
    """One shard's rows and labels."""
    rng = np.random.default_rng([options.seed, number])
    rows, labels = drawn(rng, n, options)
    kind = rng.random(n)
    source = (rng.random(n) * np.arange(n)).astype(np.int64).tolist()
    exact = options.exact
    conflicting, near = exact + options.conflicting, exact + options.conflicting + options.near
    for i in np.flatnonzero(kind < near).tolist():
        if i == 0:
            continue
        rows[i], labels[i] = rows[source[i]], labels[source[i]]
        if kind[i] >= conflicting:
            first = rows[i][0].split()
            first[int(rng.integers(len(first)))] = WORDS[int(rng.integers(10_000))]
            rows[i] = (" ".join(first), *rows[i][1:])
        elif kind[i] >= exact:
            labels[i] = (labels[i] + 1) % options.classes
    if number >= EVALUATION:
        known, theirs = drawn(
            np.random.default_rng([options.seed, 0]), min(options.rows, options.shard_rows), options
        )
        for i in np.flatnonzero(rng.random(n) < options.shared).tolist():
            rows[i], labels[i] = known[i % len(known)], theirs[i % len(known)]
    return rows, labels


def shards(n: int, first: int, options: Options) -> Iterator[pa.Table]:
    """The shards of a split, as tables."""
    for number, start in zip(count(first), range(0, n, options.shard_rows)):
        rows, labels = shard(number, min(options.shard_rows, n - start), options)
        names = [f"class {label:02}" for label in range(options.classes)]
        columns = dict(
            zip(TEXT_COLUMNS[options.task], map(list, zip(*rows, strict=True)), strict=True)
        )
        yield pa.table({**columns, "label": [names[label] for label in labels]})
        WORDS.clear()


def write(table: pa.Table, path: Path) -> None:
    """A table in the format that its path's suffix names."""
    if path.suffix == ".parquet":
        pq.write_table(table, path, compression="zstd")
        return
    # pyarrow's name for the compression is taken from the path.
    with pa.output_stream(str(path)) as stream:
        if ".csv" in path.suffixes:
            pyarrow.csv.write_csv(table, stream)
        else:
            table.to_pandas().to_json(stream, orient="records", lines=True, force_ascii=False)


def make(folder: Path, options: Options, suffix: str = "parquet") -> None:
    """Write both splits of a corpus."""
    for split, n, first in (
        ("train", options.rows, 0),
        ("evaluation", options.evaluation_rows, EVALUATION),
    ):
        (folder / split).mkdir(parents=True, exist_ok=True)
        for number, table in enumerate(shards(n, first, options)):
            write(table, folder / split / f"part-{number:05}.{suffix}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    formats = ("parquet", "csv", "jsonl", "csv.gz", "jsonl.gz")
    parser.add_argument("--format", choices=formats, default="parquet")
    for name, default in Options._field_defaults.items():
        flag = "--" + name.replace("_", "-")
        if name == "task":
            parser.add_argument(flag, choices=TEXT_COLUMNS, default=default)
        else:
            parser.add_argument(flag, type=type(default), default=default)
    given = vars(parser.parse_args())
    folder, suffix = given.pop("folder"), given.pop("format")
    make(folder, Options(**given), suffix)


if __name__ == "__main__":
    main()
