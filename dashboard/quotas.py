"""Where the settings are enforced: what isn't allowed raises `NotAllowedError`, which says why.

These functions are called where something is done, and not only where it is offered: a browser may
send what no button of the page would.
"""

import logging
import time
from collections import deque
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from threading import Lock

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dashboard import logs, settings
from icaps.data.uploads import delete_old, uploads
from icaps.errors import ICapsError
from icaps.explore.saved_slices import slices
from icaps.runs.folder import QUEUED
from icaps.runs.jobs import find_runs

READ_ONLY = "This is a demonstration that can only be looked at: {} Run the app yourself for that."
_MINUTE = 60.0  # seconds


class NotAllowedError(ICapsError):
    """What the settings of this app don't allow, or not so often."""


class Rate:
    """How often something happened within the last minute."""

    def __init__(self) -> None:
        self._times: deque[float] = deque()
        self._lock = Lock()

    def take(self, most: int) -> float:
        """Counts it once more, unless there were `most` already: then the seconds to wait."""
        with self._lock:
            now = time.monotonic()
            while self._times and now - self._times[0] >= _MINUTE:
                self._times.popleft()
            if len(self._times) >= most:
                return _MINUTE - (now - self._times[0])
            self._times.append(now)
            return 0.0


_together = Rate()


def read_only() -> bool:
    """Whether nothing may be changed here, so that it needn't be offered."""
    return settings.current().read_only


def change(sentence: str) -> None:
    """Refuses a change where there is only to look at; the sentence says what there isn't here."""
    if settings.current().read_only:
        _refuse("read only", READ_ONLY.format(sentence))


def request() -> None:
    """Counts work that a visitor asks for; what the server does for itself is free."""
    if get_script_run_ctx(suppress_warning=True) is None:
        return
    allowed = settings.current()
    mine: Rate = st.session_state.setdefault("requests", Rate())
    wait = mine.take(allowed.requests_per_minute)
    if wait:
        _refuse("rate", f"You ask for very much at a time; go on in {wait:.0f} seconds.")
    wait = _together.take(allowed.requests_per_minute_together)
    if wait:
        _refuse("rate", f"Many people ask at this moment; try again in {wait:.0f} seconds.")


def text(text: str, name: str = "The text") -> None:
    """Refuses a text that is too long."""
    most = settings.current().text_characters
    if len(text) > most:
        _refuse(
            "text length",
            f"{name} has {len(text):,} characters, and the page takes {most:,} at most; cut it, or "
            "use `icaps explain` on the command line.",
        )


def table(texts: int) -> None:
    """Refuses a table of too many texts."""
    most = settings.current().table_rows
    if texts > most:
        _refuse(
            "table rows",
            f"These are {texts:,} texts, and the page takes {most:,} at once; for more, use `icaps "
            "explain` on the command line.",
        )


def upload_mb() -> int:
    """Megabytes that a file may have: the lower one of our limit and Streamlit's."""
    server: int = st.get_option("server.maxUploadSize")
    return min(settings.current().upload_mb, server)


def upload(size: int) -> None:
    """Refuses a file that is too large, or for which there is no room; old ones are deleted before.

    Args:
        size: Bytes of the file that is to be kept.
    """
    change("no file can be uploaded.")
    allowed = settings.current()
    if size > upload_mb() * 2**20:
        _refuse(
            "upload size",
            f"The file has {size / 2**20:,.1f} MB, and {upload_mb():,} are taken. Upload a part of "
            "it, or compress it.",
        )
    delete_old(timedelta(days=allowed.uploads_days) if allowed.uploads_days else None)
    kept = sum(upload.bytes for upload in uploads())
    if kept + size > allowed.uploads_mb * 2**20:
        _refuse(
            "uploads",
            f"There is no room for this file: {kept / 2**20:,.0f} MB of {allowed.uploads_mb:,} are "
            "taken by other uploads. Delete some of them on the page Datasets.",
        )


def new_slice() -> None:
    """Refuses one slice more than are kept."""
    change("no slice can be kept.")
    most = settings.current().slices
    if len(slices()) >= most:
        _refuse("slices", f"There are {most:,} slices already; delete one on the page Datasets.")


def new_run(place: Path) -> None:
    """Refuses a training where too many are kept in `place`, or wait there."""
    change("nothing can be trained.")
    allowed = settings.current()
    runs = find_runs(place)
    if len(runs) >= allowed.runs:
        _refuse(
            "runs",
            f"There are {len(runs):,} trainings already, as many as are kept here; delete one on "
            "the page Train.",
        )
    waiting(place)


def waiting(place: Path) -> None:
    """Refuses a training where too many wait for their turn."""
    change("nothing can be trained.")
    most = settings.current().jobs_waiting
    if sum(run.status.state == QUEUED for run in find_runs(place)) >= most:
        _refuse(
            "jobs waiting",
            f"{most:,} trainings wait for their turn already; start this one when some have ended.",
        )


def new_task(running: Iterable[bool]) -> None:
    """Refuses one command more at a time; `running` says of each that was started if it is."""
    change("no data can be explored or judged anew.")
    most = settings.current().tasks
    if sum(running) >= most:
        _refuse("tasks", f"{most:,} of these are at work already; wait until one has ended.")


def _refuse(limit: str, sentence: str) -> None:
    logs.tell("refused", logging.WARNING, limit=limit)
    raise NotAllowedError(sentence)
