"""The page of models that split texts into sentences, have edits, or give a text several labels."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from icaps.classifier import ICapsClassifier
from icaps.cli.main import main as icaps
from icaps.data import news_sample
from icaps.data.source import open_source
from icaps.interpret.edits import neutral_capsule, neutral_words
from icaps.portable.sentence_rules import sentence_rules
from icaps.text.sentences import sentence_lengths
from icaps.text.tokenizer import split_words
from tests.browser.live_window import PIECES, assert_same, explain, live_window
from tests.browser.test_accessibility import found_by_axe
from tests.conftest import MODEL, TRAIN, make_texts, with_view

if TYPE_CHECKING:
    from playwright.sync_api import Page

expect = pytest.importorskip("playwright.sync_api").expect

KINDS = ("sentences", "edits", "several")
EDITS = [
    neutral_words("the"),
    neutral_words("soup", "Cooking"),
    neutral_words("and bread", "Cooking", name="pair"),
    neutral_words("rose", "Gardens"),
    neutral_capsule(2, "Sailing"),
]
LANGUAGES = ("en", "de", "it", "kk", "el", "hy", "ja", "ru", "xx")
# At these the splitter decides; joined at random, besides the pieces at whose edges words begin.
MARKS = [
    *("'", '"', "``", "''", "“", "”", "‘", "’", "«", "»", "„", "(", ")", "[", "<", ">", "「", "」"),
    *(
        ". ",
        "! ",
        "? ",
        ".",
        "!",
        "…",
        " . . .",
        "! !",
        ".\n",
        "\n",
        "\n\n",
        "\n\r\n",
        "。",
        ";",
        "।",
    ),
    *("Dr. ", "U.S. ", "e.g. ", "5 p.m. ", "6 ft. ", "3 in. ", "J. R. ", "On Jan. 5, at ", "B.C. "),
    *(
        "[1] ",
        "[12][3] ",
        "a@b.com",
        "1. ",
        "2) ",
        "(a) ",
        "iii. ",
        "b.) ",
        "• ",
        "* ",
        "7.Bg5",
        "3.14",
    ),
    *(
        "The ",
        "the ",
        "I'm ",
        "don't",
        "Yahoo! ",
        "Tom ",
        "and ",
        ", ",
        "l'A. ",
        "März ",
        "K\u3000. ",
    ),
]


def several_texts(count: int, seed: int) -> tuple[list[str], list[tuple[str, ...]]]:
    """Texts of one to three sentences, and the topics of their sentences."""
    rng = random.Random(seed)
    pairs = list(zip(*make_texts(300, seed=seed), strict=True))
    picked = [rng.sample(pairs, rng.randint(1, 3)) for _ in range(count)]
    texts = [" ".join(text for text, _ in some) for some in picked]
    return texts, [tuple(sorted({label for _, label in some})) for some in picked]


@pytest.fixture(scope="module")
def models() -> dict[str, ICapsClassifier]:
    long = dataclasses.replace(MODEL, hierarchical=True, max_words=7, max_sentences=5)
    plain = ICapsClassifier(long, TRAIN, device="cpu").fit(*make_texts(240, seed=1))
    independent = dataclasses.replace(long, max_words=50, routing="independent")
    several = ICapsClassifier(independent, TRAIN, device="cpu").fit(*several_texts(240, seed=4))
    return {"sentences": plain, "edits": plain.edited(EDITS), "several": several.edited(EDITS[:1])}


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def file(
    models: dict[str, ICapsClassifier],
    kind: str,
    data_file: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    folder = tmp_path_factory.mktemp("models") / kind
    models[kind].save(folder)
    if kind == "edits":
        folder = with_view(models[kind], folder, data_file, tmp_path_factory)
    path = folder.with_suffix(".html")
    assert icaps(["export", "--model", str(folder), "--html", str(path)]) == 0
    return path


@pytest.fixture
def page(browser: Any, file: Path) -> Iterator[Page]:
    with live_window(browser, file) as window:
        yield window


def test_it_explains_as_the_model_does(
    page: Page, models: dict[str, ICapsClassifier], kind: str
) -> None:
    texts = [*several_texts(80, seed=9)[0], "", "zzz. Zzz.", "Soup, and bread. " * 20, "And bread"]
    found = explain(page, texts)
    for one, expected in zip(found, models[kind].explain(texts, ranking="account"), strict=True):
        assert_same(one, expected)
    assert any(word["neutral"] for one in found for word in one["words"]) == (kind != "sentences")
    if kind == "several":
        assert {len(one["predicted"]) for one in found} >= {0, 1, 2}
    expected_all = models[kind].explain(texts, ranking="account", target="Cooking")
    for one, expected in zip(explain(page, texts, "Cooking"), expected_all, strict=True):
        assert_same(one, expected)


@pytest.mark.parametrize("kind", ["sentences"], indirect=True, scope="module")
def test_sentences_are_those_of_the_library(page: Page) -> None:
    rng = random.Random(0)
    odd = [
        "".join(rng.choice(MARKS + PIECES) for _ in range(rng.randint(1, 40))) for _ in range(400)
    ]
    news = [record.text for record in open_source(news_sample.FILE)]
    real = [" ".join(news[n : n + 3]) for n in range(0, len(news), 3)]
    for language in LANGUAGES:
        texts = [*odd, *real] if language == "en" else odd[:120]
        found = page.evaluate(
            """([rules, texts]) => {
              const splitter = new SentenceSplitter(rules);
              return texts.map((text) => {
                const { words, clean } = splitWords(text);
                const starts = [...splitter.starts(clean)];
                return words.map(({ place }) => partitionPoint(starts, (start) => start <= place));
              });
            }""",
            [sentence_rules(language), texts],
        )
        for text, numbers in zip(texts, found, strict=True):
            places = np.array([word.start for word in split_words(text)], dtype=np.int64)
            lengths = np.unique(numbers, return_counts=True)[1]
            expected = sentence_lengths(text, places, language)
            assert lengths.tolist() == expected.tolist(), (language, ascii(text))


@pytest.mark.parametrize("kind", ["edits"], indirect=True, scope="module")
def test_edits_are_named(page: Page) -> None:
    text = "They simmer the soup. We bake and bread."
    page.get_by_label("Your text").fill(text)
    page.get_by_role("button", name="Cooking", exact=True).first.click()
    note = page.locator(".neutral-words")
    expect(note).to_have_text(
        "Neutral for Cooking, by an edit of the model: “the”, “soup”, “and”, “bread”."
    )
    expect(page.locator(".text .neutral")).to_have_text(["the", "soup", "and", "bread"])
    expect(page.locator("dl")).to_contain_text("“soup” is neutral for Cooking")
    expect(page.locator("dl")).to_contain_text("capsule 2 is neutral for Sailing")


@pytest.mark.parametrize("kind", ["several"], indirect=True, scope="module")
def test_each_class_over_its_threshold_has_an_account(page: Page) -> None:
    texts, _ = several_texts(60, seed=12)
    pairs = zip(texts, explain(page, texts), strict=True)
    text, both = next((text, one) for text, one in pairs if len(one["predicted"]) == 2)
    page.get_by_label("Your text").fill(text)
    expect(page.locator(".account h2")).to_have_text([f"Why {name}?" for name in both["predicted"]])
    expect(page.locator("#about")).to_contain_text("2 of 3 classes reach their thresholds")
    third = next(name for name in both["scores"] if name not in both["predicted"])
    page.get_by_role("button", name=third, exact=True).click()
    expect(page.locator(".account")).to_have_count(3)
    page.get_by_role("button", name=both["predicted"][0], exact=True).click()
    expect(page.locator(".account h2")).to_have_text(
        [f"Why {both['predicted'][1]}?", f"Why {third}?"]
    )


@pytest.mark.parametrize("kind", ["several"], indirect=True, scope="module")
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [420, 1280])
def test_it_can_be_read(page: Page, width: int, theme: Any) -> None:
    page.emulate_media(color_scheme=theme)
    page.set_viewport_size({"width": width, "height": 900})
    page.get_by_label("Your text").fill("We bake the bread. The crew and the old mast sail. " * 6)
    expect(page.locator(".sentence")).not_to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator(".text").first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#tip")).to_contain_text(" for ")
    assert found_by_axe(page, theme) == {}
    page.keyboard.press("Escape")
    expect(page.locator("#tip")).to_be_hidden()


@pytest.mark.parametrize("kind", ["sentences"], indirect=True, scope="module")
def test_a_long_text_is_read_in_part_and_forgotten(page: Page) -> None:
    first = page.get_by_label("Your text").input_value()
    page.get_by_label("Your text").fill("They simmer soup and sail. " * 40_000)
    expect(page.locator("#limit")).to_have_text(
        "The text has 1,080,000 characters; the page reads the first 100,000."
    )
    expect(page.locator("#about")).to_contain_text("Only the first 30 words are read")
    assert page.locator(".text").evaluate("(text) => text.textContent.length") < 10_000
    page.reload()
    page.evaluate("icaps.ready")
    assert page.get_by_label("Your text").input_value() == first
    assert page.evaluate("localStorage.length + sessionStorage.length") == 0
