"""The order of columns, the relevance of words, and content words."""

import math

import numpy as np
import pytest

from icaps.errors import ConfigError
from icaps.interpret.tables import column_order, is_content_word, most_relevant

HERE = {1: 8, 2: 2}
EVERYWHERE = {1: 80, 2: 4, 3: 16}
NAMES = {1: "the", 2: "oil", 3: "cup"}


def order(lambda_: float, top: int = 9) -> list[str]:
    return [w.text for w in most_relevant(HERE, EVERYWHERE, lambda_, top, NAMES.__getitem__)]


def test_lambda_goes_from_lift_to_frequency() -> None:
    assert order(1) == ["the", "oil"]
    assert order(0) == ["oil", "the"]  # 0.2 of here against 0.04 of all; "the" is as everywhere
    found = most_relevant(HERE, EVERYWHERE, 0.6, 9, NAMES.__getitem__)
    values = {w.text: (w.frequency, w.relevance) for w in found}
    expected = 0.6 * math.log(0.2) + 0.4 * math.log(0.2 / 0.04)
    assert values["oil"] == (2, pytest.approx(expected))
    assert values["the"] == (8, pytest.approx(0.6 * math.log(0.8)))


def test_no_more_than_wanted_and_ties_by_the_alphabet() -> None:
    assert order(1, top=1) == ["the"]
    assert [w.text for w in most_relevant({2: 3, 3: 3}, {2: 5, 3: 5}, 1, 9, NAMES.__getitem__)] == [
        "cup",
        "oil",
    ]
    assert most_relevant({}, {}, 0.5, 9, NAMES.__getitem__) == []


@pytest.mark.parametrize("word", ["oil", "Oil", "U.S.", "2004", "naïve", "油"])
def test_content_words(word: str) -> None:
    assert is_content_word(word)


@pytest.mark.parametrize("word", ["the", "The", ",", "'s", "n't", "<unk>", "--", "and"])
def test_stop_words_and_punctuation(word: str) -> None:
    assert not is_content_word(word)


def test_orders_of_columns() -> None:
    frequency = np.array([[5, 0, 0, 9, 1], [0, 7, 0, 0, 6]])
    assert column_order(frequency, "class") == [3, 0, 1, 4, 2]
    assert column_order(frequency, "size") == [3, 1, 4, 0, 2]
    assert column_order(frequency, "number") == [0, 1, 2, 3, 4]
    clustered = column_order(frequency, "clustered")
    assert clustered[-1] == 2
    assert abs(clustered.index(3) - clustered.index(0)) == 1
    assert abs(clustered.index(1) - clustered.index(4)) == 1
    assert column_order(np.zeros((2, 3), int), "clustered") == [0, 1, 2]
    with pytest.raises(ConfigError, match="must be one of"):
        column_order(frequency, "colour")
