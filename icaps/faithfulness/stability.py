"""Whether explanations stay when a word that is none of the reasons changes, and over seeds."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from numpy.typing import NDArray

from icaps.config import ExplainOptions
from icaps.faithfulness.eraser import Choices, covered_words, random_places
from icaps.faithfulness.word_scores import Texts
from icaps.inference import Reading, read
from icaps.interpret.tables import is_content_word
from icaps.model import ICapsNet
from icaps.results import Interval
from icaps.stats import bootstrap_mean
from icaps.text.batch import UNK, TokenBatch
from icaps.text.vocabulary import Vocabulary

CHANGES = ("synonym", "neutral")


@dataclass(frozen=True)
class Overlap:
    """How alike two explanations of the same texts are.

    Attributes:
        of: What differs between the two: "synonym", "neutral", or "model".
        ranking: Of the capsules, "routing" or "contribution".
        texts: How many were compared.
        jaccard: Words that are in K-grams of both over words in those of either.
        random: The same where the K-grams of the second are at random places.
        same_class: Share of the texts whose class stays.
    """

    of: str
    ranking: str
    texts: int
    jaccard: Interval
    random: Interval
    same_class: float


def after_a_change(
    texts: Texts,
    vocabulary: Vocabulary,
    change: str,
    options: ExplainOptions = ExplainOptions(),  # noqa: B008 (frozen)
    seed: int = 0,
) -> Overlap:
    """Explains each text again after one word that no K-gram covers was replaced.

    The new word is the nearest neighbour of the old one by the cosine of the frozen vectors; one
    that differs in case alone is no other word. The class that is explained stays. Texts without
    such a word are left out.

    Args:
        texts: To be explained.
        vocabulary: Of the network.
        change: "synonym" replaces a word that tells something, "neutral" a stop word or a mark.
        options: How many K-grams, and by which ranking.
        seed: Picks the word, and the random places.
    """
    before = covered_words(texts, options)
    random = np.random.default_rng(seed)
    places = {}  # of the word that changes, by text
    for n, (reading, (chosen,)) in enumerate(zip(texts.readings, before, strict=True)):
        place = _pick(reading.tokens.ids, chosen, vocabulary, change == "synonym", random)
        if place is not None:
            places[n] = place
    old = {n: int(texts.readings[n].tokens.ids[place]) for n, place in places.items()}
    near = nearest_words(texts.network.fixed_embedding, vocabulary, sorted(set(old.values())))
    rows = [(n, places[n], near[word]) for n, word in old.items() if word in near]
    changed = read_again(
        texts.network,
        [texts.readings[n] for n, _, _ in rows],
        [_with_word(texts.readings[n].tokens, place, word) for n, place, word in rows],
        texts.muted,
    )
    targets = tuple(texts.targets[n] for n, _, _ in rows)
    after = covered_words(Texts(texts.network, texts.muted, changed, targets), options)
    predicted = [int(reading.activity.class_norms.argmax()) for reading in changed]
    same = [one == target for one, target in zip(predicted, targets, strict=True)]
    return _overlap(change, options.ranking, [before[n] for n, _, _ in rows], after, same, seed)


def between_models(
    one: Texts,
    other: Texts,
    options: ExplainOptions = ExplainOptions(),  # noqa: B008 (frozen)
    seed: int = 0,
) -> Overlap:
    """Compares two models' explanations, such as of two seeds, where they predict the same class.

    Words are told by their places in the text, as both were read from the same strings.

    Args:
        one: Texts as the one read them, with its predictions.
        other: As the other read them, which knows the same classes.
        options: How many K-grams, and by which ranking.
        seed: Of the random places.
    """
    number = {reading.texts[0]: n for n, reading in enumerate(other.readings)}
    left, right = covered_words(one, options), covered_words(other, options)
    same, pairs = [], []
    for (reading, target), chosen in zip(one, left, strict=True):
        if (n := number.get(reading.texts[0])) is not None:
            same.append(target == other.targets[n])
            if same[-1]:
                words = min(chosen.shape[1], right[n].shape[1])  # one may have read more of them
                pairs.append((chosen[:, :words], right[n][:, :words]))
    return _overlap(
        "model", options.ranking, [a for a, _ in pairs], [b for _, b in pairs], same, seed
    )


def nearest_words(
    vectors: torch.Tensor, vocabulary: Vocabulary, words: Sequence[int]
) -> dict[int, int]:
    """The nearest other word of each, by cosine of (V, d); none for a word without a vector."""
    units = torch.nn.functional.normalize(vectors, dim=1)
    lowered = [word.casefold() for word in vocabulary.words]
    found = {}
    for word in words:
        if not units[word].any():
            continue
        order = (units @ units[word]).topk(min(16, len(units))).indices.tolist()
        others = (n for n in order if n > UNK and lowered[n] != lowered[word])
        nearest = next(others, None)
        if nearest is not None:
            found[word] = nearest
    return found


def read_again(
    network: ICapsNet,
    readings: Sequence[Reading],
    tokens: Sequence[TokenBatch],
    muted: tuple[int, ...],
) -> tuple[Reading, ...]:
    """What a network shows of the texts of these readings, with the given word ids."""
    texts = [reading.texts[0] for reading in readings]
    return tuple(chain.from_iterable(read(network, TokenBatch.join(tokens), muted, texts)))


def _with_word(text: TokenBatch, place: int, word: int) -> TokenBatch:
    ids = text.ids.copy()
    ids[place] = word
    return dataclasses.replace(text, ids=ids)


def _pick(
    ids: NDArray[np.integer],
    chosen: NDArray[np.bool_],
    vocabulary: Vocabulary,
    telling: bool,
    random: np.random.Generator,
) -> int | None:
    """The place of a known word at random that is not chosen, telling or not; None without one."""
    places = [
        place
        for place in np.flatnonzero(~chosen & (ids != UNK)).tolist()
        if is_content_word(vocabulary.words[ids[place]]) == telling
    ]
    return int(random.choice(places)) if places else None


def _overlap(
    of: str,
    ranking: str,
    one: list[Choices],
    other: list[Choices],
    same: Sequence[bool],
    seed: int,
) -> Overlap:
    found = np.array([_jaccard(*pair) for pair in zip(one, other, strict=True)])
    placed = random_places(other, seed)
    control = np.array([_jaccard(*pair) for pair in zip(one, placed, strict=True)])
    same_class = float(np.mean(same)) if same else float("nan")
    jaccard, random = bootstrap_mean(found, seed), bootstrap_mean(control, seed)
    return Overlap(of, ranking, len(found), jaccard, random, same_class)


def _jaccard(one: Choices, other: Choices) -> float:
    """Mean over the choices of `other`."""
    return float(((one & other).sum(1) / np.maximum((one | other).sum(1), 1)).mean())
