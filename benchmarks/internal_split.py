"""A corpus whose evaluation split is of train rows, to choose settings by.

    python benchmarks/internal_split.py sst2 --raw <folder> --out <folder of its own>
    kedro run --pipeline=distill --params=corpus=sst2,raw_root=<folder of its own>

The real evaluation split is never read. Rows are drawn evenly over classes; train rows that contain
one of them, lie in one or nearly repeat one are removed. sst2's train rows are phrases and its
evaluation rows are sentences: `--words 12` draws sentences.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from take.rows.labelled import TEXT_COLUMNS
from take.rows.random import rng
from take.text.normalise import text_rows
from take.text.related import RelatedRows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus")
    parser.add_argument("--raw", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=2000, help="for evaluation")
    parser.add_argument("--words", type=int, default=0, help="of an evaluation row, at least")
    options = parser.parse_args()
    rows = pd.read_parquet(options.raw / options.corpus / "train.parquet")
    columns = TEXT_COLUMNS["single" if "text" in rows else "pair"]
    rows = rows.drop_duplicates([*columns], ignore_index=True)
    related = RelatedRows(text_rows(rows, columns))
    words = np.array([len(" ".join(row).split()) for row in text_rows(rows, columns)])
    usable = ~related.common & (words >= options.words)
    per_class = options.rows // rows["label"].nunique()
    drawn = []
    labels = rows["label"].to_numpy()
    for label in np.unique(labels):
        free = np.flatnonzero((labels == label) & usable)
        random = rng(0, "internal evaluation rows", int(label))
        drawn.append(random.permutation(free)[: min(per_class, len(free) // 5)])
    evaluation = np.sort(np.concatenate(drawn))
    barred = related.to(evaluation)
    barred[evaluation] = True
    folder = options.out / options.corpus
    folder.mkdir(parents=True)
    rows[~barred].to_parquet(folder / "train.parquet", index=False)
    rows.iloc[evaluation].to_parquet(folder / "test.parquet", index=False)
    print(f"{(~barred).sum():,} train rows, {len(evaluation):,} evaluation rows in {folder}")


if __name__ == "__main__":
    main()
