"""Whether what is shown as the reason is one: scores of words removed from texts, text by text.

After ERASER (DeYoung et al. 2020, section 4.2), with the norm of the predicted class's capsule as
its p. Comprehensiveness is by how much it falls without the chosen words, and sufficiency by how
much with them alone: a good reason has a high comprehensiveness and a low sufficiency.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau

from icaps.config import CAPSULE_RANKINGS, ExplainOptions
from icaps.faithfulness.perturbation import REMOVALS, norms_of_each, remove
from icaps.faithfulness.rankings import (
    BY_REMOVAL,
    DRAWS,
    LEAVE_ONE_OUT,
    RANDOM,
    check_rankings,
    word_orders,
)
from icaps.faithfulness.word_scores import Texts
from icaps.inference import to_classes
from icaps.interpret.kgrams import top_kgrams

PERCENTS = (1, 5, 10, 20, 50)  # of a text's words, rounded up: ERASER's bins
BINS, KGRAMS = "bins", "k-grams"  # how many words are chosen

Choices = NDArray[np.bool_]  # (choices, words)


@dataclass(frozen=True)
class Effect:
    """What a text's chosen words do to its class, a number a text: the mean over its choices.

    Attributes:
        comprehensiveness: The class norm less that without the chosen words.
        sufficiency: The class norm less that with the chosen words alone.
        flips: Share of the choices without which another class wins, or no known word is left.
        covered: Share of the text's words that are chosen.
    """

    comprehensiveness: NDArray[np.float64]
    sufficiency: NDArray[np.float64]
    flips: NDArray[np.float64]
    covered: NDArray[np.float64]


@dataclass(frozen=True)
class Measured:
    """The effects of the words that a ranking puts first, under one way to remove words.

    Attributes:
        ranking: Of `rankings.RANKINGS`.
        words: BINS, the mean over the first words of PERCENTS of the text; or KGRAMS, the K-grams.
            Those of a ranking that has no K-grams are as many words as the paper's K-grams cover,
            and those of the random one are the paper's at random places.
        removal: Of `removal.REMOVALS`.
        effect: Of each text.
        agreement: (texts,), Kendall's tau-b of the word scores with those of leave-one-out, NaN
            where it has none since all words of a text score alike; None for KGRAMS.
    """

    ranking: str
    words: str
    removal: str
    effect: Effect
    agreement: NDArray[np.float64] | None = None


def measure(texts: Texts, choices: Sequence[Choices], removal: str) -> Effect:
    """The effect of each text's choices of words; a word in several K-grams is chosen once.

    Args:
        texts: As they were read.
        choices: For each text, one choice at least.
        removal: "deletion" or "unk".
    """
    variants = (
        remove(reading.tokens, np.concatenate([~chosen, chosen]), removal)
        for reading, chosen in zip(texts.readings, choices, strict=True)
    )
    norms = norms_of_each(texts.network, variants, texts.muted)
    rows = []
    for (reading, target), chosen, found in zip(texts, choices, norms, strict=True):
        whole = float(reading.activity.class_norms[0, target])
        without, alone = np.split(found.astype(float), 2)
        flipped = (without.argmax(1) != target) | ~without.any(1)
        rows.append(
            (
                *(whole - without[:, target].mean(), whole - alone[:, target].mean()),
                *(flipped.mean(), chosen.mean()),
            )
        )
    return Effect(*np.array(rows, float).reshape(-1, 4).T)


def measure_rankings(
    texts: Texts,
    rankings: Sequence[str],
    removals: Sequence[str] = REMOVALS,
    options: ExplainOptions = ExplainOptions(),  # noqa: B008 (frozen)
    seed: int = 0,
    on_ranking: Callable[[str, str], None] = lambda ranking, removal: None,
) -> Iterator[Measured]:
    """Measures each ranking by its bins and by its K-grams, under each removal.

    Args:
        texts: To be explained.
        rankings: Names of `rankings.RANKINGS`.
        removals: Of `removal.REMOVALS`.
        options: How many K-grams; its ranking and target are not read.
        seed: Of what is random.
        on_ranking: Told what is measured next.

    Raises:
        ConfigError: A ranking or removal is unknown, or a package is missing.
    """
    check_rankings(rankings)
    papers = covered_words(texts, replace(options, ranking="routing"))
    kept: dict[str, list[NDArray[np.floating]]] = {}
    for removal in removals:
        alone = list(word_orders(LEAVE_ONE_OUT, texts, removal, seed))
        for name in rankings:
            on_ranking(name, removal)
            orders = alone if name == LEAVE_ONE_OUT else kept.get(name)
            orders = orders or list(word_orders(name, texts, removal, seed))
            if name not in BY_REMOVAL:
                kept[name] = orders
            agreement = np.array([_agreement(*pair) for pair in zip(orders, alone, strict=True)])
            effect = measure(texts, [bins(scores) for scores in orders], removal)
            yield Measured(name, BINS, removal, effect, agreement)
            if name in CAPSULE_RANKINGS:
                choices = covered_words(texts, replace(options, ranking=name))
            elif name == RANDOM:
                choices = random_places(papers, seed)
            else:
                choices = [first(o, int(c.sum())) for o, c in zip(orders, papers, strict=True)]
            yield Measured(name, KGRAMS, removal, measure(texts, choices, removal))


def bins(scores: NDArray[np.floating]) -> Choices:
    """The first PERCENTS of words by each order (orders, words): (orders x PERCENTS, words)."""
    words = scores.shape[1]
    return np.concatenate([first(scores, -(-words * percent // 100)) for percent in PERCENTS])


def first(scores: NDArray[np.floating], size: int) -> Choices:
    """The `size` words of the highest score by each order (orders, words); earlier ones on ties."""
    ranks = (-scores).argsort(axis=1, kind="stable").argsort(axis=1)
    return np.asarray(ranks < size)


def covered_words(texts: Texts, options: ExplainOptions) -> list[Choices]:
    """The words under the K-grams that explain each text, as one choice (1, words)."""
    kernel_size = texts.network.config.kernel_size
    choices = []
    for reading, target in texts:
        weights = to_classes(reading.activity, np.array([0]), np.array([target]))
        kgrams = top_kgrams(reading, *weights, kernel_size, options)
        choices.append(kgrams.count_per_word(len(reading.tokens.ids))[None] > 0)
    return choices


def random_places(choices: Sequence[Choices], seed: int, draws: int = DRAWS) -> list[Choices]:
    """The same runs of words at random places of each text (draws, words), which never overlap.

    So as many words are chosen, in runs as long, as the K-grams of `choices` (1, words) cover.
    """
    random = np.random.default_rng(seed)
    found = []
    for (chosen,) in choices:
        edges = np.diff(np.pad(chosen.astype(int), 1))
        runs = np.flatnonzero(edges < 0) - np.flatnonzero(edges > 0)
        placed = np.zeros((draws, len(chosen)), dtype=bool)
        for draw in placed:
            lengths = random.permutation(runs)
            free = len(chosen) - int(runs.sum()) + len(runs)  # each run stands on one of these
            places = np.sort(random.choice(free, len(runs), replace=False))
            starts = places - np.arange(len(runs)) + lengths.cumsum() - lengths
            for start, length in zip(starts, lengths, strict=True):
                draw[start : start + length] = True
        found.append(placed)
    return found


def _agreement(orders: NDArray[np.floating], alone: NDArray[np.floating]) -> float:
    """Mean of Kendall's tau-b of each order (orders, words) with the one of `alone` (1, words)."""
    if alone.shape[1] < 2:
        return float("nan")
    return float(np.mean([kendalltau(scores, alone[0]).statistic for scores in orders]))
