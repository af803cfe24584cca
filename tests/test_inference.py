"""Inference in batches of bounded size."""

import dataclasses

import numpy as np
import pytest
import torch

from icaps.classifier import ICapsClassifier
from icaps.inference import class_norms, read, read_texts
from icaps.text.sentences import encode
from tests.conftest import MODEL, TRAIN, make_texts


@pytest.mark.parametrize("hierarchical", [False, True])
def test_class_norms_equal_those_of_read_texts(
    hierarchical: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blank texts among others, first and last, and more texts than are encoded at a time."""
    monkeypatch.setattr("icaps.inference.CHUNK", 7)
    monkeypatch.setattr("icaps.inference.BATCH_WORDS", 30)
    texts, labels = make_texts(90, 4)
    model = dataclasses.replace(MODEL, hierarchical=hierarchical)
    train = dataclasses.replace(TRAIN, epochs=1)
    classifier = ICapsClassifier(model, train, device="cpu").fit(texts, labels)
    mixed = ["", *texts[:20], "", "zzz qqq", "...", *texts[20:40], " "]
    network, vocabulary = classifier.network_, classifier.vocabulary_
    for muted in ((), (1,)):
        batches = list(read_texts(network, vocabulary, mixed, muted))
        numbers = [number for batch in batches for number in batch.numbers.tolist()]
        assert numbers == list(range(len(mixed)))
        assert [text for batch in batches for text in batch.texts] == mixed
        expected = torch.cat([batch.activity.class_norms for batch in batches])
        tokens = encode(vocabulary, mixed, model, spans=False)
        actual = torch.from_numpy(class_norms(network, tokens, muted))
        torch.testing.assert_close(actual, expected, rtol=0, atol=1e-6)
        assert (actual[[0, 21, 22, -1]] == 0).all()
    assert class_norms(network, encode(vocabulary, [], model)).shape == (0, 3)


def test_a_batch_has_at_most_batch_routes(
    classifier: ICapsClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many texts of one word each, which are few words: their routes fill memory, not these."""
    network = classifier.network_
    texts = [text.split()[0] for text in make_texts(9, 1)[0]]
    tokens = encode(classifier.vocabulary_, texts, network.config)
    expected = class_norms(network, tokens)
    routes = network.config.num_capsules * network.num_classes
    for allowed, sizes in ((4 * routes, [4, 4, 1]), (routes - 1, [1] * 9)):
        monkeypatch.setattr("icaps.inference.BATCH_ROUTES", allowed)
        batches = list(read(network, tokens))
        assert [len(batch) for batch in batches] == sizes
        actual = np.concatenate([batch.activity.class_norms.numpy() for batch in batches])
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-6)
