"""What the server tells its operator: a JSON object a line, without anything that visitors wrote.

A line has a time, a level, an event and facts of it: names of pages and of kinds of errors,
numbers, and a random id of the session. No text, path, name of a file or message of an error is
among them.
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
_OURS = [_ROOT / name for name in ("icaps", "dashboard", "pages")]
_FRAMES = 8  # of an error's traceback
_logger = logging.getLogger("icaps.dashboard")
_streamlits = logging.getLogger("streamlit.error_util")  # writes tracebacks with their messages

Fact = str | int | float | bool | list[str]


class JsonLines(logging.Formatter):
    """A record that `tell` has made, as a line."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        when = datetime.fromtimestamp(record.created, timezone.utc)
        line = {"time": when.isoformat(timespec="milliseconds"), "level": record.levelname.lower()}
        return json.dumps({**line, **record.__dict__["facts"]})


def start(*, tracebacks: bool) -> None:
    """Sends the lines to standard error, and keeps Streamlit from writing tracebacks beside them.

    Args:
        tracebacks: Leaves Streamlit's, whose messages may hold what visitors wrote.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    _logger.handlers = [handler]
    _logger.setLevel(logging.INFO)
    _logger.propagate = False
    _streamlits.disabled = not tracebacks


def tell(event: str, level: int = logging.INFO, **facts: Fact) -> None:
    """Writes a line; of a visitor's session where there is one."""
    mine = {"session": session()} if get_script_run_ctx(suppress_warning=True) else {}
    _logger.log(level, event, extra={"facts": {"event": event, **mine, **facts}})


def session() -> str:
    """A random id by which the lines of this visitor belong together."""
    if "log_session" not in st.session_state:
        st.session_state.log_session = secrets.token_hex(4)
    return str(st.session_state.log_session)


def mistake(error: Exception) -> None:
    """Tells of an error that the page has told the visitor, by its kind."""
    tell("mistake", error=type(error).__name__)


def failure(error: BaseException) -> None:
    """Tells of an error that nobody has foreseen: its kind, and where in our code it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if any(Path(f.filename).is_relative_to(place) for place in _OURS)]
    where = [f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in (ours or frames)[-_FRAMES:]]
    tell("failure", logging.ERROR, error=type(error).__name__, where=where)


@contextmanager
def timed(page: str) -> Iterator[None]:
    """Tells how long a page took, however it ended."""
    began = time.perf_counter()
    try:
        yield
    finally:
        milliseconds = round((time.perf_counter() - began) * 1000, 1)
        tell("page", page=page, ms=milliseconds)
