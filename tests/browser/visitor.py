"""What a visitor does in a window, and reads there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

# The shaded text as it is read: without the tips, which are hidden until a word is pointed at.
_READ = """() => {
  const text = document.querySelector(".card .icaps-text")?.cloneNode(true);
  text?.querySelectorAll(".icaps-tip").forEach((tip) => tip.remove());
  return text?.textContent ?? ""; // an empty text has no card
}"""


def open_app(page: Page, address: str = "/") -> Page:
    """Opens the app and waits for its result."""
    page.goto(address)
    link(page).wait_for()
    wait_for_rest(page)
    return page


def wait_for_rest(page: Page) -> None:
    """Waits until the script of the app has ended."""
    page.locator('.stApp[data-test-script-state="notRunning"]').wait_for()


def link(page: Page) -> Locator:
    """The link to the explanation, which comes last on the page."""
    return page.get_by_role("link", name="Link to this explanation")


def open_options(page: Page) -> None:
    """Opens the options of K-grams."""
    page.get_by_role("button", name="Options").click()
    page.get_by_role("slider", name="Capsules (k₁)").wait_for()


def box(page: Page) -> Locator:
    return page.get_by_label("Your text")


def shaded(page: Page) -> Locator:
    return page.locator(".card .icaps-text").first


def read_text(page: Page) -> str:
    return str(page.evaluate(_READ))


def wait_for_text(page: Page, text: str) -> None:
    """Waits until the result is that of this text."""
    page.wait_for_function(f"(text) => ({_READ})() === text", arg=text)
    wait_for_rest(page)


def type_text(page: Page, text: str) -> None:
    """Types without leaving the box, and waits for its result."""
    box(page).fill(text)
    wait_for_text(page, text)


def shown_result(page: Page) -> list[str]:
    """The verdict, its confidence and the shaded text, as HTML."""
    return [
        *page.locator(".verdict").all_inner_texts(),
        *page.locator(".sure").all_inner_texts(),
        shaded(page).inner_html(),
    ]


def tab_until(page: Page, found: str) -> None:
    """Presses Tab until this is true of the focused `element`."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate(f"((element) => {found})(document.activeElement)"):
            return
    pytest.fail(f"Tab reaches nothing of which this is true: {found}")
