"""What the stages of `scale.py` read: a folder of files for each number of rows and width of φ."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import corpora
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from take.datasets.arrays import ArraysDataset
from take.encoder.embeddings import Embeddings, MappedVectors
from take.reuse.tensors import TensorStream, write_tensors
from take.rows.arrays import Float32, Float64, Int64
from take.rows.blocks import block_bounds
from take.rows.labelled import content_id

CLASSES, PER_CLASS, CANDIDATES, SEED = 4, 20, 1000, 0
TRAINED_ON, VALIDATION = 4000, 256
NAMES = [f"class {label:02}" for label in range(CLASSES)]
POOL_LABELS: Int64 = np.arange(CANDIDATES) * CLASSES // CANDIDATES
DISTILLED = np.flatnonzero(np.arange(CANDIDATES) % (CANDIDATES // CLASSES) < PER_CLASS)
_BLOCK_ROWS = 8192
_ROW = [("id", "string"), ("text", "string"), ("label", "int64"), ("label_name", "string")]
_ROLE = [("id", "string"), ("role", "string"), ("read", "int64")]


class Inputs(NamedTuple):
    """A folder and what its files are about."""

    folder: Path
    rows: int
    width: int


def table(inputs: Inputs, name: str) -> pd.DataFrame:
    return pd.read_parquet(inputs.folder / f"{name}.parquet")


def labels_of(inputs: Inputs) -> Int64:
    found: Int64 = np.load(inputs.folder / "labels.npy")
    return found


def weights_of(inputs: Inputs) -> Float64:
    found: Float64 = np.load(inputs.folder / "weights.npy")
    return found


def phi_of(inputs: Inputs) -> Embeddings:
    return Embeddings.load(inputs.folder / "embeddings.safetensors")


def pool_phi(inputs: Inputs) -> Embeddings:
    vectors = MappedVectors(unit_rows(inputs.width, -1, POOL_LABELS))
    return Embeddings(vectors, np.arange(CANDIDATES)[:, None])


def arrays(inputs: Inputs, name: str) -> ArraysDataset:
    """Influence or lineage, saved and loaded as the catalog does it."""
    types = {
        "influence": "take.scoring.influence.InfluenceMatrix",
        "lineage": "take.selection.describe.lineage.Lineage",
    }
    file = inputs.folder / f"{name}.safetensors"
    return ArraysDataset(filepath=str(file), dataclass=types[name])


def unit_rows(width: int, block: int, labels: Int64) -> Float32:
    """Random unit vectors around the centre of their class: a function of the block's number."""
    rng = np.random.Generator(np.random.SFC64([SEED, block + 1]))
    centres = np.random.default_rng(SEED).standard_normal((CLASSES, width), dtype=np.float32)
    rows = rng.standard_normal((len(labels), width), dtype=np.float32)
    rows += np.float32(0.5) * centres[labels]
    rows /= np.sqrt(np.einsum("nd,nd->n", rows, rows))[:, None]
    return rows


def prepare(inputs: Inputs, texts: bool) -> None:
    """Make what is missing of the folder's files; without texts, labels are drawn at random."""
    inputs.folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(SEED)
    if texts and not (inputs.folder / "pool.parquet").exists():
        _write_texts(inputs)
        (inputs.folder / "embeddings.safetensors").unlink(missing_ok=True)
    if not (inputs.folder / "labels.npy").exists():
        np.save(inputs.folder / "labels.npy", rng.integers(CLASSES, size=inputs.rows))
    if not (inputs.folder / "embeddings.safetensors").exists():
        weights = rng.gamma(4.0, size=inputs.rows)
        np.save(inputs.folder / "weights.npy", weights / weights.sum())
        _write_embeddings(inputs)


def _write_embeddings(inputs: Inputs) -> None:
    labels = labels_of(inputs)

    def blocks() -> Iterator[Float32]:
        for number, (start, stop) in enumerate(block_bounds(len(labels), _BLOCK_ROWS)):
            yield unit_rows(inputs.width, number, labels[start:stop])

    unfinished = inputs.folder / "embeddings.unfinished"
    strings = TensorStream((len(labels), inputs.width), np.dtype("<f4"), blocks())
    rows = TensorStream.of(np.arange(len(labels))[:, None])
    write_tensors(unfinished, {"strings": strings, "rows": rows})
    unfinished.rename(inputs.folder / "embeddings.safetensors")


def _write_texts(inputs: Inputs) -> None:
    """A raw corpus, and what ingestion leaves of it, which is cut to the number of rows."""
    options = corpora.Options(rows=inputs.rows + inputs.rows // 20, classes=CLASSES, seed=SEED)
    corpora.make(inputs.folder / "raw", options)
    seen: set[bytes] = set()
    labels: list[Int64] = []
    drawn = np.random.default_rng(SEED).permutation(inputs.rows)
    roles = np.full(inputs.rows, "unread", dtype=object)
    trained = min(TRAINED_ON, inputs.rows // 5)
    roles[drawn[:trained]] = "trained"
    roles[drawn[trained : trained + VALIDATION]] = "validation"
    start = 0
    with (
        pq.ParquetWriter(inputs.folder / "corpus.parquet", pa.schema(_ROW)) as corpus,
        pq.ParquetWriter(inputs.folder / "generator_rows.parquet", pa.schema(_ROLE)) as generator,
    ):
        for part in sorted((inputs.folder / "raw" / "train").iterdir()):
            rows, new = _ingested(pq.read_table(part)), []
            for key in map(bytes.fromhex, rows["id"].to_pylist()):
                new.append(key not in seen and len(seen) < inputs.rows)
                seen.add(key)
            rows = rows.filter(pa.array(new))
            corpus.write_table(rows)
            labels.append(rows["label"].to_numpy())
            role = roles[start : start + len(rows)]
            read = (role == "trained").astype(np.int64)
            generator.write_table(pa.table({"id": rows["id"], "role": role, "read": read}))
            start += len(rows)
    np.save(inputs.folder / "labels.npy", np.concatenate(labels))
    evaluation = _ingested(pq.read_table(inputs.folder / "raw" / "evaluation"))
    pq.write_table(evaluation, inputs.folder / "evaluation.parquet")
    # Candidates are rows of the same kind, which are in neither split.
    texts, names = corpora.drawn(np.random.default_rng(7), 8 * CANDIDATES, options)
    mine = [
        i
        for label in range(CLASSES)
        for i in np.flatnonzero(np.array(names) == label)[: CANDIDATES // CLASSES]
    ]
    pool = {"text": [texts[i][0] for i in mine], "label": [NAMES[names[i]] for i in mine]}
    unfinished = inputs.folder / "pool.unfinished"
    pq.write_table(_ingested(pa.table(pool)), unfinished)
    unfinished.rename(inputs.folder / "pool.parquet")


def _ingested(raw: pa.Table) -> pa.Table:
    texts, names = raw["text"].to_pylist(), raw["label"].to_pylist()
    ids = [content_id(row) for row in zip(texts, names, strict=True)]
    labels = [NAMES.index(name) for name in names]
    columns = {"id": ids, "text": texts, "label": labels, "label_name": names}
    return pa.table(columns, schema=pa.schema(_ROW))
