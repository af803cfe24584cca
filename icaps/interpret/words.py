"""Which words speak for a capsule or a cell: by count, or by how much they are its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from functools import cache
from typing import NamedTuple, TypeVar

Item = TypeVar("Item", bound=Hashable)


class Weighted(NamedTuple):
    """A word or K-gram as it is read, its count, and its relevance."""

    text: str
    frequency: int
    relevance: float


def most_relevant(
    counts: Mapping[Item, int],
    everywhere: Mapping[Item, int],
    lambda_: float,
    top: int,
    show: Callable[[Item], str],
) -> list[Weighted]:
    """The items of a cell with the highest relevance (Sievert and Shirley 2014), at most `top`.

    lambda log p(w | cell) + (1 - lambda) log(p(w | cell) / p(w)): 1 orders by count, as the paper
    does, and 0 by how much more often w is here than anywhere. Ties go to the alphabet.

    Args:
        counts: How often each item is in the cell.
        everywhere: How often each is in all cells together.
        lambda_: From 0 to 1.
        top: How many are wanted.
        show: The text of an item.
    """
    here, all_cells = sum(counts.values()), sum(everywhere.values())

    def relevance(item: Item, count: int) -> float:
        share = math.log(count / here)
        return share - (1 - lambda_) * math.log(everywhere[item] / all_cells)

    weighted = [Weighted(show(i), count, relevance(i, count)) for i, count in counts.items()]
    return sorted(weighted, key=lambda w: (-w.relevance, w.text))[:top]


def is_telling(word: str) -> bool:
    """Whether a word is neither punctuation nor one of scikit-learn's English stop words."""
    return word[0].isalnum() and word.lower() not in _stop_words()


@cache
def _stop_words() -> frozenset[str]:
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS  # a second, when it is needed

    return frozenset({*ENGLISH_STOP_WORDS, "n't", "n’t"})
