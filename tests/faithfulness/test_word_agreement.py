"""Agreement of two models on the order of words, by plain sets and scipy's correlation."""

import dataclasses
import math

import numpy as np
import pytest
from scipy.stats import spearmanr

from icaps.faithfulness.attributions.account import account
from icaps.faithfulness.sanity import LAYERS, randomise
from icaps.faithfulness.word_agreement import agreement_lines, word_agreement
from tests.faithfulness.test_attributions import read, some
from tests.interpret.test_corpus import of_network


def test_the_words_of_two_models() -> None:
    classifier, given = some(12)
    network = randomise(given.network, LAYERS, seed=2)
    strings = [reading.texts[0] for reading in given.readings]
    other = read(of_network(network, classifier.vocabulary_), strings[1:])
    # The first text is read by one model alone, and two have other classes.
    other = dataclasses.replace(other, targets=(*given.targets[1:10], -1, -1))
    (row,) = word_agreement(given, other, ["account", "random"])
    overlaps, correlations = [], []
    pairs = list(zip(account(given.take(range(1, 10))), account(other.take(range(9))), strict=True))
    for one, two in pairs:
        size = math.ceil(len(one) / 10)
        left, right = (set(np.argsort(-s, kind="stable")[:size].tolist()) for s in (one, two))
        overlaps.append(len(left & right) / len(left | right))
        correlations.append(spearmanr(one, two).statistic if len(one) > 1 else np.nan)
    assert (row.ranking, row.texts, row.same_class) == ("account", 9, 9 / 11)
    assert row.jaccard.value == pytest.approx(np.mean(overlaps))
    assert row.correlation.value == pytest.approx(np.nanmean(correlations))
    assert abs(row.correlation_random.value) < 0.3
    assert len(list(agreement_lines([row]))) == 3


def test_a_model_agrees_with_itself_and_more_than_with_random_words() -> None:
    _, given = some(12)
    for row in word_agreement(given, given, ["account", "account-passes", "leave-one-out"]):
        assert (row.jaccard.value, row.same_class, row.texts) == (1, 1, 12)
        assert row.correlation.value == pytest.approx(1)
        assert row.jaccard_random.value < 0.6
        assert row.correlation_random.value < 0.5


def test_models_that_never_agree_have_no_words_to_compare() -> None:
    _, given = some(3)
    other = dataclasses.replace(given, targets=(-1, -1, -1))
    (row,) = word_agreement(given, other, ["account"])
    assert (row.texts, row.same_class) == (0, 0)
    assert np.isnan(row.jaccard.value)
