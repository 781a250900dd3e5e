"""The release folder: made-up rows and reports, read back by the real `datasets` library."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from take.audit.release.folder import BlockedReleaseError, refuse_blocked, write_release
from take.audit.release.manifest import check_manifest
from take.errors import InputError, TakeError
from tests.audit.release.hostile import HOSTILE
from tests.audit.release.released import MADE, check, facts, privacy, released, rows, totals

FILES = [
    *("README.md", "SHA256SUMS", "audit.json", "data/train-00000-of-00001.parquet"),
    *("distilled.csv", "distilled.jsonl", "lineage_totals.parquet", "manifest.json", "report.html"),
]


def contents(folder: Path) -> dict[str, bytes]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_every_file_is_there(tmp_path: Path) -> None:
    write_release(released(), tmp_path / "release")
    found = contents(tmp_path / "release")
    assert list(found) == FILES
    assert found["README.md"].startswith(b"---\nlanguage:\n- en\n")
    assert found["report.html"].startswith(b"<!doctype html>")
    audit = json.loads(found["audit.json"])
    assert [part["name"] for part in audit["privacy"]["checks"]] == ["verbatim", "pii"]
    assert audit["balance"]["findings"][0]["verdict"] == "shifted"
    assert check_manifest(tmp_path / "release") == []
    assert [path.name for path in tmp_path.iterdir()] == ["release"]


@pytest.mark.parametrize("task", ["single", "pair"])
def test_the_datasets_library_reads_the_rows_and_nothing_else(tmp_path: Path, task: str) -> None:
    import datasets

    names = ["yes: no", "#1", "|a|", "'"]
    distilled = rows(names, HOSTILE)
    if task == "pair":
        distilled = distilled.rename(columns={"text": "text_a"})
        distilled.insert(2, "text_b", HOSTILE[::-1])
    write_release(released(facts(names, distilled=distilled)), tmp_path / "release")
    loaded = datasets.load_dataset(str(tmp_path / "release"), cache_dir=str(tmp_path / "cache"))
    assert list(loaded) == ["train"]
    assert loaded["train"].features["label"] == datasets.ClassLabel(names=names)
    assert loaded["train"].to_list() == distilled.to_dict("records")
    # Before anything is read, the card's header is all that it can go by.
    known_info = datasets.load_dataset_builder(str(tmp_path / "release")).info
    assert known_info.features == loaded["train"].features
    known, found = known_info.splits["train"], loaded["train"].info.splits["train"]
    assert known.num_examples == found.num_examples == len(HOSTILE)
    assert known.num_bytes == pytest.approx(found.num_bytes, rel=0.01)  # as Arrow pads them


def test_equal_releases_make_equal_bytes(tmp_path: Path) -> None:
    later = MADE._replace(made_at="2027-01-01T00:00:00+00:00")
    write_release(released(), tmp_path / "one")
    write_release(released(), tmp_path / "two")
    write_release(released(facts(reproduction=later)), tmp_path / "later")
    one, two, last = (contents(tmp_path / name) for name in ("one", "two", "later"))
    assert one == two
    # The time itself, and what tells of the files that hold it.
    changed = ["README.md", "SHA256SUMS", "manifest.json"]
    assert [name for name in FILES if one[name] != last[name]] == changed
    card = last["README.md"].decode().replace(later.made_at, MADE.made_at)
    assert card.encode() == one["README.md"]


def test_no_training_row_is_released(tmp_path: Path) -> None:
    """What has a column too many is refused; tests/integration/test_audit.py reads a real one."""
    training_id, training_text = "5ec4e7" + "0" * 14, "my secret training sentence"
    distilled = rows()
    for column, value in (("source_id", training_id), ("source_text", training_text)):
        lineage = totals(distilled).assign(**{column: value})
        with pytest.raises(InputError, match=f"column '{column}'") as caught:
            write_release(released(lineage_totals=lineage), tmp_path / "release")
        assert value not in str(caught.value)
    ids = totals(distilled).assign(id=[training_id, *distilled["id"][1:]])
    with pytest.raises(InputError, match="ids are not those of the distilled rows"):
        write_release(released(lineage_totals=ids), tmp_path / "release")
    with pytest.raises(InputError, match="'source_text' is unknown"):
        write_release(
            released(distilled=distilled.assign(source_text=training_text)), tmp_path / "release"
        )
    assert not (tmp_path / "release").exists()


def test_an_index_of_training_rows_is_not_released(tmp_path: Path) -> None:
    distilled = rows()
    indexed = totals(distilled).set_axis([f"source{place}" for place in range(4)], axis=0)
    write_release(released(lineage_totals=indexed), tmp_path / "release")
    assert b"source0" not in contents(tmp_path / "release")["lineage_totals.parquet"]
    read = pd.read_parquet(tmp_path / "release/lineage_totals.parquet")
    pd.testing.assert_frame_equal(read, totals(distilled))


def test_a_block_writes_nothing_and_leaves_the_earlier_release(tmp_path: Path) -> None:
    write_release(released(), tmp_path / "release")
    before = contents(tmp_path / "release")
    blocked = privacy(
        check("verbatim", "block"), check("pii", "block"), check("canaries", "review")
    )
    blocking = facts(privacy=blocked)
    for folder in ("release", "new"):
        with pytest.raises(BlockedReleaseError) as caught:
            write_release(released(blocking), tmp_path / folder)
    assert contents(tmp_path / "release") == before
    assert [path.name for path in tmp_path.iterdir()] == ["release"]
    message = str(caught.value)
    assert isinstance(caught.value, TakeError)
    assert "verbatim: 3 rows concern verbatim." in message
    assert "pii: 3 rows concern pii." in message
    assert "canaries" not in message
    assert 'audit.gate.override.verbatim="who (why)",audit.gate.override.pii="who (why)"' in message


def test_an_overridden_block_is_released_and_recorded(tmp_path: Path) -> None:
    found = privacy(check("verbatim", "block", "J. Doe: a proverb"))
    refuse_blocked(found)
    write_release(released(facts(privacy=found)), tmp_path / "release")
    written = contents(tmp_path / "release")
    for name in ("README.md", "audit.json", "manifest.json"):
        assert b"J. Doe: a proverb" in written[name]
    manifest = json.loads(written["manifest.json"])
    assert (manifest["verdict"], manifest["blocked"]) == ("block", False)


def test_one_check_of_two_overridden_still_blocks() -> None:
    found = privacy(check("verbatim", "block", "J. Doe: a proverb"), check("pii", "block"))
    with pytest.raises(BlockedReleaseError, match="override.pii=") as caught:
        refuse_blocked(found)
    assert "verbatim" not in str(caught.value)


@pytest.mark.parametrize("verdict", ["pass", "review"])
def test_what_is_not_blocked_passes(verdict: str) -> None:
    refuse_blocked(privacy(check("pii", verdict)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"distilled": rows().assign(weight=-1.0)}, "'weight': -1.0 is negative"),
        ({"class_names": ["bad", "bad"]}, "two classes have one name|Two classes"),
        ({"lineage_totals": totals(rows()).iloc[:3]}, "ids are not those"),
    ],
)
def test_bad_rows_leave_the_earlier_release(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    write_release(released(), tmp_path / "release")
    before = contents(tmp_path / "release")
    with pytest.raises(InputError, match=message):
        write_release(released(**change), tmp_path / "release")
    assert contents(tmp_path / "release") == before


def test_a_later_release_replaces_all_of_the_earlier_one(tmp_path: Path) -> None:
    write_release(released(), tmp_path / "release")
    (tmp_path / "release/stray.txt").write_text("x")
    write_release(released(), tmp_path / "release")
    assert list(contents(tmp_path / "release")) == FILES


def test_a_copy_verifies(tmp_path: Path) -> None:
    write_release(released(), tmp_path / "release")
    shutil.copytree(tmp_path / "release", tmp_path / "elsewhere/copy")
    assert check_manifest(tmp_path / "elsewhere/copy") == []
