"""The manifest of a release; the release is made of made-up rows, `sha256sum` is the real one."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from take.audit.release.manifest import (
    Manifest,
    Reproduction,
    check_manifest,
    is_release,
    write_manifest,
)
from tests.audit.release.released import MADE, TERMS, TUNING, check, privacy


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "release"
    (place / "data").mkdir(parents=True)
    (place / "README.md").write_text("# A card\n")
    (place / "data/rows.bin").write_bytes(bytes(range(256)))
    write(place)
    return place


def write(place: Path, made: Reproduction = MADE) -> Manifest:
    found = privacy(check("pii", "block", "J. Doe: made up"), check("verbatim"))
    return write_manifest(
        place,
        corpus="films",
        budget="2/class",
        rows=4,
        fine_tuning=TUNING.model_copy(update={"terms": TERMS}),
        privacy=found,
        reproduction=made,
    )


def test_it_says_what_is_there_and_how_it_was_made(folder: Path) -> None:
    found = Manifest.model_validate_json((folder / "manifest.json").read_text())
    assert list(found.files) == ["README.md", "data/rows.bin"]
    assert found.files["data/rows.bin"].bytes == 256
    assert (found.corpus, found.budget, found.rows) == ("films", "2/class", 4)
    assert (found.language_model, found.language_model_terms) == ("Small_LM (4-bit)", TERMS)
    assert (found.verdict, found.blocked) == ("block", False)
    assert found.overrides == {"pii": "J. Doe: made up"}
    assert found.parameters["select_rows"]["distillation"]["selection"]["seed"] == 7
    assert found.inputs == MADE.inputs
    assert found.made_at == MADE.made_at
    assert check_manifest(folder) == []
    assert is_release(folder)


def test_sha256sum_checks_a_release_without_take(folder: Path) -> None:
    if not shutil.which("sha256sum"):
        pytest.skip("there is no sha256sum")

    def checked() -> subprocess.CompletedProcess[str]:
        command = ["sha256sum", "-c", "SHA256SUMS"]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True)

    assert checked().stdout.splitlines() == [
        "README.md: OK",
        "data/rows.bin: OK",
        "manifest.json: OK",
    ]
    (folder / "README.md").write_text("# a card\n")
    assert checked().returncode != 0


@pytest.mark.parametrize("position", [0, 100, 255])
def test_a_flipped_bit_is_named(folder: Path, position: int) -> None:
    content = bytearray((folder / "data/rows.bin").read_bytes())
    content[position] ^= 1
    (folder / "data/rows.bin").write_bytes(content)
    problems = check_manifest(folder)
    assert problems == [
        f"{folder / 'data/rows.bin'} was altered: its SHA-256 is not the recorded one"
    ]


def test_every_missing_altered_and_added_file_is_named(folder: Path) -> None:
    (folder / "README.md").unlink()
    (folder / "data/rows.bin").write_bytes(b"short")
    (folder / "data/more.bin").write_bytes(b"")
    assert check_manifest(folder) == [
        f"{folder / 'README.md'} is missing",
        f"{folder / 'data/rows.bin'} was altered: 5 bytes where 256 were written",
        f"{folder / 'data/more.bin'} was added to the artifact",
    ]


@pytest.mark.parametrize(
    ("key", "value"), [("verdict", "pass"), ("overrides", {}), ("parameters", {}), ("rows", 5)]
)
def test_an_altered_manifest_is_noticed(folder: Path, key: str, value: object) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}, indent=1))
    [problem] = check_manifest(folder)
    assert problem.startswith(f"{path} was altered")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": "take-release"}', "\udcff"])
def test_a_broken_manifest_is_noticed(folder: Path, content: str) -> None:
    (folder / "manifest.json").write_bytes(content.encode("utf-8", "surrogateescape"))
    assert is_release(folder)
    assert check_manifest(folder) == [f"{folder / 'manifest.json'} was altered"]


def test_a_removed_manifest_and_sums_are_noticed(folder: Path) -> None:
    (folder / "SHA256SUMS").rename(folder.parent / "sums")
    assert is_release(folder)
    assert check_manifest(folder) == [f"{folder / 'SHA256SUMS'} is missing"]
    (folder.parent / "sums").rename(folder / "SHA256SUMS")
    (folder / "manifest.json").unlink()
    assert is_release(folder)
    assert check_manifest(folder) == [f"{folder / 'manifest.json'} is missing"]


def test_altered_sums_are_noticed(folder: Path) -> None:
    path = folder / "SHA256SUMS"
    path.write_text(path.read_text().replace("README", "readme"))
    [problem] = check_manifest(folder)
    assert problem.startswith(f"{path} was altered")


def test_files_of_git_are_no_addition(folder: Path) -> None:
    (folder / ".git/objects").mkdir(parents=True)
    (folder / ".git/objects/a").write_text("x")
    (folder / ".gitattributes").write_text("*.parquet filter=lfs")
    assert check_manifest(folder) == []


@pytest.mark.parametrize("content", ['{"name": "an app"}', "not json", '{"format": "other"}'])
def test_the_manifest_of_another_program_is_no_release(tmp_path: Path, content: str) -> None:
    (tmp_path / "manifest.json").write_text(content)
    (tmp_path / "SHA256SUMS").write_text("00  something.iso\n")
    assert not is_release(tmp_path)
    assert not is_release(tmp_path / "nowhere")


def test_the_same_facts_make_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    turned = {name: MADE.parameters[name] for name in reversed(MADE.parameters)}
    write(other, MADE._replace(parameters=turned))
    for name in ("manifest.json", "SHA256SUMS"):
        assert (other / name).read_bytes() == (folder / name).read_bytes()
    write(other, MADE._replace(made_at="later"))
    changed = (other / "manifest.json").read_text().replace("later", MADE.made_at)
    assert changed == (folder / "manifest.json").read_text()


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("/srv/models/small", "…/small"),
        ("~/models/small", "…/small"),
        ("C:\\Users\\jo do\\small", "…/small"),
        ("\\\\server\\share\\small", "…/small"),
        ("google/gemma-3-270m", "google/gemma-3-270m"),
        ("data/01_raw/films.csv", "data/01_raw/films.csv"),
        ("https://example.org/films", "https://example.org/films"),
        ("20/class", "20/class"),
    ],
)
def test_folders_of_the_machine_are_left_out(value: str, kept: str) -> None:
    made = MADE._replace(
        command=f"kedro run --params=a={value},b=1", parameters={"node": {"a": [value], "b": 1}}
    ).shareable()
    assert made.parameters == {"node": {"a": [kept], "b": 1}}
    if " " not in value:
        assert made.command == f"kedro run --params=a={kept},b=1"


def test_a_work_folder_is_no_input() -> None:
    made = MADE._replace(inputs={"search_folder": "work folder", **MADE.inputs}).shareable()
    assert made.inputs == MADE.inputs


def test_the_digest_of_parameters_is_of_their_values() -> None:
    other = {**MADE.parameters, "score_rows": {"scoring": {"scorer": "uniform", "seed": 3}}}
    turned = dict(reversed(MADE.parameters.items()))
    assert MADE._replace(parameters=turned).parameters_digest == MADE.parameters_digest
    assert MADE._replace(parameters=other).parameters_digest != MADE.parameters_digest
