"""The page of data sets: counted, searched, predicted, sliced and drawn."""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest

from icaps.classifier import ICapsClassifier
from icaps.reports.charts import shorten
from tests.browser.visitor import wait_for_rest, wait_for_text
from tests.browser.workshop import (
    HOSTILE,
    Workshop,
    alerts,
    assert_looks_good,
    choose,
    download,
    expect,
    fill,
    main,
    new_window,
    numbers,
    open_at,
    open_launcher,
    plain,
    tab_stops,
    tab_to,
    table,
    watched,
    workshop,
)
from tests.conftest import make_texts

if TYPE_CHECKING:
    from playwright.sync_api import Page

MARKUP = "**bold** $x$ :sunglasses: <b>"  # the name of a model
WRONG = {7: "Sailing", 40: "Cooking"}  # labels that were changed, by row
ROWS = 120


class Rows:
    """The texts of a folder with two splits: some recur, and some have another's label."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        texts, labels = make_texts(100, seed=21)
        for row, label in WRONG.items():
            assert labels[row] != label
            labels[row] = label
        texts[50], labels[50] = texts[2], labels[2]
        more, others = make_texts(20, seed=22)
        more[5], others[5] = texts[10], labels[10]
        self.texts, self.labels = texts + more, labels + others
        folder.mkdir()
        write(folder / "train.csv", texts, labels)
        write(folder / "test.csv", more, others)

    def with_word(self, word: str) -> list[int]:
        found = re.compile(rf"\b{word}\b", re.IGNORECASE)
        return [row for row, text in enumerate(self.texts) if found.search(text)]


def write(path: Path, texts: Sequence[str], labels: Sequence[str]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("text", "label"))
        writer.writerows(zip(texts, labels, strict=True))


@pytest.fixture(scope="module")
def shop(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    place = tmp_path_factory.mktemp("data sets in the browser")
    for name in ("small", MARKUP):
        shutil.copytree(model_folder, place / "models" / name)
    texts, labels = make_texts(60, seed=6)
    strange = [f"{text} <i>it</i> **b** $y$" if n % 3 else text for n, text in enumerate(texts)]
    write(place / "strange.csv", strange, [HOSTILE[label] for label in labels])
    with workshop(place) as found:
        yield found


@pytest.fixture(scope="module")
def rows(shop: Workshop) -> Rows:
    return Rows(shop.place / "rows")


@pytest.fixture(scope="module")
def window(browser: Any, shop: Workshop) -> Iterator[Page]:
    with new_window(browser, shop) as page:
        yield page


@pytest.fixture
def page(window: Page) -> Iterator[Page]:
    with watched(window):
        yield window


def open_data(page: Page, data: str | Path, tab: str, model: str = "small") -> Page:
    """Opens a part of the page; the data is explored unless it was before."""
    open_at(page, f"/datasets?{urlencode({'data': str(data), 'model': model})}", "Datasets")
    button = main(page).get_by_role("button", name="Explore these texts")
    first = main(page).get_by_role("tab", name="Overview")
    expect(button.or_(first)).to_be_visible()
    if button.is_visible():
        button.click()
    first.wait_for()
    show_tab(page, tab)
    return page


def show_tab(page: Page, tab: str) -> None:
    main(page).get_by_role("tab", name=tab).click()
    seen = {
        "Overview": page.get_by_label("Number of words per text", exact=True),
        "Words": main(page).get_by_role("textbox", name="Word vectors, to see their coverage"),
        "Rows": main(page).get_by_role("button", name="Save as a slice"),
        "Repeats": main(page).get_by_role("tabpanel").get_by_role("button").first,
        "Map": main(page).locator(".js-plotly-plot .legend"),
    }
    expect(seen[tab]).to_be_visible()
    wait_for_rest(page)


def wait_for_count(page: Page, count: int, total: int = ROWS) -> None:
    expect(main(page).get_by_text(f"{count:,} of {total:,} rows", exact=True)).to_be_visible()
    wait_for_rest(page)


def shown_rows(page: Page) -> list[int]:
    return [int(row["row"]) for row in download(page, main(page), re.compile("CSV of all"))]


def test_the_embedded_data_is_explored(page: Page) -> None:
    open_at(page, "/datasets", "Datasets")
    main(page).get_by_role("tab", name="Overview").wait_for()
    expect(main(page).get_by_test_id("stMetricValue")).to_have_count(6)
    facts = dict(
        zip(
            main(page).get_by_test_id("stMetricLabel").all_inner_texts(),
            main(page).get_by_test_id("stMetricValue").all_inner_texts(),
            strict=True,
        )
    )
    assert facts["Texts"] == "3,600"
    assert (facts["In train"], facts["In test"]) == ("3,000", "600")
    counted = numbers(page, "classes")
    assert {row["class"] for row in counted} == {"Food", "Music", "Science", "Sports", "Travel"}
    assert sum(int(row["texts"]) for row in counted) == 3600
    show_tab(page, "Words")
    choose(page, main(page).get_by_role("combobox", name="Distinctive words of"), "Music")
    page.get_by_label("Words that distinguish Music from the other classes", exact=True).wait_for()
    assert "guitar" in {row["word"] for row in numbers(page, "telling-words")}
    page.reload()  # it is done once for all
    expect(main(page).get_by_role("tab", name="Overview")).to_be_visible()


def test_rows_are_filtered_by_words_patterns_and_kinds(page: Page, rows: Rows) -> None:
    open_data(page, rows.folder, "Rows")
    wait_for_count(page, ROWS)
    assert shown_rows(page) == list(range(ROWS))
    fill(main(page).get_by_role("spinbutton", name="Page of 5"), "5")
    expect(table(main(page)).locator("tr").nth(1)).to_contain_text("100")
    words = main(page).get_by_role("textbox", name="Words")
    pattern = main(page).get_by_role("textbox", name="Pattern")
    fill(words, "BREAD")
    wait_for_count(page, len(rows.with_word("bread")))
    assert shown_rows(page) == rows.with_word("bread")
    fill(words, "")
    fill(pattern, "(bread")
    expect(page.get_by_test_id("stAlert")).to_be_visible()
    assert "(bread" in alerts(page)[0]
    fill(pattern, "(?i)^bread|butter")
    found = [n for n, text in enumerate(rows.texts) if re.search("(?i)^bread|butter", text)]
    wait_for_count(page, len(found))
    expect(page.get_by_test_id("stAlert")).to_have_count(0)
    fill(pattern, "")
    wait_for_count(page, ROWS)
    choose(page, main(page).get_by_role("combobox", name="Classes"), "Sailing")
    choose(page, main(page).get_by_role("combobox", name="Split"), "test")
    found = [n for n, label in enumerate(rows.labels) if label == "Sailing" and n >= 100]
    wait_for_count(page, len(found))
    assert shown_rows(page) == found


def test_what_decided_is_shaded_and_opened_in_explain(page: Page, rows: Rows) -> None:
    open_data(page, rows.folder, "Rows")
    main(page).get_by_text("Shade the words of the explanations").click()
    cards = main(page).locator(".card")
    expect(cards).to_have_count(26)  # with the open row
    assert cards.locator("mark").count() > 25
    main(page).get_by_text("Shade the words of the explanations").click()
    expect(cards).to_have_count(1)
    choose(page, main(page).get_by_role("combobox", name="Open a row"), re.compile("^3: "))
    expect(main(page).get_by_text("Row 3 · ")).to_be_visible()
    main(page).get_by_role("link", name="Open in Explain").click()
    page.get_by_role("heading", level=1, name="Why this class?").wait_for()
    wait_for_text(page, rows.texts[3])


def test_a_model_predicts_all_rows_and_finds_label_errors(
    page: Page, rows: Rows, classifier: ICapsClassifier
) -> None:
    predicted = classifier.predict(rows.texts)
    wrong = [n for n, label in enumerate(rows.labels) if predicted[n] != label]
    assert set(WRONG) <= set(wrong)
    open_data(page, rows.folder, "Rows")
    said = main(page).get_by_role("radiogroup", name="By prediction")
    said.get_by_text("predicted wrong").click()
    wait_for_count(page, len(wrong))
    assert shown_rows(page) == wrong
    said.get_by_text("predicted right").click()
    wait_for_count(page, ROWS - len(wrong))
    said.get_by_text("possible label error").click()
    look = main(page).get_by_role("button", name="Look for label errors")
    counted = main(page).get_by_text(re.compile(rf"^\d+ of {ROWS} rows$"))
    expect(look).to_be_visible()
    wait_for_rest(page)
    look.click()
    expect(counted).to_be_visible()
    wait_for_rest(page)
    found = download(page, main(page), re.compile("CSV of all"))
    assert {int(row["row"]) for row in found[: len(WRONG)]} == set(WRONG)
    assert {row["suggested"] for row in found[: len(WRONG)]} == {predicted[7], predicted[40]}


def test_a_slice_is_saved_under_any_name_and_deleted(
    page: Page, rows: Rows, shop: Workshop
) -> None:
    name = "$x$ **soup** <b>"
    open_data(page, rows.folder, "Rows")
    fill(main(page).get_by_role("textbox", name="Words"), "today")
    wait_for_count(page, len(rows.with_word("today")))
    main(page).get_by_role("button", name="Save as a slice").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name="Name").fill(name)
    dialog.get_by_role("button", name=f"Save {len(rows.with_word('today'))} texts").click()
    expect(dialog).to_have_count(0)
    saved = main(page).get_by_text("as the slice")
    expect(saved).to_be_visible()
    assert name in plain(saved.inner_text())
    for then in ("Train on it", "Evaluate on it", "Explore it"):
        expect(main(page).get_by_role("button", name=then)).to_be_visible()
    form = open_launcher(page)
    choose(page, form.get_by_role("combobox", name="Data"), f"slice: {name}")
    expect(form.get_by_role("textbox", name="Name", exact=True)).not_to_have_value(
        re.compile("synthetic|^$")
    )
    picker = main(page).get_by_role("combobox", name="Data")
    choose(page, picker, f"slice: {name}")
    main(page).get_by_role("tab", name="Overview").wait_for()  # few texts are explored at once
    main(page).get_by_role("button", name="Delete").click()
    place = page.get_by_test_id("stPopoverBody")
    assert f"Delete {name} permanently?" in plain(place.inner_text())
    place.get_by_role("button", name="Delete it").click()
    expect(picker).not_to_have_value(f"slice: {name}")
    assert not list((shop.data / "slices").glob("*.parquet"))


def test_duplicates_are_listed(page: Page, rows: Rows) -> None:
    open_data(page, rows.folder, "Repeats")  # few texts are compared at once
    pairs = main(page).get_by_role("combobox", name="Pairs of")
    pairs.wait_for()
    expect(main(page).get_by_role("button", name="CSV of 1 pairs")).to_be_visible()
    (pair,) = download(page, main(page), "CSV of 1 pairs")
    assert (pair["first row"], pair["second row"]) == ("2", "50")
    choose(page, pairs, "test texts that are training texts")
    expect(table(main(page)).last).to_contain_text("105")
    found = download(page, main(page), re.compile("CSV of .* pairs"))
    assert {(row["first row"], row["second row"]) for row in found} == {("10", "105")}


def test_what_is_picked_on_the_map_is_what_rows_shows(page: Page, rows: Rows) -> None:
    open_data(page, rows.folder, "Rows")
    choose(page, main(page).get_by_role("combobox", name="Open a row"), re.compile("^4: "))
    main(page).locator(".card").wait_for()
    show_tab(page, "Map")
    # The rows whose points lie in the left half.
    script = """(plot) => {
      const axis = plot._fullLayout.xaxis;
      const traces = plot._fullData.filter((trace) => trace.customdata);
      return traces.flatMap((trace) => [...trace.customdata].filter(
        (_, n) => axis.l2p(trace.x[n]) < axis._length / 2));
    }"""
    plot = main(page).locator(".js-plotly-plot")
    wanted = sorted(map(int, plot.evaluate(script)))
    assert 10 < len(wanted) < ROWS - 10
    rings = "(plot) => plot._fullData.filter((trace) => trace.marker.line.width > 2).length"
    ringed = f"({rings})(document.querySelector('.js-plotly-plot')) === 1"
    page.wait_for_function(ringed)  # around the row that is open
    pick_left_half(page)
    expect(main(page).get_by_text(f"{len(wanted)} picked; Rows shows only these")).to_be_visible()
    expect(table(main(page))).to_have_attribute("aria-rowcount", str(len(wanted) + 1))
    show_tab(page, "Rows")
    wait_for_count(page, len(wanted))
    assert shown_rows(page) == wanted
    main(page).get_by_text("picked on the map").click()
    wait_for_count(page, ROWS)
    show_tab(page, "Map")  # where the others are still to be seen
    assert sorted(map(int, plot.evaluate(script))) == wanted
    page.wait_for_function(ringed)
    main(page).get_by_role("button", name="Clear the selection").click()
    expect(main(page).get_by_text("picked on the map")).to_have_count(0)
    pick_left_half(page)  # what is picked anew counts again
    wait_for_count(page, len(wanted))
    assert alerts(page) == []


def pick_left_half(page: Page) -> None:
    """Draws a loop around the left half of the map."""
    box = main(page).locator(".js-plotly-plot .nsewdrag").first.bounding_box()
    assert box is not None
    left, top = box["x"] + 1, box["y"] + 1
    right, bottom = box["x"] + box["width"] / 2, box["y"] + box["height"] - 1
    page.mouse.move(left, top)
    page.mouse.down()
    for x, y in ((right, top), (right, bottom), (left, bottom), (left, top)):
        page.mouse.move(x, y, steps=8)
    page.mouse.up()


def test_all_is_done_by_keys_alone(page: Page, rows: Rows) -> None:
    open_data(page, rows.folder, "Overview")
    stops = set(tab_stops(page))
    assert {"Data", "Parsing options", "Overview", "As a table", "Save"} <= stops
    main(page).focus()
    tab_to(page, "element.role === 'tab'")
    press = page.keyboard.press
    for _ in range(2):
        press("ArrowRight")
    press("Enter")
    main(page).get_by_role("button", name="Save as a slice").wait_for()
    wait_for_count(page, ROWS)
    expect(table(main(page))).to_contain_text("Cooking")
    stops = set(tab_stops(page))
    assert {
        "Words",
        "Pattern",
        "Classes",
        "Split",
        "Shade the words of the explanations",
        "canvas",
    } <= stops
    assert {f"CSV of all {ROWS} rows", "Open a row", "Save as a slice"} <= stops
    main(page).focus()
    tab_to(page, "element.ariaLabel === 'Page of 5'")
    press("ArrowUp")
    press("Enter")
    expect(table(main(page)).locator("tr").nth(1)).to_contain_text("25")
    main(page).focus()
    tab_to(page, "/ end$/.test(element.ariaLabel)")
    lengths = [len(re.findall(r"\w+", text)) for text in rows.texts]
    press("ArrowLeft")
    wait_for_count(page, sum(length < max(lengths) for length in lengths))
    main(page).focus()
    tab_to(page, "element.ariaLabel === 'Words'")
    page.keyboard.type("soup")
    press("Enter")
    expect(main(page).get_by_role("spinbutton", name=re.compile("Page of"))).to_have_count(0)


def test_writing_can_be_read_and_nothing_is_cut_off(page: Page, rows: Rows) -> None:
    open_data(page, rows.folder, "Overview")
    for tab in ("Words", "Rows", "Repeats", "Map", "Overview"):
        show_tab(page, tab)
        assert_looks_good(page, [main(page)], tab)


def test_names_that_are_markup_are_shown_as_they_are(page: Page, shop: Workshop) -> None:
    open_data(page, shop.place / "strange.csv", "Overview", MARKUP)
    assert {row["class"] for row in numbers(page, "classes")} == set(HOSTILE.values())
    bars = page.get_by_label("Number of texts per class", exact=True)
    frame = bars.bounding_box()
    assert frame is not None
    page.mouse.move(frame["x"] + frame["width"] / 2, frame["y"] + 14)
    expect(page.locator("#vg-tooltip-element.visible")).to_contain_text("Share")
    tip = page.locator("#vg-tooltip-element tr").first.inner_text()
    assert any(name in tip for name in HOSTILE.values())
    show_tab(page, "Words")
    choose(
        page, main(page).get_by_role("combobox", name="Distinctive words of"), HOSTILE["Sailing"]
    )
    label = f"Words that distinguish {HOSTILE['Sailing']} from the other classes"
    page.get_by_label(label, exact=True).wait_for()
    show_tab(page, "Rows")
    main(page).get_by_text("Shade the words of the explanations").click()
    captions = main(page).get_by_test_id("stCaptionContainer").filter(has_text="Class ")
    expect(captions).to_have_count(25)
    assert plain(captions.first.inner_text()).startswith("Class <b>bold</b> **x** $x$")
    show_tab(page, "Map")
    legend = main(page).locator(".legendtext")
    assert set(legend.all_text_contents()) == {shorten(name) for name in HOSTILE.values()}
    assert legend.locator("tspan").count() == 0
    assert page.evaluate("window.hacked") is None
