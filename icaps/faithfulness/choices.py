"""Selection of the words to remove: the first of a ranking, those under K-grams, random ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from icaps.config import ExplainOptions
from icaps.faithfulness.attributions.registry import DRAWS
from icaps.faithfulness.texts import ExplainedTexts
from icaps.interpret.account import BatchAccount
from icaps.interpret.kgrams import select_kgrams

PERCENTS = (1, 5, 10, 20, 50)  # of a text's words, rounded up: the bins of ERASER

Choices = NDArray[np.bool_]  # (choices, words), true for the selected words


def bins(scores: NDArray[np.floating]) -> Choices:
    """The first PERCENTS of the words by each order of scores (orders, words).

    Returns:
        (orders * len(PERCENTS), words).
    """
    words = scores.shape[1]
    return np.concatenate([first(scores, -(-words * percent // 100)) for percent in PERCENTS])


def first(scores: NDArray[np.floating], size: int) -> Choices:
    """The `size` words with the highest scores in each order (orders, words); ties: the earlier."""
    ranks = (-scores).argsort(axis=1, kind="stable").argsort(axis=1)
    return np.asarray(ranks < size)


def covered_words(texts: ExplainedTexts, options: ExplainOptions) -> list[Choices]:
    """The words under the K-grams that explain each text, as one choice (1, words)."""
    choices = []
    for reading, target in texts:
        account = BatchAccount(texts.network, reading)
        kgrams = select_kgrams(account, np.array([target]), options)
        choices.append(kgrams.count_per_word(len(reading.tokens.ids))[None] > 0)
    return choices


def random_places(choices: Sequence[Choices], seed: int, draws: int = DRAWS) -> list[Choices]:
    """The control: the runs of words in `choices` (1, words), at random places of each text.

    As many words are selected, in runs of the same lengths, which do not overlap.

    Returns:
        (draws, words) per text.
    """
    random = np.random.default_rng(seed)
    result = []
    for (chosen,) in choices:
        edges = np.diff(np.pad(chosen.astype(int), 1))
        runs = np.flatnonzero(edges < 0) - np.flatnonzero(edges > 0)  # lengths
        placed = np.zeros((draws, len(chosen)), dtype=bool)
        for draw in placed:
            lengths = random.permutation(runs)
            slots = len(chosen) - int(runs.sum()) + len(runs)  # other words, and one per run
            places = np.sort(random.choice(slots, len(runs), replace=False))
            starts = places - np.arange(len(runs)) + lengths.cumsum() - lengths
            for start, length in zip(starts, lengths, strict=True):
                draw[start : start + length] = True
        result.append(placed)
    return result
