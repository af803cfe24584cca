"""Uploads from the list of data to an evaluation and Back, and links that ask for what is gone."""

from __future__ import annotations

import csv
import io
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.visitor import wait_for_rest
from tests.browser.workshop import (
    FILE,
    Workshop,
    alerts,
    choose,
    expect,
    main,
    new_window,
    open_at,
    side,
    watched,
    workshop,
)
from tests.conftest import make_texts

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

UPLOAD = "Upload a file …"


@pytest.fixture(scope="module")
def shop(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    with workshop(tmp_path_factory.mktemp("uploads")) as found:
        shutil.copytree(model_folder, found.models / "small")
        yield found


@pytest.fixture
def page(browser: Any, shop: Workshop) -> Iterator[Page]:
    with new_window(browser, shop) as window, watched(window):
        yield window


def table(count: int, seed: int, header: tuple[str, ...] = ("text", "label")) -> bytes:
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(header)
    for n, (text, label) in enumerate(zip(*make_texts(count, seed=seed), strict=True)):
        other = (n, f"a note {n} about this text", text, label, "north" if n % 3 else "south")
        writer.writerow((text, label) if len(header) == 2 else other)
    return file.getvalue().encode()


def file(name: str, content: bytes) -> dict[str, Any]:
    return {**FILE, "name": name, "buffer": content}


def data_box(page: Page) -> Locator:
    return main(page).get_by_role("combobox", name="Data", exact=True)


def upload(page: Page, *files: dict[str, Any]) -> None:
    if not main(page).locator("input[type=file]").first.count():
        choose(page, data_box(page), UPLOAD)
    main(page).locator("input[type=file]").first.set_input_files(list(files))


def evaluate(page: Page, name: str) -> None:
    """Opens Evaluate and uploads a table of its own, whose results are then shown."""
    open_at(page, "/evaluate?model=small", "Evaluate")
    upload(page, file(name, table(60, seed=8)))
    expect(data_box(page)).to_have_value(f"upload: {name}")
    wait_for_rest(page)
    start = main(page).get_by_role("button", name="Evaluate small")
    if start.count():  # more texts than are evaluated at once
        start.click()
    main(page).get_by_role("tab", name="Errors").wait_for()


def test_back_restores_the_evaluation_of_an_upload(page: Page) -> None:
    evaluate(page, "mine.csv")
    main(page).get_by_role("tab", name="Confusion").click()
    opened = main(page).get_by_role("link", name=re.compile("Explain")).first
    opened.scroll_into_view_if_needed()
    wait_for_rest(page)
    opened.click()
    page.get_by_role("heading", level=1, name="Why this class?").wait_for()
    page.locator(".verdict").wait_for()
    wait_for_rest(page)
    page.go_back()  # once
    page.get_by_role("heading", level=1, name="Evaluate").wait_for()
    expect(data_box(page)).to_have_value("upload: mine.csv")
    main(page).get_by_role("tab", name="Confusion").wait_for()
    assert not alerts(page)
    page.reload()
    expect(data_box(page)).to_have_value("upload: mine.csv")
    side(page).get_by_role("link", name="Datasets", exact=True).click()
    page.get_by_role("heading", level=1, name="Datasets").wait_for()
    expect(data_box(page)).to_have_value("upload: mine.csv")
    wait_for_rest(page)
    page.go_back()
    page.get_by_role("heading", level=1, name="Evaluate").wait_for()


def test_two_files_become_one_data_set(page: Page) -> None:
    open_at(page, "/datasets", "Datasets")
    train, test = file("my_train.csv", table(60, seed=1)), file("my_test.csv", table(30, seed=2))
    upload(page, train, test)
    expect(main(page).get_by_role("combobox", name="Test texts")).to_have_value("my_test.csv")
    main(page).get_by_role("button", name="Join both to one data set").click()
    expect(data_box(page)).to_have_value("upload: my_train + my_test")
    wait_for_rest(page)
    assert not alerts(page)
    side(page).get_by_role("link", name="Evaluate", exact=True).click()
    expect(main(page).get_by_role("combobox", name="Split")).to_have_value(re.compile("test"))


def test_columns_are_asked_for_by_dropdowns(page: Page) -> None:
    open_at(page, "/datasets", "Datasets")
    columns = ("number", "note", "what they wrote", "mood", "area")
    upload(page, file("reviews.csv", table(30, 3, columns)))
    alert = page.get_by_test_id("stAlert")
    expect(alert).to_contain_text("reviews.csv has the columns")
    assert "--text" not in main(page).inner_text()
    assert "/uploads/" not in main(page).inner_text()
    expect(main(page).get_by_role("combobox", name="Class column")).to_have_value(
        re.compile("mood|area")
    )
    main(page).get_by_role("button", name="Use these columns").click()
    expect(alert).to_have_count(0)
    expect(main(page).get_by_role("tab", name="Overview")).to_be_visible()  # it is explored


def test_a_link_whose_model_is_gone_says_so(page: Page) -> None:
    open_at(page, "/?model=lost&text=bake+bread&k1=3&weights=01234567", "Why this class?")
    expect(page.get_by_test_id("stAlert")).to_have_count(1)
    (note,) = alerts(page)
    assert note.endswith("This link asks for the model lost, which is not here; below is small.")
    expect(main(page).get_by_role("textbox", name="Your text")).to_have_value("bake bread")
    open_at(page, "/?model=small&text=bake+bread&weights=01234567", "Why this class?")
    expect(page.get_by_test_id("stAlert")).to_contain_text("and were 01234567")
