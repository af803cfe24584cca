"""Signal handling: defers Ctrl-C (SIGINT) and SIGTERM until the training can be saved."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class DeferredInterrupt:
    """Within its `with` block, the first signal only sets `requested`; the second acts as usual.

    Python delivers signals to the main thread only, so in other threads nothing is deferred. An
    ignored signal remains ignored, and SIGTERM ends the process at once unless
    `sigterm_as_interrupt` is active.
    """

    def __init__(self) -> None:
        self.requested = False
        self._previous: dict[signal.Signals, Any] = {}

    def __enter__(self) -> DeferredInterrupt:
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                previous = signal.getsignal(number)
                if callable(previous):
                    self._previous[number] = previous
                    signal.signal(number, self._request)
        return self

    def __exit__(self, *error: object) -> None:
        self._restore()

    @contextmanager
    def catching(self) -> Iterator[None]:
        """Treats a KeyboardInterrupt raised inside as a signal."""
        try:
            yield
        except KeyboardInterrupt:
            self.requested = True

    def _request(self, number: int, frame: FrameType | None) -> None:
        self.requested = True
        self._restore()

    def _restore(self) -> None:
        for number, previous in self._previous.items():
            signal.signal(number, previous)
        self._previous.clear()


@contextmanager
def sigterm_as_interrupt() -> Iterator[None]:
    """Within the block, SIGTERM raises KeyboardInterrupt like Ctrl-C; in the main thread only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGTERM, _raise_interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _raise_interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
