"""The page that runs a model by itself, with a hostile model and hostile texts."""

from __future__ import annotations

import random
import time
import unicodedata
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks import hostile_input
from icaps.classifier import ICapsClassifier
from icaps.config import ModelConfig, TrainConfig
from icaps.data.source import open_source
from icaps.interpret.global_view import DataReference, make_view, save_view
from icaps.portable.live_page import live_page
from icaps.results import Explanation

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytest.importorskip("playwright.sync_api")

CLASSES = ("</script><script>window.hacked=1</script>", "__proto__", "<img src=x onerror=hacked=1>")
WORDS = (
    ("__proto__", "constructor", "tostring", "</script>"),
    ("hasownproperty", "valueof", "&lt;b&gt;", "<!--"),
    ("javascript", "onerror", "\u202e", "<svg"),
)
LONG = 1_000_000  # characters
TOO_LONG = 20.0  # seconds
SHOWN = "document.querySelector('#accounts .text')?.textContent ?? ''"


@pytest.fixture(scope="module")
def hostile() -> ICapsClassifier:
    rng = random.Random(0)
    texts, labels = [], []
    for _ in range(40):
        for name, words in zip(CLASSES, WORDS, strict=True):
            texts.append(" ".join(rng.choices(words, k=8)))
            labels.append(name)
    model = ModelConfig(fixed_dim=0, trained_dim=8, region_dim=12, query_dim=4, class_dim=4)
    train = TrainConfig(min_frequency=0, epochs=8, seed=1, learning_rate=0.02)
    return ICapsClassifier(model, train, device="cpu").fit(texts, labels)


@pytest.fixture(scope="module")
def page(
    browser: Any, hostile: ICapsClassifier, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("hostile") / "<b>model&amp;"
    hostile.save(folder)
    texts = [" ".join(words) for words in WORDS for _ in range(5)]
    data = open_source((texts, [name for name in CLASSES for _ in range(5)]))
    reference = DataReference("</script>.csv", "test", {})
    save_view(make_view(hostile, folder, reference, data), folder)
    file = folder.parent / "page.html"
    file.write_bytes(live_page(hostile, folder, texts, "</script><b>data</b>"))
    context = browser.new_context(offline=True, locale="en-GB")
    window = context.new_page()
    window.set_default_timeout(1_000 * TOO_LONG)
    troubles: list[str] = []
    window.on("pageerror", lambda error: troubles.append(str(error)))
    window.on("console", lambda said: troubles.append(said.text) if said.type == "error" else None)
    window.goto(file.as_uri())
    window.evaluate("icaps.ready")
    yield window
    assert troubles == []
    assert window.evaluate("window.hacked") is None
    assert window.evaluate("Object.keys(Object.prototype)") == []
    context.close()


def assert_shown(page: Page, text: str) -> None:
    """Types a text, which has a known word; the page must show it, shaded, within seconds."""
    page.evaluate(
        "(text) => { const box = document.getElementById('input'); box.value = text;"
        " box.dispatchEvent(new Event('input')); }",
        text,
    )
    lines = text.replace("\r\n", "\n").replace("\r", "\n")  # as a browser reads what is typed
    end = time.monotonic() + TOO_LONG
    while (content := page.evaluate(SHOWN)) != lines and time.monotonic() < end:
        time.sleep(0.01)
    assert content == lines


def assert_same(found: dict[str, Any], expected: Explanation) -> None:
    assert found["predicted"] == expected.predicted
    assert list(found["scores"]) == list(expected.classes)
    assert list(found["scores"].values()) == pytest.approx(list(expected.scores), abs=1e-2)
    assert [(word["start"], word["end"]) for word in found["words"]] == [
        (word.start, word.end) for word in expected.words
    ]


def test_the_names_of_a_hostile_model_are_text(page: Page, hostile: ICapsClassifier) -> None:
    for words in WORDS:
        text = " ".join(words)
        (found,) = page.evaluate("(texts) => texts.map((text) => icaps.explain(text))", [text])
        (expected,) = hostile.explain([text], ranking="account")
        scores = page.evaluate("(text) => Object.entries(icaps.explain(text).scores)", text)
        found["scores"] = dict(scores)  # with a class of the name __proto__
        assert_same(found, expected)
        assert_shown(page, text)
        assert page.locator("#verdict").text_content() == expected.predicted
    assert page.locator("#classes li").count() == len(CLASSES)
    assert page.locator("script").count() == 3
    assert page.locator("b, img, svg").count() == 0
    for name in CLASSES:
        assert name in (page.locator("#matrix").text_content() or "")


def test_random_texts(page: Page, hostile: ICapsClassifier) -> None:
    rng = random.Random(5)
    some = [hostile_input.text(rng) for _ in range(150)]
    texts = [text for text in some if "Cn" not in map(unicodedata.category, text)]
    for text, expected in zip(texts, hostile.explain(texts, ranking="account"), strict=True):
        found = page.evaluate("(text) => icaps.explain(text)", text)
        found["scores"] = dict(zip(expected.classes, expected.scores, strict=True))
        assert_same(found, expected)
    for text in texts:
        assert_shown(page, f"javascript {text}")  # as nothing is shaded without a known word


@pytest.mark.parametrize(
    "piece",
    [
        "word ",
        "a",
        "U.S.",
        "&amp;",
        "#39;",
        "1,",
        "क्ष",
        "\U0001f1e9",
        "漢",
        "\ud800",
        "'s",
        "e\u0301",
    ],
)
def test_a_million_characters(page: Page, piece: str) -> None:
    text = (piece * LONG)[:LONG]
    start = time.perf_counter()
    found = page.evaluate("(text) => icaps.explain(text).words.length", text)
    seconds = time.perf_counter() - start
    assert found >= 1
    assert seconds < TOO_LONG
