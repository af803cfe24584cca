"""The app where models are trained and data is explored, and what a visitor does there."""

from __future__ import annotations

import csv
import io
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from icaps.runs.folder import Run, find_runs
from tests.browser.conftest import ROOT, WAIT, _wait_until_healthy
from tests.browser.test_looks import CONTRAST
from tests.browser.visitor import wait_for_rest

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Locator, Page

expect = pytest.importorskip("playwright.sync_api").expect
LONG = 90.0  # seconds; only a failure takes as long
# Opened at a page's own address, Streamlit looks for its server below that page first.
PROBE = re.compile(
    r"/(capsules|queries|many|explain|datasets|train|evaluate|compare|shortcuts|label)/_stcore/"
)
GONE = re.compile(
    "ERR_CONNECTION_RE|WebSocket connection|disconnected from server|server is not responding"
    "|Client Error in reaching server endpoint - No response"
)
FILE = {"name": "", "mimeType": "text/csv", "buffer": b""}
# Names that HTML, Markdown, LaTeX or an icon would be made of, were they not shown as they are.
HOSTILE = {
    "Cooking": "<b>bold</b> **x** $x$ &amp;",
    "Gardens": ":sunglasses: [a](javascript:alert) `c` _d_",
    "Sailing": '<img src=x onerror="window.hacked=1">',
}


@dataclass
class Workshop:
    """The server, with folders of its own, which can be killed and started again."""

    place: Path
    port: int
    process: subprocess.Popen[bytes] | None = None
    visitors: BrowserContext | None = None

    @property
    def models(self) -> Path:
        """Of models that are there from the start."""
        return self.place / "models"

    @property
    def runs(self) -> Path:
        """Of what is trained."""
        return self.place / "runs"

    @property
    def data(self) -> Path:
        """The cache of data sets."""
        return self.place / "data"

    @property
    def address(self) -> str:
        """Of the landing page."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Starts the server, at the same address each time."""
        command = [sys.executable, "-m", "streamlit", "run", str(ROOT / "dashboard" / "Home.py")]
        command += ["--server.headless", "true", "--server.port", str(self.port)]
        command += ["--server.address", "127.0.0.1", "--browser.gatherUsageStats", "false"]
        command += ["--server.fileWatcherType", "none"]
        environment = {
            **os.environ,
            "ICAPS_MODELS": f"{self.models}{os.pathsep}{self.runs}",
            "ICAPS_DATA": str(self.data),
            "OMP_NUM_THREADS": "1",
        }
        with (self.place / "log").open("a") as log:
            self.process = subprocess.Popen(
                command, cwd=self.place, env=environment, stdout=log, stderr=subprocess.STDOUT
            )
        health = f"{self.address}/_stcore/health"
        _wait_until_healthy(health, self.process, self.place / "log")

    def kill(self) -> None:
        """Ends the server without a word."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def run(self, name: str) -> Run | None:
        """A training as it stands."""
        return next((run for run in find_runs(self.runs) if run.name == name), None)

    def wait(self, name: str, found: Callable[[Run], bool], seconds: float = LONG) -> Run:
        """Waits until a training is there, and this is true of it."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            run = self.run(name)
            if run is not None and found(run):
                return run
            time.sleep(0.05)
        log = run.folder.log_tail() if run is not None else ""
        return pytest.fail(f"{name}: {run}\n{log}\n{(self.place / 'log').read_text()[-2000:]}")

    def forget(self, *names: str) -> None:
        """Ends and deletes trainings that an earlier try of a test has left, if there are any."""
        for run in find_runs(self.runs):
            if run.name in names:
                if run.status.live and run.status.pid:
                    os.killpg(run.status.pid, signal.SIGKILL)
                    self.wait(run.name, lambda run: not run.folder.alive())
                shutil.rmtree(run.path)

    @contextmanager
    def holding(self, run: Run) -> Iterator[None]:
        """The training stands still in the block, so that it doesn't end before it is looked at."""
        os.kill(run.status.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(run.status.pid, signal.SIGCONT)

    def close(self) -> None:
        """Ends the server and what it has started."""
        if self.visitors is not None:
            self.visitors.close()
        self.kill()
        for run in find_runs(self.runs):
            if run.status.live and run.status.pid:
                os.killpg(run.status.pid, signal.SIGKILL)


@contextmanager
def workshop(place: Path) -> Iterator[Workshop]:
    """A server as long as the block runs."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shop = Workshop(place, port)
    for folder in (shop.models, shop.runs, shop.data):
        folder.mkdir(exist_ok=True)
    try:
        shop.start()
        yield shop
    finally:
        if shop.process is not None:
            shop.close()


@contextmanager
def new_window(browser: Any, shop: Workshop) -> Iterator[Page]:
    """The window of a visitor, with a session of its own.

    The windows share what the browser has kept of the app, which then opens much faster.
    """
    if shop.visitors is None:
        shop.visitors = browser.new_context(base_url=shop.address, locale="en-GB")
    page = shop.visitors.new_page()
    page.set_default_timeout(WAIT)
    yield page
    page.close()


@contextmanager
def watched(page: Page, *, server_goes: bool = False) -> Iterator[None]:
    """Nothing may go wrong in a window but what is foreseen."""
    troubles: list[str] = []

    def read_console(message: Any) -> None:
        foreseen = PROBE.search(str(message.location)) or (
            server_goes and GONE.search(message.text)
        )
        if message.type == "error" and not foreseen:
            troubles.append(f"{message.text} ({message.location})")

    def read_error(error: Any) -> None:
        troubles.append(str(error))

    def close_dialog(dialog: Any) -> None:
        troubles.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    listeners: dict[Any, Any] = {
        "console": read_console,
        "pageerror": read_error,
        "dialog": close_dialog,
    }
    for event, listener in listeners.items():
        page.on(event, listener)
    page.set_viewport_size({"width": 1280, "height": 900})
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    yield
    for event, listener in listeners.items():
        page.remove_listener(event, listener)
    troubles += page.get_by_test_id("stException").all_inner_texts()
    if troubles:
        pytest.fail("\n".join(troubles))


@contextmanager
def visiting(
    browser: Any, shop: Workshop, count: int = 1, *, server_goes: bool = False
) -> Iterator[list[Page]]:
    """Windows of their own of some visitors, where nothing may go wrong but what is foreseen."""
    with ExitStack() as stack:
        pages = [stack.enter_context(new_window(browser, shop)) for _ in range(count)]
        for page in pages:
            stack.enter_context(watched(page, server_goes=server_goes))
        yield pages


def open_at(page: Page, address: str, heading: str) -> Page:
    """Opens a page of the app by its address."""
    page.goto(address)
    page.get_by_role("heading", level=1, name=heading).wait_for()
    wait_for_rest(page)
    return page


def go_to(page: Page, link: str, heading: str) -> None:
    """Switches to another page of the app."""
    side(page).get_by_role("link", name=link, exact=True).click()
    page.get_by_role("heading", level=1, name=heading).wait_for()
    wait_for_rest(page)


def side(page: Page) -> Locator:
    """The sidebar."""
    return page.get_by_test_id("stSidebar")


def main(page: Page) -> Locator:
    """All but the sidebar."""
    return page.get_by_test_id("stMain")


def plain(text: str) -> str:
    """Writing as it is read."""
    return text.replace("\u2060", "")


def alerts(page: Page) -> list[str]:
    """What the page says is wrong."""
    return [plain(text) for text in page.get_by_test_id("stAlert").all_inner_texts()]


def choose(page: Page, box: Locator, option: str | re.Pattern[str]) -> None:
    """Takes an option of a list, which closes when the page moves meanwhile."""
    from playwright.sync_api import TimeoutError as TooLate

    for _ in range(20):
        box.scroll_into_view_if_needed()
        box.focus()
        box.press("ArrowDown")
        try:
            page.get_by_role("option", name=option).first.click(timeout=1500)
        except TooLate:
            continue
        break
    else:
        pytest.fail(f"{option} can't be chosen")
    if page.get_by_role("listbox").count():  # one of which several may be chosen stays open
        page.keyboard.press("Escape")
        expect(page.get_by_role("listbox")).to_have_count(0)
    wait_for_rest(page)


def fill(field: Locator, text: str) -> None:
    """Writes in a field, and lets the page know."""
    field.fill(text)
    field.press("Enter")


def open_launcher(page: Page) -> Locator:
    """The short form in the sidebar; opens it unless it is open."""
    form = side(page).locator(".st-key-launcher")
    if not form.get_by_role("combobox", name="Data").count():
        form.get_by_text("Train a model").click()
    form.get_by_role("button", name="Start training").wait_for()
    wait_for_rest(page)
    return form


def open_form(page: Page) -> Locator:
    """The whole form on the page Train, with what the short one in the sidebar has so far."""
    form = main(page).locator(".st-key-training_form")
    if not form.count():
        if not side(page).get_by_role("link", name="All settings").count():
            side(page).get_by_text("Train a model").click()
        side(page).get_by_role("link", name="All settings").click()
    form.get_by_role("button", name="Start training").wait_for()
    wait_for_rest(page)
    return form


def make_small(page: Page, form: Locator, epochs: int) -> Locator:
    """Settings of a network that learns in seconds; returns the whole form, which has them."""
    if not form.get_by_role("spinbutton", name="Epochs").count():
        form = open_form(page)
    fill(form.get_by_role("spinbutton", name="Epochs"), str(epochs))
    form.get_by_text("More about words").click()
    small = {"Fixed dim": 0, "Region dim": 32}  # without word vectors, and of 4 capsules
    for name, value in small.items():
        fill(form.get_by_role("spinbutton", name=name), str(value))
    wait_for_rest(page)
    return form


def command(page: Page, form: Locator, part: str) -> list[str]:
    """The words of the command that the launcher tells, as soon as it has this part."""
    form.get_by_role("button", name="Command").click()
    code = page.get_by_test_id("stPopoverBody").get_by_test_id("stCode")
    expect(code).to_contain_text(part)
    words = shlex.split(code.inner_text())
    page.keyboard.press("Escape")
    expect(code).to_have_count(0)
    return words


def job(page: Page, name: str) -> Locator:
    """The bar of a training in the sidebar."""
    return side(page).get_by_role("progressbar", name=name, exact=True)


def job_line(page: Page, name: str) -> Locator:
    """What is written over the bar of a training."""
    return side(page).locator(".job p").filter(has=page.get_by_text(name, exact=True))


def download(page: Page, place: Locator, name: str | re.Pattern[str]) -> list[dict[str, str]]:
    """The rows of the file that a button gives."""
    with page.expect_download() as found:
        place.get_by_role("button", name=name, exact=isinstance(name, str)).click()
    content = Path(found.value.path()).read_bytes().decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(content, newline="")))


def numbers(page: Page, file: str) -> list[dict[str, str]]:
    """The numbers of a chart, by the name of its files."""
    place = main(page).locator(f'[class*="st-key-table-{file}"]').locator("xpath=..")
    place.get_by_role("button", name="Save").click()
    rows = download(page, page.get_by_test_id("stPopoverBody"), "CSV")
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("stPopoverBody")).to_have_count(0)
    return rows


def table(place: Locator) -> Locator:
    """What a table says to who can't see it; the cells that are drawn, too, are there."""
    return place.get_by_test_id("stDataFrame").locator("canvas table[role=grid]")


def cells(place: Locator) -> list[list[str]]:
    """The rows of a table that are drawn, with its head."""
    rows = table(place).locator("tr").all()
    return [row.locator("th, td").all_inner_texts() for row in rows]


_NAME = """(() => {
  const e = document.activeElement;
  if (!e.closest(".stMain > *")) return null;
  const label = e.querySelector('[data-testid="stMarkdownContainer"]')?.innerText;
  return label || e.getAttribute("aria-label") || e.innerText || e.localName;
})()"""


def tab_to(page: Page, found: str) -> None:
    """Presses Tab until this is true of the focused `element`, as far as that may be."""
    for _ in range(200):
        page.keyboard.press("Tab")
        if page.evaluate(f"((element) => {found})(document.activeElement)"):
            return
    pytest.fail(f"Tab reaches nothing of which this is true: {found}")


def tab_stops(page: Page) -> list[str]:
    """The names of all that Tab reaches on a page beside the sidebar, in its order."""
    main(page).focus()
    names: list[str] = []
    for _ in range(200):
        page.keyboard.press("Tab")
        name = page.evaluate(_NAME)
        if name is None:
            return names
        names.append(name.strip())
    return pytest.fail(f"Tab is caught: {names}")


def assert_looks_good(page: Page, places: Iterable[Locator], at: str) -> None:
    """Writing can be read on a light and on a dark page, and a narrow window needs no scrolling."""
    for scheme, color in {"light": "rgb(252, 252, 250)", "dark": "rgb(17, 24, 29)"}.items():
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        expect(page.locator(".stApp")).to_have_css("background-color", color)
        found = faint(places)
        if found:
            pytest.fail(f"{at}, {scheme}: {found}")
    page.set_viewport_size({"width": 420, "height": 900})
    for place in ("html", ".stMain"):
        assert_fits(page, place, at)
    page.set_viewport_size({"width": 1280, "height": 900})


def assert_fits(page: Page, place: str, at: str) -> None:
    """No content is wider than `place`, once tables and charts have adapted to the window."""
    from playwright.sync_api import TimeoutError as TooLate

    try:
        page.wait_for_function(
            "e => document.querySelector(e).scrollWidth <= document.querySelector(e).clientWidth",
            arg=place,
        )
    except TooLate:
        room = page.locator(place).evaluate("e => [e.scrollWidth, e.clientWidth]")
        pytest.fail(f"{at}: {place} has {room[0]} pixels in {room[1]}")


# Elements with writing of their own that is seen, but for what can't be used just now.
_WRITING = """(place) => [...place.querySelectorAll("*")].filter((e) => {
  const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  const icon = e.matches('[data-testid="stIconMaterial"], style, script, title');
  const off = e.closest(`:disabled, [aria-disabled="true"], [data-disabled], canvas,
    [data-testid^="stSliderT"]`); // numbers beside their parent, or that show when pointed at
  return own && !icon && !off && e.checkVisibility({ opacityProperty: true });
})"""
_WRITTEN = "getComputedStyle(element).color"  # but in pictures
_FILL = (
    "(element.ownerSVGElement ? getComputedStyle(element).fill : getComputedStyle(element).color)"
)
_RATIO = CONTRAST.replace(_WRITTEN, _FILL)


def faint(places: Iterable[Locator]) -> dict[str, float]:
    """Writing whose contrast is too low (WCAG 2, AA), and how low it is."""
    found: dict[str, float] = {}
    for place in places:
        script = f"(p) => ({_WRITING})(p).map((e) => [e.textContent, ({_RATIO})(e)])"
        pairs = place.evaluate(script)
        assert pairs
        found |= {text.strip()[:60]: round(ratio, 1) for text, ratio in pairs if ratio < 4.5}
    return found
