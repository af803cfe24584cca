"""Explanations after a small change, of two models, and of random weights."""

import dataclasses

import numpy as np
import pytest
import torch

from icaps.classifier import ICapsClassifier
from icaps.config import ExplainOptions
from icaps.faithfulness.choices import covered_words
from icaps.faithfulness.sanity import LAYERS, cascade, randomise
from icaps.faithfulness.stability import (
    nearest_by_vector,
    overlap_after_replacement,
    overlap_between_models,
)
from icaps.faithfulness.texts import ExplainedTexts
from icaps.text.vocabulary import Vocabulary
from tests.conftest import make_texts
from tests.faithfulness.test_attributions import read, some
from tests.interpret.test_corpus import of_network

NAMES = ("<pad>", "<unk>", "oil", "Oil", "gas", "the", "moon")
VECTORS = torch.tensor([[0.0, 0], [0, 0], [1, 0], [2, 0.1], [3, 1], [0, 1], [0, 0]])


def given_texts(classifier: ICapsClassifier, count: int = 30) -> ExplainedTexts:
    return read(classifier, make_texts(count, seed=11)[0])


def test_the_nearest_other_word() -> None:
    vocabulary = Vocabulary(NAMES, (0,) * len(NAMES))
    # "Oil" is nearer to "oil" than "gas" is, and the same word; "moon" has no vector.
    assert nearest_by_vector(VECTORS, vocabulary, [2, 4, 5, 6]) == {2: 4, 4: 3, 5: 4}


def test_a_change_outside_of_the_reasons(classifier: ICapsClassifier) -> None:
    given = given_texts(classifier)
    for change in ("synonym", "neutral"):
        found = overlap_after_replacement(given, classifier.vocabulary_, change)
        assert 0 < found.texts <= len(given)
        assert found.random.value < found.jaccard.value <= 1
        assert found.same_class > 0.8
        assert overlap_after_replacement(given, classifier.vocabulary_, change) == found
    # Where K-grams cover all words there is nothing to change.
    everything = ExplainOptions(top_capsules=6, top_kgrams=20)
    assert all(chosen.all() for chosen in covered_words(given, everything))
    none = overlap_after_replacement(given, classifier.vocabulary_, "synonym", everything)
    assert none.texts == 0
    assert np.isnan(none.jaccard.value)


def test_two_models_are_compared_where_they_agree() -> None:
    classifier, given = some(12)
    same = overlap_between_models(given, given)
    assert (same.jaccard.value, same.same_class, same.texts) == (1, 1, 12)
    targets = (*[(target + 1) % 3 for target in given.targets[:9]], *given.targets[9:])
    other = dataclasses.replace(given, targets=targets)
    assert overlap_between_models(given, other).texts == 3
    fewer = dataclasses.replace(
        given, readings=given.readings[4:], targets=given.targets[4:]
    )  # of which the other knows no word
    assert overlap_between_models(given, fewer).texts == 8
    assert classifier.network_ is given.network


def test_the_overlap_of_two_models_by_plain_sets() -> None:
    classifier, given = some(12)
    network = randomise(given.network, LAYERS, seed=2)
    other = read(
        of_network(network, classifier.vocabulary_), [text.texts[0] for text in given.readings]
    )
    other = dataclasses.replace(other, targets=(*given.targets[:10], -1, -1))
    expected = []
    for (one,), (two,) in zip(
        covered_words(given, ExplainOptions()), covered_words(other, ExplainOptions()), strict=True
    ):
        left, right = set(np.flatnonzero(one).tolist()), set(np.flatnonzero(two).tolist())
        expected.append(len(left & right) / len(left | right))
    found = overlap_between_models(given, other)
    assert found.jaccard.value == pytest.approx(np.mean(expected[:10]))
    assert (found.texts, found.same_class) == (10, 10 / 12)


def test_random_layers_are_those_and_no_others() -> None:
    classifier, given = some(4)
    network = classifier.network_
    before = {name: value.clone() for name, value in network.state_dict().items()}
    other = randomise(network, LAYERS[:2], seed=1)
    for name, value in other.state_dict().items():
        changed = name.split(".")[0] in LAYERS[:2]
        assert torch.equal(value, before[name]) == (not changed)
        assert torch.equal(network.state_dict()[name], before[name])
    again = randomise(network, LAYERS[:2], seed=1)
    assert torch.equal(again.attention.key_weight, other.attention.key_weight)
    assert len(given) == 4


def test_explanations_depend_on_what_was_learnt(classifier: ICapsClassifier) -> None:
    given = given_texts(classifier)
    rows = list(cascade(given, ["routing", "contribution"]))
    assert [row.layers for row in rows[::2]] == [LAYERS[: n + 1] for n in range(4)]
    for row in rows:
        assert row.correlation.value < 1
        assert abs(row.random.value) < 0.2
    assert rows[-1].correlation.value < 0.8
