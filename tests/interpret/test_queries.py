"""Queries in the plane, and their nearest words."""

import numpy as np
import pytest
import torch

from icaps.classifier import ICapsClassifier
from icaps.errors import ConfigError
from icaps.interpret.projection import METHODS
from icaps.interpret.queries import (
    SPACES,
    cosines,
    map_queries,
    nearest_words,
    query_vectors,
)
from icaps.nn.packing import lay_out


def groups(count: int) -> np.ndarray:
    """Two far groups of vectors."""
    random = np.random.default_rng(0)
    return random.normal(size=(count, 6)) * 0.1 + 20 * (np.arange(count) % 2)[:, None]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("count", [1, 2, 3, 4, 32])
def test_any_number_of_queries(count: int, method: str) -> None:
    made = map_queries(groups(count), "queries", method, perplexity=30)
    assert made.points.shape == (count, 2)
    assert np.isfinite(made.points).all()
    assert (made.preservation is None) == (count < 4)
    if method == "tsne":
        assert made.perplexity is None if count == 1 else made.perplexity < count


@pytest.mark.parametrize("method", METHODS)
def test_far_groups_stay_apart_and_the_score_says_so(method: str) -> None:
    made = map_queries(groups(32), "queries", method)
    near = np.linalg.norm(made.points[:, None] - made.points, axis=2).argsort(1)[:, 1:6]
    assert ((near % 2) == (np.arange(32) % 2)[:, None]).all()
    assert made.preservation is not None
    assert made.shuffled is not None
    assert made.preservation > 0.8 > made.shuffled + 0.1


def test_a_map_is_the_same_each_time() -> None:
    vectors = groups(16)
    one, again = (map_queries(vectors, "queries", seed=4) for _ in range(2))
    assert np.array_equal(one.points, again.points)


def test_pca_is_the_directions_of_largest_variance() -> None:
    vectors = groups(12)
    centred = vectors - vectors.mean(0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    made = map_queries(vectors, "queries", "pca")
    assert np.abs(made.points) == pytest.approx(np.abs(left[:, :2] * sizes[:2]))


def test_vectors_of_both_spaces(classifier: ICapsClassifier) -> None:
    attention = classifier.network_.attention
    own = query_vectors(classifier.network_, "queries")
    effective = query_vectors(classifier.network_, "effective")
    assert own == pytest.approx(attention.primary_queries.detach().numpy())
    for i, query in enumerate(own):
        key = attention.key_weight[i].detach().double().numpy()
        assert effective[i] == pytest.approx(key.T @ query / len(query) ** 0.5, abs=1e-5)


def test_words_score_what_they_get_in_a_text_of_their_own(classifier: ICapsClassifier) -> None:
    """Of two words in two texts, the exponents of attention are these scores."""
    words = nearest_words(classifier.network_, classifier.vocabulary_, 1_000)
    assert len(words) == classifier.network_.config.num_capsules
    assert all(len(column) == len(classifier.vocabulary_) - 2 for column in words)
    network, vocabulary = classifier.network_, classifier.vocabulary_
    with torch.no_grad():
        layout = lay_out(np.array([1]), network.config.kernel_size)
        region = network.embed_regions(torch.tensor([vocabulary.id("soup")]), layout)[0]
        key = network.attention.key_weight[2] @ region
        expected = float(key @ network.attention.primary_queries[2] / len(key) ** 0.5)
    assert dict(words[2])["soup"] == pytest.approx(expected, abs=1e-5)
    scores = [score for _, score in words[2]]
    assert scores == sorted(scores, reverse=True)
    assert len(nearest_words(network, vocabulary, 3)[0]) == 3


def test_cosines() -> None:
    vectors = np.array([[1.0, 0], [2, 2], [0, 0]])
    assert cosines(vectors) == pytest.approx(
        np.array([[1, 0.5**0.5, 0], [0.5**0.5, 1, 0], [0, 0, 0]])
    )


def test_mistakes_are_refused(classifier: ICapsClassifier) -> None:
    with pytest.raises(ConfigError, match="effective or queries"):
        query_vectors(classifier.network_, "keys")
    with pytest.raises(ConfigError, match="tsne or pca"):
        map_queries(groups(4), SPACES[0], "umap")
    with pytest.raises(ConfigError, match="above 0"):
        map_queries(groups(4), SPACES[0], perplexity=0)
