"""Start-up time of the command line and of the dashboard's server, and the time of a rerun.

    python -m benchmarks.starting [--cold] [--rounds 5] [--json]

Each command is started once per round, in turns, and the median of its times is printed. The server
is started `--servers` times; the time runs from the start of its process until a browser, which
waits for it, shows the message that it is starting, and then the first prediction. Then a second
visitor comes, with an empty browser cache. A rerun is the script of the page Explain with a new
text, as in `benchmarks.answering`.

The files are in the system's cache from the round before, or, with --cold, not: root may ask Linux
to empty it, and whether that worked is printed. Python's compiled modules are on disk either way.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple
from urllib.error import URLError

from playwright.sync_api import Browser, sync_playwright

from benchmarks.answering import ROOT, answer, open_page, summary, texts
from benchmarks.machine import machine
from benchmarks.timing import seconds, show

MODELS = ROOT / "checkpoints"
DROP = Path("/proc/sys/vm/drop_caches")
WAIT = 120.0  # seconds until a start counts as failed
RERUNS = 30
ICAPS = str(Path(sysconfig.get_path("scripts")) / "icaps")
COMMANDS = {
    "icaps_help": [ICAPS, "--help"],
    "icaps_explain": [ICAPS, "explain", "--model", str(MODELS / "ag_news"), "Shares rose."],
    "import_icaps": [sys.executable, "-c", "import icaps"],
    "python_alone": [sys.executable, "-c", "pass"],
}


class Visit(NamedTuple):
    """Seconds from a start until the first response, the starting message, and the prediction."""

    healthy: float
    told: float
    seen: float
    second_visitor: float


def drop_cache() -> None:
    """Empties the file cache of the system."""
    os.sync()
    DROP.write_text("3")


def cached_mb() -> int:
    """The size of the file cache of the system in MB."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("Cached:"))) // 1024


def state_of_cache(*, cold: bool) -> str:
    """The conditions of the measurement; empties the cache with --cold."""
    if not cold:
        return "warm"
    before = cached_mb()
    try:
        drop_cache()
    except OSError as error:
        return f"warm: it cannot be emptied here ({error.strerror})"
    return f"cold: emptied before each start, the first time from {before} to {cached_mb()} MB"


def time_commands(rounds: int, *, cold: bool) -> dict[str, float]:
    """Median seconds of each command."""
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for number in range(rounds + 1):
        for name, command in COMMANDS.items():
            if cold:
                drop_cache()
            taken = seconds(lambda command=command: _run(command))
            if number:  # the first round brings the files into memory
                times[name].append(taken)
    return {f"{name}_s": round(median(taken), 3) for name, taken in times.items()}


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


@contextmanager
def served(port: int) -> Iterator[None]:
    """The dashboard's server, started as the Makefile does."""
    command = [sys.executable, "-m", "streamlit", "run", str(ROOT / "dashboard" / "Home.py")]
    command += ["--server.headless", "true", "--server.port", str(port)]
    command += ["--server.address", "127.0.0.1"]
    environment = {**os.environ, "ICAPS_MODELS": str(MODELS)}
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            yield
        finally:
            process.kill()
            process.wait()


def visit(browser: Browser) -> Visit:
    """Starts the server and opens its page twice, each time as a browser that is new to it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    started = time.perf_counter()
    with served(int(address.rpartition(":")[2])):
        _wait_until_healthy(f"{address}/_stcore/health")
        healthy = time.perf_counter() - started
        told, seen = (moment - started for moment in open_in_new(browser, address))
        return Visit(healthy, told, seen, seconds(lambda: open_in_new(browser, address)))


def open_in_new(browser: Browser, address: str) -> tuple[float, float]:
    """Opens the page; the times of its first line, or starting message, and of the prediction."""
    context = browser.new_context(base_url=address)
    page = context.new_page()
    page.goto(address, timeout=1e3 * WAIT)
    times = []
    for place in (".stSpinner, .verdict", ".verdict"):
        page.locator(place).first.wait_for(timeout=1e3 * WAIT)
        times.append(time.perf_counter())
    context.close()
    told, seen = times
    return told, seen


def _wait_until_healthy(address: str) -> None:
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(address, timeout=1):
                return
        except (URLError, ConnectionError, TimeoutError):
            time.sleep(0.02)
    raise TimeoutError(f"{address} does not respond.")


def time_server(rounds: int, *, cold: bool) -> dict[str, float]:
    """Median seconds of each part of a visit."""
    path = shutil.which("chromium")
    visits = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu"]
        )
        for _ in range(rounds):
            if cold:
                drop_cache()
            visits.append(visit(browser))
        browser.close()
    names = ("server_healthy_s", "first_line_s", "first_page_s", "second_visitor_s")
    return {
        name: round(median(part), 2)
        for name, part in zip(names, zip(*visits, strict=True), strict=True)
    }


def time_reruns() -> dict[str, float]:
    """Milliseconds of a rerun with a new text."""
    page = open_page(MODELS)
    questions = texts(RERUNS + 2)
    answer(page, questions[:2])
    return {
        f"rerun_{name}": round(v, 1) for name, v in summary(answer(page, questions[2:])).items()
    }


def main() -> None:
    """Measures and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cold", action="store_true", help="empty the cache of files before each")
    parser.add_argument("--rounds", type=int, default=5, help="of the commands")
    parser.add_argument("--servers", type=int, default=3, help="that are started")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    state = state_of_cache(cold=options.cold)
    cold = state.startswith("cold")
    figures: dict[str, Any] = {"file_cache": state}
    figures |= time_commands(options.rounds, cold=cold)
    figures |= time_server(options.servers, cold=cold)
    figures |= time_reruns()
    show(figures | {"machine": machine()}, options.json)


if __name__ == "__main__":
    main()
