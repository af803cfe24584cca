"""Ctrl-C, or SIGTERM, put off to a place where all is whole."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interruption:
    """Inside `with`, notes the first signal in `requested`; the second acts as ever.

    Python delivers signals to the main thread alone, so in others nothing is put off. A signal
    that was ignored stays so, and SIGTERM ends the process at once unless `as_interrupts` is
    around it.
    """

    def __init__(self) -> None:
        self.requested = False
        self._previous: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                previous = signal.getsignal(number)
                if callable(previous):
                    self._previous[number] = previous
                    signal.signal(number, self._note)
        return self

    def __exit__(self, *error: object) -> None:
        self._restore()

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Takes a KeyboardInterrupt of the code inside as a signal."""
        try:
            yield
        except KeyboardInterrupt:
            self.requested = True

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.requested = True
        self._restore()

    def _restore(self) -> None:
        for number, previous in self._previous.items():
            signal.signal(number, previous)
        self._previous.clear()


@contextmanager
def as_interrupts() -> Iterator[None]:
    """Inside, SIGTERM raises KeyboardInterrupt as Ctrl-C does; in the main thread alone."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
