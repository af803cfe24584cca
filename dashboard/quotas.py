"""Enforces the limits of the settings: what is not allowed raises a `NotAllowedError`.

These functions are called right before an action, and not only where its button is shown: a
browser may send requests that no button of the page sends.
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
from icaps.data.saved_slices import slices
from icaps.data.uploads import delete_old, uploads
from icaps.errors import ICapsError
from icaps.runs.folder import QUEUED, find_runs

READ_ONLY = "This demonstration is read-only: {} To do that, run the app yourself."
_MINUTE = 60.0  # seconds


class NotAllowedError(ICapsError):
    """The settings of this app don't allow this, or not this often."""


class Rate:
    """A counter of events within the last minute, for rate limits."""

    def __init__(self) -> None:
        self._times: deque[float] = deque()
        self._lock = Lock()

    def take(self, most: int) -> float:
        """Counts one event and returns 0; or the seconds to wait, if there were `most` already."""
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
    """Whether nothing may be changed here, so that no buttons for it are shown."""
    return settings.current().read_only


def change(sentence: str) -> None:
    """Refuses a change in a read-only app; `sentence` says what is not possible."""
    if settings.current().read_only:
        _refuse("read only", READ_ONLY.format(sentence))


def request() -> None:
    """Counts a request of a visitor, and refuses it above the rate limits.

    What the server does for itself is not counted.
    """
    if get_script_run_ctx(suppress_warning=True) is None:
        return
    allowed = settings.current()
    mine: Rate = st.session_state.setdefault("requests", Rate())
    wait = mine.take(allowed.requests_per_minute)
    if wait:
        _refuse("rate", f"Too many requests; try again in {wait:.0f} seconds.")
    wait = _together.take(allowed.requests_per_minute_together)
    if wait:
        _refuse("rate", f"Too many requests of all visitors; try again in {wait:.0f} seconds.")


def text(text: str, name: str = "The text") -> None:
    """Refuses a text that is too long."""
    most = settings.current().text_characters
    if len(text) > most:
        _refuse(
            "text length",
            f"{name} has {len(text):,} characters, and the limit is {most:,}. Shorten it, or use "
            "`icaps explain` on the command line.",
        )


def table(texts: int) -> None:
    """Refuses a table with too many texts."""
    most = settings.current().table_rows
    if texts > most:
        _refuse(
            "table rows",
            f"These are {texts:,} texts, and the limit is {most:,}. For more, use `icaps explain` "
            "on the command line.",
        )


def upload_mb() -> int:
    """The largest size of an uploaded file in MB: the lower one of our limit and Streamlit's."""
    server: int = st.get_option("server.maxUploadSize")
    return min(settings.current().upload_mb, server)


def upload(size: int) -> None:
    """Deletes old uploads, and refuses a file that is too large or for which there is no space.

    Args:
        size: Size of the file in bytes.
    """
    change("no file can be uploaded.")
    allowed = settings.current()
    if size > upload_mb() * 2**20:
        _refuse(
            "upload size",
            f"The file has {size / 2**20:,.1f} MB, and the limit is {upload_mb():,} MB. Upload a "
            "part of it, or compress it.",
        )
    delete_old(timedelta(days=allowed.uploads_days) if allowed.uploads_days else None)
    used = sum(upload.bytes for upload in uploads())
    if used + size > allowed.uploads_mb * 2**20:
        _refuse(
            "uploads",
            f"There is no space for this file: {used / 2**20:,.0f} of {allowed.uploads_mb:,} MB "
            "are used by other uploads. Delete some of them on the page Datasets.",
        )


def new_slice() -> None:
    """Refuses a new slice if there are too many."""
    change("no slice can be saved.")
    most = settings.current().slices
    if len(slices()) >= most:
        _refuse("slices", f"There are {most:,} slices already. Delete one on the page Datasets.")


def new_label_task(existing: int) -> None:
    """Refuses a new task of labelling if there are too many."""
    change("no task of labelling can be created.")
    most = settings.current().label_tasks
    if existing >= most:
        _refuse("label tasks", f"There are {most:,} tasks already. Delete one on the page Label.")


def new_corrections(present: int, added: int) -> None:
    """Refuses corrected labels of a data set if there are too many."""
    change("no label can be changed.")
    most = settings.current().corrections
    if present + added > most:
        _refuse(
            "corrections",
            f"With these, {present + added:,} labels of this data set would be corrected, and the "
            f"limit is {most:,}.",
        )


def new_run(place: Path) -> None:
    """Refuses a new training if there are too many in `place`, or too many are queued."""
    change("nothing can be trained.")
    allowed = settings.current()
    runs = find_runs(place)
    if len(runs) >= allowed.runs:
        _refuse(
            "runs",
            f"There are {len(runs):,} trainings already, which is the limit. Delete one on the "
            "page Train.",
        )
    waiting(place)


def waiting(place: Path) -> None:
    """Refuses a training if too many are queued."""
    change("nothing can be trained.")
    most = settings.current().jobs_waiting
    if sum(run.status.state == QUEUED for run in find_runs(place)) >= most:
        _refuse(
            "jobs waiting",
            f"{most:,} trainings are queued already. Start this one when some have ended.",
        )


def new_task(running: Iterable[bool]) -> None:
    """Refuses a new command if too many are running; `running` has a flag per started command."""
    change("no data can be explored or predicted.")
    most = settings.current().tasks
    if sum(running) >= most:
        _refuse("tasks", f"{most:,} of these are running already. Wait until one has ended.")


def _refuse(limit: str, sentence: str) -> None:
    logs.write("refused", logging.WARNING, limit=limit)
    raise NotAllowedError(sentence)
