"""The exported page in Chromium without a network, and what it must show."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from icaps.results import Explanation

if TYPE_CHECKING:
    from playwright.sync_api import Page

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
    """Texts of these pieces at random, and blank ones."""
    rng = random.Random(0)
    texts = [
        "".join(rng.choice(PIECES) + rng.choice(["", " ", "."]) for _ in range(rng.randint(1, 14)))
        for _ in range(count)
    ]
    return [*texts, "", " ", "\n"]


@contextmanager
def live_window(browser: Any, file: Path) -> Iterator[Page]:
    """The page, which must neither request anything nor report an error."""
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
    assert set(requests) == {file.as_uri()}
    assert troubles == []
    context.close()


def explain(page: Page, texts: list[str], target: str | None = None) -> list[dict[str, Any]]:
    """The page's explanations."""
    found: list[dict[str, Any]] = page.evaluate(
        "([texts, target]) => texts.map((text) => icaps.explain(text, target ?? undefined))",
        [texts, target],
    )
    return found


def assert_same(found: dict[str, Any], expected: Explanation) -> None:
    """Asserts that the page's explanation is that of the model, up to the precision of weights."""
    assert found["predicted"] == expected.to_dict()["predicted"]
    assert found["target"] == expected.target
    assert [(word["start"], word["end"]) for word in found["words"]] == [
        (word.start, word.end) for word in expected.words
    ]
    shares = [word["share"] for word in found["words"]]
    assert shares == pytest.approx([word.share for word in expected.words], abs=1e-2)
    for name in ("known", "neutral"):
        flags = [getattr(word, name) for word in expected.words]
        assert [word[name] for word in found["words"]] == flags
    assert [(one["start"], one["end"]) for one in found["sentences"]] == [
        (sentence.start, sentence.end) for sentence in expected.sentences
    ]
    assert [one["share"] for one in found["sentences"]] == pytest.approx(
        [sentence.share for sentence in expected.sentences], abs=1e-2
    )
    assert found.get("thresholds", {}) == pytest.approx(expected.threshold_by_class)
    assert found["bias"] == pytest.approx(expected.bias, abs=1e-2)
    scores = dict(zip(expected.classes, expected.scores, strict=True))
    assert found["scores"] == pytest.approx(scores, abs=1e-2)
    assert found["probabilities"] == pytest.approx(
        dict(zip(expected.classes, expected.probabilities, strict=True)), abs=2e-2
    )
    total = max(found["bias"] + sum(shares), 0)  # edits may leave less than 0
    assert total == pytest.approx(found["scores"][found["target"]], abs=1e-6)
    assert (found["truncated"], found["blank"]) == (expected.truncated, expected.blank)
