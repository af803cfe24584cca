"""The log of the server: one JSON object per line, without anything that visitors wrote.

A line has a time, a level, an event and its facts: page names, error types, numbers, and a random
id of the session. It never contains a text, a path, a file name or the message of an error.
"""

import json
import logging
import secrets
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

_ROOT = Path(__file__).resolve().parents[1]
_OUR_CODE = [_ROOT / name for name in ("icaps", "dashboard", "pages")]
_FRAMES = 8  # of a traceback
_logger = logging.getLogger("icaps.dashboard")
_streamlit = logging.getLogger("streamlit.error_util")  # writes tracebacks with their messages

Fact = str | int | float | bool | list[str]


class JsonLines(logging.Formatter):
    """Formats a record of `write` as a line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        when = datetime.fromtimestamp(record.created, timezone.utc)
        line = {"time": when.isoformat(timespec="milliseconds"), "level": record.levelname.lower()}
        return json.dumps({**line, **record.__dict__["facts"]})


def start(*, tracebacks: bool) -> None:
    """Sends the log to standard error, and turns off the tracebacks that Streamlit logs.

    Args:
        tracebacks: Keeps Streamlit's tracebacks, whose messages may contain texts of visitors.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    _logger.handlers = [handler]
    _logger.setLevel(logging.INFO)
    _logger.propagate = False
    _streamlit.disabled = not tracebacks


def write(event: str, level: int = logging.INFO, **facts: Fact) -> None:
    """Writes a line, with the id of the visitor's session if there is one."""
    mine = {"session": session()} if get_script_run_ctx(suppress_warning=True) else {}
    _logger.log(level, event, extra={"facts": {"event": event, **mine, **facts}})


def session() -> str:
    """A random id that all lines of this visitor have in common."""
    if "log_session" not in st.session_state:
        st.session_state.log_session = secrets.token_hex(4)
    return str(st.session_state.log_session)


def user_error(error: Exception) -> None:
    """Logs the type of an error whose message was shown to the visitor."""
    write("mistake", error=type(error).__name__)


def failure(error: BaseException) -> None:
    """Logs an unexpected error: its type, and where in our code it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if any(Path(f.filename).is_relative_to(place) for place in _OUR_CODE)]
    where = [f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in (ours or frames)[-_FRAMES:]]
    write("failure", logging.ERROR, error=type(error).__name__, where=where)


@contextmanager
def timed(page: str) -> Iterator[None]:
    """Logs how long a page took, also if it raised an error."""
    began = time.perf_counter()
    try:
        yield
    finally:
        milliseconds = round((time.perf_counter() - began) * 1000, 1)
        write("page", page=page, ms=milliseconds)
