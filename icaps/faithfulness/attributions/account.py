"""The account as word scores: what each word adds to the norm of the target class."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from icaps.faithfulness.texts import ExplainedTexts
from icaps.interpret.account import BatchAccount


def account(texts: ExplainedTexts) -> Iterator[NDArray[np.floating]]:
    """The exact share of each word in the norm of the target class (`interpret.account`)."""
    for reading, target in texts:
        yield BatchAccount(texts.network, reading).word_shares(np.array([target]))
