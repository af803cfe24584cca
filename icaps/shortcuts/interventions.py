"""Interventions: a K-gram is masked where it occurs and added elsewhere, and the effect measured.

Each effect has a control: as many other words are masked, or frequent words are added.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from icaps.faithfulness.perturbation import class_norms_per_batch, remove
from icaps.results import Interval
from icaps.shortcuts.predicted_texts import Numbers, PredictedTexts, Words
from icaps.stats import bootstrap_mean
from icaps.text.batch import UNK, TokenBatch

DRAWS = 5  # random choices of words per text
FREQUENT = 200  # most frequent words of the texts, of which the control adds some


class Effect(NamedTuple):
    """The effect of a change of texts on their predictions.

    Attributes:
        texts: Number of changed texts, all of them predicted right.
        flips: Share of them whose prediction changes: away from the class if its K-gram is masked,
            to the class if it is added.
        control: The same for random words, the mean of DRAWS draws.
        above: `flips` minus `control`, with its interval over texts.
        change: Mean change of the class norm.
        control_change: The same for random words.
    """

    texts: int
    flips: float
    control: float
    above: Interval
    change: float
    control_change: float

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {**self._asdict(), "above": self.above.to_dict("mean")}


def mask(
    texts: PredictedTexts, rows: Numbers, words: Words, target: int, removal: str, seed: int = 0
) -> Effect:
    """Removes the occurrences of a K-gram from texts of a class that are predicted right.

    Args:
        texts: Labelled texts and the model's predictions.
        rows: (n,), numbers of texts with the K-gram whose label and prediction are `target`.
        words: The K-gram.
        target: Number of the class.
        removal: One of `perturbation.REMOVALS`.
        seed: Seed of the control, which removes as many of the other known words of the same text,
            or all if there are fewer.
    """
    covered, random = texts.covered(words), np.random.default_rng(seed)

    def variants() -> Iterator[TokenBatch]:
        for row in rows:
            text = texts.tokens[row]
            start = texts.starts[row]
            yield remove(
                text, _masks(text, covered[start : start + len(text.ids)], random), removal
            )

    norms = _norms(texts, variants(), len(rows))
    flipped = ~texts.gets(norms, target) | ~norms.any(2)
    return summarise(flipped, norms[:, :, target] - texts.norms[rows, target][:, None])


def insert(
    texts: PredictedTexts, rows: Numbers, words: Words, target: int, seed: int = 0
) -> Effect:
    """Adds a K-gram at the start of texts of other classes.

    Args:
        texts: Labelled texts and the model's predictions.
        rows: (n,), numbers of texts that are predicted right, and not as `target`.
        words: The K-gram.
        target: Number of the class.
        seed: Seed of the control, which adds as many words there, drawn from the FREQUENT most
            frequent ones of all texts.
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
    flipped = texts.gets(norms, target)
    return summarise(flipped, norms[:, :, target] - texts.norms[rows, target][:, None])


def norms_without(texts: PredictedTexts, rows: Numbers, words: Words) -> NDArray[np.floating]:
    """The class norms (n, J) of texts (n,) with a K-gram's occurrences replaced by `<unk>`."""
    others = ~texts.covered(words)
    parts = (
        remove(text, others[None, start : start + len(text.ids)], "unk")
        for text, start in ((texts.tokens[row], texts.starts[row]) for row in rows)
    )
    return _joined(texts, parts)


def norms_with(texts: PredictedTexts, rows: Numbers, words: Words) -> NDArray[np.floating]:
    """The class norms (n, J) of texts (n,) with a K-gram added at their start."""
    first = np.array([words])
    return _joined(texts, (_with_words(texts.tokens[row], first) for row in rows))


def norms_with_off(texts: PredictedTexts, rows: Numbers, capsule: int) -> NDArray[np.floating]:
    """The class norms (n, J) of texts (n,) with a capsule switched off."""
    parts = (
        remove(text, np.ones((1, len(text.ids)), bool), "unk")
        for text in (texts.tokens[row] for row in rows)
    )
    return _joined(texts, parts, [capsule])


def summarise(flipped: NDArray[np.bool_], changes: NDArray[np.floating]) -> Effect:
    """The `Effect` of flips and changes of the class norm (texts, 1 + draws), the controls last."""
    own, control = flipped[:, 0].astype(float), flipped[:, 1:].mean(1)  # (texts,) each
    return Effect(
        texts=len(own),
        flips=_mean(own),
        control=_mean(control),
        above=bootstrap_mean(own - control),
        change=_mean(changes[:, 0]),
        control_change=_mean(changes[:, 1:]),
    )


def _joined(
    texts: PredictedTexts, parts: Iterator[TokenBatch], muted: Sequence[int] = ()
) -> NDArray[np.floating]:
    """The class norms (n, J) of n batches of one text."""
    none = np.zeros((0, len(texts.classes)))
    return np.concatenate([none, *class_norms_per_batch(texts.network, parts, muted)])


def _norms(
    texts: PredictedTexts, variants: Iterator[TokenBatch], count: int
) -> NDArray[np.floating]:
    """The class norms of the variants of each text (count, variants, J)."""
    norms = list(class_norms_per_batch(texts.network, variants))
    return np.stack(norms) if count else np.zeros((0, 2, len(texts.classes)))


def _masks(
    text: TokenBatch, covered: NDArray[np.bool_], random: np.random.Generator
) -> NDArray[np.bool_]:
    """Words that stay (1 + DRAWS, words): all but the K-gram, then all but as many random ones."""
    masks = np.ones((1 + DRAWS, len(text.ids)), dtype=bool)
    masks[0] = ~covered
    others = np.flatnonzero(~covered & (text.ids != UNK))
    size = min(int(covered.sum()), len(others))
    for draw in masks[1:]:
        draw[random.choice(others, size, replace=False)] = False
    return masks


def _with_words(text: TokenBatch, words: NDArray[np.integer]) -> TokenBatch:
    """The text once per row of `words` (variants, n), which come first in its first sentence."""
    variants, added = words.shape
    ids = np.hstack([words, np.tile(text.ids, (variants, 1))]).astype(np.int32)
    lengths = text.words_per_sentence.copy()
    lengths[0] += added
    counts = np.full(variants, len(lengths))
    return TokenBatch(ids.ravel(), np.tile(lengths, variants), counts)


def _mean(values: NDArray[np.floating]) -> float:
    return float(values.mean()) if values.size else 0.0
