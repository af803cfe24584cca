"""The account by passes as word scores: what each word adds once the words before it are gone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from icaps.faithfulness.attributions.account import account, word_shares
from icaps.faithfulness.attributions.attention import Scores
from icaps.faithfulness.perturbation import remove
from icaps.faithfulness.texts import ExplainedTexts

# Percent of the words, rounded up, after whose removal `account_by_passes` reads the rest again.
PASSES = (1, 2, 5, 10, 15, 20, 30)
_WHOLE = 0.25  # weight of the whole text's account beside that of the rest


def account_by_passes(texts: ExplainedTexts, removal: str) -> Iterator[Scores]:
    """The account of the text, then of what is left without the words chosen so far.

    Attention, routing and squash scales are fixed in an account, but change when words go. So the
    words with the largest shares are removed, the rest is read again, and the next words are chosen
    by a weighted mean of their shares in the rest and in the whole text. That is one pass per text
    for the first account, and one for each number of PASSES.

    The scores are only an order: minus the number of words that were chosen earlier.

    Args:
        texts: The texts with their explained classes.
        removal: "deletion" or "unk".
    """
    whole = list(account(texts))
    rest, scores = whole, [np.zeros(len(shares)) for shares in whole]
    chosen = [np.zeros(len(shares), bool) for shares in whole]
    for percent in (*PASSES, 100):
        for n, (text_shares, rest_shares, mask) in enumerate(zip(whole, rest, chosen, strict=True)):
            words, before = len(mask), int(mask.sum())
            others = np.flatnonzero(~mask)
            weighted = _WHOLE * text_shares[others] + (1 - _WHOLE) * rest_shares
            order = others[(-weighted).argsort(kind="stable")]
            added = order[: -(-words * percent // 100) - before]
            scores[n][added] = -before - np.arange(len(added))
            mask[added] = True
        if percent < 100:
            rest = _rest_shares(texts, chosen, removal)
    yield from scores


def _rest_shares(
    texts: ExplainedTexts, chosen: Sequence[NDArray[np.bool_]], removal: str
) -> list[Scores]:
    """The shares of the words that are not chosen (words left,) in each text without the others."""
    tokens = [
        remove(reading.tokens, ~mask[None], removal)
        for reading, mask in zip(texts.readings, chosen, strict=True)
    ]
    shares = word_shares(texts, tokens)
    if removal == "unk":  # the words that are replaced have a place, and are left out
        return [values[~mask] for values, mask in zip(shares, chosen, strict=True)]
    return list(shares)
