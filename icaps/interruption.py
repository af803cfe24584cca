"""Ctrl-C put off to a place where all is whole."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class Interruption:
    """Inside `with`, notes the first Ctrl-C in `requested`; the second acts as ever.

    Python delivers signals to the main thread alone, so in others nothing is put off; a Ctrl-C
    that was ignored stays so.
    """

    def __init__(self) -> None:
        self.requested = False
        self._previous: Any = None

    def __enter__(self) -> Interruption:
        previous = signal.getsignal(signal.SIGINT)
        if callable(previous) and threading.current_thread() is threading.main_thread():
            self._previous = previous
            signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *error: object) -> None:
        self._restore()

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Takes a KeyboardInterrupt of the code inside as a Ctrl-C."""
        try:
            yield
        except KeyboardInterrupt:
            self.requested = True

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.requested = True
        self._restore()

    def _restore(self) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)
            self._previous = None
