"""Rankings of a text's words by name, to be compared with each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from icaps.errors import ConfigError
from icaps.faithfulness import post_hoc, word_scores
from icaps.faithfulness.word_scores import Scores, Texts

DRAWS = 5  # random orders, and random places, of each text
RANDOM, LEAVE_ONE_OUT = "random", "leave-one-out"
INSTALL = "pip install 'icaps[faithfulness]'"

_OF_TEXTS: dict[str, Callable[[Texts], Iterator[Scores]]] = {
    "routing": word_scores.routing,
    "contribution": word_scores.contribution,
    "attention-gradient": word_scores.attention_gradient,
    "integrated-gradients": post_hoc.integrated_gradients,
}
_PACKAGES = {"integrated-gradients": "captum", "lime": "lime"}
RANKINGS = (*_OF_TEXTS, LEAVE_ONE_OUT, "lime", RANDOM)
BY_REMOVAL = (LEAVE_ONE_OUT, "lime")  # which ask what is left when words are removed


def check_rankings(names: Sequence[str]) -> None:
    """Whether each can be had here.

    Raises:
        ConfigError: There is no such ranking, or its package is not installed.
    """
    for name in names:
        if name not in RANKINGS:
            raise ConfigError(f"There is no ranking {name!r}; choose of {', '.join(RANKINGS)}.")
    if lacking := missing(names):
        raise ConfigError(f"For {' and '.join(lacking)} run `{INSTALL}`.")


def missing(names: Sequence[str] = RANKINGS) -> tuple[str, ...]:
    """Those of the rankings whose packages are not installed."""
    return tuple(name for name in names if name in _PACKAGES and find_spec(_PACKAGES[name]) is None)


def word_orders(name: str, texts: Texts, removal: str, seed: int) -> Iterator[NDArray[np.floating]]:
    """Word scores of each text (orders, words): one order, or DRAWS random ones.

    Args:
        name: Of RANKINGS, with its package installed.
        texts: To be ranked.
        removal: How leave-one-out and LIME remove words.
        seed: Of LIME and of the random orders.
    """
    if name == RANDOM:
        random = np.random.default_rng(seed)
        yield from (random.random((DRAWS, len(text.tokens.ids))) for text in texts.readings)
        return
    if name == LEAVE_ONE_OUT:
        found = word_scores.leave_one_out(texts, removal)
    elif name == "lime":
        found = post_hoc.lime(texts, removal, seed)
    else:
        found = _OF_TEXTS[name](texts)
    yield from (scores[None] for scores in found)
