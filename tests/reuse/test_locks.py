from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from take.errors import InputError
from take.reuse.locks import RunLock, file_lock, no_run

HOLD = """
import sys, time
from pathlib import Path
from take.reuse.locks import RunLock
lock = RunLock(Path(sys.argv[1]), "films")
lock.acquire(0)
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def other_run(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    other = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert other.stdout
    assert other.stdout.readline() == "held\n"
    yield other
    other.kill()


def test_a_free_lock_is_had_at_once_and_again(tmp_path: Path) -> None:
    for _ in range(2):
        lock = RunLock(tmp_path, "films")
        assert lock.acquire(0) is False
        lock.release()


def test_another_corpus_is_another_lock(tmp_path: Path, other_run: subprocess.Popen[str]) -> None:
    lock = RunLock(tmp_path, "news")
    assert lock.acquire(0) is False
    lock.release()


def test_a_run_waits_for_the_other_and_says_for_whom(
    tmp_path: Path, other_run: subprocess.Popen[str], caplog: pytest.LogCaptureFixture
) -> None:
    killer = threading.Timer(0.5, other_run.kill)  # the system frees the lock of a killed process
    killer.start()
    caplog.set_level("INFO")
    lock = RunLock(tmp_path, "films")
    assert lock.acquire(1) is True
    lock.release()
    assert f"Waiting for another run on 'films' (process {other_run.pid} since" in caplog.text
    assert "up to 1 minutes" in caplog.text


def test_waiting_has_a_limit(tmp_path: Path, other_run: subprocess.Popen[str]) -> None:
    began = time.monotonic()
    with pytest.raises(InputError, match=f"process {other_run.pid} .*did not end.*Fix: run again"):
        RunLock(tmp_path, "films").acquire(0.01)
    assert time.monotonic() - began < 30


def test_a_lock_is_not_kept_by_a_run_that_could_not_begin(tmp_path: Path) -> None:
    name = "x" * 245  # the name of the lock fits, that of the file on its holder does not
    with pytest.raises(OSError, match="name too long"):
        RunLock(tmp_path, name).acquire(0)
    lock = RunLock(tmp_path, name)
    assert lock._lock.acquire(timeout=0)


def test_a_command_with_any_bytes_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    monkeypatch.setattr("sys.argv", ["kedro", "run", "raw_root=/caf\udce9\x1b[31m"])
    lock = RunLock(tmp_path, "films")
    lock.acquire(0)
    with pytest.raises(InputError, match=r"caf\\udce9\\x1b"):
        RunLock(tmp_path, "films").acquire(0)
    lock.release()
    assert "\x1b" not in caplog.text


def test_nothing_is_tidied_during_a_run(tmp_path: Path) -> None:
    lock = RunLock(tmp_path / ".locks", "films")
    lock.acquire(0)
    with pytest.raises(InputError, match="another run on 'films'"), no_run(tmp_path):
        pass
    lock.release()
    with no_run(tmp_path):
        pass


def test_shared_work_is_done_by_one_at_a_time(tmp_path: Path) -> None:
    order: list[str] = []

    def work(name: str) -> None:
        with file_lock(tmp_path / "x" / ".lock", "x"):
            order.append(f"{name} begins")
            time.sleep(0.05)
            order.append(f"{name} ends")

    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [entry.split()[1] for entry in order] == ["begins", "ends"] * 3
