"""Whether explanations depend on what was learnt: they must change when weights are randomised.

After Adebayo et al. 2018: layers are drawn anew, one after another from the top, and the order of
the words that an explanation gives is compared with that of the trained network.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import spearmanr

from icaps.faithfulness.rankings import RANDOM, word_orders
from icaps.faithfulness.stability import read_again
from icaps.faithfulness.word_scores import Texts
from icaps.model import ICapsNet
from icaps.results import Interval
from icaps.stats import bootstrap_mean

LAYERS = ("capsules", "attention", "region", "trained_embedding")  # of ICapsNet, from the top


@dataclass(frozen=True)
class Randomised:
    """How alike word scores are to those of a network with random layers.

    Attributes:
        layers: Those that were drawn anew.
        ranking: Of `rankings.RANKINGS`.
        correlation: Spearman's, over the words of a text; 1 is no change.
        random: The same with random orders of the words.
    """

    layers: tuple[str, ...]
    ranking: str
    correlation: Interval
    random: Interval


def cascade(texts: Texts, rankings: Sequence[str], seed: int = 0) -> Iterator[Randomised]:
    """Each ranking with the first of LAYERS random, then the first two, and so on.

    Texts are explained for the class that the trained network gives them.

    Args:
        texts: As the trained network read them.
        rankings: Of `rankings.RANKINGS`; leave-one-out and LIME delete words.
        seed: Of the new weights, and of what is random in a ranking.
    """
    before = {name: list(word_orders(name, texts, "deletion", seed)) for name in rankings}
    random = list(word_orders(RANDOM, texts, "deletion", seed))
    controls = {name: _alike(before[name], random, seed) for name in rankings}
    for count in range(1, len(LAYERS) + 1):
        layers = LAYERS[:count]
        network = randomise(texts.network, layers, seed)
        tokens = [reading.tokens for reading in texts.readings]
        readings = read_again(network, texts.readings, tokens, texts.muted)
        others = Texts(network, texts.muted, readings, texts.targets)
        for name in rankings:
            after = list(word_orders(name, others, "deletion", seed))
            yield Randomised(layers, name, _alike(before[name], after, seed), controls[name])


def randomise(network: ICapsNet, layers: Sequence[str], seed: int) -> ICapsNet:
    """A copy of the network whose `layers` have first weights again; the frozen vectors stay."""
    other = copy.deepcopy(network)
    classes = network.capsules.capsule_bias.shape[1]
    vectors = network.fixed_embedding
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        fresh = ICapsNet(network.config, len(vectors), classes, vectors)
    for name in layers:
        other.get_submodule(name).load_state_dict(fresh.get_submodule(name).state_dict())
    return other


def _alike(
    one: Sequence[NDArray[np.floating]], other: Sequence[NDArray[np.floating]], seed: int
) -> Interval:
    """The correlation of the first order of each text with its other orders."""
    pairs = zip(one, other, strict=True)
    return bootstrap_mean(
        np.array([np.mean([_spearman(a[0], b) for b in c]) for a, c in pairs]), seed
    )


def _spearman(one: NDArray[np.floating], other: NDArray[np.floating]) -> float:
    """NaN where one has the same score for all words."""
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        return float("nan")
    return float(spearmanr(one, other).statistic)
