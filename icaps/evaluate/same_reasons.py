"""Two capsule networks that predict the same: do they read it off the same words?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from icaps.classifier import ICapsClassifier
from icaps.config import ExplainOptions
from icaps.results import Explanation

OPTIONS = ExplainOptions(top_capsules=2, top_kgrams=2)
_DRAWS = 20  # random places of the second one's K-grams

Words = frozenset[tuple[int, int]]  # where words start and end in a text


@dataclass(frozen=True)
class Shared:
    """A text to which two networks give the same class.

    Attributes:
        number: Of the text, among those that were asked.
        text, predicted: The text, and the class.
        one, other: The K-grams of each, as they are shown.
        overlap: Words in the K-grams of both over words in those of either (Jaccard), 0 to 1.
        random: The same, on average, with the second one's K-grams at random places of the text.
    """

    number: int
    text: str
    predicted: str
    one: tuple[str, ...]
    other: tuple[str, ...]
    overlap: float
    random: float

    @property
    def divergence(self) -> float:
        """How different the reasons are, from 0 to 1."""
        return 1 - self.overlap


def shared_predictions(
    one: ICapsClassifier,
    other: ICapsClassifier,
    texts: Sequence[str],
    seed: int = 0,
) -> list[Shared]:
    """Texts that both networks predict alike, the most different reasons first.

    Each explains with its two most routed capsules, and two K-grams per capsule.

    Texts without a known word are left out, as nothing explains them. Words are told apart by where
    they stand, whatever each network knows of them.
    """
    random = np.random.default_rng(seed)
    first, second = (network.explain(texts, OPTIONS) for network in (one, other))
    pairs = zip(first, second, strict=True)
    found = list(_shared(enumerate(pairs), random))
    return sorted(found, key=lambda shared: (shared.overlap, shared.number))


def _shared(
    pairs: Iterator[tuple[int, tuple[Explanation, Explanation]]], random: np.random.Generator
) -> Iterator[Shared]:
    for number, (first, second) in pairs:
        if first.predicted != second.predicted or not (first.kgrams and second.kgrams):
            continue
        mine, theirs = _covered(first), _covered(second)
        drawn = [jaccard(mine, _drawn(second, random)) for _ in range(_DRAWS)]
        yield Shared(
            number,
            first.text,
            first.predicted,
            tuple(kgram.text for kgram in first.kgrams),
            tuple(kgram.text for kgram in second.kgrams),
            jaccard(mine, theirs),
            float(np.mean(drawn)),
        )


def jaccard(one: Words, other: Words) -> float:
    """Words of both over words of either; 1 where neither has one."""
    either = one | other
    return len(one & other) / len(either) if either else 1.0


def _covered(explanation: Explanation) -> Words:
    """The words that a K-gram lies over."""
    return frozenset((word.start, word.end) for word in explanation.words if word.count)


def _drawn(explanation: Explanation, random: np.random.Generator) -> Words:
    """The words of as many K-grams, each of K words, or of all where there are fewer."""
    words = explanation.words
    size = min(explanation.kernel_size, len(words))
    starts = random.integers(0, len(words) - size + 1, len(explanation.kgrams)).tolist()
    return frozenset((w.start, w.end) for start in starts for w in words[start : start + size])
