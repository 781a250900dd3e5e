"""Signals that end a run: it ends as with Ctrl-C, and never in the middle of some steps."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

from kedro.framework.hooks import hook_impl


class SignalHooks:
    """Lets `kill` and a closed terminal end a run as Ctrl-C does, cleaning up on the way out.

    Python discards an exception that a signal raises in a finaliser or a callback of C code, and
    the run would go on: so the run ends at the next node, or at its end, if it still runs then.
    """

    _signals = tuple(
        getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
    )

    @hook_impl(tryfirst=True)
    def before_pipeline_run(self) -> None:
        """Handle the signals that would end the process at once; leave others' handlers alone."""
        _received.clear()
        self._exchange(signal.SIG_DFL, _exit)

    @hook_impl(tryfirst=True)
    def before_node_run(self) -> None:
        """End a run that has received a signal."""
        _end_if_received()

    @hook_impl(wrapper=True)
    def after_pipeline_run(self) -> Generator[None, Any, Any]:
        """End a run that has received a signal; after all other hooks, restore the handlers."""
        try:
            _end_if_received()
            return (yield)
        finally:
            self._exchange(_exit, signal.SIG_DFL)

    @hook_impl(trylast=True)
    def on_pipeline_error(self) -> None:
        """Restore the default handlers."""
        self._exchange(_exit, signal.SIG_DFL)

    def _exchange(self, before: Any, after: Any) -> None:
        if threading.current_thread() is not threading.main_thread():
            return  # only the main thread may
        for number in self._signals:
            if signal.getsignal(number) is before:
                signal.signal(number, after)


_received: list[int] = []
"""Signals of this run that `_exit` has raised an exception for."""


def _exit(number: int, frame: FrameType | None) -> NoReturn:
    _received.append(number)
    raise SystemExit(128 + number)


def _end_if_received() -> None:
    if _received:
        raise SystemExit(128 + _received[0])


@contextmanager
def delayed_signals() -> Iterator[None]:
    """Let a signal that would stop the run do so when the block is done."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals stop the main thread only
        return
    received: list[int] = []
    numbers = (signal.SIGINT, *SignalHooks._signals)
    before = {number: signal.getsignal(number) for number in numbers}
    stopping = {number: handler for number, handler in before.items() if callable(handler)}
    for number in stopping:
        signal.signal(number, lambda number, _: received.append(number))
    try:
        yield
    finally:
        for number, handler in stopping.items():
            signal.signal(number, handler)
        if received:
            signal.raise_signal(received[0])
