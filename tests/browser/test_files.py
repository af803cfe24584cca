"""Files in and out, the table of many texts, and models that can't be read."""

import csv
import io
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.browser.conftest import DAMAGED
from tests.browser.visitor import open_app, type_text, wait_for_text
from tests.browser.workshop import choose

expect = pytest.importorskip("playwright.sync_api").expect
TEXT = '👩🏽‍🔬 bake <b onclick="x">bread</b> & onion soup, שלום.'


def download(page: Any, name: str) -> tuple[str, str]:
    """The name and the content of what a download button gives."""
    with page.expect_download() as found:
        page.get_by_role("button", name=name, exact=True).click()
    content = Path(found.value.path()).read_bytes()
    return found.value.suggested_filename, content.decode("utf-8-sig")


def test_the_explanation_as_files(window: Any, other_window: Any) -> None:
    page = open_app(window, "/?ranking=routing")
    type_text(page, TEXT)
    name, content = download(page, "JSON")
    assert name == "explanation.json"
    explanation = json.loads(content)["explanation"]
    assert explanation["text"] == TEXT
    assert explanation["predicted"] == page.locator(".verdict").inner_text() == "Cooking"
    assert len(explanation["kgrams"]) == 4
    for kgram in explanation["kgrams"]:
        assert TEXT[kgram["start"] : kgram["end"]] == kgram["text"]
    words = [TEXT[word["start"] : word["end"]] for word in explanation["words"]]
    assert {"👩🏽‍🔬", "bread", "&", "שלום"} <= set(words)
    name, content = download(page, "HTML")
    assert name == "explanation.html"
    assert "<b onclick" not in content
    other_window.set_content(content)
    assert other_window.locator("b, script").count() == 0
    other_window.locator(".icaps-tip").evaluate_all("all => all.forEach((tip) => tip.remove())")
    shown = other_window.locator(".icaps-text").all_text_contents()
    assert shown == [TEXT, TEXT]  # by the shares of its words, and with its K-grams
    expect(other_window.locator("h1")).to_have_text("Why Cooking?")


def test_many_texts(window: Any) -> None:
    page = open_app(window)
    page.get_by_role("link", name="Many texts").click()
    texts = ["Bake bread and soup.", "=1+1", "The crew raised the mast.", TEXT]
    page.get_by_label("Texts, one per line").fill("\n".join(texts))
    page.get_by_role("button", name="Explain 4 texts").click()
    expect(page.get_by_test_id("stDataFrame")).to_be_visible()
    _, content = download(page, "CSV")
    rows = list(csv.DictReader(io.StringIO(content, newline="")))
    assert [row["text"] for row in rows] == [texts[0], "'=1+1", *texts[2:]]
    assert [rows[0]["predicted"], rows[2]["predicted"]] == ["Cooking", "Sailing"]
    name, content = download(page, "JSON")
    assert name == "explanations.json"
    for row in json.loads(content):
        total = row["bias"] + sum(word["share"] for word in row["words"])
        assert row["scores"][row["target"]] == pytest.approx(total, abs=1e-5)
    file = {"name": "texts.csv", "mimeType": "text/csv"}
    page.get_by_role("radio", name="A file or data set").click()
    upload = page.locator("input[type=file]")
    upload.set_input_files({**file, "buffer": b'text\n"two\nlines"\nbread'})
    expect(page.get_by_role("button", name="Explain 2 texts")).to_be_visible()
    expect(page.get_by_role("combobox", name="Texts of")).to_have_value("upload: texts.csv")
    choose(page, page.get_by_role("combobox", name="Texts of"), "Upload a file")
    upload.set_input_files({**file, "buffer": b"\x89PNG\r\n\x1a\n" + bytes(99)})
    expect(page.get_by_test_id("stAlert")).to_contain_text("it is a PNG image")


def test_a_damaged_model_is_named_and_another_responds(window: Any) -> None:
    page = window
    page.goto(f"/?model={quote(DAMAGED)}&text=bake+bread")
    alert = page.get_by_test_id("stAlert")
    expect(alert).to_contain_text("Copy the folder again from where it came")
    shown = alert.inner_text().replace("\u2060", "")
    assert f"/{DAMAGED}/classes.txt is missing." in shown  # as it is, not as Markdown
    page.get_by_role("combobox", name="Model").click()
    page.get_by_role("option", name="small").click()
    expect(page.locator(".verdict")).to_have_text("Cooking")
    wait_for_text(page, "bake bread")
    expect(alert).to_have_count(0)
