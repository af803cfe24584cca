"""A newcomer in a fresh clone, offline: pages show results, and buttons do something."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dashboard import nav
from tests.browser.conftest import ROOT
from tests.browser.test_accessibility import ALL_WIDTHS, found_by_axe, found_by_geometry
from tests.browser.visitor import wait_for_rest
from tests.browser.workshop import Workshop, expect, main, new_window, watched, workshop

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

# What a page shows besides text and controls.
RESULTS = (
    ".card, svg:visible, .js-plotly-plot, [data-testid='stDataFrame'], [data-testid='stMetric']"
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    """The app with the models of the repository, no data and no network."""
    place = tmp_path_factory.mktemp("newcomer")
    (place / "models").symlink_to(ROOT / "checkpoints")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ICAPS_NETWORK", "off")
        with workshop(place) as found:
            yield found


@pytest.fixture(scope="module")
def window(browser: Any, shop: Workshop) -> Iterator[Page]:
    with new_window(browser, shop) as page:
        yield page


def errors(page: Page) -> list[str]:
    """Red boxes."""
    red = page.locator('[data-testid="stAlertContentError"], [data-testid="stException"]')
    return red.all_inner_texts()


def open_page(page: Page, name: str) -> Locator:
    page.goto("/" if name == "explain" else f"/{name}")
    main(page).get_by_role("heading", level=1).wait_for()
    wait_for_rest(page)
    return main(page)


@pytest.mark.parametrize("name", nav._PAGES)
def test_a_page_opens_with_a_result(name: str, window: Page) -> None:
    with watched(window):
        place = open_page(window, name)
        if name != "many":  # which needs texts
            expect(place.locator(RESULTS).first).to_be_visible()
        assert errors(window) == []
        assert found_by_axe(window, name) == {}
        for width in ALL_WIDTHS:
            window.set_viewport_size({"width": width, "height": 900})
            assert found_by_geometry(window, f"{name}, {width}") == {}


@pytest.mark.parametrize("name", nav._PAGES)
def test_each_primary_button_does_something(name: str, window: Page) -> None:
    with watched(window):
        place = open_page(window, name)
        buttons = place.get_by_test_id("stBaseButton-primary").or_(
            place.get_by_test_id("stBaseButton-primaryFormSubmit")
        )
        labels = [button.inner_text() for button in buttons.all() if button.is_enabled()]
        for label in labels:
            place = open_page(window, name)
            before = place.inner_text()
            place.get_by_role("button", name=label, exact=True).first.click()
            window.wait_for_function(
                "before => document.querySelector('[data-testid=stMain]').innerText !== before",
                arg=before,
            )
            wait_for_rest(window)
            assert errors(window) == [], label


def test_no_model_page_reads_the_network(shop: Workshop) -> None:
    log = (Path(shop.place) / "log").read_text()
    assert "huggingface.co" not in log
