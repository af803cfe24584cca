"""Texts that differ from each other and stand for many: one per cluster of the texts.

The texts are TF-IDF features, projected to their main directions (latent semantic analysis). They
fall into clusters by k-means; the texts that are labelled already are among them, and clusters
without labels come first, the largest before the others. Of each the text nearest to the center is
chosen. With weights, the centers are drawn to uncertain texts: weighted k-means of the most
uncertain texts (Zhdanov, "Diverse mini-batch Active Learning", 2019). Without, this is typical
clustering (Hacohen, Dekel and Weinshall, "Active Learning on a Budget", ICML 2022).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

DIMENSIONS = 100
_STARTS = 1  # of k-means


def text_features(texts: Sequence[str], seed: int) -> NDArray[np.float64]:
    """Directions of texts (texts, d), of length 1; zeros for a text without words."""
    vectorizer = TfidfVectorizer(sublinear_tf=True, stop_words="english")
    try:
        features = vectorizer.fit_transform(texts)
    except ValueError:  # no words at all
        return np.zeros((len(texts), 1))
    size = min(DIMENSIONS, *(side - 1 for side in features.shape))
    if size < 1:
        return np.asarray(normalize(features.toarray()))
    return np.asarray(normalize(TruncatedSVD(size, random_state=seed).fit_transform(features)))


def cluster_choice(
    features: NDArray[np.float64],
    open_: NDArray[np.int64],
    labelled: NDArray[np.int64],
    count: int,
    seed: int,
    weights: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Chooses texts from clusters in which little is labelled.

    Args:
        features: (texts, d).
        open_: (n,), numbers of the texts that may be chosen.
        labelled: (m,), numbers of labelled texts.
        count: Number of texts to choose.
        seed: Seed of k-means.
        weights: (n,), of the open texts; None for 1 each.

    Returns:
        The chosen numbers, at most `count`, the one with the largest cluster first, and the number
        of open texts in each's cluster.
    """
    count = min(count, len(open_))
    together = np.concatenate([open_, labelled])
    clusters = min(count + len(labelled), len(together))
    weight = np.ones(len(together))
    if weights is not None:
        weight[: len(open_)] = weights
    means = KMeans(clusters, n_init=_STARTS, random_state=seed)
    cluster = means.fit_predict(features[together], sample_weight=weight)
    distances = np.linalg.norm(features[together] - means.cluster_centers_[cluster], axis=1)
    own = cluster[: len(open_)]
    sizes = np.bincount(own, minlength=clusters)
    known = np.bincount(cluster[len(open_) :], minlength=clusters)
    order = np.lexsort((-sizes, known))  # by labels, then by size
    chosen: list[tuple[int, int]] = []
    for c in order.tolist():
        inside = np.flatnonzero(own == c)
        if len(inside) and len(chosen) < count:
            chosen.append((int(inside[distances[inside].argmin()]), int(sizes[c])))
    numbers, counts = zip(*chosen, strict=True)
    return open_[list(numbers)], np.array(counts)
