"""The pages of capsules and queries in a real browser."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlparse

import pytest

from icaps.classifier import ICapsClassifier
from icaps.interpret.global_view import load_view
from icaps.reports.global_report import GlobalReport
from tests.browser.visitor import open_app, wait_for_rest
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
    table = report.words_by_share(place, lambda_=0.6, all_words=False)
    return table["word"].tolist()[:8]


def test_a_cell_is_picked_with_the_mouse(window: Page, report: GlobalReport) -> None:
    page = open_page(window, "/capsules?model=small")
    before = address_of(page)["capsule"]
    chart = page.get_by_label(re.compile("^The matrix C")).first
    for x in (0.25, 0.35, 0.45, 0.55, 0.65):
        for y in (0.4, 0.5, 0.6):
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
    assert address_of(again) == {
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
    link = page.get_by_role("link", name=re.compile("^What capsule"))
    name = link.first.inner_text()
    link.first.click()
    page.get_by_role("heading", level=1, name="What the capsules do").wait_for()
    wait_for_rest(page)
    assert address_of(page)["capsule"] == re.sub(r"\D", "", name)
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
    while tip.get("Capsule", before) == before:
        assert time.monotonic() < end, "the mouse meets no other query"
        for dot in chart.locator(".mark-symbol.role-mark path").all():
            tip = hover(page, dot, 0.5, 0.5)
            if tip.get("Capsule", before) != before:
                break
    page.mouse.down()
    page.mouse.up()
    wait_for_capsule(page, int(tip["Capsule"]))
    assert address_of(page) == {"model": "small", "capsule": tip["Capsule"]}
