"""Overlap of the explanations of two capsule networks that predict the same class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from icaps.classifier import ICapsClassifier
from icaps.config import ExplainOptions
from icaps.results import Explanation

OPTIONS = ExplainOptions(top_capsules=2, top_kgrams=2)
_DRAWS = 20  # random placements of the second network's K-grams

WordSpans = frozenset[tuple[int, int]]  # start and end of words in a text


@dataclass(frozen=True)
class SharedReasons:
    """A text for which two networks predict the same class, and the K-grams of both.

    Attributes:
        number: The position of the text in the sample.
        text, predicted: The text, and the predicted class.
        one, other: The K-grams of each network, as they are shown.
        overlap: Jaccard index of the words that the K-grams of the two cover, 0 to 1.
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
        """The Jaccard distance of the explanations, from 0 to 1."""
        return 1 - self.overlap


def shared_reasons(
    one: ICapsClassifier,
    other: ICapsClassifier,
    texts: Sequence[str],
    seed: int = 0,
) -> list[SharedReasons]:
    """Texts for which both networks predict the same class, the smallest overlap first.

    Each network explains with its two most routed capsules, and two K-grams per capsule.

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
        covered, other_covered = _covered(first), _covered(second)
        drawn = [jaccard(covered, _drawn(second, random)) for _ in range(_DRAWS)]
        yield SharedReasons(
            number,
            first.text,
            first.predicted,
            tuple(kgram.text for kgram in first.kgrams),
            tuple(kgram.text for kgram in second.kgrams),
            jaccard(covered, other_covered),
            float(np.mean(drawn)),
        )


def jaccard(one: WordSpans, other: WordSpans) -> float:
    """The Jaccard index of two sets of words; 1 if both are empty."""
    either = one | other
    return len(one & other) / len(either) if either else 1.0


def _covered(explanation: Explanation) -> WordSpans:
    """The words that K-grams cover."""
    return frozenset((word.start, word.end) for word in explanation.words if word.count)


def _drawn(explanation: Explanation, random: np.random.Generator) -> WordSpans:
    """The words of the same number of K-grams at random places; all words if they are below K."""
    words = explanation.words
    size = min(explanation.kernel_size, len(words))
    starts = random.integers(0, len(words) - size + 1, len(explanation.kgrams)).tolist()
    return frozenset((w.start, w.end) for start in starts for w in words[start : start + size])
