"""Who is told how the making of an index goes."""

from __future__ import annotations

from typing import Protocol

from icaps.data.reporting import SILENT as SILENT_DOWNLOAD
from icaps.data.reporting import DownloadProgress


class IndexProgress(DownloadProgress, Protocol):
    """Lines for a person, and texts that were read; `icaps.cli.progress.Progress` is one."""

    def on_texts(self, count: int) -> None:
        """Takes how many more texts were read; how many there will be is not known."""


class _Silent:
    say = staticmethod(SILENT_DOWNLOAD.say)
    on_bytes = staticmethod(SILENT_DOWNLOAD.on_bytes)

    def on_texts(self, count: int) -> None:
        pass


SILENT: IndexProgress = _Silent()
