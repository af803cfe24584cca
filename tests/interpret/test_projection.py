"""Maps of vectors that are equal or all but equal."""

import numpy as np

from icaps.interpret.projection import map_vectors


def test_vectors_that_are_all_but_equal_share_a_point() -> None:
    """A tree of such points is endlessly deep, and t-SNE crashed the process."""
    random = np.random.default_rng(0)
    groups = random.normal(size=(3, 8))
    vectors = np.repeat(groups, 80, axis=0) + random.normal(size=(240, 8)) * 1e-9
    points = map_vectors(vectors, "tsne", 0, 30, controls=0).points
    assert len(np.unique(points, axis=0)) == 3
    assert (points.reshape(3, 80, 2) == points[::80, None]).all()
