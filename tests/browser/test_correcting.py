"""Labels that are wrong are corrected where they are seen, and nothing of it is lost."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest

from icaps.data.label_file import LabelFile
from tests.browser.test_datasets_in_browser import Rows
from tests.browser.visitor import wait_for_rest
from tests.browser.workshop import (
    Workshop,
    assert_looks_good,
    cells,
    choose,
    command,
    download,
    expect,
    fill,
    go_to,
    main,
    open_at,
    open_form,
    plain,
    visiting,
    workshop,
)

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from playwright.sync_api import Locator, Page

ROW = 7  # its label is wrong
GIVEN = "Sailing"


@pytest.fixture(scope="module")
def shop(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    place = tmp_path_factory.mktemp("labels in the browser")
    shutil.copytree(model_folder, place / "models" / "small")
    with workshop(place) as found:
        yield found


@pytest.fixture(scope="module")
def rows(shop: Workshop) -> Rows:
    return Rows(shop.place / "rows")


@pytest.fixture(autouse=True)
def nothing_corrected(shop: Workshop) -> None:
    shutil.rmtree(shop.data / "corrections", ignore_errors=True)


def address(page: str, rows: Rows, **more: str) -> str:
    return f"/{page}?{urlencode({'data': str(rows.folder), 'model': 'small', **more})}"


def open_rows(page: Page, rows: Rows) -> None:
    open_at(page, address("datasets", rows, data_tabs="Rows"), "Datasets")
    main(page).get_by_role("button", name="Save as a slice").wait_for()
    wait_for_rest(page)


def open_row(page: Page, rows: Rows, row: int) -> None:
    """Searches for the words of a row, which opens it."""
    fill(main(page).get_by_role("textbox", name="Words"), rows.texts[row])
    expect(main(page).get_by_text(f"Row {row} · ")).to_be_visible()
    wait_for_rest(page)


def classes(page: Page) -> dict[int, str]:
    """The class of each row that is drawn in the table, if it is there already."""
    head, *lines = cells(main(page)) or [[]]
    if "row" not in head:
        return {}
    number, name = head.index("row"), head.index("class")
    return {int(line[number]): line[name] for line in lines if len(line) == len(head)}


def wait_for_classes(page: Page, names: set[str]) -> None:
    """Waits until the rows that are drawn in the table have these classes."""
    for _ in range(150):
        if set(classes(page).values()) == names:
            return
        page.wait_for_timeout(200)
    pytest.fail(f"{classes(page)}")


def label_button(page: Page) -> Locator:
    """The first one that opens what a label can be changed to."""
    return main(page).get_by_test_id("stPopoverButton").filter(has_text="Change label").first


def change(page: Page, option: str | re.Pattern[str]) -> None:
    """Presses one of the suggestions under "Change label"."""
    label_button(page).click()
    body = page.get_by_test_id("stPopoverBody")
    body.get_by_role("button", name=option).click()
    wait_for_rest(page)


def stored(shop: Workshop) -> list[tuple[str, str, str]]:
    """The corrections in the file of the only data set that has some."""
    (file,) = (shop.data / "corrections").glob("*.jsonl")
    return [(one.text, one.before, one.label) for one in LabelFile(file).current().values()]


def toggle(page: Page, count: int) -> Locator:
    name = f"With {count} label{'s' * (count != 1)} corrected"
    return main(page).get_by_role("switch", name=name)


def test_a_label_is_corrected_on_each_page_and_outlives_the_server(
    browser: Any, shop: Workshop, rows: Rows
) -> None:
    with visiting(browser, shop, 2, server_goes=True) as (page, other):
        open_rows(page, rows)
        open_rows(other, rows)
        open_row(page, rows, ROW)
        wait_for_classes(page, {GIVEN})
        body = page.get_by_test_id("stPopoverBody")
        label_button(page).click()
        suggestion = body.get_by_role("button", name=re.compile("as predicted"))
        right = plain(suggestion.inner_text()).removesuffix(" (as predicted)")
        suggestion.click()
        said = main(page).get_by_text(f"1 label changed from {GIVEN} to {right}.")
        expect(said).to_be_visible()
        wait_for_rest(page)
        wait_for_classes(page, {right})
        assert stored(shop) == [(rows.texts[ROW], GIVEN, right)]
        expect(main(page).get_by_text(f"Corrected from {GIVEN} by person")).to_be_visible()
        assert_looks_good(page, [main(page)], "a corrected row")

        open_row(other, rows, ROW)  # in a window that was open before
        expect(toggle(other, 1)).to_be_checked()
        wait_for_rest(other)
        wait_for_classes(other, {right})

        shop.kill()
        shop.start()
        open_rows(page, rows)
        open_row(page, rows, ROW)
        wait_for_classes(page, {right})
        main(page).get_by_text("With 1 label corrected").click()
        wait_for_rest(page)
        wait_for_classes(page, {GIVEN})  # the data itself is as it was
        go_to(page, "Evaluate", "Evaluate")
        expect(toggle(page, 1)).not_to_be_checked()  # on all pages alike


def test_errors_are_corrected_and_it_is_trained_again(
    browser: Any, shop: Workshop, rows: Rows
) -> None:
    with visiting(browser, shop) as (page,):
        open_at(page, address("evaluate", rows, part="train", evaluate_tab="Errors"), "Evaluate")
        count = main(page).get_by_text(re.compile(r"^\d+ texts?, the most confident"))
        before = int(count.inner_text().split()[0])
        change(page, re.compile("as predicted"))
        if before > 1:
            expect(count).to_have_text(re.compile(f"^{before - 1} text"))
        assert len(stored(shop)) == 1
        assert_looks_good(page, [main(page)], "an error that is corrected")
        main(page).get_by_role("button", name="Train again").click()
        page.get_by_role("heading", level=1, name="Train").wait_for()
        form = open_form(page)
        words = command(page, form, "--corrections")
        file = words[words.index("--corrections") + 1]
        assert words[words.index("--data") + 1] == str(rows.folder)
        assert file.startswith(str(shop.data / "corrections"))


def test_many_are_changed_and_reviewed(browser: Any, shop: Workshop, rows: Rows) -> None:
    with visiting(browser, shop) as (page,):
        open_rows(page, rows)
        fill(main(page).get_by_role("textbox", name="Words"), "bread")
        found = rows.with_word("bread")
        shown = main(page).get_by_text(f"{len(found)} of 120 rows", exact=True)
        expect(shown).to_be_visible()
        main(page).get_by_role("button", name="Change labels").click()
        dialog = page.get_by_role("dialog")
        choose(page, dialog.get_by_role("combobox", name="Label"), "Gardens")
        changing = len({rows.texts[n] for n in found if rows.labels[n] != "Gardens"})
        press = dialog.get_by_role("button", name=re.compile(r"^Change \d+ label"))
        assert_looks_good(page, [dialog], "the dialog")
        press.click()
        expect(dialog).to_have_count(0)
        expect(toggle(page, changing)).to_be_checked()
        assert {label for _, _, label in stored(shop)} == {"Gardens"}
        wait_for_classes(page, {"Gardens"})

        main(page).get_by_role("button", name="Review corrections").click()
        expect(main(page).get_by_text("Corrected texts")).to_be_visible()
        wait_for_rest(page)
        table = download(page, main(page), "CSV")
        assert {row["text"] for row in table} == {text for text, _, _ in stored(shop)}
        assert {row["label"] for row in table} == {"Gardens"}
        assert_looks_good(page, [main(page)], "the corrections")
        main(page).get_by_role("button", name="Undo all of these").click()
        expect(main(page).get_by_text("No label of this data is corrected.")).to_be_visible()
        assert stored(shop) == []

        main(page).get_by_text("Upload corrections").click()
        content = "text,label\n" + f'"{rows.texts[ROW]}",Cooking\n'
        main(page).locator('.st-key-upload-corrections input[type="file"]').set_input_files(
            {"name": "right.csv", "mimeType": "text/csv", "buffer": content.encode()}
        )
        main(page).get_by_role("button", name="Add these labels").click()
        expect(main(page).get_by_text("1 label added from right.csv.")).to_be_visible()
        assert stored(shop) == [(rows.texts[ROW], GIVEN, "Cooking")]
