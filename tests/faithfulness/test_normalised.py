"""Normalised comprehensiveness against all orders of removing the words, one by one."""

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest

from icaps.classifier import ICapsClassifier
from icaps.faithfulness import normalised
from icaps.faithfulness.attributions.registry import score_words
from icaps.faithfulness.normalised import (
    EXACT_WORDS,
    MOST_WORDS,
    aopc,
    find_limits,
    measure_normalised,
    normalised_lines,
    short_texts,
)
from icaps.faithfulness.perturbation import REMOVALS
from icaps.faithfulness.texts import ExplainedTexts
from tests.faithfulness.test_attributions import read
from tests.faithfulness.test_perturbation import left, plain_norms
from tests.interpret.test_corpus import WORDS, untrained


def texts_of(*counts: int, **options: Any) -> tuple[ICapsClassifier, ExplainedTexts]:
    """Texts of random words, in sentences of at most three words with their points."""
    classifier, random = untrained(**options), np.random.default_rng(4)
    classifier.network_.double()
    given = []
    for count in counts:
        words = [str(random.choice(WORDS)) for _ in range(count)]
        words[2::3] = ["." for _ in words[2::3]]
        given.append(" ".join(words))
    texts = read(classifier, given)
    assert [len(reading.tokens.ids) for reading in texts.readings] == list(counts)
    return classifier, texts


def all_aopc(
    classifier: ICapsClassifier, texts: ExplainedTexts, n: int, removal: str
) -> dict[tuple[int, ...], float]:
    """The AOPC of every order of the words of a text, by loops of the definition."""
    reading, target = texts.readings[n], texts.targets[n]
    words = len(reading.tokens.ids)

    def drop(gone: tuple[int, ...]) -> float:
        kept = ~np.isin(np.arange(words), gone)
        everything = left(reading.tokens, np.ones(words, dtype=bool), removal)
        remaining = left(reading.tokens, kept, removal)
        whole = plain_norms(classifier, everything)[target]
        return whole - (plain_norms(classifier, remaining)[target] if kept.any() else 0)

    drops = {
        frozenset(gone): drop(gone)
        for size in range(words + 1)
        for gone in itertools.combinations(range(words), size)
    }
    return {
        order: sum(drops[frozenset(order[:step])] for step in range(1, words + 1)) / words
        for order in itertools.permutations(range(words))
    }


@pytest.mark.parametrize("removal", REMOVALS)
@pytest.mark.parametrize("options", [{}, {"hierarchical": True}])
def test_limits_are_those_of_all_orders(
    options: dict[str, object], removal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    classifier, texts = texts_of(1, 2, 4, 5, **options)
    exact = find_limits(texts, removal)
    monkeypatch.setattr(normalised, "EXACT_WORDS", 0)
    narrow = find_limits(texts, removal)
    monkeypatch.setattr(normalised, "BEAM", 30)  # more than the sets of any size
    wide = find_limits(texts, removal)
    for n in range(len(texts)):
        every = all_aopc(classifier, texts, n, removal)
        lowest, highest = min(every.values()), max(every.values())
        assert exact.lowest[n] == pytest.approx(lowest, abs=1e-9)
        assert exact.highest[n] == pytest.approx(highest, abs=1e-9)
        assert wide.lowest[n] == pytest.approx(lowest, abs=1e-9)
        assert wide.highest[n] == pytest.approx(highest, abs=1e-9)
        assert lowest - 1e-9 <= narrow.lowest[n] <= narrow.highest[n] <= highest + 1e-9


@pytest.mark.parametrize("removal", REMOVALS)
def test_aopc_of_an_order(removal: str) -> None:
    classifier, texts = texts_of(4, 5)
    random = np.random.default_rng(0)
    scores = [random.random((2, len(reading.tokens.ids))) for reading in texts.readings]
    found = aopc(texts, scores, removal)
    for n, orders in enumerate(scores):
        every = all_aopc(classifier, texts, n, removal)
        expected = [every[tuple(np.argsort(-order).tolist())] for order in orders]
        assert found[n] == pytest.approx(np.mean(expected), abs=1e-9)


@pytest.mark.parametrize("removal", REMOVALS)
def test_rankings_between_the_worst_and_the_best_order(removal: str) -> None:
    classifier, texts = texts_of(5, 1, 3, 4)
    (row,) = measure_normalised(texts, ["account"], [removal])
    assert (row.texts, row.exact, row.removal) == (3, 3, removal)
    high, low = [], []
    for n in (0, 2, 3):
        every = all_aopc(classifier, texts, n, removal)
        (scores,) = (orders[0] for orders in score_words("account", texts.take([n]), removal, 0))
        lowest, span = min(every.values()), max(every.values()) - min(every.values())
        order = np.argsort(-scores).tolist()
        high.append((every[tuple(order)] - lowest) / span)
        low.append((every[tuple(order[::-1])] - lowest) / span)
    assert row.comprehensiveness.value == pytest.approx(np.mean(high), abs=1e-9)
    assert row.sufficiency.value == pytest.approx(np.mean(low), abs=1e-9)


def test_texts_that_are_too_long_are_left_out() -> None:
    _, texts = texts_of(1, 2, EXACT_WORDS + 1, MOST_WORDS, MOST_WORDS + 1)
    assert [len(r.tokens.ids) for r in short_texts(texts).readings] == [2, 13, MOST_WORDS]
    (row,) = measure_normalised(texts.take([0, 1, 2, 4]), ["routing"], ["unk"])
    assert (row.texts, row.exact) == (2, 1)
    (lines, kinds, _, numbers) = normalised_lines([row])
    assert "on the 2 texts of 2 to 60 words" in lines
    assert "for 1 texts of up to 12 words" in kinds
    assert numbers.startswith("routing")
    (none,) = measure_normalised(texts.take([4]), ["account"], ["unk"])
    assert none.texts == 0
    assert np.isnan(none.comprehensiveness.value)
    assert dataclasses.asdict(none)["exact"] == 0
