"""Inference in batches of bounded size."""

import dataclasses

import numpy as np
import pytest
import torch

from icaps.classifier import ICapsClassifier
from icaps.inference import (
    class_norms,
    each_prediction,
    most_probable,
    predicted_sets,
    read,
    read_texts,
)
from icaps.text.sentences import encode
from tests.conftest import MODEL, TRAIN, make_texts
from tests.several_labels import with_thresholds


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


def test_taken_texts_are_the_same_as_read_alone(classifier: ICapsClassifier) -> None:
    """In any order, also several times, with the words, the attention and the labels of each."""
    texts, _ = make_texts(6, 3)
    (batch,) = read_texts(classifier.network_, classifier.vocabulary_, ["", *texts, "zzz"])
    batch = dataclasses.replace(batch, labels=np.arange(8))
    numbers = [5, 0, 5, 3, 7]
    taken, alone = batch.take(np.array(numbers)), list(batch)
    assert taken.numbers.tolist() == taken.labels.tolist() == numbers
    assert list(taken.texts) == [batch.texts[n] for n in numbers]
    for part, n in zip(taken, numbers, strict=True):
        assert part.tokens.ids.tolist() == alone[n].tokens.ids.tolist()
        assert part.tokens.spans.tolist() == alone[n].tokens.spans.tolist()
        for values, expected in zip(part.activity, alone[n].activity, strict=True):
            assert torch.equal(values, expected)
    assert len(batch.take(np.zeros(0, np.int64))) == 0


def test_predictions_of_one_label_are_the_largest_norm(classifier: ICapsClassifier) -> None:
    norms = np.array([[0.2, 0.7, 0.1], [0.0, 0.0, 0.0], [0.5, 0.1, 0.5]])
    sets = predicted_sets(classifier.network_, norms)
    assert sets.tolist() == [[False, True, False], [False] * 3, [True, False, False]]
    assert most_probable(classifier.network_, norms).tolist() == [1, 0, 0]


def test_predictions_of_several_labels_reach_their_thresholds(classifier: ICapsClassifier) -> None:
    """The most probable class is one of the predicted, although another has a larger norm."""
    network = with_thresholds(classifier, (0.6, 0.2, 0.4), slopes=(1.0, 1.0, 8.0)).network_
    norms = np.array([[0.59, 0.21, 0.0], [0.7, 0.3, 0.45], [0.5, 0.1, 0.3], [0.0, 0.0, 0.0]])
    # Logits: -0.01, 0.01, -3.2; then 0.1, 0.1, 0.4; then -0.1, -0.1, -0.8.
    sets = predicted_sets(network, norms)
    assert sets.tolist() == [[False, True, False], [True] * 3, [False] * 3, [False] * 3]
    assert most_probable(network, norms).tolist()[:2] == [1, 2]


def test_each_prediction_of_a_text_is_counted(classifier: ICapsClassifier) -> None:
    texts, _ = make_texts(12, 5)
    (batch,) = read_texts(classifier.network_, classifier.vocabulary_, ["zzz", *texts])
    same, classes = each_prediction(classifier.network_, batch)
    assert same is batch
    assert classes.tolist() == batch.activity.class_norms.argmax(1).tolist()
    norms = batch.activity.class_norms.numpy()
    network = with_thresholds(classifier, tuple(np.median(norms[1:], 0).tolist())).network_
    several, classes = each_prediction(network, batch)
    expected = [
        (n, j)
        for n, row in enumerate(norms)
        for j in range(3)
        if n and row[j] >= np.median(norms[1:, j])
    ]
    assert list(zip(several.numbers.tolist(), classes.tolist(), strict=True)) == expected
    assert {n for n, _ in expected} != set(range(1, 13)) or len(expected) > 12
