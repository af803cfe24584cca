"""A text as one capsule sees it: its attention on the words, its routing, and what it adds."""

from bisect import bisect_right

import numpy as np

from icaps.explanation_parts import CapsuleReason
from icaps.html import attention_text, decimals, escape
from icaps.results import Explanation

_WORDS = 4  # of most share


def reason_of(explanation: Explanation, capsule: int) -> CapsuleReason | None:
    """The part of an explanation that is about a capsule; None for a blank text."""
    return next((one for one in explanation.capsules if one.capsule == capsule), None)


def attended_card(explanation: Explanation, capsule: int, about: str = "") -> str:
    """The text in a card, each word as dark as the attention that it gets; HTML.

    Args:
        explanation: With all capsules, from `explanations.through_capsules`.
        capsule: Its number.
        about: What else the line below says, such as the number of the text.
    """
    reason = reason_of(explanation, capsule)
    words = [(word.start, word.end) for word in explanation.words]
    weights = [0.0] * len(words) if reason is None else _weights(explanation, reason)
    line = " · ".join(filter(None, [_line(explanation, reason), escape(about)]))
    text = attention_text(explanation.text, words, weights)
    return f'<div class="card attended">{text}<p class="sure">{line}</p></div>'


def words_through(explanation: Explanation, capsule: int) -> str:
    """The words that add most through a capsule, such as "soup +0.12, bread +0.05"."""
    shares = explanation.capsule_account.shares[:, capsule]
    largest = np.abs(shares).argsort(kind="stable")[::-1][:_WORDS]
    return ", ".join(
        f"{explanation.text[word.start : word.end]} {decimals(float(shares[n]), 2, sign=True)}"
        for n in largest.tolist()
        if round(float(shares[n]), 2)
        for word in [explanation.words[n]]
    )


def rank(explanation: Explanation, reason: CapsuleReason) -> int:
    """The rank of a capsule by its routing to the explained class, from 1."""
    j = explanation.classes.index(explanation.target)
    return 1 + sum(one.routing[j] > reason.routing[j] for one in explanation.capsules)


def _line(explanation: Explanation, reason: CapsuleReason | None) -> str:
    if reason is None:
        return "no word that the model knows"
    routing = reason.routing[explanation.classes.index(explanation.target)]
    return (
        f"β {routing:.3f} to {escape(explanation.target)}, rank "
        f"{rank(explanation, reason)} · adds {decimals(reason.share, 2, sign=True)}"
    )


def _weights(explanation: Explanation, reason: CapsuleReason) -> list[float]:
    """Attention of the words, in a long text times that of their sentences."""
    starts = [sentence.start for sentence in explanation.sentences]
    if not starts:
        return list(reason.attention)
    return [
        alpha * reason.sentence_attention[max(bisect_right(starts, word.start) - 1, 0)]
        for alpha, word in zip(reason.attention, explanation.words, strict=True)
    ]
