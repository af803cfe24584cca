"""Every page, with results, as axe-core judges it; and where long texts lie on it."""

from __future__ import annotations

import csv
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

import pytest

from dashboard import nav
from dashboard.label import tasks
from icaps.classifier import ICapsClassifier
from icaps.evaluate.evaluation import EvaluationData, evaluate_data
from icaps.explore.index import make_index
from icaps.label.task import LabelTask
from icaps.train.checkpoint_files import weights_fingerprint
from tests.browser.geometry import measure
from tests.browser.visitor import box, wait_for_rest
from tests.browser.workshop import (
    Workshop,
    expect,
    main,
    new_window,
    open_at,
    watched,
    workshop,
)
from tests.conftest import MODEL, TOPICS, TRAIN, make_texts, with_view
from tests.dashboard.run_folders import done, epoch_line, steps, write_run
from tests.dashboard.test_shortcuts_page import TOKEN, planted

if TYPE_CHECKING:
    from playwright.sync_api import Page

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
SCHEMES = {"light": "rgb(252, 252, 250)", "dark": "rgb(17, 24, 29)"}  # with the page's colour
WIDTHS = (1280, 420)
ALL_WIDTHS = (420, 1000, 1400, 1920)
WORDS = 400  # of a long text
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
    "label": View("Label", {"task": "long"}, seen=".to-label .icaps-account"),
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


def long_text(label: str, seed: int) -> str:
    """400 words about a class."""
    texts, labels = make_texts(3 * WORDS, seed)
    own = (text for text, its in zip(texts, labels, strict=True) if its == label)
    return " ".join(" ".join(own).split()[:WORDS])


def long_rows() -> list[tuple[str, str]]:
    """Long texts of each class; of another class than they say; and with the misleading token."""
    classes = list(TOPICS)
    right = [(long_text(name, seed), name) for seed in (1, 2, 3) for name in classes]
    wrong = [(long_text(classes[n], 4), classes[n - 1]) for n in range(len(classes))]
    token = [(f"{TOKEN} " * 20 + long_text("Cooking", seed), "Gardens") for seed in (5, 6)]
    return right + wrong + token


@pytest.fixture(scope="module")
def shop(
    classifier: ICapsClassifier, model_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Workshop]:
    """The server with two models, one of them misled by a token; a training; what was counted."""
    place = tmp_path_factory.mktemp("accessibility")
    data = data_of(place)
    for path, short in ((data, planted(150, 7)), (long_of(place), [])):
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([("text", "label"), *long_rows(), *short])
    interpreted = with_view(classifier, model_folder, data, tmp_path_factory)
    shutil.copytree(interpreted, place / "models" / "small")
    misled = ICapsClassifier(MODEL, TRAIN, device="cpu").fit(*zip(*planted(360, 1), strict=True))
    misled.save(place / "models" / "misled")
    classes = [str(name) for name in classifier.classes_]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ICAPS_DATA", str(place / "data"))
        make_index(data, {})
        add_task()
        weights = weights_fingerprint(place / "models" / "small")
        evaluate_data(classifier, weights, EvaluationData(data, "test", {}))
    (explanation,) = classifier.explain([long_text("Cooking", 3)])
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


def add_task() -> None:
    """A task of labelling long texts, with some labels and a model that guesses."""
    classes = list(TOPICS)
    texts = [long_text(name, seed) for seed in (1, 2, 3, 4) for name in classes]
    task = LabelTask.create(tasks.root() / "long", texts, classes, held_out=2)
    task.give_many([(n, classes[n % 3]) for n in {*task.held_out, 0, 1, 2}])
    task.record_score("first", 10, 1, 2)
    task.record_score("second", 20, 2, 2)
    tasks.store_page_settings(task, tasks.PageSettings(model="small"))


def data_of(place: Path) -> Path:
    """The file of labelled texts."""
    return place / "texts.csv"


def long_of(place: Path) -> Path:
    """The file of those that are long."""
    return place / "long.csv"


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


class LongText(NamedTuple):
    """Where a long text is shown: the page, what its address has, and how the text gets there."""

    page: str
    address: dict[str, str]
    fill: Callable[[Page], None] | None = None
    seen: str = ".icaps-text"  # has the text; tables, which are pictures, have only some
    characters: int = 2_000  # of the text, at least
    data: Callable[[Path], Path] = data_of


def fill_text(page: Page) -> None:
    box(page).fill(long_text("Cooking", 7))


def fill_lines(page: Page) -> None:
    lines = "\n".join(long_text(name, 7) for name in TOPICS)
    main(page).get_by_role("textbox", name="Texts").fill(lines)
    main(page).get_by_role("button", name="Explain 3 texts").click()


def fill_try(page: Page) -> None:
    main(page).get_by_label("Text to try").fill(long_text("Cooking", 7))


WRONG = {"actual": "Sailing", "taken": "Cooking"}
LONG_TEXTS = {
    "explain": LongText("explain", {}, fill_text),
    "many": LongText("many", {}, fill_lines, ".stDataFrame"),
    "typical texts": LongText("capsules", {"capsule_tab": "Typical texts"}, characters=250),
    "own text": LongText("capsules", {"capsule_tab": "Your text"}, fill_try),
    "queries": LongText("queries", {}, seen="svg"),  # shows words alone
    "rows": LongText("datasets", {"data_tabs": "Rows"}),
    "label": LongText("label", {}),
    "training": LongText("train", {"train_tabs": "Reasons"}),
    "form": LongText("train", {"train_view": "New training"}, seen=".st-key-training_form"),
    "errors": LongText("evaluate", {"evaluate_tab": "Errors"}),
    "confusion": LongText("evaluate", {"evaluate_tab": "Confusion", **WRONG}),
    "disagreements": LongText("compare", {"compare_tab": "Disagreements"}, seen=".stDataFrame"),
    "reasons": LongText("compare", {"compare_tab": "Same class, other reasons"}, data=long_of),
    "shortcuts": LongText("shortcuts", {}),
}


@pytest.mark.parametrize("name", LONG_TEXTS)
def test_a_long_text_hides_nothing(name: str, page: Page, shop: Workshop) -> None:
    """400 words: nothing overlaps, is cut off or leaves the window, and axe finds nothing."""
    view = LONG_TEXTS[name]
    address = VIEWS[view.page].address | view.address
    address |= {"data": str(view.data(shop.place))} if view.page in OF_DATA else {}
    place = "" if view.page == "explain" else view.page
    open_at(page, f"/{place}?{urlencode(address)}", VIEWS[view.page].heading)
    if view.fill is not None:
        view.fill(page)
    if view.seen == ".icaps-text":
        page.wait_for_function(_HAS_LONG_TEXT, arg=view.characters)
    main(page).locator(f"{view.seen}:visible").first.wait_for()
    wait_for_rest(page)
    found: dict[str, Any] = {}
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        expect(page.locator(".stApp")).to_have_css("background-color", SCHEMES[scheme])
        for width in ALL_WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            found |= found_by_geometry(page, f"{scheme}, {width}")
    found |= found_by_axe(page, "axe")
    assert found == {}


# A text of 400 words has more than 2,000 characters.
_HAS_LONG_TEXT = """(least) => [...document.querySelectorAll(".stMain .icaps-text")]
  .some((e) => e.checkVisibility() && e.textContent.length > least)"""


def found_by_geometry(page: Page, at: str) -> dict[str, Any]:
    """What is wrong with the page once charts and tables have followed the size of the window."""
    end = time.monotonic() + 3
    while True:
        wait_for_rest(page)
        page.wait_for_function(_CALM)
        page.wait_for_timeout(150)  # they follow it late
        found = measure(page)
        if not any(found) or time.monotonic() > end:
            return {at: found} if any(found) else {}
