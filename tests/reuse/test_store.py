from __future__ import annotations

import logging
from pathlib import Path

import pytest

from take.reuse.records import record_path
from take.reuse.store import KeyedStore


@pytest.fixture
def store(tmp_path: Path) -> KeyedStore:
    return KeyedStore(tmp_path / "not there yet", "it is computed again")


def write(store: KeyedStore, name: str, content: str = "content") -> Path:
    with store.writing(name) as temporary:
        temporary.write_text(content)
    return store.folder / name


def test_files_come_by_name_and_only_with_their_records(store: KeyedStore) -> None:
    assert store.files("part-*") == []
    second, first, third = (write(store, f"part-{i}.txt") for i in (2, 1, 3))
    record_path(third).unlink()  # its writer was killed, or is about to write it
    assert store.files("part-*.txt") == [first, second]
    assert all(store.is_whole(path) for path in store.files("part-*.txt"))
    store.remove("part-*.txt")
    assert list(store.folder.iterdir()) == []


def test_a_damaged_file_is_logged_with_what_follows_and_set_aside(
    store: KeyedStore, caplog: pytest.LogCaptureFixture
) -> None:
    path = write(store, "part.txt")
    path.write_text("changed")
    with caplog.at_level(logging.WARNING):
        assert not store.is_whole(path)
    assert f"{path} was altered" in caplog.text
    assert "it is computed again" in caplog.text
    (kept,) = store.folder.iterdir()
    assert kept.read_text() == "changed"
    assert store.files("*") == []


def test_a_write_that_fails_leaves_what_was_there(store: KeyedStore) -> None:
    path = write(store, "part.txt", "first")

    def fail() -> None:
        with store.writing("part.txt") as temporary:
            temporary.write_text("half")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        fail()
    assert store.is_whole(path)
    assert path.read_text() == "first"


def test_a_value_comes_back_and_a_changed_one_does_not(
    store: KeyedStore, caplog: pytest.LogCaptureFixture
) -> None:
    assert store.read_value("a/b.json", dict) is None
    value = {"x": [0.1 + 0.2, None], "text": "naïve 🎬"}
    store.write_value("a/b.json", value)
    assert store.read_value("a/b.json", dict) == value
    assert store.read_value("a/b.json", lambda found: found["missing"]) is None
    path = store.folder / "a/b.json"
    path.write_text(path.read_text(encoding="utf-8").replace("naïve", "naive"), encoding="utf-8")
    caplog.clear()
    assert store.read_value("a/b.json", dict) is None
    assert f"{path} is damaged: it is computed again" in caplog.text
