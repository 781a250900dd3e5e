"""The lock files, and how the Makefile installs them."""

from __future__ import annotations

import re

import pytest

from tests.conftest import ROOT

LOCKS = ("requirements.lock", "requirements-cpu.lock", "requirements-cuda.lock")


def entries(lock: str) -> dict[str, str]:
    """What pip reads of a lock: by package, its version and hashes."""
    _, text = (ROOT / lock).read_text(encoding="utf-8").split("\n", 1)
    return dict(entry.split("==", 1) for entry in re.split(r"\n(?=\S)", text.strip()))


@pytest.mark.parametrize("lock", LOCKS)
def test_every_locked_package_has_a_version_and_hashes(lock: str) -> None:
    for package, pinned in entries(lock).items():
        version_and_hashes = r"[\w.+!]+( \\\n    --hash=sha256:[0-9a-f]{64})+"
        assert re.fullmatch(version_and_hashes, pinned), f"{package}=={pinned}"


def test_torch_has_the_hashes_of_both_builds() -> None:
    other, cpu = (entries(lock)["torch"] for lock in LOCKS[:2])
    assert cpu.split()[0] == f"{other.split()[0]}+cpu"
    assert not set(re.findall("sha256:.*", other)) & set(re.findall("sha256:.*", cpu))


def test_cuda_is_apart_and_nothing_is_locked_twice() -> None:
    everywhere, _, cuda = (set(entries(lock)) for lock in LOCKS)
    assert {"triton", "nvidia-cublas", "cuda-bindings"} <= cuda
    assert not everywhere & cuda
    assert not [name for name in everywhere if name.startswith(("nvidia", "cuda", "triton"))]


def test_the_makefile_installs_only_by_hash() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "LOCKED := --no-deps --require-hashes --requirement\n" in makefile
    installed = re.findall(r"\$\(PIP\) (.*?)(?: 2>|;)", makefile)
    assert installed == [
        *("$(LOCKED) requirements-cpu.lock", "$(LOCKED) requirements.lock"),
        "$(LOCKED) requirements-cuda.lock",
        "--no-deps --no-build-isolation --editable .",  # this project itself
    ]
    assert "pip install" not in makefile.replace("PIP := $(BIN)/python -m pip install", "")
