"""Bounds on what is counted."""

from collections import Counter

import numpy as np
import pytest

from icaps.interpret import tally
from icaps.interpret.tally import TYPICAL, Tally, Typical
from icaps.interpret.winners import ABSENT, Winners


def winners(kgrams: list[list[int]], gave: list[float], first: int = 0) -> Winners:
    """Texts of class 0 that capsule 0 won."""
    texts = len(kgrams)
    nothing = np.zeros(texts, np.int64)
    contribution = np.array(gave, np.float32)[:, None]
    numbers = np.arange(first, first + texts)
    return Winners(numbers, nothing, nothing, nothing, np.array(kgrams), contribution, contribution)


def test_words_past_the_ends_are_left_out() -> None:
    made = Tally.empty(1, 1)
    made.add(winners([[ABSENT, 5, 6], [5, 5, ABSENT]], [0.1, 0.2]), blank=3)
    assert made.words[0, 0] == Counter({5: 3, 6: 1})
    assert made.kgrams[0, 0] == Counter({(5, 6): 1, (5, 5): 1})
    assert (made.texts, made.blank) == (2, 3)
    assert made.words_of([(0, 0), (4, 4)]) == Counter({5: 3, 6: 1})


def test_typical_texts_are_those_of_the_largest_contributions() -> None:
    made = Tally.empty(1, 1)
    gave = [0.5, 0.25, 1.0, 0.5, 0.125, 2.0, 0.5]
    made.add(winners([[1]] * len(gave), gave), blank=0)
    assert made.typical[0, 0] == [
        Typical(2.0, 5),
        Typical(1.0, 2),
        Typical(0.5, 0),  # of equal ones the earlier
        Typical(0.5, 3),
        Typical(0.5, 6),
    ]
    assert len(made.typical[0, 0]) == TYPICAL


def test_kgrams_are_bounded_and_low_by_no_more_than_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tally, "MAX_KGRAMS", 50)
    random = np.random.default_rng(0)
    made, true = Tally.empty(1, 1), Counter[tuple[int, ...]]()
    for batch in range(40):
        kgrams = random.zipf(1.3, (60, 1)).clip(max=10_000)
        made.add(winners(kgrams.tolist(), [1.0] * 60, 60 * batch), blank=0)
        true.update((kgram[0],) for kgram in kgrams.tolist())
    assert len(made.kgrams[0, 0]) <= 50
    assert made.dropped > 0
    for kgram, count in true.items():
        assert count - made.dropped <= made.kgrams[0, 0][kgram] <= count
    assert made.words[0, 0].total() == 40 * 60  # words are all counted


def test_the_median_is_taken_from_each_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally, "MAX_KGRAMS", 3)
    made, other = Tally.empty(1, 1), Tally.empty(1, 1)
    counts = {(1,): 5, (2,): 3, (3,): 2}
    made.add(winners([list(kgram) for kgram, n in counts.items() for _ in range(n)], [1.0] * 10), 0)
    assert (made.kgrams[0, 0], made.dropped) == (counts, 0)  # as many as there is room for
    made.add(winners([[4]], [1.0]), blank=0)
    assert (made.kgrams[0, 0], made.dropped) == ({(1,): 2}, 3)  # of 1, 2, 3 and 5 it is 3
    other.add(winners([[6], [7], [8]], [1.0] * 3), blank=2)
    other.dropped = 2
    made.merge(other)
    assert (made.kgrams[0, 0], made.dropped) == ({(1,): 1}, 3 + 2 + 1)
    assert (made.texts, made.blank) == (14, 2)
