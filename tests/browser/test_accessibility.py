"""Every page, with results, as axe-core judges it: light and dark, wide and narrow."""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

import pytest

from dashboard import nav
from icaps.classifier import ICapsClassifier
from icaps.evaluate.evaluation import EvaluationData, evaluate_data
from icaps.explore.index import make_index
from icaps.train.checkpoint_files import weights_fingerprint
from tests.browser.visitor import wait_for_rest
from tests.browser.workshop import (
    Workshop,
    expect,
    main,
    new_window,
    open_at,
    watched,
    workshop,
)
from tests.conftest import MODEL, TRAIN, make_texts
from tests.dashboard.run_folders import done, epoch_line, steps, write_run
from tests.dashboard.test_shortcuts_page import planted

if TYPE_CHECKING:
    from playwright.sync_api import Page

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
SCHEMES = {"light": "rgb(252, 252, 250)", "dark": "rgb(17, 24, 29)"}  # with the page's colour
WIDTHS = (1280, 420)
BAD = ("minor", "moderate", "serious", "critical")
OPTIONS = {"resultTypes": ["violations"], "preload": False}  # nothing else is to be loaded
# What is replaced or comes late is faint meanwhile.
_CALM = """() => !document.querySelector('[data-stale="true"], [data-testid="stSkeleton"]')
  && document.getAnimations().every((animation) => animation.playState !== "running")"""


class View(NamedTuple):
    """A page, what is pressed there for its results, what they are, and other tabs to look at."""

    heading: str
    address: dict[str, str]
    button: str = ""
    seen: str = ""
    tabs: tuple[str, ...] = ()


MODEL_ASKED = {"model": "small"}
VIEWS = {
    "explain": View("Why this class?", MODEL_ASKED, seen=".evidence", tabs=("Routing",)),
    "many": View(
        "Many texts",
        {**MODEL_ASKED, "lines": "Simmer the soup.\nThe mast and the sail."},
        "Explain 2 texts",
        '[data-testid="stDataFrame"]',
    ),
    "capsules": View("What the capsules do", MODEL_ASKED, seen="svg", tabs=("Typical texts",)),
    "queries": View("What the capsules look for", {**MODEL_ASKED, "method": "pca"}, seen="svg"),
    "datasets": View("Datasets", MODEL_ASKED, seen='[role="tabpanel"] svg'),
    "train": View("Train", {"run": "first"}, seen='[role="tabpanel"] svg', tabs=("Reasons",)),
    "evaluate": View(
        "Evaluate", MODEL_ASKED, seen='[role="tabpanel"] .stDataFrame', tabs=("Errors",)
    ),
    "compare": View(
        "Compare",
        {"compared": "small,misled"},
        seen='[role="tabpanel"] svg',
        tabs=("Same class, other reasons",),
    ),
    "shortcuts": View("Shortcuts", {"model": "misled"}, seen=".icaps-text"),
}
OF_DATA = ("datasets", "evaluate", "compare", "shortcuts")


@pytest.fixture(scope="module")
def shop(
    classifier: ICapsClassifier, interpreted: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Workshop]:
    """The server with two models, one of them misled by a token; a training; what was counted."""
    place = tmp_path_factory.mktemp("accessibility")
    shutil.copytree(interpreted, place / "models" / "small")
    misled = ICapsClassifier(MODEL, TRAIN, device="cpu").fit(*zip(*planted(360, 1), strict=True))
    misled.save(place / "models" / "misled")
    data = data_of(place)
    with data.open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *planted(150, 7)])
    classes = [str(name) for name in classifier.classes_]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ICAPS_DATA", str(place / "data"))
        make_index(data, {})
        weights = weights_fingerprint(place / "models" / "small")
        evaluate_data(classifier, weights, EvaluationData(data, "test", {}))
    (explanation,) = classifier.explain(make_texts(1, seed=3)[0])
    record = {"classes": classes, "frequency": [[9, 1, 0], [0, 8, 1], [2, 0, 7]]}
    record["explanation"] = explanation.to_dict()
    write_run(
        place / "runs",
        "first",
        done(),
        progress=[line for epoch in (1, 2) for line in (*steps(epoch), epoch_line(epoch, 0.8))],
        snapshots=[{"epoch": epoch, **record} for epoch in (1, 2)],
    )
    with workshop(place) as found:
        yield found


@pytest.fixture(scope="module")
def window(browser: Any, shop: Workshop) -> Iterator[Page]:
    with new_window(browser, shop) as page:
        yield page


@pytest.fixture
def page(window: Page) -> Iterator[Page]:
    with watched(window):
        yield window


def data_of(place: Path) -> Path:
    """The file of labelled texts."""
    return place / "texts.csv"


def open_view(page: Page, shop: Workshop, name: str) -> None:
    """Opens a page, and has it show its results."""
    view = VIEWS[name]
    address = view.address | ({"data": str(data_of(shop.place))} if name in OF_DATA else {})
    place = "" if name == "explain" else name  # the landing page has no address of its own
    open_at(page, f"/{place}?{urlencode(address)}", view.heading)
    results = main(page).locator(f"{view.seen}:visible").first
    if view.button:
        button = main(page).get_by_role("button", name=re.compile(view.button))
        expect(button.or_(results).first).to_be_visible()
        if button.is_visible():  # the server keeps what it has found
            button.click()
    results.wait_for()
    wait_for_rest(page)


def open_tab(page: Page, tab: str) -> None:
    main(page).get_by_role("tab", name=tab).click()
    panel = main(page).get_by_role("tabpanel", name=tab)
    panel.locator(".stElementContainer:visible").first.wait_for()
    wait_for_rest(page)


def found_by_axe(page: Page, at: str) -> dict[str, list[str]]:
    """What axe finds that shuts people out: by rule, each element with what is wrong with it."""
    page.wait_for_function(_CALM)
    expect(page.get_by_role("dialog")).to_have_count(0)  # what lies under one is not looked at
    results = axe.Axe().run(page, options=OPTIONS).response
    return {
        f"{at}: {rule['id']}": [f"{n['html'][:200]} {n['failureSummary']}" for n in rule["nodes"]]
        for rule in results["violations"]
        if rule["impact"] in BAD
    }


def test_no_page_is_left_out() -> None:
    assert set(VIEWS) == set(nav._PAGES)


def test_axe_sees_what_is_wrong(page: Page, shop: Workshop) -> None:
    """Were it blind, the other tests would say nothing."""
    open_view(page, shop, "explain")
    page.locator(".lead").evaluate("e => { e.style.color = '#ccc'; }")
    assert any(rule.endswith("color-contrast") for rule in found_by_axe(page, "here"))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", VIEWS)
def test_a_page_shuts_nobody_out(name: str, scheme: Any, page: Page, shop: Workshop) -> None:
    page.emulate_media(color_scheme=scheme)
    open_view(page, shop, name)
    expect(page.locator(".stApp")).to_have_css("background-color", SCHEMES[scheme])
    found: dict[str, list[str]] = {}
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        found |= found_by_axe(page, str(width))
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    for tab in VIEWS[name].tabs if scheme == "light" else ():  # once: each takes its time
        open_tab(page, tab)
        found |= found_by_axe(page, tab)
    assert found == {}
