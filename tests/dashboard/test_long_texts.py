"""The page with a model of long texts: a row per sentence, with its weight."""

import dataclasses
import re
from pathlib import Path

import pytest

from icaps.classifier import ICapsClassifier
from tests.conftest import MODEL, TRAIN, make_texts
from tests.dashboard.visitor import evidence, lines, open_app, page_html, run, shown_text, type_text

LONG = dataclasses.replace(MODEL, hierarchical=True, max_words=None)
DOCUMENT = (
    "We went out. Bread and onion soup with butter.\n\nThen it was small and old. They like it."
)


@pytest.fixture(scope="session")
def long_classifier() -> ICapsClassifier:
    texts, labels = make_texts(720, seed=3)
    documents = [" ".join(texts[n : n + 4 : 3]) for n in range(0, 717)]  # both of one topic
    return ICapsClassifier(LONG, TRAIN, device="cpu").fit(documents, labels[:717])


@pytest.fixture
def long_model(long_classifier: ICapsClassifier, models: Path) -> ICapsClassifier:
    long_classifier.save(models / "long")
    return long_classifier


def weights(page: str) -> list[float]:
    return [float(value) for value in re.findall(r'style="--weight: ([\d.]+)%"', page)]


def test_one_row_per_sentence_with_its_weight(long_model: ICapsClassifier) -> None:
    at = open_app(model="long", text=DOCUMENT, ranking="routing", shading="kgrams")
    assert shown_text(at) == DOCUMENT
    (expected,) = long_model.explain([DOCUMENT])
    assert expected.predicted == "Cooking"
    shown = weights(page_html(at))
    assert len(shown) == 4
    assert shown == pytest.approx([100 * s.weight for s in expected.sentences], abs=0.06)
    assert sum(shown) == pytest.approx(100, abs=0.3)
    numbers = {row[5] for row in evidence(at)}
    assert numbers == {str(kgram.sentence + 1) for kgram in expected.kgrams}


def test_the_number_of_sentences(long_model: ICapsClassifier) -> None:
    at = open_app(model="long", text=DOCUMENT, ranking="routing")
    assert len(evidence(at)) == 4
    at.slider(key="sentences").set_value(2)
    assert len(evidence(run(at))) == 8
    assert open_app(**at.query_params).slider(key="sentences").value == 2


def test_a_model_of_short_texts_has_no_slider_for_sentences() -> None:
    assert [slider.key for slider in open_app(model="small").slider] == ["k1", "k2"]


@pytest.mark.parametrize(
    ("text", "most_rows"),
    [
        ("bread and soup, with some butter. " * 2_000, 120),
        ("", 0),
        ("bread " * 5_000, 1),
        ("Bread.\n" * 5_000, 120),
        ("soup", 1),
    ],
    ids=["12,000 words", "empty", "one sentence", "sentences of a word", "a word"],
)
def test_sizes(long_model: ICapsClassifier, text: str, most_rows: int) -> None:
    at = type_text(open_app(model="long"), text)
    assert shown_text(at) == text
    assert len(weights(page_html(at))) <= most_rows
    assert not [line for line in lines(at, "notice") if "were read" in line]


def test_truncation_is_reported(long_classifier: ICapsClassifier, models: Path) -> None:
    network = long_classifier.network_
    limited = dataclasses.replace(network.config, max_sentences=2)
    network.config, kept = limited, network.config
    try:
        long_classifier.save(models / "limited")
    finally:
        network.config = kept
    at = open_app(model="limited", text=DOCUMENT)
    assert shown_text(at) == DOCUMENT
    assert lines(at, "notice")[0].startswith("Only the first 11 words (46 of 88 characters)")
