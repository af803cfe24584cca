"""The page that runs a model by itself, without a network and without a server."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from icaps.classifier import ICapsClassifier
from icaps.cli.main import main as icaps
from icaps.results import Explanation
from tests.browser.test_accessibility import found_by_axe
from tests.conftest import make_texts

if TYPE_CHECKING:
    from playwright.sync_api import Page

expect = pytest.importorskip("playwright.sync_api").expect

# Joined at random: scripts, graphemes, entities and damage, at whose edges words begin and end.
PIECES = [
    *("soup", "don't", "Can't", "isn’t", "n't", "’s", "x'S", "ſ'ſ", "U.S.", "a.m.", "U.S.A.\u0301"),
    *("naïve", "1,000.5", "1.2.3", "3,", "a_b", "C++", "c#", "z\u0335", "e\u0301", "\u0301a"),
    *(
        "🇩🇪🇫🇷",
        "👩‍👩‍👧",
        "🏳️‍🌈",
        "👍🏽",
        "2\ufe0f\u20e3",
        "\U0001f1e6",
        "क्षत्रिय",
        "मराठी",
        "ক্ষ",
        "\u0915\u094d\u0937",
    ),
    *(
        "日本語テスト",
        "ไทยภาษา",
        "ລາວ",
        "ខ្មែរ",
        "မြန်မာ",
        "한국어",
        "가",
        "ß",
        "İstanbul",
        "ǅ",
        "ﬁ",
        "Ⅷ",
        "²",
        "½",
    ),
    *(
        "&amp;quot;",
        "#39;t didn #39;t",
        "&nbsp;",
        "&bogus;",
        "&lt;b&gt;",
        "AT&amp;T",
        "quot;hi",
        "x#39;s",
    ),
    *(
        "#40;",
        "&#128;",
        "&#x1F600;",
        "&#0;",
        "&hellip;",
        "\u200d",
        "\ufeff",
        "\r\n",
        "\x85",
        "\x00",
    ),
    *("\ud800", "\u00a0", "\u3000", "\t", "...", "—", "α.β.", "<script>alert(1)</script>"),
]


def odd_texts(count: int) -> list[str]:
    rng = random.Random(0)
    texts = [
        "".join(rng.choice(PIECES) + rng.choice(["", " ", "."]) for _ in range(rng.randint(1, 14)))
        for _ in range(count)
    ]
    return [*texts, "", " ", "\n"]


@pytest.fixture(scope="module")
def file(interpreted: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("live") / "model.html"
    assert icaps(["export", "--model", str(interpreted), "--html", str(path)]) == 0
    return path


@pytest.fixture
def page(browser: Any, file: Path) -> Iterator[Page]:
    context = browser.new_context(offline=True, locale="en-GB", color_scheme="light")
    window = context.new_page()
    requests: list[str] = []
    troubles: list[str] = []
    window.on("request", lambda request: requests.append(request.url))
    window.on("pageerror", lambda error: troubles.append(str(error)))
    window.on("console", lambda said: troubles.append(said.text) if said.type == "error" else None)
    window.on("dialog", lambda dialog: troubles.append(dialog.message))
    window.goto(file.as_uri())
    window.evaluate("icaps.ready")
    yield window
    assert requests == [file.as_uri()]
    assert troubles == []
    context.close()


def explain(page: Page, texts: list[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page.evaluate(
        "(texts) => texts.map((text) => icaps.explain(text))", texts
    )
    return found


def assert_same(found: dict[str, Any], expected: Explanation) -> None:
    assert found["predicted"] == expected.predicted
    assert [(word["start"], word["end"]) for word in found["words"]] == [
        (word.start, word.end) for word in expected.words
    ]
    shares = [word["share"] for word in found["words"]]
    assert shares == pytest.approx([word.share for word in expected.words], abs=1e-2)
    assert [word["known"] for word in found["words"]] == [word.known for word in expected.words]
    assert found["bias"] == pytest.approx(expected.bias, abs=1e-2)
    scores = dict(zip(expected.classes, expected.scores, strict=True))
    assert found["scores"] == pytest.approx(scores, abs=1e-2)
    assert found["probabilities"] == pytest.approx(
        dict(zip(expected.classes, expected.probabilities, strict=True)), abs=2e-2
    )
    assert found["bias"] + sum(shares) == pytest.approx(found["scores"][found["target"]], abs=1e-6)
    assert (found["truncated"], found["blank"]) == (expected.truncated, expected.blank)


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
    assert page.locator("#text").inner_text() == text
    expect(page.locator("#summary")).to_contain_text("of the score")
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
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert found_by_axe(page, theme) == {}
