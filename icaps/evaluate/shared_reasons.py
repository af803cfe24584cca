"""Whether two capsule networks that predict the same class have the same reasons.

With several labels per text, this is so for each class that both predict for a text.

By the account (`interpret.account`): the share of a word is what it adds to the norm of the class.
The shares above 0 of each network are divided by their sum; what two networks have in common is
then the sum over words of the smaller of the two, from 0 (other words) to 1 (the same words, with
the same weights). The control shuffles the shares of the second network among its words.

Beside it, the overlap of the K-grams that explain both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from icaps.classifier import ICapsClassifier
from icaps.config import ExplainOptions
from icaps.results import Explanation

OPTIONS = ExplainOptions(top_capsules=2, top_kgrams=2)
_DRAWS = 20  # random placements of the second network's K-grams, and shuffles of its shares

WordSpans = frozenset[tuple[int, int]]  # start and end of words in a text
_Pair = tuple[int, Explanation, Explanation]  # number of a text, and its explanations by both


@dataclass(frozen=True)
class SharedReasons:
    """A text with a class that two networks predict for it, and the K-grams of both.

    Attributes:
        number: The position of the text in the sample.
        text, predicted: The text, and the class.
        one, other: The K-grams of each network, as they are shown.
        common: What the shares of words of the two have in common, 0 to 1.
        random_common: The mean of the same with the second network's shares shuffled.
        overlap: Jaccard index of the words that the K-grams of the two cover, 0 to 1.
        random: The mean of the same with the second network's K-grams at random places of the text.
    """

    number: int
    text: str
    predicted: str
    one: tuple[str, ...]
    other: tuple[str, ...]
    common: float
    random_common: float
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
    """Texts with each class that both networks predict, those with least in common first.

    Each network explains with its two most routed capsules, and two K-grams per capsule.

    Texts without a known word are left out, as they have no explanation. Words are identified by
    their offsets, whether a network knows them or not.
    """
    random, shuffle = np.random.default_rng(seed), np.random.default_rng([seed, 1])
    explained = _explained_classes if one.multilabel_ else _explained
    texts_with_both = list(_shared(explained(one, other, texts), random, shuffle))
    return sorted(texts_with_both, key=lambda shared: (round(shared.common, 9), shared.number))


def _explained(
    one: ICapsClassifier, other: ICapsClassifier, texts: Sequence[str]
) -> Iterator[_Pair]:
    """The texts for which both predict the same class, explained by both."""
    first, second = (network.explain(texts, OPTIONS) for network in (one, other))
    for number, (own, others) in enumerate(zip(first, second, strict=True)):
        if own.predicted == others.predicted:
            yield number, own, others


def _explained_classes(
    one: ICapsClassifier, other: ICapsClassifier, texts: Sequence[str]
) -> Iterator[_Pair]:
    """The texts explained by both for each class that both predict, class after class."""
    predicted, others = one.predict_labels(texts), other.predict_labels(texts)
    for name in map(str, one.classes_):
        numbers = [n for n in range(len(texts)) if name in predicted[n] and name in others[n]]
        some = [texts[n] for n in numbers]
        first, second = (network.explain(some, OPTIONS, target=name) for network in (one, other))
        yield from zip(numbers, first, second, strict=True)


def _shared(
    pairs: Iterator[_Pair],
    random: np.random.Generator,
    shuffle: np.random.Generator,
) -> Iterator[SharedReasons]:
    for number, first, second in pairs:
        if not (first.kgrams and second.kgrams):
            continue
        covered, other_covered = _covered(first), _covered(second)
        drawn = [jaccard(covered, _drawn(second, random)) for _ in range(_DRAWS)]
        weights, other_weights = word_weights(first, second)
        shuffled = [in_common(weights, shuffle.permutation(other_weights)) for _ in range(_DRAWS)]
        yield SharedReasons(
            number,
            first.text,
            first.target,
            tuple(kgram.text for kgram in first.kgrams),
            tuple(kgram.text for kgram in second.kgrams),
            in_common(weights, other_weights),
            float(np.mean(shuffled)),
            jaccard(covered, other_covered),
            float(np.mean(drawn)),
        )


def word_weights(
    first: Explanation, second: Explanation
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The shares above 0 of the words of the second explanation in both, divided by their sum (W,).

    Words are the same if their offsets are. One that the second network did not read is left out,
    but is part of the sum of the first. All are 0 if no share is above 0.
    """
    of_first = {(word.start, word.end): max(word.share, 0.0) for word in first.words}
    weights = np.array([of_first.get((word.start, word.end), 0.0) for word in second.words])
    others = np.array([max(word.share, 0.0) for word in second.words])
    return _divide(weights, sum(of_first.values())), _divide(others, others.sum())


def in_common(weights: NDArray[np.float64], others: NDArray[np.float64]) -> float:
    """The sum of the smaller of two weights of each word; 1 if both sum to 1 and are the same."""
    return float(np.minimum(weights, others).sum())


def _divide(weights: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    return weights / total if total else weights


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
