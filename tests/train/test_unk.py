"""A neutral `<unk>`: only its vector changes, and masking a word acts like removing it."""

import copy
import dataclasses
from typing import Any

import numpy as np
import pytest
import torch

from icaps.classifier import ICapsClassifier
from icaps.config import VECTOR_STEP, TrainConfig
from icaps.model import ICapsNet
from icaps.nn.dropout import dropped_words
from icaps.text.batch import UNK
from icaps.train.dataset import Corpus
from icaps.train.unk import fit_unk
from tests.conftest import MODEL, TRAIN, make_texts

TABLES = ("fixed_embedding", "trained_embedding.weight")
CONFIG = dataclasses.replace(TRAIN, unk_steps=150)


def changed(before: dict[str, Any], after: dict[str, Any]) -> dict[str, list[int]]:
    """The rows that differ, by the name of the weights."""
    return {
        name: (value != after[name]).flatten(1).any(1).nonzero().flatten().tolist()
        for name, value in before.items()
        if not torch.equal(value, after[name])
    }


def distance(network: ICapsNet, corpus: Corpus) -> float:
    """Distance of the norms with three of four words masked from the norms without these words."""
    tokens = corpus.tokens()
    lengths = torch.from_numpy(tokens.words_per_sentence)
    shares = torch.full(lengths.shape, 0.75)
    masked = dropped_words(lengths, shares, torch.Generator().manual_seed(3)).numpy()
    with torch.no_grad():
        wanted = network(tokens.without(masked)).class_norms
        actual = network(
            dataclasses.replace(tokens, ids=np.where(masked, UNK, tokens.ids))
        ).class_norms
    return float((actual - wanted).square().sum(1).mean())


def corpus_of(classifier: ICapsClassifier, texts: list[str]) -> Corpus:
    encoded = classifier.vocabulary_.encode(texts)
    return Corpus.from_tokens(encoded, [0] * len(texts))


def test_masked_texts_get_the_norms_of_texts_without_the_words(
    classifier: ICapsClassifier,
) -> None:
    network = copy.deepcopy(classifier.network_)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    training = corpus_of(classifier, [*make_texts(360, seed=1)[0], "", "zzz"])
    unseen = corpus_of(classifier, make_texts(200, seed=9)[0])
    far = distance(network, unseen)
    fit_unk(network, training, CONFIG)
    assert distance(network, unseen) < 0.6 * far
    after = network.state_dict()
    assert changed(before, after) == {name: [UNK] for name in TABLES}
    steps = after["fixed_embedding"][UNK] / VECTOR_STEP
    assert torch.equal(steps, steps.round())
    again = copy.deepcopy(classifier.network_)
    fit_unk(again, training, CONFIG)
    assert not changed(after, again.state_dict())


@pytest.mark.parametrize("hierarchical", [False, True])
def test_a_fitted_model_differs_in_this_vector_alone(hierarchical: bool) -> None:
    model = dataclasses.replace(MODEL, hierarchical=hierarchical, max_words=6)
    texts = make_texts(120, seed=1)

    def fitted(train: TrainConfig) -> ICapsClassifier:
        return ICapsClassifier(model, train, device="cpu").fit(*texts)

    short = dataclasses.replace(TRAIN, epochs=2)
    plain, neutral = fitted(short), fitted(dataclasses.replace(short, unk_steps=3))
    actual = changed(plain.network_.state_dict(), neutral.network_.state_dict())
    assert actual == {name: [UNK] for name in TABLES}
