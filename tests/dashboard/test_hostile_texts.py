"""Texts that could break pages: each is shown as typed and explained as by the library."""

import pytest

from dashboard import settings
from dashboard.url_state import MAX_LINK
from icaps.classifier import ICapsClassifier
from icaps.html import printable
from tests.dashboard.visitor import (
    Reader,
    evidence,
    lines,
    open_app,
    open_tab,
    page_html,
    routing_lines,
    run,
    shown_text,
    type_text,
    verdict,
)

NOTHING_KNOWN = "The model knows none of the words, so no class is predicted."
NO_WORDS = "Type some text to see a prediction."
HOSTILE = {
    "script": "x<script>alert(1)</script>",
    "attribute": '" onmouseover="x',
    "entities": "AT&amp;T &lt;b&gt; &#39;quoted&#39; &nbsp; &bogus;",
    "dollars": "Revenue $119.6 billion to $120 billion",
    "markdown": "**a** _b_ :sunglasses: [c](javascript:d) `e`",
    "white space": "one\n\n\ttwo  three \u00a0 four\r\n",
    "emoji family": "👩🏽‍👩🏿‍👧🏻‍👦🏾 🇺🇦 5️⃣",
    "combining accents": "Cafe\u0301 nai\u0308ve Z\u0351\u036b\u0343",
    "dotted capital I": "İSTANBUL ıslak ẞ ﬁ",
    "right to left": "שלום world, مرحبا\u200f 12",
    "Chinese": "我们今天烤面包。",
    "Thai": "วันนี้เราอบขนมปัง",
    "controls": "a\x00b\x1b[31mc\x7f \ufffe \U0010ffff",
    "line separators": "a\u2028b\u2029c\x85d",
    "format": "{0} %s %(x)s {text} \\n \\u0041",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("known", ["", " bread and onion soup"], ids=["alone", "with known words"])
def test_a_hostile_text(text: str, known: str, classifier: ICapsClassifier) -> None:
    text += known
    (expected,) = classifier.explain([printable(text)])
    at = type_text(open_app(ranking="routing", shading="kgrams"), text)
    read = Reader(page_html(at))
    assert read.text == printable(text)
    assert verdict(at) == (NOTHING_KNOWN if expected.blank else expected.predicted)
    assert lines(at, "notice") == expected.notices
    tips = "\n".join(read.tips)
    assert all(kgram.summary in tips for kgram in expected.kgrams)
    assert bool(expected.kgrams) == (not expected.blank)
    if expected.kgrams:
        assert [row[0] for row in evidence(at)] == [kgram.text for kgram in expected.kgrams]
        assert all("<" not in t["text"].replace("<br>", "") for t in routing_lines(at))
        open_tab(at, "Attention")
        assert "icaps-attention" in page_html(at)
    again = open_app(**at.query_params)
    assert shown_text(again) == printable(text)
    by_word = Reader(page_html(type_text(open_app(), text)))
    assert by_word.text == printable(text)
    assert bool(by_word.tips) == (not expected.blank)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", NO_WORDS),
        ("   ", NO_WORDS),
        ("\n\t \u00a0\u3000", NO_WORDS),
        ("zzyzx", NOTHING_KNOWN),
        ("Quux frobnicates plugh", NOTHING_KNOWN),
        ("?!… —", NOTHING_KNOWN),
        ("\u200b", NOTHING_KNOWN),
    ],
)
def test_a_text_without_a_known_word_has_no_prediction(text: str, expected: str) -> None:
    at = type_text(open_app(), text)
    assert shown_text(at) == text
    assert verdict(at) == expected
    assert lines(at, "notice") == []
    assert not at.tabs  # there are no reasons to show
    assert "legend" not in page_html(at)
    assert shown_text(open_app(**at.query_params)) == text


@pytest.mark.parametrize("text", ["Bread", "bake bread"])
def test_fewer_words_than_k(text: str, classifier: ICapsClassifier) -> None:
    assert len(text.split()) < classifier.model.kernel_size
    at = type_text(open_app(ranking="routing"), text)
    assert (verdict(at), shown_text(at)) == ("Cooking", text)
    assert {row[0] for row in evidence(at)} == {text}
    assert routing_lines(at)
    open_tab(at, "Attention")
    assert page_html(at).count('class="chart-title"') == 2


def test_twenty_thousand_words(classifier: ICapsClassifier) -> None:
    text = "bread soup " * 10_000
    limit = classifier.model.max_words
    end = len("bread soup " * (limit // 2)) - 1
    at = type_text(open_app(), text)
    assert lines(at, "notice") == [
        f"Only the first {limit} words ({end} of {len(text):,} characters) were read."
    ]
    assert (verdict(at), shown_text(at)) == ("Cooking", text)
    assert any(f"{MAX_LINK:,} characters" in caption.value for caption in at.caption)


def test_all_of_them_as_a_table(classifier: ICapsClassifier) -> None:
    at = run(open_app().switch_page("../pages/many.py"))
    texts = [text for text in HOSTILE.values() if len(text.splitlines()) == 1]
    at.text_area(key="lines").set_value("\n".join(texts))
    run(at).button[0].click()
    table = run(at).dataframe[0].value
    assert table["text"].tolist() == [printable(text) for text in texts]
    at.text_area(key="lines").set_value("a\n" * (settings.current().table_rows + 1))
    assert "use" in run(at).error[0].value
