"""Intervals cover what they promise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from icaps.stats import RESAMPLES, bootstrap, bootstrap_mean, percentile_interval, wilson


def test_wilson_by_hand() -> None:
    """The roots of (p - 8/10)² = z² p (1 - p) / 10."""
    z = norm.ppf(0.975)
    middle, half = (0.8 + z**2 / 20) / (1 + z**2 / 10), z * np.sqrt(0.016 + z**2 / 400)
    half /= 1 + z**2 / 10
    assert wilson(8, 10) == pytest.approx((0.8, middle - half, middle + half))
    assert wilson(10, 10).high == pytest.approx(1)
    assert np.isnan(wilson(0, 0).value)
    assert wilson(0, 0)[1:] == (0, 1)


def test_the_bootstrap_covers_a_known_value() -> None:
    """Of 95% intervals of a share that is 0.3, about 95% hold it."""
    random = np.random.default_rng(0)
    held = 0
    for seed in range(200):
        hits = random.binomial(200, 0.3)
        draws = bootstrap(np.array([hits, 200 - hits]), lambda drawn: drawn[:, 0] / 200, seed)
        actual = percentile_interval(hits / 200, draws)
        held += actual.low <= 0.3 <= actual.high
    assert 0.9 <= held / 200 <= 0.99


@given(st.lists(st.integers(1, 50), min_size=1, max_size=8), st.integers(0, 99))
def test_a_resample_has_as_many_texts(counts: list[int], seed: int) -> None:
    totals = bootstrap(np.array(counts), lambda drawn: drawn.sum(1), seed)
    assert totals.shape == (RESAMPLES,)
    assert set(totals.tolist()) == {sum(counts)}


def test_many_cells_are_drawn_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("icaps.stats._MAX_CELLS", 21)
    sizes: list[int] = []

    def statistic(drawn: np.ndarray) -> np.ndarray:
        sizes.append(len(drawn))
        return drawn[:, 0] / 1.0

    assert len(bootstrap(np.array([1, 2, 3]), statistic, 0)) == RESAMPLES
    assert max(sizes) == 7


def test_an_interval_is_that_of_texts_drawn_again() -> None:
    values = np.random.default_rng(5).normal(2, 1, 400)
    actual = bootstrap_mean(values, seed=3)
    assert actual.value == pytest.approx(values.mean())
    error = values.std() / 20  # of a mean of 400
    assert actual.low == pytest.approx(values.mean() - 1.96 * error, abs=0.2 * error)
    assert actual.high == pytest.approx(values.mean() + 1.96 * error, abs=0.2 * error)
    assert bootstrap_mean(values, seed=3) == actual
    assert bootstrap_mean(np.array([np.nan, 1, 3])).value == 2
    assert np.isnan(bootstrap_mean(np.array([np.nan]))).all()
