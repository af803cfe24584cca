"""The server: what it does before its first visitor comes, whether it is well, and its headers.

What takes seconds to import is imported in functions: the server answers before, so that a browser
loads the page meanwhile.
"""

import asyncio
import gc
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
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
_MEMORY = Path("/proc/self/statm")  # of Linux
# A link holds the text that it asks about, so no other site is told the address that led to it.
_HEADERS = (
    (b"referrer-policy", b"same-origin"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"SAMEORIGIN"),
)

_warming = threading.Lock()  # held while the first question is being answered

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]


def options() -> dict[str, Any]:
    """What Home.py gives the `streamlit.App` that is served."""
    return {
        "lifespan": ready,
        "routes": [Route(HEALTH, health)],
        "middleware": [Middleware(SafeHeaders)],
        "on_script_error": tell_failure,
    }


@asynccontextmanager
async def ready(app: App) -> AsyncIterator[None]:
    """The life of the server, as `streamlit.App` takes it."""
    try:
        allowed = settings.apply()
    except ICapsError:  # the page tells it, to each visitor
        logs.start(tracebacks=False)
        logs.tell("settings can't be read")
    else:
        logs.start(tracebacks=allowed.log_tracebacks)
        server = st.get_option("server.maxUploadSize")
        logs.tell("start", upload_mb=allowed.upload_mb, streamlit_upload_mb=server)
    _warming.acquire()  # before any visitor can come
    gc.disable()  # what is imported stays, and to look through it again and again takes a second
    warm = asyncio.create_task(asyncio.to_thread(answer_first_question))
    warm.add_done_callback(_tell_warm)
    yield
    await asyncio.wait([warm])
    gc.unfreeze()


def wait_until_warm() -> None:
    """Returns when the server has imported all it needs, at once where none is starting.

    A module that two threads import at a time may be seen half made.
    """
    with _warming:
        pass


def show_start() -> None:
    """Waits until the server is warm, and meanwhile says so."""
    if _warming.locked():
        with st.spinner("iCaps is starting", show_time=True):
            wait_until_warm()


def _tell_warm(warm: asyncio.Task[None]) -> None:
    gc.enable()
    _warming.release()
    error = warm.exception()
    if error is not None:  # the server goes on, and its visitors meet the same
        logs.failure(error)


def answer_first_question() -> None:
    """Loads the model that the landing page chooses, and explains its text, as the page will.

    Then all that is there is taken out of what Python looks through for garbage. It looks when a
    quarter more objects have come to be: without those of the libraries it does so sooner, and in
    milliseconds instead of half a second.
    """
    # Not before: Streamlit's caches look for the server's runtime when they are made.
    # Those that are not called here are what the page imports.
    from dashboard import url_state
    from dashboard.cache import explanations
    from dashboard.explain import view  # noqa: F401
    from dashboard.model_registry import find_models

    models = find_models()
    if models:
        with suppress(ICapsError):  # the page tells it, to each visitor
            explanations.explain(models[0], *url_state.first_question())
    gc.freeze()  # with what little garbage there is, as to look for it takes half a second


def health(request: Request) -> JSONResponse:
    """Whether the landing page would be answered, as JSON: 200 if so, else 503.

    Streamlit's own /_stcore/health says of the server alone that it is up.
    """
    wait_until_warm()
    from dashboard import url_state
    from dashboard.cache import explanations
    from dashboard.model_registry import find_models, runs_folder
    from icaps.runs.jobs import find_runs

    error = ""
    models = find_models()
    try:
        settings.current()
        if models:
            explanations.explain(models[0], *url_state.first_question())
    except ICapsError as found:
        error = type(found).__name__
    answer = {
        "ok": not error,
        "models": len(models),
        "jobs": sum(run.status.live for run in find_runs(runs_folder())),
    }
    if _MEMORY.is_file():
        answer["memory_mb"] = round(_memory() / 2**20)
    if error:
        answer["error"] = error
    return JSONResponse(answer, 503 if error else 200, {"cache-control": "no-store"})


def tell_failure(error: Exception) -> bool:
    """Tells the log of an error that nobody has foreseen, and the visitor that there was one."""
    logs.failure(error)
    st.error(
        "Something went wrong in the app itself, not by your doing. Reload the page; whoever runs "
        f"the app finds it in the log under {logs.session()}.",
        icon=":material/error:",
    )
    return True


class SafeHeaders:
    """Adds headers to each answer over HTTP."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Message, receive: Any, send: Send) -> None:
        """One request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            await send(message)

        await self._app(scope, receive, send_with_headers)


def _memory() -> int:
    """Bytes that this process holds."""
    pages = _MEMORY.read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
