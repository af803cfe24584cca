"""Candidates for shortcuts: K-grams that explain predictions, and words that add most to scores.

The first are frequent in explanations, and nearly all of their texts get one class. The second are
found by the account (`interpret.account`): their shares of the predicted class add up to most, such
as those of the tag of a source that texts of several classes have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from icaps.shortcuts.heuristics import Sign, signs
from icaps.shortcuts.predicted_texts import Numbers, PredictedTexts, Words
from icaps.stats import wilson
from icaps.text.batch import UNK

FEWEST_TEXTS = 5  # texts whose explanation has a K-gram, or whose score has a word's share
PURE = 0.8  # share of a K-gram's texts that get its class, by the lower end of Wilson's interval
SAME_TEXTS = 0.9  # share of a K-gram's texts, or places, with a longer K-gram that then replaces it
_POOL = 1_000  # K-grams whose occurrences are counted, of each source
_MOST = 100  # candidates of each source


class Candidate(NamedTuple):
    """A K-gram that may be a shortcut.

    Attributes:
        words: The K-gram, as word ids.
        target: Number of the class to which it may lead.
        rows: (n,), numbers of the texts that contain it.
        signs: Signs that it is not the topic.
    """

    words: Words
    target: int
    rows: Numbers
    signs: tuple[Sign, ...] = ()


def candidates(texts: PredictedTexts) -> list[Candidate]:
    """The candidates of both sources, each K-gram once: at most _MOST of each.

    In each source those with signs come first, then those with weak signs. One by shares is left
    out if nearly all of its texts have a K-gram of the explanations that contains it.
    """
    explained = _most_suspicious(texts, explained_kgrams(texts))
    others = [
        candidate
        for candidate in words_by_share(texts)
        if not any(_stands_for(kgram, candidate) for kgram in explained)
    ]
    return [*explained, *_most_suspicious(texts, others)]


def explained_kgrams(texts: PredictedTexts) -> list[Candidate]:
    """Frequent K-grams of explanations, and parts of them, whose texts get one class.

    If one contains another, the shorter is selected, or the longer if nearly all texts of the
    shorter contain it. The most frequent come first.
    """
    occurrences: dict[Words, Counter[int]] = {}
    for target, kgrams in zip(texts.predicted.tolist(), texts.kgrams, strict=True):
        for words in {part for kgram in kgrams for part in parts(kgram)}:
            occurrences.setdefault(words, Counter())[target] += 1
    frequent = [
        words
        for words, counts in occurrences.items()
        if counts.total() >= FEWEST_TEXTS and UNK not in words
    ]
    frequent.sort(key=lambda words: (-max(occurrences[words].values()), len(words), words))
    selected: dict[Words, Candidate] = {}
    for words in sorted(frequent[:_POOL], key=len):  # a stable sort: still the most frequent first
        rows = texts.rows_with(words)
        shorter = [part for part in parts(words) if part in selected]
        if any(len(rows) < SAME_TEXTS * len(selected[part].rows) for part in shorter):
            continue
        counts = texts.given[rows].sum(0)  # (J,)
        target = int(counts.argmax())
        if wilson(int(counts[target]), len(rows)).low >= PURE:
            for part in shorter:
                del selected[part]
            selected[words] = Candidate(words, target, rows)
    return [selected[words] for words in frequent if words in selected]


def words_by_share(texts: PredictedTexts) -> list[Candidate]:
    """The words whose shares of the predicted class add up to most, the largest total first.

    Their class is the one with the largest total, whether most of their texts get it or not. A word
    that nearly always stands beside the same words is replaced by the K-gram of them.
    """
    classes = len(texts.classes)
    of_predictions = texts.tokens.ids[texts.prediction_words]
    ids, number = np.unique(of_predictions, return_inverse=True)
    cells = number * classes + texts.predicted[texts.prediction_of]  # of word and class
    totals = np.bincount(cells, texts.shares, len(ids) * classes).reshape(-1, classes)
    predictions = max(len(texts.predicted), 1)
    once = np.unique(cells * predictions + texts.prediction_of) // predictions  # per prediction
    counts = np.bincount(once, minlength=len(ids) * classes).reshape(-1, classes)
    target = totals.argmax(1)
    every = np.arange(len(ids))
    largest, enough = totals[every, target], counts[every, target] >= FEWEST_TEXTS
    rank = every[(ids != UNK) & enough & (largest > 0)]
    rank = rank[np.argsort(-largest[rank], kind="stable")][:_POOL]
    selected: dict[Words, Candidate] = {}
    for word, label in zip(ids[rank].tolist(), target[rank].tolist(), strict=True):
        words = _extend(texts, (word,))
        if words not in selected:
            selected[words] = Candidate(words, label, texts.rows_with(words))
    return list(selected.values())


def parts(words: Words) -> list[Words]:
    """All runs of the words of a K-gram, the K-gram itself last."""
    ends = range(1, len(words) + 1)
    return [words[end - size : end] for size in ends for end in ends if end >= size]


def _most_suspicious(texts: PredictedTexts, found: Sequence[Candidate]) -> list[Candidate]:
    """The first _MOST, with their signs: those with a sign first, otherwise in their order."""
    with_signs = [
        candidate._replace(signs=signs(texts, candidate.words, candidate.target, candidate.rows))
        for candidate in found
    ]
    return sorted(with_signs, key=_sign_rank)[:_MOST]


def _sign_rank(candidate: Candidate) -> int:
    """1 with a sign, 2 with weak signs alone, 3 without signs."""
    return min((1 + sign.weak for sign in candidate.signs), default=3)


def _stands_for(kgram: Candidate, other: Candidate) -> bool:
    """Whether a K-gram contains another one, and nearly all of its texts have it."""
    same = len(kgram.rows) >= SAME_TEXTS * len(other.rows)
    return same and other.words in parts(kgram.words)


def _extend(texts: PredictedTexts, words: Words) -> Words:
    """A K-gram with the words that nearly always follow or precede it, up to K words."""
    while len(words) < texts.network.config.kernel_size:
        longer = next(_longer(texts, words), None)
        if longer is None:
            break
        words = longer
    return words


def _longer(texts: PredictedTexts, words: Words) -> Iterator[Words]:
    """A K-gram with one more word, after or before it, where it is the same nearly always."""
    places, ids = texts.places(words), texts.tokens.ids
    for offset in (len(words), -1):
        beside = places + offset
        beside = beside[(beside >= 0) & (beside < len(ids))]
        found, times = np.unique(ids[beside], return_counts=True)
        neighbour = int(found[times.argmax()]) if len(beside) else UNK
        longer = (*words, neighbour) if offset > 0 else (neighbour, *words)
        if neighbour != UNK and len(texts.places(longer)) >= SAME_TEXTS * len(places):
            yield longer
