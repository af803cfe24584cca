"""The measure of a page's geometry sees what is wrong; `test_accessibility.py` applies it."""

from __future__ import annotations

from typing import Any

from tests.browser.geometry import measure

_PAGE = """<div data-testid="stMain" style="width: 300px; font: 16px monospace">{}</div>"""
_SCROLLING = _PAGE.replace("width: 300px;", "width: 300px; height: 600px; overflow-y: auto;")
FINE = """<p>A line.</p><p>Another line.</p>
  <div style="height: 40px; overflow: auto" tabindex="0">{}</div>
  <p style="position: absolute; left: -9999px">For screen readers only.</p>
  <p>Words <span>within</span> a line, and <b>more</b> of them.</p>"""


def of(browser: Any, body: str, page_html: str = _PAGE) -> Any:
    page = browser.new_page(viewport={"width": 420, "height": 600})
    page.set_content(page_html.format(body))
    found = measure(page)
    page.close()
    return found


def test_a_page_where_all_is_well_has_no_finding(browser: Any) -> None:
    assert not any(of(browser, FINE.format("many words " * 50)))


def test_writing_over_other_writing(browser: Any) -> None:
    found = of(browser, '<p>Below.</p><p style="margin-top: -30px">Above.</p>')
    assert found.overlaps == [["Below.", "Above."]]


def test_text_that_runs_on_below_its_box(browser: Any) -> None:
    long = f'<div style="max-height: 40px" class="card">{"many words " * 30}</div><p>The next.</p>'
    found = of(browser, long)
    assert found.burst == ["card"]
    assert found.overlaps[0][1] == "The next."


def test_writing_that_is_cut_off(browser: Any) -> None:
    style = "width: 60px; overflow: hidden; white-space: nowrap; text-overflow: ellipsis"
    assert of(browser, f'<p style="{style}">A label that is long</p>').cut == [
        "A label that is long"
    ]
    assert of(browser, f'<p style="{style}">Short</p>').cut == []


def test_a_page_that_is_too_wide(browser: Any) -> None:
    found = of(browser, '<p style="width: 900px">Wide.</p>')
    assert found.wide == ["HTML", "DIV"]


def test_writing_in_a_picture_is_cut_off_where_its_letters_are(browser: Any) -> None:
    """The blank above the letters of the title of an axis lies beyond the picture."""
    title = """<svg width="80" height="80"><text font-size="15" style="line-height: 1.25"
      transform="translate({}, 70) rotate(-90)">class</text></svg>"""
    assert not any(of(browser, title.format(12)))
    assert of(browser, title.format(5)).cut == ["class"]


def test_writing_that_is_scrolled_to(browser: Any) -> None:
    """What lies below the window, or below what a box shows, is measured as well."""
    over = '<p>Below.</p><p style="margin-top: -30px">Above.</p>'
    page = f'<div style="height: 900px"></div>{over}'
    assert of(browser, page, _SCROLLING).overlaps == [["Below.", "Above."]]
    box = '<div style="height: 60px; overflow: auto"><div style="height: 200px"></div>{}</div>'
    assert of(browser, box.format(over)).overlaps == [["Below.", "Above."]]
    assert not any(of(browser, f"{box.format('<p>Out of sight.</p>')}<p>{'Beside. ' * 60}</p>"))
