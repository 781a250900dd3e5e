from __future__ import annotations

import json
from pathlib import Path

import pytest

from take.audit.release.manifest import check_release, write_manifest
from take.reuse.atomic import atomic_path, is_temporary
from take.reuse.digests import value_digest
from take.reuse.records import (
    Origin,
    damage,
    read_record,
    record_path,
    set_aside,
    stamp_origin,
)
from take.reuse.verify import verify
from tests.audit.release.released import MADE, TUNING, privacy
from tests.recording import write_record

ORIGIN = Origin(
    node="n", code={"m": "1"}, parameters={"stage": {"a": 1, "b": "x"}}, inputs={"corpus": "d"}
)


@pytest.fixture
def artifact(tmp_path: Path) -> Path:
    path = tmp_path / "data" / "x.bin"
    with atomic_path(path) as temporary:
        temporary.write_bytes(bytes(range(256)))
    write_record(path)
    return path


def test_an_untouched_artifact_is_whole(artifact: Path) -> None:
    assert damage(artifact) == ""


@pytest.mark.parametrize("position", [0, 100, 255])
def test_a_flipped_bit_is_noticed_and_named(artifact: Path, position: int) -> None:
    content = bytearray(artifact.read_bytes())
    content[position] ^= 1
    artifact.write_bytes(content)
    assert str(artifact) in damage(artifact)
    assert verify(artifact.parent, check_release).problems == [damage(artifact)]


def test_truncation_removal_and_a_broken_record_are_named(artifact: Path) -> None:
    artifact.write_bytes(b"short")
    assert "5 bytes where 256 were written" in damage(artifact)
    artifact.unlink()
    assert f"{artifact} is missing" in damage(artifact)
    record_path(artifact).write_text("{")
    assert str(record_path(artifact)) in damage(artifact)


def test_a_folder_is_an_artifact_too(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    with atomic_path(folder) as temporary:
        temporary.mkdir()
        (temporary / "a").write_text("a")
        (temporary / "b").write_text("b")
    write_record(folder)
    assert damage(folder) == ""
    (folder / "b").write_text("c")
    assert str(folder / "b") in damage(folder)
    (folder / "b").write_text("b")
    (folder / "c").write_text("c")
    assert str(folder / "c") in damage(folder)


def test_a_failed_write_leaves_the_old_file_and_no_trace(artifact: Path) -> None:
    def fail() -> None:
        with atomic_path(artifact) as temporary:
            temporary.write_bytes(b"half")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        fail()
    assert damage(artifact) == ""
    assert [path.name for path in artifact.parent.iterdir() if is_temporary(path)] == []


def test_leftovers_of_a_killed_run_are_listed_not_counted_as_damage(artifact: Path) -> None:
    leftover = artifact.with_name(".123.partial.x.bin")
    leftover.write_bytes(b"half")
    outcome = verify(artifact.parent, check_release)
    assert (outcome.checked, outcome.problems, outcome.leftovers) == (1, [], [leftover])


def test_a_file_without_a_record_is_named(artifact: Path) -> None:
    record_path(artifact).unlink()
    raw = artifact.parent.parent / "data/01_raw/mine.csv"
    raw.parent.mkdir()
    raw.write_text("text,label")
    inner = artifact.parent / "02_intermediate/x.bin"
    inner.parent.mkdir()
    artifact.rename(inner)
    assert verify(artifact.parent, check_release).problems == [f"{inner} has no record"]


@pytest.mark.parametrize("part", ["sha256", "inputs", "written_at"])
def test_an_altered_record_is_noticed(artifact: Path, part: str) -> None:
    stamp_origin(artifact, ORIGIN)
    path = record_path(artifact)
    record = json.loads(path.read_text())
    if part == "sha256":
        record["files"]["x.bin"]["sha256"] = "0" * 64
    elif part == "inputs":
        record["made_from"]["inputs"]["corpus"] = "e"
    else:
        record["written_at"] = "yesterday"
    path.write_text(json.dumps(record))
    assert str(path) in damage(artifact)


@pytest.mark.parametrize("gone", [["cost"], []])
def test_a_record_of_an_earlier_version_is_whole(artifact: Path, gone: list[str]) -> None:
    """It has no libraries; its checksum leaves out a cost that is null."""
    stamp_origin(artifact, ORIGIN)
    path = record_path(artifact)
    record = json.loads(path.read_text())
    del record["made_from"]["libraries"], record["checksum"]
    sealed = {name: value for name, value in record.items() if name not in gone}
    path.write_text(json.dumps({**record, "checksum": value_digest(sealed)}))
    assert damage(artifact) == ""
    path.write_text(json.dumps({**record, "checksum": value_digest(sealed | {"files": {}})}))
    assert damage(artifact) == f"{path} was altered"


def test_setting_aside_loses_nothing(artifact: Path) -> None:
    kept = set_aside(artifact)
    assert kept.read_bytes() == bytes(range(256))
    assert not artifact.exists()


def test_the_origin_survives_and_names_what_changed(artifact: Path) -> None:
    stamp_origin(artifact, ORIGIN)
    record = read_record(artifact)
    assert record is not None
    assert record.made_from == ORIGIN
    assert damage(artifact) == ""
    changed = ORIGIN.model_copy(
        update={
            "code": {"m": "2"},
            "inputs": {"corpus": "e"},
            "parameters": {"stage": {"a": 2, "c": 1}},
        }
    )
    words = changed.difference(ORIGIN)
    assert "parameter stage.a changed from 1 to 2" in words
    assert "parameter stage.b is gone" in words
    assert "parameter stage.c is new" in words
    assert "input corpus changed" in words
    assert "code of m changed" in words
    assert ORIGIN.difference(ORIGIN) == ""


def test_another_version_of_a_library_is_a_change_and_an_unused_one_is_none() -> None:
    before = ORIGIN.model_copy(update={"libraries": {"torch": "2.8.0", "gone": "1"}})
    now = ORIGIN.model_copy(update={"libraries": {"torch": "2.9.0", "new": "1"}})
    assert now.difference(before) == "version of torch changed from '2.8.0' to '2.9.0'"


def test_equal_contents_have_equal_digests_at_any_path(tmp_path: Path) -> None:
    digests = []
    for folder in ("a", "b"):
        path = tmp_path / folder / "x.json"
        with atomic_path(path) as temporary:
            temporary.write_text(json.dumps([1, 2]))
        digests.append(write_record(path).content_digest)
    assert digests[0] == digests[1]


@pytest.mark.parametrize(
    ("place", "is_problem"),
    [
        ("01_raw/mine.csv", False),
        ("08_reporting/cells/sets/a.json", False),
        ("02_intermediate/cells/stray.parquet", True),  # a corpus may be called that
        ("07_model_output/films/stray.parquet", True),
    ],
)
def test_what_needs_no_record_is_known_by_its_place(
    tmp_path: Path, place: str, is_problem: bool
) -> None:
    (tmp_path / place).parent.mkdir(parents=True)
    (tmp_path / place).write_text("x")
    assert bool(verify(tmp_path, check_release).problems) is is_problem


@pytest.mark.parametrize("mark", [".123.partial.parts", "parts.altered-20261116T120000000000"])
def test_what_lies_in_a_leftover_or_set_aside_folder_is_no_problem(
    tmp_path: Path, mark: str
) -> None:
    inner = tmp_path / "02_intermediate" / mark / "a"
    inner.parent.mkdir(parents=True)
    inner.write_text("a")
    assert verify(tmp_path, check_release).problems == []


def release(folder: Path) -> Path:
    (folder / "data").mkdir(parents=True)
    (folder / "README.md").write_text("# A card")
    (folder / "data/rows.bin").write_bytes(bytes(range(256)))
    facts = {"corpus": "films", "budget": "2/class", "rows": 4}
    write_manifest(folder, **facts, fine_tuning=TUNING, privacy=privacy(), reproduction=MADE)
    return folder


@pytest.mark.parametrize("checked", [".", "given", "given/films"])
def test_a_copied_release_is_checked_without_a_record(tmp_path: Path, checked: str) -> None:
    folder = release(tmp_path / "given/films")
    outcome = verify(tmp_path / checked, check_release)
    assert (outcome.checked, outcome.problems) == (1, [])
    (folder / "data/rows.bin").write_bytes(b"short")
    (folder / "data/added.bin").write_bytes(b"")
    (folder / "README.md").unlink()
    assert verify(tmp_path / checked, check_release).problems == [
        f"{folder / 'README.md'} is missing",
        f"{folder / 'data/rows.bin'} was altered: 5 bytes where 256 were written",
        f"{folder / 'data/added.bin'} was added to the artifact",
    ]


def test_a_release_with_a_record_is_one_artifact_and_its_damage_is_reported_once(
    tmp_path: Path,
) -> None:
    folder = release(tmp_path / "07_model_output/films/release")
    write_record(folder)
    assert (verify(tmp_path, check_release).checked, verify(tmp_path, check_release).problems) == (
        1,
        [],
    )
    (folder / "data/rows.bin").write_bytes(bytes(256))
    problem = f"{folder / 'data/rows.bin'} was altered: its SHA-256 is not the recorded one"
    assert verify(tmp_path, check_release).problems == [problem]


def test_a_record_that_was_renewed_does_not_hide_an_altered_release(tmp_path: Path) -> None:
    folder = release(tmp_path / "07_model_output/films/release")
    (folder / "README.md").write_text("# a card")
    write_record(folder)
    [problem] = verify(tmp_path, check_release).problems
    assert problem.startswith(f"{folder / 'README.md'} was altered")


def test_files_next_to_the_manifest_of_another_program_need_a_record(tmp_path: Path) -> None:
    folder = tmp_path / "07_model_output/films/app"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text('{"name": "an app"}')
    assert verify(tmp_path, check_release).problems == [f"{folder / 'manifest.json'} has no record"]
