"""The shares of words on Explain: what is linked, what can be read, and that nothing overlaps."""

import re
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.browser.test_looks import CONTRAST, COOKING
from tests.browser.visitor import open_app, tab_until, type_text

expect = pytest.importorskip("playwright.sync_api").expect
WORDS = ["bread", "the", "sail", "a", "garden", "of", "soup", "tide"]
LONG = " ".join(WORDS[n % 8] + "." * (n % 20 == 19) for n in range(400))
TIP = re.compile(r"^[+-]?0\.\d+ (for|against) Cooking \(\d+% of the score\)\n")
# Pairs of boxes of the page that lie over each other, without one being inside of the other.
OVERLAPS = """() => {
  const all = [...document.querySelectorAll(
    ".icaps-covered, .icaps-words > *, .icaps-bars, .icaps-bars tr, .trust, .evidence")];
  const boxes = all.map((e) => e.getBoundingClientRect());
  const over = [];
  for (let a = 0; a < all.length; a++) for (let b = a + 1; b < all.length; b++) {
    if (all[a].contains(all[b]) || all[b].contains(all[a])) continue;
    const wide = Math.min(boxes[a].right, boxes[b].right) - Math.max(boxes[a].left, boxes[b].left);
    const high = Math.min(boxes[a].bottom, boxes[b].bottom) - Math.max(boxes[a].top, boxes[b].top);
    if (wide > 1 && high > 1) over.push(all[a].className + " / " + all[b].className);
  }
  return over;
}"""
# Each shaded word as dark as the darkest.
_DARKEST = """(card) => card.querySelectorAll(".icaps-text mark").forEach((mark) => {
  mark.className = mark.className.replace(/^([af])[1-5]/, "$15"); })"""
MARKED = "e => getComputedStyle(e).backgroundColor !== 'rgba(0, 0, 0, 0)'"
OUTLINED = "e => getComputedStyle(e).outlineStyle !== 'none'"


def key_of(word: Any, prefix: str) -> str:
    """The class that links a word with its row."""
    return next(name for name in word.get_attribute("class").split() if name[0] == prefix)


def test_a_word_marks_its_bar_and_its_capsule(window: Any) -> None:
    page = open_app(window)
    type_text(page, COOKING)
    word = page.locator(".card .icaps-text mark").first
    bar = page.locator(f".icaps-bars tr.{key_of(word, 'g')}")
    capsule = page.locator(f".icaps-bars tr.{key_of(word, 'c')}")
    rows = page.locator(".icaps-bars tr")
    assert not any(row.evaluate(MARKED) for row in rows.all())
    word.hover()
    tip = page.locator(".icaps-tip:visible")
    expect(tip).to_have_text(TIP)
    expect(tip).to_be_in_viewport(ratio=1)
    assert f"through {capsule.locator('th').inner_text()}" in tip.inner_text()
    assert bar.evaluate(MARKED)
    assert capsule.evaluate(MARKED)
    assert sum(row.evaluate(MARKED) for row in rows.all()) == 2
    page.mouse.move(0, 0)
    expect(tip).to_have_count(0)
    page.get_by_label("Your text").focus()
    tab_until(page, "element.localName === 'mark'")
    expect(word).to_be_focused()
    expect(tip).to_have_text(TIP)
    assert bar.evaluate(MARKED)
    assert capsule.evaluate(MARKED)


def test_a_bar_and_a_capsule_mark_their_words(window: Any) -> None:
    page = open_app(window)
    type_text(page, COOKING)
    words = page.locator(".card .icaps-text :is(mark, span[title])")
    for row in (".icaps-bars tr.g0", ".icaps-bars tr.gr", ".icaps-bars tr.c0"):
        name = row.rsplit(".", 1)[1]
        linked = page.locator(f".card .icaps-text .{name}")
        assert linked.count() > 0
        page.locator(row).hover()
        assert all(word.evaluate(OUTLINED) for word in linked.all())
        assert sum(word.evaluate(OUTLINED) for word in words.all()) == linked.count()
    page.mouse.move(0, 0)
    page.get_by_label("Your text").focus()
    tab_until(page, "element.localName === 'tr'")
    focused = page.locator(".icaps-bars tr:focus")
    assert "gb" in focused.get_attribute("class")  # the bias, which no word shares
    page.keyboard.press("Tab")
    assert page.locator(".card .icaps-text .g0").first.evaluate(OUTLINED)


def test_a_row_of_evidence_marks_its_words_and_a_word_its_row(window: Any) -> None:
    page = open_app(window)
    type_text(page, COOKING)
    row = page.locator(".icaps-evidence tr.k0")
    linked, others = (
        page.locator(f".card .icaps-text :is(mark, span[title]){kind}")
        for kind in (".k0", ":not(.k0)")
    )
    assert linked.count() > 0
    row.hover()
    assert all(word.evaluate(OUTLINED) for word in linked.all())
    assert not any(word.evaluate(OUTLINED) for word in others.all())
    page.mouse.move(0, 0)
    assert not row.evaluate(MARKED)
    linked.first.hover()
    assert row.evaluate(MARKED)
    page.mouse.move(0, 0)
    row.focus()
    assert linked.first.evaluate(OUTLINED)


def test_a_tip_stands_above_its_word(window: Any) -> None:
    page = open_app(window)
    type_text(page, COOKING)
    word = page.locator(".card .icaps-text mark").first
    word.hover()
    tip, under = page.locator(".icaps-tip:visible").bounding_box(), word.bounding_box()
    assert tip["y"] + tip["height"] <= under["y"] + 1


def test_the_answer_comes_before_the_options_on_a_phone(window: Any) -> None:
    window.set_viewport_size({"width": 420, "height": 860})
    page = open_app(window)
    places = [
        page.locator(name).first.bounding_box()["y"]
        for name in ("textarea", ".verdict", ".st-key-target", ".card")
    ]
    assert places == sorted(places)
    assert places[1] < 500
    chosen = page.get_by_label("Class to explain")
    expect(chosen).to_have_value("the predicted class")
    assert chosen.evaluate("e => e.scrollWidth <= e.clientWidth")  # it is not cut


def test_print_has_the_result_alone(window: Any) -> None:
    page = open_app(window)
    type_text(page, LONG)
    window.emulate_media(media="print", color_scheme="light")
    hidden = ["stSidebar", "stHeader", "stTextArea", "stSelectbox", "stDownloadButton", "stPopover"]
    for name in hidden:
        for one in page.get_by_test_id(name).all():
            expect(one).to_be_hidden()
    for name in (".verdict", ".classes", ".card", ".trust", ".evidence"):
        expect(page.locator(name).first).to_be_visible()
    text = page.locator(".card .icaps-text").first
    assert text.evaluate("e => e.scrollHeight <= e.clientHeight + 1")
    window.emulate_media(media="screen")


@pytest.mark.parametrize("width", [420, 1400])
def test_nothing_overlaps(width: int, window: Any) -> None:
    window.set_viewport_size({"width": width, "height": 900})
    page = open_app(window)
    type_text(page, LONG)
    expect(page.locator(".evidence").first).to_be_visible()
    assert page.evaluate(OVERLAPS) == []
    for place in ("html", ".stMain"):
        room = page.locator(place).evaluate("e => [e.scrollWidth, e.clientWidth]")
        assert room[0] <= room[1], place
    card = page.locator(".card").first
    overflowing = card.evaluate(
        """(card) => [card, ...card.querySelectorAll("*")]
        .filter((e) => !["inline", "none"].includes(getComputedStyle(e).display))
        .filter((e) => !e.closest(".icaps-tip"))
        .filter((e) => getComputedStyle(e).overflowY === "visible")
        .filter((e) => e.scrollHeight > e.clientHeight + 1)
        .map((e) => e.className)"""
    )
    assert overflowing == []
    words = page.locator(".card .icaps-text mark[tabindex]")
    assert words.count() > 20
    for word in words.all()[:30:9]:
        word.scroll_into_view_if_needed()
        word.hover()
        tip = page.locator(".icaps-tip:visible")
        expect(tip).to_have_count(1)
        box, under = tip.bounding_box(), word.bounding_box()
        assert box is not None
        assert under is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        below = box["y"] >= under["y"] + under["height"] - 1
        assert below or box["y"] + box["height"] <= under["y"] + 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_shares_can_be_read(scheme: str, window: Any) -> None:
    window.emulate_media(color_scheme=scheme)
    address = {"target": "Cooking", "shading": "contrast"}
    address["text"] = f"{COOKING} The crew raised the mast. Zzyzx"  # of Sailing
    page = open_app(window, f"/?{urlencode(address)}")
    expect(page.locator(".card .icaps-text mark[class^=f]").first).to_be_visible()
    expect(page.locator(".card .icaps-text mark[class^=a]").first).to_be_visible()
    page.locator(".card").evaluate(_DARKEST)
    parts = [".icaps-covered", ".icaps-text", ".icaps-text mark", ".icaps-text span[title]"]
    parts += [".icaps-scale", ".icaps-scale mark", ".icaps-bars th", ".icaps-bars td.n"]
    ratios = {
        name: min(page.locator(f".card {name}").evaluate_all(f"all => all.map({CONTRAST})"))
        for name in (*parts, ".icaps-tip")
    }
    assert {name: ratio for name, ratio in ratios.items() if ratio < 4.5} == {}
    against = page.locator(".card .icaps-text mark[class^=a]").first
    assert against.evaluate("e => getComputedStyle(e).textDecorationStyle") == "dashed"


def test_the_switch_is_in_the_link(window: Any, other_window: Any) -> None:
    page = open_app(window)
    type_text(page, COOKING)
    page.get_by_role("radio", name="K-grams").or_(
        page.get_by_role("button", name="K-grams", exact=True)
    ).first.click()
    expect(page.locator(".card .legend")).to_be_visible()
    expect(page).to_have_url(re.compile("shading=kgrams"))
    again = open_app(other_window, page.url)
    expect(again.locator(".card .legend")).to_be_visible()
    expect(again.locator(".icaps-covered")).to_contain_text("of the score")
