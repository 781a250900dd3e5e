"""Which precision a transformer's matrix products have on this machine.

bfloat16 products are about three times as fast as float32 where the processor computes with them,
slower where it does not, and on some machines they end the process. So they are tried in another
process before they are used.
"""

from __future__ import annotations

import logging
import subprocess
import sys
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, Literal

Precision = Literal["auto", "float32", "bfloat16"]

_logger = logging.getLogger(__name__)

# A gain that no busy machine makes up or hides: the answer decides a learner's identity.
_GAIN = 1.5
_SECONDS = 120
# Forward and backward through a layer of MiniLM's size; the shortest of several times. Processor
# time of one thread: other processes on the machine hardly change it.
_PROBE = """
import time, torch
torch.manual_seed(0)
torch.set_num_threads(1)
layer = torch.nn.Sequential(torch.nn.Linear(384, 1536), torch.nn.GELU(), torch.nn.Linear(1536, 384))
rows = torch.randn(512, 384)
def seconds(enabled):
    start = time.process_time()
    with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
        loss = layer(rows).float().square().mean()
    loss.backward()
    return time.process_time() - start
times = [(seconds(False), seconds(True)) for _ in range(8)]
print(min(wide for wide, _ in times) / min(narrow for _, narrow in times))
"""


def resolved(precision: Precision) -> Precision:
    """The precision itself, or for `auto` the one that suits this machine."""
    return _best() if precision == "auto" else precision


def products(precision: Precision) -> AbstractContextManager[Any]:
    """A context in which torch's matrix products have this precision."""
    import torch

    narrow = resolved(precision) == "bfloat16"
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=narrow)


@cache
def _best() -> Precision:
    try:
        tried = subprocess.run(  # noqa: S603 - a fixed program
            [sys.executable, "-c", _PROBE],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=True,
        )
        gain = float(tried.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        _logger.info("Transformers: float32 products (bfloat16 fails: %s).", type(error).__name__)
        return "float32"
    chosen: Precision = "bfloat16" if gain >= _GAIN else "float32"
    _logger.info("Transformers: %s products (bfloat16 is %.1f times as fast).", chosen, gain)
    return chosen
