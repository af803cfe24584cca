"""All attribution methods by name. To add one, write a module here and list it below."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from icaps.config import ACCOUNT, CONTRIBUTION, ROUTING
from icaps.errors import ConfigError
from icaps.faithfulness.attributions.account import account
from icaps.faithfulness.attributions.account_passes import account_by_passes
from icaps.faithfulness.attributions.attention import contribution_attention, routing_attention
from icaps.faithfulness.attributions.attention_gradient import attention_gradient
from icaps.faithfulness.attributions.integrated_gradients import integrated_gradients
from icaps.faithfulness.attributions.leave_one_out import leave_one_out
from icaps.faithfulness.attributions.lime import lime
from icaps.faithfulness.texts import ExplainedTexts

DRAWS = 5  # random orders per text
PAPER, LEAVE_ONE_OUT, RANDOM = ROUTING, "leave-one-out", "random"
INSTALL = "pip install 'icaps[faithfulness]'"


class Attribution(NamedTuple):
    """An attribution method: it scores the words of texts.

    Attributes:
        score: From texts, removal and seed to the scores of each text: (words,), or (orders, words)
            for several orders.
        removes_words: Whether the scores depend on how words are removed.
        package: The optional package that it needs, if any.
    """

    score: Callable[[ExplainedTexts, str, int], Iterator[NDArray[np.floating]]]
    removes_words: bool = False
    package: str | None = None


def _random_orders(
    texts: ExplainedTexts, removal: str, seed: int
) -> Iterator[NDArray[np.floating]]:
    """The control: DRAWS random orders of the words."""
    random = np.random.default_rng(seed)
    yield from (random.random((DRAWS, len(text.tokens.ids))) for text in texts.readings)


ATTRIBUTIONS: dict[str, Attribution] = {
    PAPER: Attribution(lambda texts, removal, seed: routing_attention(texts)),
    CONTRIBUTION: Attribution(lambda texts, removal, seed: contribution_attention(texts)),
    ACCOUNT: Attribution(lambda texts, removal, seed: account(texts)),
    "account-passes": Attribution(
        lambda texts, removal, seed: account_by_passes(texts, removal), removes_words=True
    ),
    "attention-gradient": Attribution(lambda texts, removal, seed: attention_gradient(texts)),
    "integrated-gradients": Attribution(lambda texts, removal, seed: integrated_gradients(texts)),
    LEAVE_ONE_OUT: Attribution(
        lambda texts, removal, seed: leave_one_out(texts, removal), removes_words=True
    ),
    "lime": Attribution(lime, removes_words=True, package="lime"),
    RANDOM: Attribution(_random_orders),
}
RANKINGS = tuple(ATTRIBUTIONS)


def check_rankings(names: Sequence[str]) -> None:
    """Checks that each ranking exists and is available.

    Raises:
        ConfigError: There is no such ranking, or its package is not installed.
    """
    for name in names:
        if name not in RANKINGS:
            raise ConfigError(f"There is no ranking {name!r}; choose from {', '.join(RANKINGS)}.")
    if missing := missing_rankings(names):
        raise ConfigError(f"For {' and '.join(missing)} run `{INSTALL}`.")


def missing_rankings(names: Sequence[str] = RANKINGS) -> tuple[str, ...]:
    """The rankings whose package is not installed."""
    packages = {name: ATTRIBUTIONS[name].package for name in names}
    return tuple(name for name, package in packages.items() if package and not find_spec(package))


def score_words(
    name: str, texts: ExplainedTexts, removal: str, seed: int
) -> Iterator[NDArray[np.floating]]:
    """The word scores of each text (orders, words) by a method; only "random" has several orders.

    Args:
        name: One of RANKINGS, whose package is installed.
        texts: The texts with their explained classes.
        removal: How the account by passes, leave-one-out and LIME remove words.
        seed: Seed of LIME and of the random orders.
    """
    for scores in ATTRIBUTIONS[name].score(texts, removal, seed):
        yield np.atleast_2d(scores)
