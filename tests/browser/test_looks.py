"""What is seen: tips, colours, narrow windows, the direction of writing."""

import re
from typing import Any

import pytest

from tests.browser.visitor import open_app, open_options, shaded, tab_until, type_text

KGRAMS = "/?shading=kgrams&ranking=routing"
expect = pytest.importorskip("playwright.sync_api").expect
TIP = re.compile(
    r"^(“.+” · [+-]?0\.\d{3} · (capsule )?\d+[\w ]* · β 0\.\d\d · α 0\.\d\d\n?)+$", re.DOTALL
)
COOKING = "Simmer the onion soup, then bake bread with butter and flour."
# The contrast of a text with what lies behind it (WCAG 2): both colours are painted, so that any
# notation and any transparency is read as the browser reads it.
CONTRAST = """(element) => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const paint = (color) => { canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1); };
  const luminance = () => {
    const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3)
      .map((c) => c / 255).map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = [];
  for (let e = element; e; e = e.parentElement) behind.unshift(getComputedStyle(e).backgroundColor);
  paint("white");
  behind.forEach(paint);
  const back = luminance();
  paint(getComputedStyle(element).color);
  const [high, low] = [back, luminance()].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_writing_can_be_read(scheme: str, window: Any) -> None:
    window.emulate_media(color_scheme=scheme)
    page = open_app(window, KGRAMS)
    type_text(page, f"{COOKING} Zzyzx")
    open_options(page)
    for _ in range(4):  # the darkest shade
        page.get_by_role("slider", name="K-grams per capsule (k₂)").press("ArrowRight")
    expect(page.locator(".card .icaps-text:not(.legend) mark.l4").first).to_be_visible()
    # Until the script has ended: elements that it replaces have no colours meanwhile.
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    page.get_by_role("button", name=re.compile(r"^\d+ classes")).click()  # facts of the model
    page.locator(".facts").wait_for()
    dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    assert dark == (scheme == "dark")
    ratios = {
        name: min(page.locator(name).evaluate_all(f"all => all.map({CONTRAST})"))
        for name in (
            *(".lead", ".verdict", ".sure", ".notice", ".card .icaps-text:not(.legend)"),
            *(".card .icaps-text:not(.legend) mark", ".legend", ".legend mark", ".icaps-tip"),
            *(".facts dt", ".facts dd", "a.link", "h1", "textarea"),
        )
    }
    assert {name: ratio for name, ratio in ratios.items() if ratio < 4.5} == {}
    background = page.locator(".stApp").evaluate("e => getComputedStyle(e).backgroundColor")
    assert background == {"light": "rgb(252, 252, 250)", "dark": "rgb(17, 24, 29)"}[scheme]


def test_a_shaded_word_tells_its_kgrams(window: Any) -> None:
    page = open_app(window, KGRAMS)
    type_text(page, COOKING)
    expect(page.locator(".icaps-tip:visible")).to_have_count(0)
    words = page.locator(".card .icaps-text:not(.legend) mark[tabindex]")
    words.first.hover()
    tip = page.locator(".icaps-tip:visible")
    expect(tip).to_have_text(TIP)
    assert words.first.evaluate("e => e.firstChild.textContent") in tip.inner_text()
    page.mouse.move(0, 0)
    expect(tip).to_have_count(0)
    page.get_by_label("Your text").focus()
    tab_until(page, "element.localName === 'mark'")
    expect(words.first).to_be_focused()
    expect(tip).to_have_text(TIP)
    page.keyboard.press("Tab")
    expect(words.nth(1)).to_be_focused()
    expect(tip).to_have_count(1)


def test_a_long_text_scrolls_inside_its_card(window: Any) -> None:
    words = ["bread", "the", "sail", "a", "garden", "of", "soup", "tide"]
    text = " ".join(words[n % 8] + "." * (n % 20 == 19) for n in range(400))
    page = open_app(window, KGRAMS)
    type_text(page, text)
    card = page.locator(".card").first
    inside = card.locator(".icaps-text").first
    assert inside.evaluate("e => e.scrollHeight > e.clientHeight")  # long enough to burst out
    overflowing = card.evaluate(
        """(card) => [card, ...card.querySelectorAll("*")]
        .filter((e) => getComputedStyle(e).display !== "inline")
        .filter((e) => getComputedStyle(e).overflowY === "visible")
        .filter((e) => e.scrollHeight > e.clientHeight + 1)
        .map((e) => e.className)"""
    )
    assert overflowing == []
    boxes = [card.locator(part).bounding_box() for part in (".icaps-text >> nth=0", ".legend")]
    assert boxes[0]["y"] + boxes[0]["height"] <= boxes[1]["y"]
    word = inside.locator("mark[tabindex]").first
    expect(word).to_be_in_viewport()
    word.hover()
    expect(page.locator(".icaps-tip:visible")).to_be_in_viewport(ratio=1)


def test_a_narrow_window_has_no_sideways_scroll(window: Any) -> None:
    window.set_viewport_size({"width": 420, "height": 800})
    page = open_app(window, KGRAMS)
    type_text(page, f"{COOKING} {'long' * 40} <b>&amp;</b> soup and bread with onion.")
    for tab in ("Routing", "Evidence", "Attention"):
        page.get_by_role("tab", name=tab).click()
        seen = {"Routing": ".main-svg", "Evidence": ".evidence", "Attention": ".chart-title"}[tab]
        expect(page.locator(seen).first).to_be_visible()
        for place in ("html", ".stMain"):
            room = page.locator(place).evaluate("e => [e.scrollWidth, e.clientWidth]")
            assert room[0] <= room[1], (tab, place)
    for word in page.locator(".card .icaps-text:not(.legend) mark[tabindex]").all()[::3]:
        word.focus()
        tip = page.locator(".icaps-tip:visible").bounding_box()
        assert tip is not None
        assert tip["x"] >= 0
        assert tip["x"] + tip["width"] <= 420


def test_hebrew_is_written_from_right_to_left(window: Any) -> None:
    page = open_app(window)
    direction = "e => getComputedStyle(e).direction"
    assert shaded(page).evaluate(direction) == "ltr"
    type_text(page, "שלום עולם, we bake bread")
    assert shaded(page).evaluate(direction) == "rtl"
    page.get_by_role("tab", name="Evidence").click()
    cell = page.locator(".evidence td[dir]", has_text=re.compile("^(we|bake|bread)")).first
    assert cell.evaluate(direction) == "ltr"  # each by its own first letter
