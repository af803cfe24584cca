"""The pages of capsules and queries in a real browser."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlparse

import pytest

from dashboard.url_state import CAPSULE_TABS
from icaps.classifier import ICapsClassifier
from icaps.interpret.global_view import load_view
from icaps.reports.global_report import GlobalReport
from tests.browser.geometry import measure
from tests.browser.test_accessibility import found_by_axe
from tests.browser.visitor import box, open_app, tab_until, wait_for_rest
from tests.browser.workshop import LONG

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page


@pytest.fixture(scope="module")
def report(classifier: ICapsClassifier, interpreted: Path) -> GlobalReport:
    view = load_view(interpreted, 3, 6)
    assert view is not None
    return GlobalReport(classifier, view)


def open_page(page: Page, address: str) -> Page:
    page.goto(address)
    page.get_by_role("heading", level=1, name="What the capsules").wait_for()
    picker(page, "Capsule").wait_for()
    wait_for_rest(page)
    return page


def picker(page: Page, label: str) -> Locator:
    return page.get_by_role("combobox", name=re.compile(f"{label}$"))


def address_of(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlparse(page.url).query).items()}


def wait_for_capsule(page: Page, capsule: int) -> None:
    page.wait_for_url(lambda url: parse_qs(urlparse(url).query)["capsule"] == [str(capsule)])
    wait_for_rest(page)


def hover(page: Page, place: Locator, x: float, y: float) -> dict[str, str]:
    """What the tip says at a place of a chart, by its rows; nothing where there is none."""
    frame = place.bounding_box()
    assert frame is not None
    page.mouse.move(frame["x"] + x * frame["width"], frame["y"] + y * frame["height"])
    page.wait_for_timeout(200)  # a busy machine draws it late, and there may be none to wait for
    rows = page.locator("#vg-tooltip-element.visible tr")
    cells = [row.locator("td").all_inner_texts() for row in rows.all()]
    return {name.rstrip(":"): value for name, value in cells}


def words_shown(page: Page) -> list[str]:
    """The words of the bars, by the label for screen readers."""
    label = page.get_by_label(re.compile("^The most relevant words: ")).first
    text = label.get_attribute("aria-label")
    assert text is not None
    return text.removeprefix("The most relevant words: ").split(", ")


def expected_words(report: GlobalReport, capsule: int, class_name: str | None) -> list[str]:
    place = report.place(capsule, class_name)
    table = report.words_by_share(place, lambda_=0.6, all_words=False, top=20)
    return table.sort_values("share", ascending=False, kind="stable")["word"].tolist()[:8]


def test_a_cell_is_picked_with_the_mouse(window: Page, report: GlobalReport) -> None:
    page = open_page(window, "/capsules?model=small")
    before = address_of(page)["capsule"]
    chart = page.get_by_label(re.compile("^The matrix C")).first
    for x in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7):
        for y in (0.65, 0.75, 0.85, 0.95):
            tip = hover(page, chart, x, y)
            if tip and tip["Texts won"] != "0" and tip["Capsule"] != before:
                break
        else:
            continue
        break
    else:
        pytest.fail("the mouse meets no other cell")
    page.mouse.down()
    page.mouse.up()
    wait_for_capsule(page, int(tip["Capsule"]))
    assert address_of(page)["cell_class"] == tip["Class"]
    assert words_shown(page) == expected_words(report, int(tip["Capsule"]), tip["Class"])


def test_a_capsule_is_picked_with_the_keyboard(window: Page, report: GlobalReport) -> None:
    page = open_page(window, "/capsules?model=small")
    order = report.capsules.sort_values("wins", ascending=False, kind="stable")["capsule"].tolist()
    assert address_of(page)["capsule"] == str(order[0])
    picker(page, "Capsule").focus()
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    page.wait_for_function(f"new URL(location).searchParams.get('capsule') !== '{order[0]}'")
    wait_for_rest(page)
    capsule = int(address_of(page)["capsule"])
    assert words_shown(page) == expected_words(report, capsule, None)
    again = open_page(page, page.url)  # a link reopens it
    address = address_of(again)
    assert address.pop("weights")
    assert address == {
        "model": "small",
        "capsule": str(capsule),
        "cell_class": "every class",
    }
    assert words_shown(again) == expected_words(report, capsule, None)


def test_a_renamed_capsule_has_its_name_on_the_other_pages(
    window: Page, report: GlobalReport
) -> None:
    from playwright.sync_api import expect

    capsule = int(report.view.tally.frequency.sum(0).argmax())
    page = open_page(window, f"/capsules?model=small&capsule={capsule}")
    page.get_by_role("button", name="Rename").click()
    field = page.get_by_role("textbox", name=f"Name of capsule {capsule}")
    field.fill("<i>bread</i> & $x$")
    field.press("Enter")
    expect(picker(page, "Capsule")).to_have_value("<i>bread</i> & $x$")
    open_page(page, f"/queries?model=small&capsule={capsule}")
    expect(picker(page, "Capsule")).to_have_value("<i>bread</i> & $x$")
    open_page(page, f"/capsules?model=small&capsule={capsule}")
    page.get_by_role("button", name="Rename").click()
    field = page.get_by_role("textbox", name=f"Name of capsule {capsule}")
    field.fill("")
    field.press("Enter")
    expect(picker(page, "Capsule")).not_to_have_value("<i>bread</i> & $x$")


def test_charts_are_saved(window: Page, report: GlobalReport) -> None:
    page = open_page(window, "/capsules?model=small")
    page.get_by_role("button", name="Save").first.click()
    found = {}
    for kind in ("PNG", "SVG", "CSV"):
        with page.expect_download() as download:
            page.get_by_role("button", name=kind, exact=True).click()
        found[kind] = Path(download.value.path()).read_bytes()
        assert download.value.suggested_filename == f"C.{kind.lower()}"
    assert found["PNG"].startswith(b"\x89PNG")
    assert found["SVG"].startswith(b"<svg")
    assert b"Gardens" in found["SVG"]
    assert found["CSV"].decode("utf-8-sig").splitlines()[0].startswith('"class","capsule"')


def test_from_explain_to_the_capsule_and_back(window: Page) -> None:
    page = open_app(window)
    link = page.get_by_role("link", name=re.compile("^About "))
    name = link.first.inner_text()
    link.first.click()
    page.get_by_role("heading", level=1, name="What the capsules do").wait_for()
    wait_for_rest(page)
    assert address_of(page)["capsule"] == re.findall(r"\d+", name)[0]
    page.get_by_role("tab", name="Typical texts").click()
    page.get_by_role("button", name="Explain").first.click()
    page.get_by_role("heading", level=1, name="Why this class?").wait_for()
    wait_for_rest(page)
    text = page.get_by_label("Your text").input_value()
    assert text[0].isupper()
    assert text.endswith(".")


def test_a_query_is_picked_with_the_mouse(window: Page, report: GlobalReport) -> None:
    page = open_page(window, "/queries?model=small")
    before = address_of(page)["capsule"]
    chart = page.get_by_label(re.compile("^The queries on a plane")).first
    page.set_viewport_size({"width": 900, "height": 1200})  # all of the chart is in view
    wait_for_rest(page)
    tip: dict[str, str] = {}
    end = time.monotonic() + LONG  # the chart may be drawn anew meanwhile, and tips come late
    while tip.get("Number", before) == before:
        assert time.monotonic() < end, "the mouse meets no other query"
        for dot in chart.locator(".mark-symbol.role-mark path").all():
            tip = hover(page, dot, 0.5, 0.5)
            if tip.get("Number", before) != before:
                break
    page.mouse.down()
    page.mouse.up()
    wait_for_capsule(page, int(tip["Number"]))
    address = address_of(page)
    assert (address["model"], address["capsule"]) == ("small", tip["Number"])


def test_a_capsule_card_with_the_keyboard_alone(window: Page, report: GlobalReport) -> None:
    """From the capsule over its tabs to a text, which Enter opens on Explain."""
    from playwright.sync_api import expect

    page = open_page(window, "/capsules?model=small")
    picker(page, "Capsule").focus()
    tab_until(page, "element.getAttribute('aria-label')?.endsWith('Texts of')")
    tab_until(page, "element.innerText.includes('Rename')")
    page.keyboard.press("Enter")
    field = page.get_by_role("textbox", name=re.compile("^Name of capsule"))
    expect(field).to_be_visible()
    page.keyboard.press("Escape")
    expect(field).to_have_count(0)
    tab_until(page, "element.role === 'tab'")
    for name in ("K-grams", "Typical texts"):
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("tab", name=name)).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.get_by_role("tab", name=name, selected=True)).to_be_visible()
        wait_for_rest(page)
    card = page.locator(".card.attended").first
    card.wait_for()
    text = card.locator(".icaps-text").text_content()
    assert text
    tab_until(page, "element.innerText.trim().endsWith('Explain') && element.tagName === 'BUTTON'")
    page.keyboard.press("Enter")
    page.get_by_role("heading", level=1, name="Why this class?").wait_for()
    expect(box(page)).to_have_value(text)
    wait_for_rest(page)


def test_a_text_of_ones_own_is_tried_while_it_is_typed(window: Page) -> None:
    page = open_page(window, "/capsules?model=small&capsule_tab=Your+text")
    page.get_by_label("Text to try").fill("Bread and soup from the oven.")
    marked = page.locator(".card.attended .icaps-text", has_text="Bread and soup")
    marked.wait_for()
    assert marked.locator("mark").count()
    wait_for_rest(page)


@pytest.mark.parametrize("width", [420, 1000, 1400, 1920])
@pytest.mark.parametrize("name", ["capsules", "queries"])
def test_nothing_overlaps_and_axe_finds_nothing(window: Page, name: str, width: int) -> None:
    page = open_page(window, f"/{name}?model=small")
    page.set_viewport_size({"width": width, "height": 900})
    wait_for_rest(page)
    if name == "capsules":
        for tab in CAPSULE_TABS:
            page.get_by_role("tab", name=tab, exact=True).click()
            wait_for_rest(page)
            check(page, f"{tab}, {width}")
    else:
        check(page, f"{width}")
    if width >= 1200:
        assert beside(page)


def check(page: Page, at: str) -> None:
    """Axe finds nothing, and no writing is hidden."""
    assert found_by_axe(page, at) == {}
    found = measure(page)
    assert found.overlaps == [], at
    assert found.cut == [], at
    assert found.burst == [], at


def beside(page: Page) -> bool:
    """Whether the card is to the right of the chart."""
    chart = page.locator(".stVegaLiteChart").first.bounding_box()
    card = page.locator(".capsule-head").first.bounding_box()
    assert chart is not None
    assert card is not None
    return card["x"] >= chart["x"] + 300 and card["y"] < chart["y"] + chart["height"]
