"""The app for a benchmark: a server of its own, and visitors without a browser.

These use Streamlit's own protocol over its websocket. A `BackMsg` requests a run of the script,
with the value of a widget, for a page. The responses are `ForwardMsg`s: what is on the page, and
that the script has finished. As a browser does, visitors rerun the fragments of a page that ask for
it every few seconds, but only while they rest, and send back the address that the server set.
Unlike a browser, they fetch no files and do not cache messages.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from urllib.error import URLError

from streamlit.proto.Alert_pb2 import Alert
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.Delta_pb2 import Delta
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect

from benchmarks.answering import ROOT

WAIT = 300.0  # seconds until a start counts as failed
LONGEST = 120.0  # seconds without a message of the server until it counts as an error
_FAILED = ForwardMsg.FINISHED_WITH_COMPILE_ERROR
_ENDS = {ForwardMsg.FINISHED_SUCCESSFULLY, _FAILED}
_FRAGMENT_ENDS = {*_ENDS, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY}


class Session:
    """The connection of one visitor, with the page as of the last run of the script."""

    def __init__(self, socket: ClientConnection, address: str, errors: Counter[str]) -> None:
        self.html: list[str] = []  # of the page's `st.html`, in order of arrival
        self.pages: dict[str, str] = {}  # hash of each, by its title
        self._socket = socket
        self._errors = errors
        self._address = address
        self._page = ""
        self._boxes: dict[str, str] = {}  # id of each text area, by its label
        self._timers: dict[str, float] = {}  # seconds after which a fragment is run again

    async def run(self) -> None:
        """Reruns the whole page."""
        await self._run(self._state())

    async def write(self, label: str, text: str) -> None:
        """Enters a text in a text area; returns when the script has finished."""
        state = self._state()
        state.widget_states.widgets.add(id=self._boxes[label], string_value=text)
        await self._run(state)

    async def go_to(self, title: str) -> None:
        """Switches to another page, as its link in the sidebar does."""
        self._address, self._page = "", self.pages[title]
        await self.run()

    async def rest(self, seconds: float) -> None:
        """Stays on the page, whose fragments are rerun."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            pause = min([left, *self._timers.values()])
            await asyncio.sleep(pause)
            for fragment in list(self._timers) if pause < left else ():
                if fragment in self._timers:  # else a previous one has rerun the whole page
                    state = self._state()
                    state.fragment_id, state.is_auto_rerun = fragment, True
                    await self._run(state)

    def _state(self) -> ClientState:
        return ClientState(query_string=self._address, page_script_hash=self._page)

    async def _run(self, state: ClientState) -> None:
        await self._socket.send(BackMsg(rerun_script=state).SerializeToString())
        ends = _FRAGMENT_ENDS if state.fragment_id else _ENDS
        while True:
            message = await asyncio.wait_for(self._socket.recv(decode=False), LONGEST)
            answer = ForwardMsg.FromString(message)
            self._take(answer)
            if answer.WhichOneof("type") == "script_finished" and answer.script_finished in ends:
                return

    def _take(self, answer: ForwardMsg) -> None:
        match answer.WhichOneof("type"):
            case "new_session":
                if not answer.metadata.run.fragment_ids:
                    self.html, self._timers = [], {}
            case "navigation":
                self._page = answer.navigation.page_script_hash
                pages = answer.navigation.app_pages
                self.pages = {page.page_name: page.page_script_hash for page in pages}
            case "page_info_changed":
                self._address = answer.page_info_changed.query_string
            case "auto_rerun":
                self._timers[answer.auto_rerun.fragment_id] = answer.auto_rerun.interval
            case "script_finished" if answer.script_finished == _FAILED:
                self._errors["a script that cannot be run"] += 1
            case "delta":
                self._take_delta(answer.delta)

    def _take_delta(self, delta: Delta) -> None:
        element = delta.new_element
        match element.WhichOneof("type"):
            case "html":
                self.html.append(element.html.body)
            case "text_area":
                self._boxes[element.text_area.label] = element.text_area.id
            case "exception":
                self._errors[f"{element.exception.type}: {element.exception.message}"] += 1
            case "alert" if element.alert.format == Alert.ERROR:
                self._errors[element.alert.body] += 1


@asynccontextmanager
async def entered(port: int, address: str, errors: Counter[str]) -> AsyncIterator[Session]:
    """A new session of the server at this port of loopback, after the first run of its page.

    Args:
        port: Of the server.
        address: Of the page, from its question mark on.
        errors: Counts what the page shows as errors.

    Raises:
        ConnectionClosed: In the block too: the server has closed the connection.
        TimeoutError: In the block too: the server sends nothing.
    """
    stream = f"ws://127.0.0.1:{port}/_stcore/stream"
    async with connect(stream, max_size=None, ping_interval=None, proxy=None) as socket:
        session = Session(socket, address, errors)
        await session.run()
        yield session


@contextmanager
def served(
    place: Path, model: Path, settings: str
) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """A server as `streamlit run` starts it: its port of loopback, and its process.

    Processes that are started meanwhile inherit the same environment.

    Args:
        place: An empty folder, for all its folders and its `log`.
        model: The folder of its only model, which is named "model".
        settings: Lines of TOML that change the app's settings.
    """
    for name in ("models", "runs", "data"):
        (place / name).mkdir()
    shutil.copytree(model, place / "models" / "model")
    (place / "settings.toml").write_text(settings)
    os.environ |= {
        "ICAPS_MODELS": f"{place / 'models'}{os.pathsep}{place / 'runs'}",
        "ICAPS_DATA": str(place / "data"),
        "ICAPS_SETTINGS": str(place / "settings.toml"),
        "ICAPS_NETWORK": "never",
    }
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", str(ROOT / "dashboard" / "Home.py")]
    command += ["--server.headless", "true", "--server.port", str(port)]
    command += ["--server.address", "127.0.0.1"]
    with (place / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=place, stdout=log, stderr=log)
    try:
        _wait_until_healthy(f"http://127.0.0.1:{port}/_stcore/health", process, place / "log")
        yield port, process
    finally:
        process.kill()
        process.wait()


def _wait_until_healthy(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + WAIT
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=1):
                return
        except (URLError, ConnectionError, TimeoutError):
            time.sleep(0.1)
    raise TimeoutError(f"{address} does not respond.\n{log.read_text()}")
