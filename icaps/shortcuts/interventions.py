"""What a K-gram does to predictions: it is masked where it is, and added where it is not.

Beside each stands a control: as many other words masked, and frequent words added.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from icaps.faithfulness.perturbation import norms_of_each, remove
from icaps.results import Interval
from icaps.shortcuts.predicted_texts import Numbers, PredictedTexts, Words
from icaps.stats import bootstrap_mean
from icaps.text.batch import UNK, TokenBatch

DRAWS = 5  # of random words, for each text
FREQUENT = 200  # most frequent words of the texts, from which those are drawn that are added


class Effect(NamedTuple):
    """What a change of texts does to their predictions.

    Attributes:
        texts: How many were changed, all of them predicted right.
        flips: Share of them whose prediction changes: away from the class where its K-gram is
            masked, to the class where it is added.
        control: The same of the random words, the mean of DRAWS draws.
        above: `flips` less `control`, with its interval over texts.
        change: Mean change of the class's norm.
        control_change: The same of the random words.
    """

    texts: int
    flips: float
    control: float
    above: Interval
    change: float
    control_change: float


def mask(
    texts: PredictedTexts, rows: Numbers, words: Words, target: int, removal: str, seed: int = 0
) -> Effect:
    """Takes a K-gram's occurrences from texts that are rightly predicted to be of a class.

    Args:
        texts: As they were answered.
        rows: (n,), numbers of texts that have the K-gram and whose label and prediction are
            `target`.
        words: The K-gram.
        target: Number of the class.
        removal: Of `removal.REMOVALS`.
        seed: Of the control, which masks as many of the other known words of the same text, or all
            where it has fewer.
    """
    covered, random = texts.covered(words), np.random.default_rng(seed)

    def variants() -> Iterator[TokenBatch]:
        for row in rows:
            text = texts.tokens[row]
            start = texts.starts[row]
            yield remove(text, _kept(text, covered[start : start + len(text.ids)], random), removal)

    norms = _norms(texts, variants(), len(rows))
    flipped = (norms.argmax(2) != target) | ~norms.any(2)
    return effect(flipped, norms[:, :, target] - texts.norms[rows, target][:, None])


def insert(
    texts: PredictedTexts, rows: Numbers, words: Words, target: int, seed: int = 0
) -> Effect:
    """Puts a K-gram at the start of texts that are of other classes.

    Args:
        texts: As they were answered.
        rows: (n,), numbers of texts that are predicted right, and not to be of `target`.
        words: The K-gram.
        target: Number of the class.
        seed: Of the control, which puts as many words there that are drawn from the FREQUENT most
            frequent ones of all these texts.
    """
    random = np.random.default_rng(seed)
    counts = np.bincount(texts.tokens.ids)
    counts[[UNK, *words]] = 0
    frequent = (-counts).argsort(kind="stable")[: min(FREQUENT, np.count_nonzero(counts))]

    def variants() -> Iterator[TokenBatch]:
        for row in rows:
            drawn = random.choice(frequent, (DRAWS, len(words))) if len(frequent) else [words]
            yield _with_words(texts.tokens[row], np.vstack([words, drawn]))

    norms = _norms(texts, variants(), len(rows))
    flipped = norms.argmax(2) == target
    return effect(flipped, norms[:, :, target] - texts.norms[rows, target][:, None])


def norms_without(texts: PredictedTexts, rows: Numbers, words: Words) -> NDArray[np.floating]:
    """Class norms (n, J) of texts (n,) with a K-gram's occurrences replaced by `<unk>`."""
    kept = ~texts.covered(words)
    parts = (
        remove(text, kept[None, start : start + len(text.ids)], "unk")
        for text, start in ((texts.tokens[row], texts.starts[row]) for row in rows)
    )
    return _joined(texts, parts)


def norms_with(texts: PredictedTexts, rows: Numbers, words: Words) -> NDArray[np.floating]:
    """Class norms (n, J) of texts (n,) with a K-gram put at their start."""
    first = np.array([words])
    return _joined(texts, (_with_words(texts.tokens[row], first) for row in rows))


def norms_with_off(texts: PredictedTexts, rows: Numbers, capsule: int) -> NDArray[np.floating]:
    """Class norms (n, J) of texts (n,) with a capsule switched off."""
    parts = (
        remove(text, np.ones((1, len(text.ids)), bool), "unk")
        for text in (texts.tokens[row] for row in rows)
    )
    return _joined(texts, parts, [capsule])


def effect(flipped: NDArray[np.bool_], changes: NDArray[np.floating]) -> Effect:
    """Of what flipped and by how much norms changed (texts, 1 + controls), the cause first."""
    own, control = flipped[:, 0].astype(float), flipped[:, 1:].mean(1)
    return Effect(
        *(len(own), _mean(own), _mean(control), bootstrap_mean(own - control)),
        *(_mean(changes[:, 0]), _mean(changes[:, 1:])),
    )


def _joined(
    texts: PredictedTexts, parts: Iterator[TokenBatch], muted: Sequence[int] = ()
) -> NDArray[np.floating]:
    none = np.zeros((0, len(texts.classes)))
    return np.concatenate([none, *norms_of_each(texts.network, parts, muted)])


def _norms(
    texts: PredictedTexts, variants: Iterator[TokenBatch], count: int
) -> NDArray[np.floating]:
    """(count, variants, J)"""
    found = list(norms_of_each(texts.network, variants))
    return np.stack(found) if count else np.zeros((0, 2, len(texts.classes)))


def _kept(
    text: TokenBatch, covered: NDArray[np.bool_], random: np.random.Generator
) -> NDArray[np.bool_]:
    """(1 + DRAWS, words): all but the K-gram, and all but as many other words, drawn at random."""
    kept = np.ones((1 + DRAWS, len(text.ids)), dtype=bool)
    kept[0] = ~covered
    others = np.flatnonzero(~covered & (text.ids != UNK))
    size = min(int(covered.sum()), len(others))
    for draw in kept[1:]:
        draw[random.choice(others, size, replace=False)] = False
    return kept


def _with_words(text: TokenBatch, words: NDArray[np.integer]) -> TokenBatch:
    """The text once for each row of `words` (variants, n), which come first in its sentence."""
    variants, more = words.shape
    ids = np.hstack([words, np.tile(text.ids, (variants, 1))]).astype(np.int32)
    lengths = text.words_per_sentence.copy()
    lengths[0] += more
    counts = np.full(variants, len(lengths))
    return TokenBatch(ids.ravel(), np.tile(lengths, variants), counts)


def _mean(values: NDArray[np.floating]) -> float:
    return float(values.mean()) if values.size else 0.0
