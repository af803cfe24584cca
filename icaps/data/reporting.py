"""Who is notified of the progress of long work: a protocol of the whole library."""

from __future__ import annotations

from typing import Protocol


class ProgressReporter(Protocol):
    """Receives lines for a person, and counts; `icaps.cli.progress.Progress` is one."""

    def say(self, line: str) -> None:
        """Receives a line."""

    def on_bytes(self, file: str, done: int, total: int | None) -> None:
        """Receives how many bytes of a file were downloaded, of how many (None: unknown)."""

    def on_texts(self, count: int) -> None:
        """Receives how many texts were processed since the last call."""


class _Silent:
    def say(self, line: str) -> None:
        pass

    def on_bytes(self, file: str, done: int, total: int | None) -> None:
        pass

    def on_texts(self, count: int) -> None:
        pass


SILENT: ProgressReporter = _Silent()
