"""Maps of vectors that differ by rounding alone, at which t-SNE crashed the process."""

import numpy as np

from icaps.interpret.projection import _start, map_vectors


def test_vectors_that_differ_by_rounding_alone() -> None:
    vectors = np.tile(np.random.default_rng(0).random(18, np.float32), (200, 1))
    vectors[1::2, -1] = np.nextafter(vectors[0, -1], np.float32(1))
    assert len(np.unique(vectors, axis=0)) == 2
    points = map_vectors(vectors, "tsne", 0, 30, controls=0).points
    assert points.shape == (200, 2)
    assert np.isfinite(points).all()


def test_equal_components_that_are_not_zero_start_at_zero() -> None:
    assert (_start(np.full((5, 2), 9.5e-7)) == 0).all()


def test_components_start_with_a_standard_deviation_of_1e_4() -> None:
    points = np.array([[-2.0, 1.0], [0.0, 3.0], [2.0, -4.0]])
    expected = points * 1e-4 / np.sqrt(8 / 3)
    np.testing.assert_allclose(_start(points), expected, rtol=1e-12)
