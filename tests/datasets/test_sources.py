from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from kedro.io import AbstractDataset, DatasetError

from take.datasets.sources import (
    PARTS,
    IfMadeDataset,
    PreparedCorpora,
    PreparedCorporaDataset,
)
from take.errors import AlteredArtifactError, InputError
from take.evaluation.prepared_corpus import PreparedCorpus
from take.reuse.records import Origin, stamp_origin
from tests.conftest import ROOT
from tests.evaluation.tiny import World

CATALOG = yaml.safe_load((ROOT / "conf/base/catalog.yml").read_text(encoding="utf-8"))


def entries(root: Path, corpus: str) -> dict[str, Any]:
    """The catalog's own entries, as Kedro resolves them."""
    found = {}
    for part in PARTS:
        entry = dict(CATALOG[part])
        path = entry["filepath"].replace("${_reporting}", CATALOG["_reporting"])
        path = path.replace("${_folder}", corpus)
        found[part] = {**entry, "filepath": (root / path).as_posix()}
    return found


def dataset(root: Path, corpus: str = "films") -> PreparedCorporaDataset:
    return PreparedCorporaDataset(folder=corpus, artifacts=entries(root, corpus))


def parts_of(prepared: PreparedCorpus) -> dict[str, Any]:
    """The content of each part."""
    (pool,) = prepared.pools
    of_pool = {"pool": pool.rows, "ledger": pool.ledger, "pool_embeddings": pool.embeddings}
    of_pool["generator_rows"] = pool.generator_rows
    return {**vars(prepared), "scoring_study": prepared.study, **of_pool}


def prepare(root: Path, folder: str, world: World, leave_out: str = "", **changes: Any) -> None:
    for part, entry in entries(root, folder).items():
        if part != leave_out:
            content = parts_of(world.prepared)[part]
            AbstractDataset.from_config(part, entry).save(changes.get(part, content))


def test_the_catalog_names_every_part() -> None:
    named = CATALOG["prepared_corpora"]["artifacts"]
    assert named == {part: f"${{{part}}}" for part in PARTS}


def test_corpora_with_all_their_artifacts_are_found(tmp_path: Path, world: World) -> None:
    assert dict(dataset(tmp_path).load()) == {}
    prepare(tmp_path, "plays", world)
    prepare(tmp_path, "films", world)
    found = dataset(tmp_path).load()
    assert list(found) == ["films", "plays"]
    assert len(found) == 2
    plays = found["plays"]
    assert plays.name == "plays"
    assert plays.distilled is None
    pd.testing.assert_frame_equal(plays.pools[0].rows, world.prepared.pools[0].rows)
    assert plays.study == world.prepared.study
    assert (plays.embeddings.read(0, 160) == world.prepared.embeddings.read(0, 160)).all()


@pytest.mark.parametrize("absent", PARTS)
def test_a_half_made_corpus_is_left_out(tmp_path: Path, world: World, absent: str) -> None:
    prepare(tmp_path, "films", world)
    prepare(tmp_path, "plays", world, leave_out=absent)
    found = dataset(tmp_path).load()
    assert list(found) == ["films"]
    with pytest.raises(InputError, match="'plays' has no pool yet; ready are films.*Fix: run "):
        found["plays"]


def test_a_project_may_lie_in_a_folder_with_the_name_of_a_corpus(
    tmp_path: Path, world: World
) -> None:
    root = tmp_path / "films" / "project"
    prepare(root, "films", world)
    prepare(root, "plays", world)
    found = dataset(root).load()
    assert list(found) == ["films", "plays"]
    assert found["plays"].name == "plays"


def test_each_corpus_has_its_own_rows(tmp_path: Path, world: World) -> None:
    other = world.prepared.pools[0].rows.iloc[:10].reset_index(drop=True)
    prepare(tmp_path, "films", world)
    prepare(tmp_path, "plays", world, pool=other)
    for chosen in ("films", "plays"):  # whichever corpus the run has named
        found = dataset(tmp_path, chosen).load()
        sizes = [len(found[name].pools[0].rows) for name in ("films", "plays")]
        assert sizes == [40, 10]


def test_the_pools_of_a_corpus_are_found_in_the_order_of_their_numbers(
    tmp_path: Path, world: World
) -> None:
    other = world.prepared.pools[0].rows.iloc[:10].reset_index(drop=True)
    prepare(tmp_path, "films@10", world)
    prepare(tmp_path, "films@2", world, pool=other)
    prepare(tmp_path, "films", world)
    for chosen in ("films", "films@2"):  # whichever the run has named
        found = dataset(tmp_path, chosen).load()
        assert list(found) == ["films"]
        pools = found["films"].pools
        assert [(pool.number, len(pool.rows)) for pool in pools] == [(0, 40), (2, 10), (10, 40)]


def test_pools_of_other_rows_are_refused(tmp_path: Path, world: World) -> None:
    rows = world.prepared.corpus.assign(text=world.prepared.corpus["text"] + " again")
    prepare(tmp_path, "films", world)
    prepare(tmp_path, "films@1", world, corpus=rows)
    with pytest.raises(InputError, match=r"pool 1 was made from other rows than pool 0.*pool=1"):
        dataset(tmp_path).load()["films"]


def test_the_identity_is_of_all_contents(tmp_path: Path, world: World) -> None:
    prepare(tmp_path, "films", world)
    one = dataset(tmp_path).identity()
    assert dataset(tmp_path).identity() == one
    prepare(tmp_path, "plays", world)
    two = dataset(tmp_path).identity()
    assert two != one
    assert dataset(tmp_path, "plays").identity() == two
    weights = world.prepared.weights.assign(weight=1 / 160)
    path = entries(tmp_path, "plays")["weights"]
    AbstractDataset.from_config("weights", {**path, "versioned": True}).save(weights)
    assert dataset(tmp_path).identity() not in (one, two)
    pd.testing.assert_frame_equal(dataset(tmp_path).load()["plays"].weights, weights)


def test_an_altered_artifact_is_refused(tmp_path: Path, world: World) -> None:
    prepare(tmp_path, "films", world)
    (path,) = (file for file in tmp_path.rglob("pool.parquet") if file.is_file())
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(AlteredArtifactError, match="was altered"):
        dataset(tmp_path).identity()


def test_parts_that_do_not_belong_together_are_refused(tmp_path: Path, world: World) -> None:
    for corpus in ("films", "plays"):
        prepare(tmp_path, corpus, world)
        parts = entries(tmp_path, corpus)
        weights, other = (AbstractDataset.from_config(n, parts[n]) for n in ("weights", "corpus"))
        origin = Origin(node="n", code={}, parameters={}, inputs={"corpus": other.identity()})
        stamp_origin(weights.path, origin)
    dataset(tmp_path).load().check(["films", "plays"])
    rows = world.prepared.corpus.assign(text=world.prepared.corpus["text"] + " again")
    AbstractDataset.from_config("corpus", entries(tmp_path, "plays")["corpus"]).save(rows)
    found = dataset(tmp_path).load()
    found.check(["films"])
    with pytest.raises(InputError, match="plays.*'weights' was made from another version"):
        found.check(["films", "plays"])


def test_an_unknown_corpus_is_refused_with_the_command_to_run() -> None:
    command = "kedro run --pipeline=distill --params=corpus=imdb"
    with pytest.raises(InputError, match=f"corpus 'imdb' has no pool yet.*`{command}` first"):
        PreparedCorpora({}).refuse("imdb")
    with pytest.raises(InputError, match=command):
        PreparedCorpora({})["imdb"]
    with pytest.raises(InputError, match=command):
        PreparedCorpora({}).check(["imdb"])
    with pytest.raises(
        InputError, match="no corpus has a pool yet.*distill --params=corpus=<name>` first"
    ):
        PreparedCorpora({}).check([])


def test_prepared_corpora_are_read_only(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="is read only"):
        dataset(tmp_path).save("anything")  # type: ignore[arg-type]


def test_an_optional_artifact_is_none_until_it_is_made(tmp_path: Path) -> None:
    entry = {
        "type": "take.datasets.artifact.TableArtifact",
        "filepath": str(tmp_path / "cells.parquet"),
        "versioned": True,
    }
    optional = IfMadeDataset(artifact="cells")
    made = AbstractDataset.from_config("cells", entry)
    optional.bind({"cells": made})
    assert optional.load() is None
    before = optional.identity()
    made.save(pd.DataFrame({"a": [1]}))
    assert optional.load()["a"].tolist() == [1]
    assert optional.identity() == made.identity() != before
    optional.check()
    made.path.write_bytes(b"PAR1")
    with pytest.raises(AlteredArtifactError, match="altered.* Fix: run .*`evaluation`.*or delete"):
        optional.check()
    made.path.unlink()
    optional.check()
    with pytest.raises(DatasetError, match="is read only"):
        optional.save(pd.DataFrame())
