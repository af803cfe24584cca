"""The page that runs a model by itself, without a network and without a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from icaps.classifier import ICapsClassifier
from icaps.cli.main import main as icaps
from tests.browser.live_window import assert_same, explain, live_window, odd_texts
from tests.browser.test_accessibility import found_by_axe
from tests.conftest import make_texts

if TYPE_CHECKING:
    from playwright.sync_api import Page

expect = pytest.importorskip("playwright.sync_api").expect


@pytest.fixture(scope="module")
def file(interpreted: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("live") / "model.html"
    assert icaps(["export", "--model", str(interpreted), "--html", str(path)]) == 0
    return path


@pytest.fixture
def page(browser: Any, file: Path) -> Iterator[Page]:
    with live_window(browser, file) as window:
        yield window


def test_it_explains_as_the_model_does(page: Page, classifier: ICapsClassifier) -> None:
    texts = [*make_texts(80, seed=21)[0], "Soup " * 200, "BREADS and Recipes"]
    found = explain(page, texts)
    same = 0
    for one, expected in zip(found, classifier.explain(texts, ranking="account"), strict=True):
        assert_same(one, expected)
        kgrams = sorted((kgram["start"], kgram["end"]) for kgram in one["kgrams"])
        same += kgrams == sorted((kgram.start, kgram.end) for kgram in expected.kgrams)
    assert same >= 0.9 * len(texts)  # a K-gram may change where two add the same, up to rounding


def test_words_are_those_of_the_tokenizer(page: Page, classifier: ICapsClassifier) -> None:
    texts = odd_texts(500)
    for text, one, expected in zip(
        texts, explain(page, texts), classifier.explain(texts), strict=True
    ):
        spans = [(word["start"], word["end"]) for word in one["words"]]
        assert spans == [(word.start, word.end) for word in expected.words], ascii(text)


def test_it_is_typed_into_and_read(page: Page, classifier: ICapsClassifier) -> None:
    text = "They bake bread with garlic, <b>butter</b> & soup."
    page.get_by_label("Your text").fill(text)
    (expected,) = classifier.explain([text])
    expect(page.locator("#verdict")).to_have_text(expected.predicted)
    assert page.locator(".text").inner_text() == text
    expect(page.locator(".summary")).to_contain_text("of the score")
    other = next(name for name in expected.classes if name != expected.predicted)
    page.get_by_role("button", name=other, exact=True).first.click()
    expect(page.locator("#about")).to_contain_text(f"explained: {other}")
    page.get_by_label("Your text").fill("zzz")
    expect(page.locator("#verdict")).to_have_text("No known word")
    column = page.locator("#matrix thead button").nth(1)
    column.click()
    expect(page.locator("#capsule h3")).to_have_text(column.inner_text())


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1300])
def test_it_can_be_read(page: Page, width: int, theme: Any) -> None:
    page.emulate_media(color_scheme=theme)
    page.set_viewport_size({"width": width, "height": 900})
    page.get_by_label("Your text").fill("We bake bread and soup with garlic, then sail. " * 12)
    expect(page.locator("#time")).to_contain_text("50 words")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert found_by_axe(page, theme) == {}
