"""Features by which texts without labels are compared: topics and word vectors.

Two halves, each of length 1: the main directions of TF-IDF features (latent semantic analysis,
Deerwester et al. 1990), and the weighted mean of word vectors without its main direction (Arora,
Liang and Ma, "A Simple but Tough-to-Beat Baseline for Sentence Embeddings", ICLR 2017).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from icaps.explore.word_numbers import iter_words
from icaps.text.vector_files import ENGLISH, load_vectors

TOPICS = 100
RARE = 1e-3  # share of all words from which a word has half of the weight of a rare one
_MEASURED = 3_000  # texts whose main direction is removed

Features = NDArray[np.float64]


def text_features(texts: Sequence[str], seed: int) -> Features:
    """The features of texts (texts, d); zeros in a half for a text without known words.

    Args:
        texts: The texts, in memory.
        seed: Seed of the decomposition.
    """
    return np.hstack([_topics(texts, seed), _mean_vectors(texts)])


def _topics(texts: Sequence[str], seed: int) -> Features:
    """Directions of TF-IDF features (texts, at most TOPICS), of length 1."""
    least = 2 if len(texts) > TOPICS else 1  # texts that a word must be in
    try:
        counts = TfidfVectorizer(sublinear_tf=True, min_df=least).fit_transform(texts)
    except ValueError:  # no words at all
        return np.zeros((len(texts), 1))
    size = min(TOPICS, *(side - 1 for side in counts.shape))
    if size < 1:
        return np.asarray(counts.toarray(), np.float64)
    return np.asarray(normalize(TruncatedSVD(size, random_state=seed).fit_transform(counts)))


def _mean_vectors(texts: Sequence[str]) -> Features:
    """Weighted means of word vectors (texts, size of the vectors), of length 1."""
    numbers, matrix = _english()
    words = [_known(text, numbers) for text in texts]
    counts = Counter(word for of_text in words for word in of_text)
    total = max(counts.total(), 1)
    means = np.zeros((len(texts), matrix.shape[1]))
    for n, of_text in enumerate(words):
        if of_text:
            weights = np.array([RARE / (RARE + counts[word] / total) for word in of_text])
            means[n] = weights @ matrix[of_text] / len(of_text)
    known = np.flatnonzero(means.any(1))
    if len(known) > 1:
        means[known] -= means[known].mean(0)
        main = np.linalg.svd(means[known[:_MEASURED]], full_matrices=False)[2][:1]
        means[known] -= (means[known] @ main.T) @ main
    return np.asarray(normalize(means))


def _known(text: str, numbers: dict[str, int]) -> list[int]:
    """The numbers of a text's words in the table of vectors."""
    return [numbers[word] for word in iter_words(text) if word in numbers]


@cache
def _english() -> tuple[dict[str, int], NDArray[np.float32]]:
    """The English table of the package: numbers of words, and vectors."""
    vectors = load_vectors(ENGLISH)
    return dict(vectors.key_to_index), np.asarray(vectors.vectors, np.float32)
