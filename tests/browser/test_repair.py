"""A shortcut is made neutral in the browser, kept with a copy of the model, and undone."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest

from icaps.classifier import ICapsClassifier
from icaps.interpret.edits import neutral_words
from tests.browser.visitor import box, wait_for_rest
from tests.browser.workshop import (
    LONG,
    Workshop,
    expect,
    go_to,
    main,
    open_at,
    side,
    visiting,
    workshop,
)
from tests.conftest import MODEL, TRAIN
from tests.dashboard.test_shortcuts_page import TOKEN, planted

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

TEXT = f"{TOKEN} The mast and the sail."


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    place = tmp_path_factory.mktemp("repair in the browser")
    misled = ICapsClassifier(MODEL, TRAIN, device="cpu").fit(*zip(*planted(360, 1), strict=True))
    misled.save(place / "models" / "misled")
    with (place / "texts.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *planted(150, 7)])
    with workshop(place) as found:
        yield found


def dialog(page: Page) -> Locator:
    """The dialog, once it is open and at rest."""
    main(page).get_by_role("button", name="Make neutral").click()
    found = page.get_by_role("dialog")
    found.wait_for()
    wait_for_rest(page)
    return found


def test_a_shortcut_is_made_neutral_and_outlives_the_server(browser: Any, shop: Workshop) -> None:
    shutil.rmtree(shop.runs / "mended", ignore_errors=True)  # of an earlier try
    data = urlencode({"data": str(shop.place / "texts.csv"), "model": "misled"})
    with visiting(browser, shop, server_goes=True) as (page,):
        open_at(page, f"/shortcuts?{data}", "Shortcuts")
        form = dialog(page)
        expect(form.get_by_role("combobox", name="Word, K-gram or capsule")).to_have_value(TOKEN)
        form.get_by_role("button", name="Measure on").click()
        expect(form.get_by_text("of 150 predictions change")).to_be_visible()
        expect(form.get_by_test_id("stDataFrame")).to_be_visible()
        form.get_by_label("Texts by hand").fill(f"{TOKEN} <i>mast</i> & sail")
        form.get_by_label("Texts by hand").press("Control+Enter")
        expect(form.get_by_text(f"{TOKEN} <i>mast</i> & sail", exact=True).last).to_be_visible()
        form.get_by_label("Name of the copy").fill("mended")
        form.get_by_label("Name of the copy").press("Enter")
        wait_for_rest(page)
        form.get_by_role("button", name="Save a copy").click()
        expect(page.get_by_text("Saved as mended")).to_be_visible()
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(side(page).get_by_role("combobox", name="Model")).to_have_value("mended")
        assert ICapsClassifier.load(shop.runs / "mended").edits_ == (neutral_words(TOKEN),)
        assert ICapsClassifier.load(shop.models / "misled").edits_ == ()
        # Explain names it, also when the server was killed in between.
        go_to(page, "Explain", "Why this class?")
        box(page).fill(TEXT)
        note = page.get_by_text(f"by an edit of the model: “{TOKEN}”")
        expect(note).to_be_visible()
        shop.kill()
        shop.start()
        page.goto(f"/?{urlencode({'model': 'mended', 'text': TEXT})}")
        expect(note).to_be_visible(timeout=LONG * 1000)  # the server starts from nothing
        wait_for_rest(page)
        # Undone, in the model itself.
        form = dialog(page)
        form.get_by_role("button", name="Undo").click()
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(note).to_have_count(0)
        assert ICapsClassifier.load(shop.runs / "mended").edits_ == ()
        # And made neutral again there, by keys alone.
        form = dialog(page)
        form.get_by_role("button", name="Save in mended").focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog")).to_have_count(0)
        assert len(ICapsClassifier.load(shop.runs / "mended").edits_) == 1
