"""Stability of explanations: after replacing a word outside of them, and across models."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from numpy.typing import NDArray

from icaps.config import ExplainOptions
from icaps.faithfulness.choices import Choices, covered_words, random_places
from icaps.faithfulness.texts import ExplainedTexts, common_texts
from icaps.inference import Reading, predicted_sets, read
from icaps.interpret.tables import is_content_word
from icaps.model import ICapsNet
from icaps.results import Interval
from icaps.stats import bootstrap_mean
from icaps.text.batch import UNK, TokenBatch
from icaps.text.vocabulary import Vocabulary

CHANGES = ("synonym", "neutral")


@dataclass(frozen=True)
class Overlap:
    """The overlap of two explanations of the same texts.

    Attributes:
        of: What differs between the two: "synonym", "neutral", or "model".
        ranking: The ranking of the K-grams, one of `config.KGRAM_RANKINGS`.
        texts: Number of texts that were compared.
        jaccard: Jaccard index of the words that the K-grams of the two cover.
        random: The same with the K-grams of the second at random places.
        same_class: Share of the texts with the same predicted class; with several labels per text,
            of the predicted classes that both have.
    """

    of: str
    ranking: str
    texts: int
    jaccard: Interval
    random: Interval
    same_class: float


def overlap_after_replacement(
    texts: ExplainedTexts,
    vocabulary: Vocabulary,
    change: str,
    options: ExplainOptions = ExplainOptions(),  # noqa: B008 (frozen)
    seed: int = 0,
) -> Overlap:
    """Explains each text again after replacing one word that no K-gram covers.

    The new word is the nearest neighbour of the old one by the cosine of the frozen vectors, other
    than in upper or lower case. The explained class stays the same. Texts without such a word are
    left out.

    Args:
        texts: The texts with their explained classes.
        vocabulary: The vocabulary of the network.
        change: "synonym" replaces a content word, "neutral" a stop word or punctuation.
        options: The numbers of K-grams, and their ranking.
        seed: Seed of the choice of the word, and of the random places.
    """
    before = covered_words(texts, options)
    random = np.random.default_rng(seed)
    places = {}  # position of the word that is replaced, by text
    for n, (reading, (chosen,)) in enumerate(zip(texts.readings, before, strict=True)):
        ids = reading.tokens.ids
        place = _random_place(ids, chosen, vocabulary, change == "synonym", random)
        if place is not None:
            places[n] = place
    old = {n: int(texts.readings[n].tokens.ids[place]) for n, place in places.items()}
    every_word = torch.arange(len(vocabulary), device=texts.network.fixed_embedding.device)
    vectors = texts.network.embed_words(every_word)[0]  # (V, d)
    near = nearest_by_vector(vectors, vocabulary, sorted(set(old.values())))
    rows = [(n, places[n], near[word]) for n, word in old.items() if word in near]
    changed = read_again(
        texts.network,
        [texts.readings[n] for n, _, _ in rows],
        [_with_word(texts.readings[n].tokens, place, word) for n, place, word in rows],
        texts.muted,
    )
    targets = tuple(texts.targets[n] for n, _, _ in rows)
    after = covered_words(ExplainedTexts(texts.network, texts.muted, changed, targets), options)
    same = [
        bool(predicted_sets(texts.network, reading.activity.class_norms.numpy())[0, target])
        for reading, target in zip(changed, targets, strict=True)
    ]
    return _overlap(change, options.ranking, [before[n] for n, _, _ in rows], after, same, seed)


def overlap_between_models(
    one: ExplainedTexts,
    other: ExplainedTexts,
    options: ExplainOptions = ExplainOptions(),  # noqa: B008 (frozen)
    seed: int = 0,
) -> Overlap:
    """Compares two models' explanations, such as two seeds, where they predict the same class.

    Words are matched by their positions in the text, as both were read from the same strings.

    Args:
        one: Texts as the first model read them, with its predictions.
        other: The same of the second model, which has the same classes.
        options: The numbers of K-grams, and their ranking.
        seed: Seed of the random places.
    """
    covered, others = covered_words(one, options), covered_words(other, options)
    same, left, right = [], [], []
    for n, m in common_texts(one, other):
        same.append(one.targets[n] == other.targets[m])
        if same[-1]:
            words = min(covered[n].shape[1], others[m].shape[1])  # limits may differ
            left.append(covered[n][:, :words])
            right.append(others[m][:, :words])
    return _overlap("model", options.ranking, left, right, same, seed)


def nearest_by_vector(
    vectors: torch.Tensor, vocabulary: Vocabulary, words: Sequence[int]
) -> dict[int, int]:
    """The nearest other word of each word id, by the cosine of the vectors (V, d).

    A word without a vector has none.
    """
    units = torch.nn.functional.normalize(vectors, dim=1)
    lowered = [word.casefold() for word in vocabulary.words]
    nearest = {}
    for word in words:
        if not units[word].any():
            continue
        order = (units @ units[word]).topk(min(16, len(units))).indices.tolist()
        others = (n for n in order if n > UNK and lowered[n] != lowered[word])
        if (other := next(others, None)) is not None:
            nearest[word] = other
    return nearest


def read_again(
    network: ICapsNet,
    readings: Sequence[Reading],
    tokens: Sequence[TokenBatch],
    muted: tuple[int, ...],
) -> tuple[Reading, ...]:
    """Reads the texts of these readings with a network, with the given word ids."""
    texts = [reading.texts[0] for reading in readings]
    return tuple(chain.from_iterable(read(network, TokenBatch.join(tokens), muted, texts)))


def stability_lines(overlaps: Sequence[Overlap]) -> Iterator[str]:
    """The overlaps as lines for a terminal."""
    yield "Words in the K-grams of both over those of either:"
    yield f"{'changed':<9}{'K-grams by':<14}{'texts':<7}{'overlap':<24}{'random':<24}same class"
    for row in overlaps:
        yield (
            f"{row.of:<9}{row.ranking:<14}{row.texts:<7}{f'{row.jaccard:.3f}':<24}"
            f"{f'{row.random:.3f}':<24}{row.same_class:.1%}"
        )


def _with_word(text: TokenBatch, place: int, word: int) -> TokenBatch:
    ids = text.ids.copy()
    ids[place] = word
    return dataclasses.replace(text, ids=ids)


def _random_place(
    ids: NDArray[np.integer],
    chosen: NDArray[np.bool_],
    vocabulary: Vocabulary,
    content: bool,
    random: np.random.Generator,
) -> int | None:
    """The position of a random known word that is not chosen; None if there is none.

    It is a content word, or a stop word or punctuation, as `content` says.
    """
    places = [
        place
        for place in np.flatnonzero(~chosen & (ids != UNK)).tolist()
        if is_content_word(vocabulary.words[ids[place]]) == content
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
    overlaps = np.array([jaccard(*pair) for pair in zip(one, other, strict=True)])
    placed = random_places(other, seed)
    control = np.array([jaccard(*pair) for pair in zip(one, placed, strict=True)])
    return Overlap(
        of=of,
        ranking=ranking,
        texts=len(overlaps),
        jaccard=bootstrap_mean(overlaps, seed),
        random=bootstrap_mean(control, seed),
        same_class=float(np.mean(same)) if same else float("nan"),
    )


def jaccard(one: Choices, other: Choices) -> float:
    """Jaccard index of one choice of words (1, words) with others (choices, words), their mean."""
    return float(((one & other).sum(1) / np.maximum((one | other).sum(1), 1)).mean())
