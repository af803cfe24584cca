"""The trust box and the what-if tools of the page Explain."""

import re
from collections.abc import Sequence
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dashboard.explain.trust import STYLES
from dashboard.explain.what_if import widget_key
from dashboard.model_registry import SHIPPED
from icaps.classifier import ICapsClassifier
from icaps.faithfulness.reason_results import FLIPS, flip_sentence
from icaps.faithfulness.reason_test import (
    DELETE,
    KEEP,
    flipping_set,
    scores_after,
    try_reasons,
    words_under,
)
from icaps.html import printable
from icaps.results import Explanation
from tests.dashboard.visitor import evidence, open_app, page_html, run, type_text

GOOD = (
    "The striker scored twice before the break and his team won the cup final on Saturday, the "
    "third title of the coach in as many years, while shares of the club fell by two percent after "
    "a report that its owner wants to sell it to a bank in Zurich."
)
HOSTILE = '<b onclick="x">The striker</b> scored <script>alert(1)</script> twice & won **the** cup'


@pytest.fixture
def shipped(models: Path, monkeypatch: pytest.MonkeyPatch) -> ICapsClassifier:
    monkeypatch.setenv("ICAPS_MODELS", str(SHIPPED))
    return ICapsClassifier.load(SHIPPED / "ag_news", device="cpu")


def badge(at: object) -> list[str]:
    """The level of the trust box, then its lines; empty if there is none."""
    found = re.search(r'<div class="trust (\w+)" role="note">(.*?)</div>', page_html(at))
    if found is None:
        return []
    return [found[1], *map(unescape, re.findall(r"<p[^>]*>(.*?)</p>", found[2], re.DOTALL))]


def tried(classifier: ICapsClassifier, explanation: Explanation) -> list[str]:
    (trial,) = try_reasons(classifier, [explanation])
    if trial is None:
        return []
    first, *numbers = trial.to_sentences()
    if trial.level == FLIPS:  # the words are named
        first = flip_sentence(explanation, flipping_set(classifier, explanation))
    return [first, *numbers]


def test_the_trust_box_equals_that_of_the_library(shipped: ICapsClassifier) -> None:
    at = open_app(model="ag_news", text=GOOD, shading="kgrams")
    (expected,) = shipped.explain([GOOD], ranking="account")
    kind, *lines = badge(at)
    assert lines == tried(shipped, expected)
    (test,) = try_reasons(shipped, [expected])
    assert test is not None
    assert kind == STYLES[test.level]
    assert "the norm of Sports falls from" in lines[1]
    for text in ("", "zzyzx"):
        assert badge(type_text(at, text)) == []
        assert not [box for box in at.expander if box.label == "What if words were removed?"]
    kind, lines = badge(type_text(at, "football"))
    assert kind == "open"
    assert "The text has one word" in lines
    kind, *lines = badge(type_text(at, HOSTILE))
    assert lines == tried(shipped, next(shipped.explain([printable(HOSTILE)], ranking="account")))


def test_the_ranking_is_in_the_link(shipped: ICapsClassifier) -> None:
    at = open_app(model="ag_news", text=GOOD)
    assert at.selectbox(key="ranking").value == "account"
    at.selectbox(key="ranking").select("contribution")
    run(at)
    (expected,) = shipped.explain([GOOD], ranking="contribution")
    *lines, note = badge(at)[1:]
    assert lines == tried(shipped, expected)
    assert "shaded under “K-grams”" in note  # the text shows the shares of all words
    assert [row[0] for row in evidence(at)] == [kgram.text for kgram in expected.kgrams]
    again = open_app(**at.query_params)
    assert again.selectbox(key="ranking").value == "contribution"
    assert badge(again) == badge(at)
    assert open_app(ranking="x").selectbox(key="ranking").value == "account"


@pytest.mark.parametrize("text", ["bake the bread and the onion soup, the crew said", HOSTILE])
def test_words_are_deleted_or_kept_alone(text: str, classifier: ICapsClassifier) -> None:
    text += " bread the the"  # words that occur twice have different pills
    at = open_app(text=text)
    at.session_state["try_words"] = True
    run(at)
    (explanation,) = classifier.explain([text], ranking="account")
    words = at.button_group(key=widget_key("words", explanation))
    assert len(words.options) == len(explanation.words)
    last = len(explanation.words) - 1
    for action, chosen in ((DELETE, [last]), (KEEP, [0, last])):
        at.button_group(key=widget_key("words", explanation)).set_value(chosen)
        at.radio(key=widget_key("action", explanation)).set_value(action)
        table = run(at).dataframe[0].value
        expected = scores_after(classifier, explanation, chosen, action)
        assert after(table) == pytest.approx(chances(classifier, expected), abs=1e-6)
        original = table.set_index("class")["original"]
        assert original.to_dict() == pytest.approx(
            dict(zip(explanation.classes, explanation.probabilities, strict=True)), abs=1e-6
        )
    at.button_group(key=widget_key("words", explanation)).set_value([])
    at.button_group(key=widget_key("kgrams", explanation)).set_value([0])
    table = run(at).dataframe[0].value
    under = words_under(explanation, explanation.kgrams[:1])
    expected = scores_after(classifier, explanation, under, KEEP)
    assert after(table) == pytest.approx(chances(classifier, expected), abs=1e-6)


def after(table: pd.DataFrame) -> dict[str, float]:
    """The probability of each class after a change."""
    return dict(zip(table["class"], table.iloc[:, 2], strict=True))


def chances(classifier: ICapsClassifier, norms: Sequence[float]) -> dict[str, float]:
    """The calibrated probability of each class."""
    (row,) = classifier.calibrated(np.array([norms]))
    return dict(zip(map(str, classifier.classes_), row.tolist(), strict=True))


def test_a_button_deletes_the_flipping_set(classifier: ICapsClassifier) -> None:
    at = open_app(text="bake the bread and the onion soup, the crew said")
    at.session_state["try_words"] = True
    run(at)
    at.button(key="delete flip").click()
    run(at)
    assert any("not Cooking" in line.value or "no class" in line.value for line in at.warning)


def test_an_edited_text_is_compared_with_the_original(classifier: ICapsClassifier) -> None:
    text = "bake the bread and the onion soup"
    at = open_app(text=text)
    at.session_state["try_words"] = True
    run(at)
    (before,) = classifier.explain([text], ranking="account")
    (edited,) = classifier.explain(["sail before the tide"])
    assert [area.key for area in at.text_area] == ["text"]  # one box until one asks for another
    at.toggle(key="try edited").set_value(True)
    run(at)
    at.text_area(key=widget_key("edited", before)).set_value("sail before the tide")
    table = run(at).dataframe[0].value.set_index("class")
    for column, expected in (("original", before), ("as edited", edited)):
        assert table[column].to_dict() == pytest.approx(chances(classifier, expected.scores))
    (change,) = (line.value for line in at.warning if line.icon == ":material/swap_horiz:")
    assert edited.predicted in change
    assert at.text_area(key="text").value == text
    type_text(at, "the crew raised the mast")  # another text is changed anew
    (other,) = classifier.explain(["the crew raised the mast"], ranking="account")
    assert at.text_area(key=widget_key("edited", other)).value == "the crew raised the mast"
