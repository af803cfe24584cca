"""Two capsule networks with the same prediction: whether they decide by the same words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from icaps.classifier import ICapsClassifier
from icaps.config import ExplainOptions
from icaps.results import Explanation

OPTIONS = ExplainOptions(top_capsules=2, top_kgrams=2)
_DRAWS = 20  # of random places for the second network's K-grams

Words = frozenset[tuple[int, int]]  # where words start and end in a text


@dataclass(frozen=True)
class SharedReasons:
    """A text for which two networks predict the same class, and the K-grams of both.

    Attributes:
        number: Of the text, among those that were given.
        text, predicted: The text, and the class.
        one, other: The K-grams of each, as they are shown.
        overlap: Words in the K-grams of both over words in those of either (Jaccard), 0 to 1.
        random: The mean of the same with the second network's K-grams at random places of the text.
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


def shared_reasons(
    one: ICapsClassifier,
    other: ICapsClassifier,
    texts: Sequence[str],
    seed: int = 0,
) -> list[SharedReasons]:
    """Texts for which both networks predict the same class, the most different reasons first.

    Each explains with its two most routed capsules, and two K-grams per capsule.

    Texts without a known word are left out, as they have no explanation. Words are identified by
    their offsets, whether a network knows them or not.
    """
    random = np.random.default_rng(seed)
    first, second = (network.explain(texts, OPTIONS) for network in (one, other))
    pairs = zip(first, second, strict=True)
    texts_with_both = list(_shared(enumerate(pairs), random))
    return sorted(texts_with_both, key=lambda shared: (shared.overlap, shared.number))


def _shared(
    pairs: Iterator[tuple[int, tuple[Explanation, Explanation]]], random: np.random.Generator
) -> Iterator[SharedReasons]:
    for number, (first, second) in pairs:
        if first.predicted != second.predicted or not (first.kgrams and second.kgrams):
            continue
        mine, theirs = _covered(first), _covered(second)
        drawn = [jaccard(mine, _drawn(second, random)) for _ in range(_DRAWS)]
        yield SharedReasons(
            number,
            first.text,
            first.predicted,
            tuple(kgram.text for kgram in first.kgrams),
            tuple(kgram.text for kgram in second.kgrams),
            jaccard(mine, theirs),
            float(np.mean(drawn)),
        )


def jaccard(one: Words, other: Words) -> float:
    """The Jaccard index of two sets of words; 1 if both are empty."""
    either = one | other
    return len(one & other) / len(either) if either else 1.0


def _covered(explanation: Explanation) -> Words:
    """The words that are covered by K-grams."""
    return frozenset((word.start, word.end) for word in explanation.words if word.count)


def _drawn(explanation: Explanation, random: np.random.Generator) -> Words:
    """The words of as many K-grams at random places; a K-gram has all words if they are < K."""
    words = explanation.words
    size = min(explanation.kernel_size, len(words))
    starts = random.integers(0, len(words) - size + 1, len(explanation.kgrams)).tolist()
    return frozenset((w.start, w.end) for start in starts for w in words[start : start + size])
