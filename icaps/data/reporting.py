"""Who is told how the making of a data set goes."""

from __future__ import annotations

from typing import Protocol


class DownloadProgress(Protocol):
    """Lines for a person, and the bytes of a download; `icaps.cli.progress.Progress` is one."""

    def say(self, line: str) -> None:
        """Takes a line."""

    def on_bytes(self, file: str, done: int, total: int | None) -> None:
        """Takes how many bytes of a file are here, of how many (None: nobody knows)."""


class _Silent:
    def say(self, line: str) -> None:
        pass

    def on_bytes(self, file: str, done: int, total: int | None) -> None:
        pass


SILENT: DownloadProgress = _Silent()
