"""A signal within a step that must not be cut short takes effect after it."""

from __future__ import annotations

import signal
import threading

import pytest

from take.signals import SignalHooks, delayed_signals


@pytest.mark.parametrize(
    ("number", "error"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)]
)
def test_a_signal_waits_for_the_end_of_the_block(
    number: signal.Signals, error: type[BaseException]
) -> None:
    hooks, done = SignalHooks(), []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    hooks.before_pipeline_run()
    try:
        with pytest.raises(error), delayed_signals():
            done.append(signal.raise_signal(number))
        assert done == [None]
        with pytest.raises(error):
            signal.raise_signal(number)  # the handlers are those of before
    finally:
        hooks.on_pipeline_error()
        signal.signal(signal.SIGINT, before)


def test_a_run_ends_at_the_next_node_if_the_exception_of_a_signal_was_discarded() -> None:
    """As Python discards what is raised in a finaliser."""
    hooks = SignalHooks()
    hooks.before_pipeline_run()
    try:
        hooks.before_node_run()
        with pytest.raises(SystemExit):
            signal.raise_signal(signal.SIGTERM)
        for later in (hooks.before_node_run, lambda: next(hooks.after_pipeline_run())):
            with pytest.raises(SystemExit) as ended:
                later()
            assert ended.value.code == 128 + signal.SIGTERM
    finally:
        hooks.on_pipeline_error()
    hooks.before_pipeline_run()  # the next run of the process
    hooks.before_node_run()
    hooks.on_pipeline_error()


def test_an_error_of_the_block_is_raised_and_another_thread_needs_no_handlers() -> None:
    with pytest.raises(ValueError, match="broken"), delayed_signals():
        raise ValueError("broken")
    entered = []

    def enter() -> None:
        with delayed_signals():
            entered.append(True)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert entered == [True]
