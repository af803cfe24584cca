"""The server: what it does before its first visitor, its health check, and its headers.

What takes seconds to import is imported inside functions, so that the server serves the page's
files to a browser in the meantime.
"""

import asyncio
import gc
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from concurrent.futures import Future, TimeoutError
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from streamlit.starlette import App

from dashboard import logs, settings
from icaps.errors import ICapsError

HEALTH = "/health"
HEALTH_TIMEOUT = 5.0  # seconds
STARTING, TIMED_OUT = "starting", "timeout"  # errors of the health check
_MEMORY = Path("/proc/self/statm")  # of Linux
# A link holds the visitor's text, so no other site is sent the address that led to it.
_HEADERS = (
    (b"referrer-policy", b"same-origin"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"SAMEORIGIN"),
)

_warming = threading.Lock()  # held while the server starts

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]


def options() -> dict[str, Any]:
    """The arguments of the `streamlit.App` in Home.py."""
    return {
        "lifespan": ready,
        "routes": [Route(HEALTH, health)],
        "middleware": [Middleware(SafeHeaders)],
        "on_script_error": show_failure,
    }


@asynccontextmanager
async def ready(app: App) -> AsyncIterator[None]:
    """The lifespan of the server, as `streamlit.App` takes it."""
    try:
        allowed = settings.apply()
    except ICapsError:  # each visitor sees it on the page
        logs.start(tracebacks=False)
        logs.write("settings can't be read")
    else:
        logs.start(tracebacks=allowed.log_tracebacks)
        server = st.get_option("server.maxUploadSize")
        logs.write("start", upload_mb=allowed.upload_mb, streamlit_upload_mb=server)
    _warming.acquire()  # before any visitor can come
    gc.disable()  # collecting while importing took 1.0 to 2.2 of 5 to 11 seconds
    warm = asyncio.create_task(asyncio.to_thread(warm_up))
    warm.add_done_callback(_end_warm_up)
    yield
    await asyncio.wait([warm])
    gc.unfreeze()


def wait_until_warm() -> None:
    """Waits until the server has imported all it needs.

    A module that two threads import at the same time may be seen incomplete.
    """
    with _warming:
        pass


def show_start() -> None:
    """Waits until the server is warm, with a spinner on the page."""
    if _warming.locked():
        with st.spinner("iCaps is starting", show_time=True):
            wait_until_warm()


def _end_warm_up(warm: asyncio.Task[None]) -> None:
    gc.enable()
    _warming.release()
    error = warm.exception()
    if error is not None:  # the server goes on, and its visitors see the same error
        logs.failure(error)


def warm_up() -> None:
    """Loads the default model and explains the default text, as the landing page does.

    Then all objects are frozen: the garbage collector ignores them from now on. Without that, one
    of a hundred page runs took 0.5 to 0.8 seconds longer, for a full collection; with it 7 ms.
    """
    # Not before: Streamlit's caches look for the server's runtime when they are created.
    # Those that are not called here are what the page imports.
    from dashboard import url_state
    from dashboard.cache import explanations
    from dashboard.explain import similar, trust, view, what_if  # noqa: F401
    from dashboard.model_registry import default_model, find_models

    folders = find_models()
    if folders:
        with suppress(ICapsError):  # each visitor sees it on the page
            explanations.explain(default_model(folders), *url_state.landing_request())
    gc.freeze()  # without a collection before: there is little garbage, and it takes half a second


class HealthCheck:
    """Runs a check in a thread of its own, at most one at a time, and waits for a limited time.

    A check that hangs, such as on a disk that does not respond, blocks no other thread for longer.
    """

    def __init__(self, check: Callable[[], dict[str, Any]]) -> None:
        self._check = check
        self._running: Future[dict[str, Any]] | None = None
        self._lock = threading.Lock()

    def result(self, timeout: float) -> dict[str, Any]:
        """The result of a new check, or of the one that is running.

        Raises:
            TimeoutError: It takes longer than `timeout` seconds.
        """
        with self._lock:
            if self._running is None or self._running.done():
                self._running = Future()
                thread = threading.Thread(target=self._run, args=(self._running,), daemon=True)
                thread.start()
            running = self._running
        return running.result(timeout)

    def _run(self, running: "Future[dict[str, Any]]") -> None:
        try:
            running.set_result(self._check())
        except BaseException as error:  # noqa: BLE001 (raised where the result is read)
            running.set_exception(error)


def health(request: Request) -> JSONResponse:
    """Whether the landing page can be shown, as JSON: status 200 if so, else 503 with an "error".

    Responds within `HEALTH_TIMEOUT` seconds, also while the server starts or a disk hangs.
    Streamlit's own /_stcore/health says only that the server is up.
    """
    if _warming.locked():
        report: dict[str, Any] = {"ok": False, "error": STARTING}
    else:
        try:
            report = _health.result(HEALTH_TIMEOUT)
        except TimeoutError:
            report = {"ok": False, "error": TIMED_OUT}
    status = 200 if report["ok"] else 503
    return JSONResponse(report, status, {"cache-control": "no-store"})


def _check_health() -> dict[str, Any]:
    """Explains the default text with the default model, and counts models and trainings."""
    from dashboard import url_state
    from dashboard.cache import explanations
    from dashboard.model_registry import default_model, find_models, runs_folder
    from icaps.runs.folder import find_runs

    models = find_models()
    error = ""
    try:
        settings.current()
        if models:
            explanations.explain(default_model(models), *url_state.landing_request())
    except ICapsError as raised:
        error = type(raised).__name__
    report: dict[str, Any] = {
        "ok": not error,
        "models": len(models),
        "jobs": sum(run.status.live for run in find_runs(runs_folder())),
    }
    if _MEMORY.is_file():
        report["memory_mb"] = round(_memory() / 2**20)
    if error:
        report["error"] = error
    return report


_health = HealthCheck(_check_health)


def show_failure(error: Exception) -> bool:
    """Logs an unexpected error, and shows the visitor a message."""
    logs.failure(error)
    st.error(
        "Something went wrong in the app itself; it was nothing you did. Reload the page. The "
        f"operator of the app finds the error in the log under {logs.session()}.",
        icon=":material/error:",
    )
    return True


class SafeHeaders:
    """Middleware that adds headers to each HTTP response."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Message, receive: Any, send: Send) -> None:
        """Handles one request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            await send(message)

        await self._app(scope, receive, send_with_headers)


def _memory() -> int:
    """The resident memory of this process, in bytes."""
    pages = _MEMORY.read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
