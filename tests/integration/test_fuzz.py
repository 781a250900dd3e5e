"""A few dozen examples of `make fuzz`, always the same ones."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.cli


def test_bad_input_is_one_message_or_a_run_that_ends_well() -> None:
    command = [sys.executable, "-m", "tests.fuzz", "--examples=25"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert "0 kinds of failures" in done.stdout
