"""The reasons of many texts as columns: what an explanation shows, without an object a text."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from icaps.config import ExplainOptions
from icaps.inference import Reading, to_classes
from icaps.interpret.spotting import Attention, Numbers, Spots, Weights, spot


class KGrams(NamedTuple):
    """K-grams as columns (n,), text after text, as `results.KGram` has them one by one.

    `text` is the number of the text in its batch, from 0; `start` and `end` are code points of it.
    """

    text: Numbers
    start: Numbers
    end: Numbers
    capsule: Numbers
    routing: Weights
    attention: Weights
    sentence: Numbers
    sentence_attention: Weights
    contribution: Weights


class Reasons(NamedTuple):
    """Why B texts are, or are not, of their targets.

    Attributes:
        texts: As they were given.
        blank: (B,), whether no word of a text is known.
        norms: (B, J), 0 for a blank text.
        predicted, targets: (B,), class numbers.
        routing: (B, I), beta_ij for the target.
        spots: The K-grams by words.
        kgrams: The same by characters, with their weights.
    """

    texts: Sequence[str]
    blank: NDArray[np.bool_]
    norms: Weights
    predicted: Numbers
    targets: Numbers
    routing: Weights
    spots: Spots
    kgrams: KGrams

    def spell(self) -> list[str]:
        """The K-grams as they are written, in the order of `kgrams`."""
        text, start, end = (column.tolist() for column in self.kgrams[:3])
        return [self.texts[n][a:b] for n, a, b in zip(text, start, end, strict=True)]


def find_reasons(
    batch: Reading, classes: Sequence[str], kernel_size: int, options: ExplainOptions
) -> Reasons:
    """The K-grams of each text that is not blank (section 2.6).

    Args:
        batch: The texts and what the network shows of them.
        classes: Names of the classes; `options.target` is one of them, or None.
        kernel_size: K.
        options: What to explain.
    """
    activity, texts = batch.activity, np.arange(len(batch.texts))
    norms = activity.class_norms.numpy()
    predicted = norms.argmax(1)
    targets = predicted
    if options.target is not None:
        targets = np.full_like(predicted, classes.index(options.target))
    routing, contribution = to_classes(activity, texts, targets)
    weights = rank(routing, contribution, options)
    weights[batch.blank] = -inf
    spots = spot(weights, attention_of(batch), kernel_size, options)
    kgrams = _kgrams(batch, spots, routing, contribution)
    return Reasons(batch.texts, batch.blank, norms, predicted, targets, routing, spots, kgrams)


def attention_of(batch: Reading) -> Attention:
    """What the capsules of a batch attend to."""
    tokens, activity = batch.tokens, batch.activity
    return Attention(
        *(activity.attention.numpy(), activity.sentence_attention.numpy()),
        *(tokens.words_per_sentence, tokens.sentences_per_text),
    )


def rank(routing: Weights, contribution: Weights, options: ExplainOptions) -> NDArray[np.float32]:
    """By what the capsules of texts (B, I) are ranked; -inf for those that are switched off."""
    weights = contribution if options.ranking == "contribution" else routing
    ranked: NDArray[np.float32] = np.where(routing > 0, weights, np.float32(-inf))
    return ranked


def _kgrams(batch: Reading, spots: Spots, routing: Weights, contribution: Weights) -> KGrams:
    attention, spans = attention_of(batch), batch.tokens.spans
    assert spans is not None
    first_sentence = attention.counts.cumsum() - attention.counts
    text, capsule, sentence, position, first, last = spots
    return KGrams(
        text,
        spans[first, 0],
        spans[last - 1, 1],
        capsule,
        routing[text, capsule],
        attention.alpha[position, capsule],
        sentence - first_sentence[text],
        attention.rho[sentence, capsule],
        contribution[text, capsule],
    )
