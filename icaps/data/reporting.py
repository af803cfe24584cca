"""Progress of long operations: the protocol of the objects that are notified."""

from __future__ import annotations

from typing import Protocol


class ProgressReporter(Protocol):
    """Receives log lines and counts; `icaps.cli.progress.Progress` implements it."""

    def say(self, line: str) -> None:
        """Receives a line."""

    def on_bytes(self, file: str, done: int, total: int | None) -> None:
        """Receives the downloaded bytes of a file, and its size; None if unknown."""

    def expect_texts(self, total: int) -> None:
        """Receives the number of texts, perhaps estimated, that the next operation processes."""

    def on_texts(self, count: int) -> None:
        """Receives the number of texts that were processed since the last call."""


class _Silent:
    def say(self, line: str) -> None:
        pass

    def on_bytes(self, file: str, done: int, total: int | None) -> None:
        pass

    def expect_texts(self, total: int) -> None:
        pass

    def on_texts(self, count: int) -> None:
        pass


SILENT: ProgressReporter = _Silent()
