"""The real app in a real browser, both started once for all tests."""

import dataclasses
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError

import pytest

from icaps.classifier import ICapsClassifier
from tests.conftest import MODEL, TRAIN, make_texts, saved, with_view

ROOT = Path(__file__).resolve().parents[2]
WAIT = 30_000  # milliseconds; only a failure takes as long
# Opened at a page's own address, Streamlit looks for its server below that page first.
PROBE = re.compile(r"/(capsules|queries|many|explain|label)/_stcore/")
DAMAGED = "**bold** $x$ :sunglasses: <b>"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A browser test that fails runs again, at most twice; the summary names it.

    Browser and server share the processor with other tests, so that one in a thousand steps meets a
    page in between two states.
    """
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.flaky(reruns=2))


@pytest.fixture(scope="session")
def classifier() -> ICapsClassifier:
    """Of another seed than the small model elsewhere: here four of six capsules win texts."""
    train = dataclasses.replace(TRAIN, seed=19)
    return ICapsClassifier(MODEL, train, device="cpu").fit(*make_texts(360, seed=1))


@pytest.fixture(scope="session")
def model_folder(classifier: ICapsClassifier, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(classifier, tmp_path_factory)


@pytest.fixture(scope="session")
def interpreted(
    classifier: ICapsClassifier,
    model_folder: Path,
    data_file: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    return with_view(classifier, model_folder, data_file, tmp_path_factory)


@pytest.fixture(scope="session")
def server(interpreted: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the app with the small model, and an older one that is damaged."""
    place = tmp_path_factory.mktemp("app")
    models = place / "models"
    shutil.copytree(interpreted, models / "small")
    shutil.copytree(interpreted, models / DAMAGED)
    (models / DAMAGED / "classes.txt").unlink()
    for file in (models / DAMAGED).iterdir():
        os.utime(file, (1, 1))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", str(ROOT / "dashboard" / "Home.py")]
    command += ["--server.headless", "true", "--server.port", str(port)]
    command += ["--server.address", "127.0.0.1", "--browser.gatherUsageStats", "false"]
    command += ["--server.fileWatcherType", "none"]  # nothing is edited while the tests run
    environment = {
        **os.environ,
        "ICAPS_MODELS": str(models),
        "ICAPS_DATA": str(place / "data"),
        "OMP_NUM_THREADS": "1",
    }
    with (place / "log").open("w") as log:
        process = subprocess.Popen(  # from another folder than the repository's
            command, cwd=place, env=environment, stdout=log, stderr=subprocess.STDOUT
        )
    try:
        _wait_until_healthy(f"http://127.0.0.1:{port}/_stcore/health", process, place / "log")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def _wait_until_healthy(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=1):
                return
        except (URLError, ConnectionError, TimeoutError):
            time.sleep(0.1)
    raise RuntimeError(f"The app didn't start:\n{log.read_text()}")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """The system's Chromium or Playwright's own."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    sync_api.expect.set_options(timeout=WAIT)
    with sync_api.sync_playwright() as playwright:
        path = shutil.which("chromium") or playwright.chromium.executable_path
        if not Path(path).exists():
            pytest.skip(
                "browser tests need Chromium: install your system's package `chromium`, or run "
                "`.venv/bin/playwright install --with-deps chromium`"
            )
        chromium = playwright.chromium.launch(
            executable_path=path,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def pages(browser: Any, server: str) -> list[Any]:
    """The windows of two visitors: a window used again opens the app much faster than a new one."""
    return [browser.new_context(base_url=server, locale="en-GB").new_page() for _ in range(2)]


@pytest.fixture
def window(pages: list[Any]) -> Iterator[Any]:
    """A visitor's window, where nothing may go wrong; each `goto` starts a session of its own."""
    with _watched(pages[0]) as page:
        yield page


@pytest.fixture
def other_window(pages: list[Any]) -> Iterator[Any]:
    """The window of another visitor."""
    with _watched(pages[1]) as page:
        yield page


@contextmanager
def _watched(page: Any) -> Iterator[Any]:
    troubles: list[str] = []

    def read_console(message: Any) -> None:
        if message.type == "error" and not PROBE.search(str(message.location)):
            troubles.append(f"{message.text} ({message.location})")

    def read_error(error: Any) -> None:
        troubles.append(str(error))

    def close_dialog(dialog: Any) -> None:
        troubles.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    listeners = {"console": read_console, "pageerror": read_error, "dialog": close_dialog}
    for event, listener in listeners.items():
        page.on(event, listener)
    page.set_default_timeout(WAIT)
    page.set_viewport_size({"width": 1280, "height": 800})
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    yield page
    page.unroute_all()
    for event, listener in listeners.items():
        page.remove_listener(event, listener)
    assert troubles == []
