"""The winner of each text of a batch: section 2.6 with k1 = k2 = 1, without a loop over texts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from icaps.inference import Reading, to_classes
from icaps.interpret.spotting import first_largest, ranges


class Winners(NamedTuple):
    """Of each text with a known word: the class it got, the capsule that won, and its K-gram.

    numbers (texts,), where each stands in the stream; labels and predicted (texts,), class numbers;
    capsules (texts,), the capsule with the largest routing weight for the predicted class; kgrams
    (texts, K), word ids, ABSENT where the window passes the sentence's ends; routing (texts, I),
    beta_ij for the predicted class j; contribution (texts, I), beta_ij (u_j|i . cc_j) / |cc_j|,
    whose sum over capsules is the length of cc_j before the squash.
    """

    numbers: NDArray[np.int64]
    labels: NDArray[np.int64]
    predicted: NDArray[np.int64]
    capsules: NDArray[np.int64]
    kgrams: NDArray[np.int64]
    routing: NDArray[np.float32]
    contribution: NDArray[np.float32]


ABSENT = -1  # in place of a word's id


def find_winners(batch: Reading, kernel_size: int) -> Winners:
    """Ties go to the lower number and the earlier place, as in `spotting.spot`."""
    assert batch.labels is not None
    known = np.flatnonzero(~batch.blank)
    activity = batch.activity
    predicted = activity.class_norms.numpy()[known].argmax(1).astype(np.int64)
    routing, contribution = to_classes(activity, known, predicted)
    capsules = routing.argmax(1)
    return Winners(
        batch.numbers[known],
        batch.labels[known],
        predicted,
        capsules,
        _kgrams(batch, known, capsules, kernel_size),
        routing,
        contribution,
    )


def _kgrams(
    batch: Reading, known: NDArray[np.int64], capsules: NDArray[np.int64], kernel_size: int
) -> NDArray[np.int64]:
    """The K-gram around the position that each text's capsule attends to most (texts, K)."""
    ids, lengths = batch.tokens.ids, batch.tokens.words_per_sentence
    counts = batch.tokens.sentences_per_text
    ends = lengths.cumsum()
    text_of_sentence = np.repeat(np.arange(len(counts)), counts)
    winner = np.full(len(counts), ABSENT)
    winner[known] = capsules
    kept = np.flatnonzero(winner[text_of_sentence] != ABSENT)
    rho = batch.activity.sentence_attention.numpy()
    sentences = kept[first_largest(rho[kept, winner[text_of_sentence[kept]]], counts[known])]
    places = ranges(ends[sentences] - lengths[sentences], lengths[sentences])
    alpha = batch.activity.attention.numpy()
    attended = alpha[places, np.repeat(capsules, lengths[sentences])]
    middles = places[first_largest(attended, lengths[sentences])]
    window = middles[:, None] + np.arange(kernel_size) - (kernel_size - 1) // 2
    inside = window >= (ends - lengths)[sentences, None]
    inside &= window < ends[sentences, None]
    kgrams: NDArray[np.int64] = np.where(inside, ids[window.clip(0, len(ids) - 1)], ABSENT)
    return kgrams
