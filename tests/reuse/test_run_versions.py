"""Which version of an artifact a run reads and writes."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from kedro.io import DataCatalog, Version
from kedro.pipeline import Pipeline, node

from take.datasets.artifact import Artifact
from take.datasets.sources import ProvenanceDataset
from take.errors import InputError
from take.reuse.hooks import ProvenanceHooks, check_versions, set_save_version
from take.reuse.records import Origin, stamp_origin

EARLIER, NOW, LATER = (f"{year}-01-01T00.00.00.000Z" for year in (2024, 2025, 2026))
ENTRY = {
    "type": "take.datasets.artifact.Artifact",
    "dataset": "take.datasets.folders.TextDataset",
    "versioned": True,
}


def artifact(folder: Path, save: str | None, load: str | None = None) -> Artifact:
    return Artifact(
        filepath=str(folder / "films/x.txt"), dataset=ENTRY["dataset"], version=Version(load, save)
    )


def test_a_run_reads_what_it_made_and_not_what_is_newer(tmp_path: Path) -> None:
    mine = artifact(tmp_path, NOW)
    mine.save("mine")
    artifact(tmp_path, LATER).save("theirs")
    assert mine.load() == "mine"
    mine.release()  # as a runner does after the last node that reads it
    assert mine.load() == "mine"
    in_another_process = pickle.loads(pickle.dumps(artifact(tmp_path, NOW)))
    assert in_another_process.load() == "mine"
    assert artifact(tmp_path, None).load() == "theirs"
    assert artifact(tmp_path, NOW, load=LATER).load() == "theirs"


def test_a_run_reads_the_newest_of_what_it_does_not_make(tmp_path: Path) -> None:
    for version in (EARLIER, NOW):
        artifact(tmp_path, version).save(version)
    assert artifact(tmp_path, LATER).load() == NOW


def test_what_was_there_before_a_run_stays_what_it_reads_of_it(tmp_path: Path) -> None:
    artifact(tmp_path, EARLIER).save("previous")
    previous, made = artifact(tmp_path, NOW), artifact(tmp_path, NOW)
    assert previous.exists()  # checked before the run begins
    made.save("next")
    assert previous.load() == "previous"


def catalog(folder: Path, version: str) -> DataCatalog:
    entries = {
        name: {**ENTRY, "filepath": str(folder / f"films/{name}.txt")} for name in ("made", "read")
    }
    return DataCatalog.from_config(entries, save_version=version)


PIPELINE = Pipeline([node(lambda text: text, "read", "made", name="make")])


def test_a_version_older_than_the_newest_is_refused(tmp_path: Path) -> None:
    catalog(tmp_path, NOW)["made"].save("x")
    catalog(tmp_path, LATER)["read"].save("x")  # a run may read what it does not write
    check_versions(PIPELINE, catalog(tmp_path, LATER))
    for version in (EARLIER, NOW):
        with pytest.raises(InputError, match=f"{NOW} of 'made' is not older .*clock was set back"):
            check_versions(PIPELINE, catalog(tmp_path, version))


def test_a_run_that_waited_saves_a_later_version(tmp_path: Path) -> None:
    data = catalog(tmp_path, EARLIER)
    assert data["made"].save_version == EARLIER  # made; `read` is still to be made
    set_save_version(data, LATER)
    for name in ("made", "read"):
        data[name].save("x")
        assert data[name].path.parent.name == LATER


def test_a_run_that_did_not_wait_saves_after_what_another_saved_meanwhile(tmp_path: Path) -> None:
    data = catalog(tmp_path, EARLIER)  # when the session was created
    assert not data["made"].exists()
    for name in ("made", "read"):
        catalog(tmp_path, NOW)[name].save("x")
    ProvenanceHooks().before_pipeline_run(PIPELINE, data)
    assert data["made"].path.parent.name == NOW
    data["made"].save("mine")
    assert data["made"].path.parent.name > NOW
    assert data["made"].load() == "mine"


def test_provenance_is_of_the_pinned_version(tmp_path: Path) -> None:
    for version in (EARLIER, NOW):
        data = catalog(tmp_path, version)
        data["made"].save(version)
        origin = Origin(node=f"node of {version}", code={}, parameters={}, inputs={})
        stamp_origin(data["made"].path, origin)
    for pinned in (EARLIER, NOW):
        data = catalog(tmp_path, LATER)
        data["made"] = Artifact(
            filepath=str(tmp_path / "films/made.txt"),
            dataset=ENTRY["dataset"],
            version=Version(pinned, LATER),
        )
        data["provenance"] = ProvenanceDataset(folder="films", artifacts=["made"])
        ProvenanceHooks().after_catalog_created(data)
        assert [step.node for step in data["provenance"].load().steps] == [f"node of {pinned}"]
