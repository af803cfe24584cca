"""Sanity check of explanations: they must change when the weights of the network are random.

As in Adebayo et al. (2018), layers are initialised again, one after another from the top, and the
order of the words by an explanation is compared with that of the trained network.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import spearmanr

from icaps.faithfulness.attributions.registry import RANDOM, score_words
from icaps.faithfulness.stability import read_again
from icaps.faithfulness.texts import ExplainedTexts
from icaps.model import ICapsNet
from icaps.results import Interval
from icaps.stats import bootstrap_mean

LAYERS = ("capsules", "attention", "region", "trained_embedding")  # of ICapsNet, from the top


@dataclass(frozen=True)
class SanityResult:
    """The rank correlation of word scores with those of a network with random layers.

    Attributes:
        layers: The randomised layers.
        ranking: One of `registry.RANKINGS`.
        correlation: Spearman's, over the words of a text; 1 means no change.
        random: The same with random orders of the words.
    """

    layers: tuple[str, ...]
    ranking: str
    correlation: Interval
    random: Interval


def cascade(
    texts: ExplainedTexts, rankings: Sequence[str], seed: int = 0
) -> Iterator[SanityResult]:
    """Checks each ranking with the first of LAYERS random, then the first two, and so on.

    Texts are explained for the class that the trained network predicts.

    Args:
        texts: As the trained network read them.
        rankings: Some of `registry.RANKINGS`; those that remove words delete them.
        seed: Seed of the new weights, and of what is random in a ranking.
    """
    before = {name: list(score_words(name, texts, "deletion", seed)) for name in rankings}
    random = list(score_words(RANDOM, texts, "deletion", seed))
    controls = {name: _correlation(before[name], random, seed) for name in rankings}
    for count in range(1, len(LAYERS) + 1):
        layers = LAYERS[:count]
        network = randomise(texts.network, layers, seed)
        tokens = [reading.tokens for reading in texts.readings]
        readings = read_again(network, texts.readings, tokens, texts.muted)
        others = ExplainedTexts(network, texts.muted, readings, texts.targets)
        for name in rankings:
            after = list(score_words(name, others, "deletion", seed))
            correlation = _correlation(before[name], after, seed)
            yield SanityResult(layers, name, correlation, controls[name])


def randomise(network: ICapsNet, layers: Sequence[str], seed: int) -> ICapsNet:
    """A copy of the network with `layers` initialised anew; the frozen vectors are unchanged."""
    other = copy.deepcopy(network)
    classes = network.capsules.capsule_bias.shape[1]
    vectors = network.fixed_embedding
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        fresh = ICapsNet(network.config, len(vectors), classes, vectors)
    for name in layers:
        other.get_submodule(name).load_state_dict(fresh.get_submodule(name).state_dict())
    return other


def sanity_lines(rows: Sequence[SanityResult]) -> Iterator[str]:
    """The results as lines for a terminal."""
    yield "Rank correlation of the words' scores with those of random weights:"
    yield f"{'ranking':<21}{'correlation':<26}{'random order':<26}random layers"
    for row in rows:
        yield (
            f"{row.ranking:<21}{f'{row.correlation:.3f}':<26}{f'{row.random:.3f}':<26}"
            f"{', '.join(row.layers)}"
        )


def _correlation(
    one: Sequence[NDArray[np.floating]], other: Sequence[NDArray[np.floating]], seed: int
) -> Interval:
    """The mean rank correlation of the first order of each text with its other orders."""
    correlations = [
        np.mean([spearman(first[0], scores) for scores in orders])
        for first, orders in zip(one, other, strict=True)
    ]
    return bootstrap_mean(np.array(correlations), seed)


def spearman(one: NDArray[np.floating], other: NDArray[np.floating]) -> float:
    """Spearman's rank correlation of scores (words,); NaN if one is the same for all words."""
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        return float("nan")
    return float(spearmanr(one, other).statistic)
