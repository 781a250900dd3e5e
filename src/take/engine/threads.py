"""How many threads numerical libraries use.

OpenBLAS adds the products of a matrix in another order if it has another number of threads, so the
last digits differ. Work whose bytes must not depend on the machine's cores is done on one thread,
and several pieces of it at once.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

_lock = threading.RLock()  # a finaliser of a generator may need it, too
_users = 0
_limits: Any = None


@contextmanager
def one_thread() -> Iterator[None]:
    """NumPy and SciPy use one thread for each product within the block, in all of the process.

    >>> with one_thread():
    ...     numerical_threads()
    1
    """
    global _users, _limits  # noqa: PLW0603 - a property of the process
    with _lock:
        if _users == 0:
            _limits = _libraries(len(sys.modules)).limit(limits=1, user_api="blas")
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _limits.restore_original_limits()


@lru_cache(maxsize=1)
def _libraries(_n_modules: int) -> Any:
    """The loaded libraries. Finding them takes milliseconds; new modules may bring more."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def numerical_threads() -> int:
    """The most threads that a product of NumPy or SciPy uses now."""
    from threadpoolctl import threadpool_info

    return max(
        (pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"), default=1
    )


def threads_of_run() -> tuple[int, int]:
    """Of NumPy and SciPy, and of PyTorch, which counts cores in another way."""
    import torch

    return numerical_threads(), torch.get_num_threads()


def set_threads(numerical: int, of_torch: int) -> None:
    """What `threads_of_run` gave in another process, from now on."""
    import torch
    from threadpoolctl import threadpool_limits

    threadpool_limits(numerical, user_api="blas")
    torch.set_num_threads(of_torch)
