"""The account as word scores: what each word adds to the norm of the target class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from icaps.faithfulness.attributions.attention import Scores
from icaps.faithfulness.texts import ExplainedTexts
from icaps.inference import read
from icaps.interpret.account import BatchAccount
from icaps.text.batch import TokenBatch


def account(texts: ExplainedTexts) -> Iterator[Scores]:
    """The exact share of each word in the norm of the target class (`interpret.account`)."""
    tokens = [reading.tokens for reading in texts.readings]
    yield from word_shares(texts, tokens)


def word_shares(texts: ExplainedTexts, tokens: Sequence[TokenBatch]) -> Iterator[Scores]:
    """The shares of the words of a variant of each text (words,), in few forward passes.

    Without a known word all shares are zero, as the norms are.
    """
    joined = TokenBatch.join(tokens)
    known, targets = ~joined.blank, np.array(texts.targets)
    shares = []
    for batch in read(texts.network, joined.select(known), texts.muted):
        of_batch = BatchAccount(texts.network, batch).word_shares(targets[known][batch.numbers])
        shares += np.split(of_batch, batch.tokens.word_offsets[1:-1])
    remaining = iter(shares)
    for words, is_known in zip(joined.words_per_text, known, strict=True):
        yield next(remaining) if is_known else np.zeros(words)
