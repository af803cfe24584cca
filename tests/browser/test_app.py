"""Typing a text and reading its explanation, in a browser."""

import re
from typing import Any

import pytest

from dashboard.example_texts import EXAMPLES
from tests.browser.visitor import (
    box,
    link,
    open_app,
    open_options,
    read_text,
    shown_result,
    tab_until,
    type_text,
    wait_for_rest,
    wait_for_text,
)

expect = pytest.importorskip("playwright.sync_api").expect
FIRST = next(iter(EXAMPLES.values()))
COOKING = "Simmer the onion soup, then bake bread."
SAILING = "The crew raised the mast and the anchor."
HOSTILE = [
    "x<script>window.hacked = 1; alert(1)</script>",
    '<img src=x onerror="window.hacked = 1"> & bread &lt;b&gt;',
    '" onmouseover="window.hacked = 1',
    "<style>body { display: none }</style></div></div> bread",
    "**a** _b_ :sunglasses: $x$ to $y$ [c](javascript:alert(1)) `d`",
    "a  b\n\n\tc  \n d",
    "👩🏽‍👩🏿‍👧🏻‍👦🏾 Cafe\u0301 İstanbul שלום bread วันนี้ 我们",
    "",
]


def test_the_page_loads_and_responds(window: Any) -> None:
    page = open_app(window)
    expect(page.locator(".verdict")).to_have_text(re.compile("^(Cooking|Gardens|Sailing)$"))
    expect(page.locator(".evidence")).to_be_visible()
    assert read_text(page) == FIRST
    expect(page.get_by_test_id("stException")).to_have_count(0)
    expect(page.get_by_test_id("stAlert")).to_have_count(0)


def test_typing_is_applied_and_never_overwritten(window: Any) -> None:
    page = open_app(window)
    box(page).fill("")
    typed = ""
    # Around the pause after which the page updates, so that letters fall into every part of it.
    bursts = (
        ("Simmer the onion", 10),
        (" so", 330),
        ("up and bake ", 10),
        ("bre", 290),
        ("ad", 360),
    )
    for burst, delay in bursts:
        box(page).press_sequentially(burst, delay=delay)
        typed += burst
        assert box(page).input_value() == typed
    wait_for_text(page, typed)
    expect(page.locator(".verdict")).to_have_text("Cooking")
    page.keyboard.press("Home")  # in the middle of the text the caret stays as well
    box(page).press_sequentially("Oh ", delay=340)
    wait_for_text(page, f"Oh {typed}")
    assert box(page).input_value() == f"Oh {typed}"
    expect(box(page)).to_be_focused()


def test_what_is_typed_while_the_page_loads_is_applied(window: Any) -> None:
    page = window
    held: list[Any] = []
    page.route(
        "**/BidiComponent*.js", lambda route: held.append(route)
    )  # what listens to the box comes late
    open_app(page)
    box(page).fill(COOKING)
    assert held
    held[0].continue_()
    wait_for_text(page, COOKING)


def test_a_box_that_comes_late_is_listened_to(window: Any) -> None:
    page = window
    held: list[Any] = []
    page.route("**/TextArea*.js", lambda route: held.append(route))
    page.goto("/")
    page.locator(".verdict").wait_for()  # all else is there
    page.wait_for_timeout(1_000)
    assert held
    held[0].continue_()
    box(page).wait_for()
    type_text(page, COOKING)


TABLE = {"table", "caption", "tbody", "tr", "th", "td"}  # of the bars beside the text


def test_hostile_texts_are_shown_as_typed(window: Any) -> None:
    page = open_app(window)
    for text in HOSTILE:
        type_text(page, text)
        assert box(page).input_value() == text
        inside = page.locator(".card *").evaluate_all("all => all.map((e) => e.localName)")
        assert set(inside) <= {"div", "mark", "p", "span", *TABLE}
    assert page.evaluate("window.hacked") is None
    expect(page.locator(".lead")).to_be_visible()


def test_reload_and_the_address_give_the_same_result(window: Any, other_window: Any) -> None:
    page = open_app(window)
    type_text(page, f"{COOKING} a+b&c=d #e 100% 👩🏽‍🔬")
    open_options(page)
    page.get_by_role("slider", name="Capsules (k₁)").press("ArrowRight")
    expect(link(page)).to_have_attribute("href", re.compile("k1=3"))
    before, address, published = shown_result(page), page.url, link(page).get_attribute("href")
    page.reload()
    link(page).wait_for()
    wait_for_rest(page)
    assert shown_result(page) == before
    for place in (address, f"/{published}"):
        assert shown_result(open_app(other_window, place)) == before
        open_options(other_window)
        expect(other_window.get_by_role("slider", name="Capsules (k₁)")).to_have_value("3")


def test_back_and_forward(window: Any) -> None:
    page = open_app(window)
    type_text(page, COOKING)
    type_text(page, SAILING)
    page.go_back()
    wait_for_text(page, COOKING)
    expect(page.locator(".verdict")).to_have_text("Cooking")
    expect(box(page)).to_have_value(COOKING)
    page.go_forward()
    wait_for_text(page, SAILING)
    expect(page.locator(".verdict")).to_have_text("Sailing")
    expect(box(page)).to_have_value(SAILING)


def test_the_keyboard_alone_reaches_an_example(window: Any) -> None:
    page = open_app(window)
    first, *_, fourth = list(EXAMPLES)[:4]
    tab_until(page, f"element.innerText === '{first}'")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(page.get_by_role("radio", name=fourth)).to_be_focused()
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none"  # one sees where one is
    page.keyboard.press("Space")
    wait_for_text(page, EXAMPLES[fourth])
    expect(box(page)).to_have_value(EXAMPLES[fourth])
    type_text(page, COOKING)
    expect(page.locator(".verdict")).to_have_text("Cooking")


def test_two_visitors_do_not_mix(window: Any, other_window: Any) -> None:
    one, two = open_app(window), open_app(other_window)
    box(one).fill(COOKING)
    box(two).fill(SAILING)
    wait_for_text(one, COOKING)
    wait_for_text(two, SAILING)
    expect(one.locator(".verdict")).to_have_text("Cooking")
    expect(two.locator(".verdict")).to_have_text("Sailing")


def test_the_text_outlives_a_visit_to_the_other_page(window: Any) -> None:
    page = open_app(window)
    type_text(page, COOKING)
    page.get_by_role("link", name="Many texts").click()
    expect(page.get_by_label("Texts, one per line")).to_be_visible()
    page.get_by_role("link", name="Explain").click()
    wait_for_text(page, COOKING)
    expect(box(page)).to_have_value(COOKING)
    type_text(page, SAILING)  # the box applies further typing
    expect(page.locator(".verdict")).to_have_text("Sailing")
