"""Normalised comprehensiveness and sufficiency of short texts (NAOPC; Edin et al. 2024).

AOPC is the mean drop of the class norm p over all steps of removing the N words of a text one after
another, in the order of a ranking; comprehensiveness removes the highest first, sufficiency the
lowest first. How large it can be differs by text and by model. So it is normalised by the lowest
and the highest that any order has,

    AOPC = 1/N sum_n (p(x) - p(x without the first n words)),
    NAOPC = (AOPC - lowest) / (highest - lowest).

The drop depends only on which words are gone, not on their order, so the limits of texts with at
most EXACT_WORDS words are those of all N! orders, by dynamic programming over all 2^N sets of
words. Those of longer texts come from a beam search of BEAM sets per step, as in the paper: an
order that is better than the search finds has a value above 1. Texts with more than MOST_WORDS
words would take too long, and are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from icaps.faithfulness.attributions.registry import score_words
from icaps.faithfulness.perturbation import class_norms_per_batch, remove
from icaps.faithfulness.texts import ExplainedTexts
from icaps.results import Interval
from icaps.stats import bootstrap_mean

EXACT_WORDS, MOST_WORDS, BEAM = 12, 60, 5

Values = NDArray[np.float64]
Masks = NDArray[np.bool_]


@dataclass(frozen=True)
class Limits:
    """The lowest and highest AOPC that an order of the words of each text has (texts,)."""

    lowest: Values
    highest: Values


@dataclass(frozen=True)
class NormalisedRow:
    """Normalised comprehensiveness and sufficiency by a ranking, from 0 to 1.

    Attributes:
        ranking: One of `registry.RANKINGS`.
        removal: One of `perturbation.REMOVALS`.
        texts: Number of texts: those of 2 to MOST_WORDS words.
        exact: How many of them have at most EXACT_WORDS words, and so exact limits.
        comprehensiveness: NAOPC with the highest words removed first; high is good.
        sufficiency: NAOPC with the lowest words removed first; low is good.
    """

    ranking: str
    removal: str
    texts: int
    exact: int
    comprehensiveness: Interval
    sufficiency: Interval


def measure_normalised(
    texts: ExplainedTexts, rankings: Sequence[str], removals: Sequence[str], seed: int = 0
) -> Iterator[NormalisedRow]:
    """Measures rankings on the texts of 2 to MOST_WORDS words.

    Args:
        texts: The texts with their explained classes.
        rankings: Some of `registry.RANKINGS`, whose packages are installed.
        removals: Some of `perturbation.REMOVALS`.
        seed: Seed of what is random in a ranking, and of the bootstrap.
    """
    short = short_texts(texts)
    exact = sum(len(reading.tokens.ids) <= EXACT_WORDS for reading in short.readings)
    for removal in removals:
        limits = find_limits(short, removal)
        span = limits.highest - limits.lowest
        span[span == 0] = np.nan  # all orders are the same
        for name in rankings:
            orders = list(score_words(name, short, removal, seed))
            measured = (aopc(short, orders, removal), aopc(short, [-s for s in orders], removal))
            comprehensiveness, sufficiency = ((aopcs - limits.lowest) / span for aopcs in measured)
            yield NormalisedRow(
                ranking=name,
                removal=removal,
                texts=len(short),
                exact=exact,
                comprehensiveness=bootstrap_mean(comprehensiveness, seed),
                sufficiency=bootstrap_mean(sufficiency, seed),
            )


def short_texts(texts: ExplainedTexts) -> ExplainedTexts:
    """The texts of 2 to MOST_WORDS words."""
    words = [len(reading.tokens.ids) for reading in texts.readings]
    return texts.take(n for n, count in enumerate(words) if 2 <= count <= MOST_WORDS)


def aopc(texts: ExplainedTexts, scores: Sequence[NDArray[np.floating]], removal: str) -> Values:
    """The AOPC of each text (texts,), with the words with the highest scores removed first.

    Args:
        texts: The texts with their explained classes.
        scores: Of each text (orders, words); the result is the mean over the orders. Of equal
            scores the earlier word is removed first.
        removal: "deletion" or "unk".
    """
    gone = []
    for orders in scores:
        ranks = (-orders).argsort(axis=1, kind="stable").argsort(axis=1)  # (orders, words)
        steps = np.arange(1, 1 + orders.shape[1])[:, None]
        gone.append((ranks[:, None] < steps).reshape(-1, orders.shape[1]))
    return np.array([drops.mean() for drops in _drops(texts, gone, removal)], float)


def find_limits(texts: ExplainedTexts, removal: str) -> Limits:
    """The limits of texts with a word: exact up to EXACT_WORDS, by beam search beyond."""
    limits = np.zeros((len(texts), 2))
    words = np.array([len(reading.tokens.ids) for reading in texts.readings], int)
    for numbers, search in (
        (np.flatnonzero(words <= EXACT_WORDS), _all_orders),
        (np.flatnonzero(words > EXACT_WORDS), _beam_search),
    ):
        limits[numbers] = search(texts.take(numbers), removal)
    return Limits(*limits.T)


def _drops(texts: ExplainedTexts, gone: Sequence[Masks], removal: str) -> Iterator[Values]:
    """How far the class norm of each text falls (sets,) without each set of words (sets, words)."""
    variants = (
        remove(reading.tokens, ~masks, removal)
        for reading, masks in zip(texts.readings, gone, strict=True)
    )
    norms = class_norms_per_batch(texts.network, variants, texts.muted)
    for (reading, target), without in zip(texts, norms, strict=True):
        whole = float(reading.activity.class_norms[0, target])
        yield whole - without[:, target].astype(float)


def _all_orders(texts: ExplainedTexts, removal: str) -> Values:
    """The lowest and highest AOPC (texts, 2) of all orders.

    The sum of the drops up to a set of words is that of the set, and the best up to a set with a
    word less. A set is the number whose bits are its words.
    """
    by_words: dict[int, Masks] = {}  # texts of as many words share their sets
    for reading in texts.readings:
        words = len(reading.tokens.ids)
        if words not in by_words:
            by_words[words] = np.arange(2**words)[:, None] >> np.arange(words) & 1 > 0
    gone = [by_words[len(reading.tokens.ids)] for reading in texts.readings]
    limits = []
    for masks, drops in zip(gone, _drops(texts, gone, removal), strict=True):
        words, sizes = masks.shape[1], masks.sum(1)
        totals = np.zeros((2, len(drops)))  # lowest and highest
        for size in range(1, words + 1):
            sets = np.flatnonzero(sizes == size)
            before = sets[:, None] ^ (1 << np.arange(words))  # (sets, words)
            lowest, highest = totals[0][before], totals[1][before]
            with_word = masks[sets]
            totals[0, sets] = drops[sets] + np.where(with_word, lowest, np.inf).min(1)
            totals[1, sets] = drops[sets] + np.where(with_word, highest, -np.inf).max(1)
        limits.append(totals[:, -1] / words)
    return np.array(limits).reshape(-1, 2)


def _beam_search(texts: ExplainedTexts, removal: str) -> Values:
    """The lowest and highest AOPC (texts, 2) that a beam search finds."""
    return np.stack([-_highest(texts, removal, -1), _highest(texts, removal, 1)], axis=1)


def _highest(texts: ExplainedTexts, removal: str, sign: int) -> Values:
    """The highest mean of `sign` times the drops (texts,) that a beam search finds."""
    words = [len(reading.tokens.ids) for reading in texts.readings]
    beams = [np.zeros((1, count), bool) for count in words]  # (sets, words) that are gone
    totals = [np.zeros(1) for _ in words]
    for step in range(max(words, default=0)):
        open_texts = [n for n, count in enumerate(words) if step < count]
        candidates, before = [], []
        for n in open_texts:
            parent, word = np.nonzero(~beams[n])
            sets = beams[n][parent]
            sets[np.arange(len(sets)), word] = True
            sums = totals[n][parent]
            keys = sets @ (1 << np.arange(words[n]))  # the set as a number
            order = np.lexsort([-sums, keys])  # equal sets together, the highest sum first
            order = order[np.diff(keys[order], prepend=-1) > 0]
            candidates.append(sets[order])
            before.append(sums[order])
        drops = _drops(texts.take(open_texts), candidates, removal)
        for n, sets, sums, drop in zip(open_texts, candidates, before, drops, strict=True):
            reached = sums + sign * drop
            best = (-reached).argsort(kind="stable")[:BEAM]
            beams[n], totals[n] = sets[best], reached[best]
    return np.array([total.max() / count for total, count in zip(totals, words, strict=True)])


def normalised_lines(rows: Sequence[NormalisedRow]) -> Iterator[str]:
    """The rows as lines for a terminal."""
    texts, exact = rows[0].texts, rows[0].exact
    yield (
        f"Normalised, on the {texts:,} texts of 2 to {MOST_WORDS} words; 1 is the best order of "
        f"removal, 0 the worst"
    )
    yield (
        f"(of all orders for {exact:,} texts of up to {EXACT_WORDS} words; by beam search, width "
        f"{BEAM}, for the others):"
    )
    yield f"{'ranking':<21}{'removal':<9}{'comprehensiveness':<24}sufficiency"
    for row in rows:
        yield (
            f"{row.ranking:<21}{row.removal:<9}{f'{row.comprehensiveness:.3f}':<24}"
            f"{row.sufficiency:.3f}"
        )
