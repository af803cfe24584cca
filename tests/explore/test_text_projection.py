"""Texts in the plane, by their capsules."""

import numpy as np
import pytest
import torch

from icaps import inference
from icaps.classifier import ICapsClassifier
from icaps.errors import ConfigError
from icaps.explore.text_projection import SPACES, project_texts, text_vectors
from icaps.interpret.edits import neutral_capsule, neutral_words
from icaps.text.sentences import encode
from tests.conftest import MODEL, make_texts

BLANKS = [2, 5]


@pytest.fixture
def texts() -> list[str]:
    texts, _ = make_texts(24, seed=3)
    texts[2], texts[5] = "", "zzzz"
    return texts


def test_class_capsules_have_the_lengths_of_the_scores(
    classifier: ICapsClassifier, texts: list[str]
) -> None:
    vectors = text_vectors(classifier, texts, "class")
    assert vectors.shape == (24, 3 * MODEL.class_dim)
    assert vectors.dtype == np.float32
    lengths = np.linalg.norm(vectors.reshape(24, 3, MODEL.class_dim), axis=2)
    assert lengths == pytest.approx(classifier.class_norms(texts), abs=1e-6)
    assert not vectors[BLANKS].any()


def test_primary_capsules_are_those_of_the_network(
    classifier: ICapsClassifier, texts: list[str]
) -> None:
    vectors = text_vectors(classifier, texts, "primary")
    assert vectors.shape == (24, MODEL.num_capsules * MODEL.query_dim)
    for n in (0, 7):
        encoded = encode(classifier.vocabulary_, [texts[n]], MODEL)
        with torch.inference_mode():
            activity = classifier.network_(encoded)
        expected = activity.primary_capsules[0].flatten().numpy()
        assert vectors[n] == pytest.approx(expected, abs=1e-5)
    assert not vectors[BLANKS].any()


@pytest.mark.parametrize("space", SPACES)
def test_batches_make_no_difference(
    classifier: ICapsClassifier,
    texts: list[str],
    space: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = text_vectors(classifier, texts, space)
    monkeypatch.setattr(inference, "BATCH_WORDS", 20)
    monkeypatch.setattr(inference, "CHUNK", 5)
    assert text_vectors(classifier, texts, space) == pytest.approx(whole, abs=1e-5)


def test_capsules_that_are_off_count_for_nothing(
    classifier: ICapsClassifier, texts: list[str]
) -> None:
    less = classifier.without([0, 4])
    vectors = text_vectors(less, texts, "class").reshape(24, 3, MODEL.class_dim)
    assert np.linalg.norm(vectors, axis=2) == pytest.approx(less.class_norms(texts), abs=1e-6)
    primary = text_vectors(less, texts, "primary").reshape(24, MODEL.num_capsules, -1)
    assert not primary[:, [0, 4]].any()
    assert primary[0, 1].any()


@pytest.mark.parametrize("method", ["pca", "tsne"])
def test_texts_of_a_class_lie_together(classifier: ICapsClassifier, method: str) -> None:
    texts, labels = make_texts(60, seed=8)
    made = project_texts(text_vectors(classifier, texts, "class"), method, perplexity=10)
    assert made.points.shape == (60, 2)
    near = np.linalg.norm(made.points[:, None] - made.points, axis=2).argsort(1)[:, 1]
    assert np.mean([labels[n] == labels[other] for n, other in enumerate(near)]) > 0.9
    assert made.preservation is not None
    assert made.shuffled is not None
    assert made.preservation > 0.8 > made.shuffled + 0.1
    assert made.perplexity == (10 if method == "tsne" else None)


def test_a_map_is_the_same_each_time(classifier: ICapsClassifier, texts: list[str]) -> None:
    vectors = text_vectors(classifier, texts, "primary")
    one, again = (project_texts(vectors, seed=3) for _ in range(2))
    assert np.array_equal(one.points, again.points)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_few_texts(classifier: ICapsClassifier, texts: list[str], count: int) -> None:
    made = project_texts(text_vectors(classifier, texts[:count]), "tsne")
    assert made.points.shape == (count, 2)
    assert made.preservation is None


@pytest.mark.filterwarnings("error")
def test_blank_texts_alone(classifier: ICapsClassifier) -> None:
    made = project_texts(text_vectors(classifier, [""] * 6), "pca")
    assert not made.points.any()


def test_mistakes_are_told(classifier: ICapsClassifier, texts: list[str]) -> None:
    with pytest.raises(ConfigError, match="class or primary"):
        text_vectors(classifier, texts, "words")
    with pytest.raises(ConfigError, match="tsne or pca"):
        project_texts(np.zeros((5, 2), np.float32), "umap")
    with pytest.raises(ConfigError, match="above 0"):
        project_texts(np.zeros((5, 2), np.float32), perplexity=0)


def test_lengths_are_the_scores_of_an_edited_model(classifier: ICapsClassifier) -> None:
    texts = make_texts(20, seed=3)[0]
    edited = classifier.edited([neutral_words("bread"), neutral_capsule(1, "Gardens")])
    vectors = text_vectors(edited, texts).reshape(len(texts), 3, -1)
    lengths = np.linalg.norm(vectors, axis=2)
    np.testing.assert_allclose(lengths, edited.class_norms(texts), atol=1e-6)
    assert not np.allclose(lengths, classifier.class_norms(texts), atol=1e-3)
