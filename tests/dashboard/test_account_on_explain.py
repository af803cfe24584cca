"""How the text is shaded on Explain: the share of each word, K-grams, or a contrast of classes."""

import shutil
from pathlib import Path

import numpy as np

from dashboard.url_state import KGRAMS, PREDICTED
from dashboard.widgets.shaded_text import account_card, kgram_card
from icaps.classifier import ICapsClassifier
from tests.dashboard.visitor import Reader, choose, open_app, page_html, run, type_text

COOKING = "Simmer the onion soup, then bake bread with butter."


def test_the_text_shows_the_share_of_each_word(classifier: ICapsClassifier) -> None:
    (expected,) = classifier.explain([COOKING], ranking="account")
    at = open_app(text=COOKING)
    assert account_card(expected) in page_html(at)
    account = expected.word_account()
    assert account is not None
    assert account.summary()[0] in page_html(at)
    tips = Reader(page_html(at)).tips
    assert len(tips) == np.count_nonzero(account.levels) > 0
    assert all("for Cooking (" in tip or "against Cooking (" in tip for tip in tips)
    assert "shading" not in at.query_params  # it is the default


def test_kgrams_are_shaded_by_a_switch_which_is_in_the_link(classifier: ICapsClassifier) -> None:
    at = open_app(text=COOKING)
    at.button_group(key="shading").select(KGRAMS)
    run(at)
    (expected,) = classifier.explain([COOKING], ranking="account")
    card = kgram_card(expected)
    assert f"carry {expected.covered:.0%} of the score" in card
    assert card in page_html(at)
    assert at.query_params["shading"] == "kgrams"
    assert page_html(open_app(**at.query_params)) == page_html(at)
    assert account_card(expected) in page_html(open_app(text=COOKING, shading="<b>"))


def test_why_a_class_rather_than_another(classifier: ICapsClassifier) -> None:
    at = open_app(text=COOKING)
    assert at.button_group(key="shading").options == ["Every word", "K-grams"]
    choose(at, "target", "Sailing")
    switch = at.button_group(key="shading")
    assert switch.options == ["Every word", "K-grams", "Why Cooking rather than Sailing"]
    switch.select("contrast")
    run(at)
    (expected,) = classifier.explain([COOKING], ranking="account", target="Sailing")
    assert account_card(expected, of="Cooking", rather_than="Sailing") in page_html(at)
    again = open_app(**at.query_params)
    assert page_html(again) == page_html(at)
    choose(again, "target", PREDICTED)  # there is no contrast any more
    (plain,) = classifier.explain([COOKING], ranking="account")
    assert account_card(plain) in page_html(again)


def test_a_text_without_a_known_word_has_no_switch() -> None:
    at = type_text(open_app(), "zzyzx")
    assert not [group for group in at.button_group if group.key == "shading"]
    assert "icaps-account" not in page_html(at)


def test_capsules_have_the_labels_of_the_page_capsules(
    models: Path, interpreted: Path, classifier: ICapsClassifier
) -> None:
    shutil.copytree(interpreted, models / "counted")
    page = page_html(open_app(model="counted", text=COOKING))
    (expected,) = classifier.explain([COOKING], ranking="account")
    account = expected.word_account()
    assert account is not None
    first = account.capsule_rows[0].label.removeprefix("capsule ")
    assert f'dir="auto">{first} ' in page  # the number, then two words
    assert f"through capsule {first}" not in page
