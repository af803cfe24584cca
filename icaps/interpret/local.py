"""Local explanation: the K-grams that decided, with their places and weights (section 2.6)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from icaps.config import ExplainOptions
from icaps.inference import Reading, to_classes
from icaps.interpret.reasons import Reasons, attention_of, find_reasons, rank
from icaps.interpret.spotting import Numbers, begins, ranges, spot
from icaps.results import CapsuleReason, Explanation, KGram, SentenceWeight, WordCount

_Item = TypeVar("_Item")


@dataclass(frozen=True)
class Spotted:
    """A K-gram by word positions: words `first` to before `last` around `position`."""

    capsule: int
    sentence: int
    position: int
    first: int
    last: int


def spot_kgrams(
    reading: Reading, target: int, kernel_size: int, options: ExplainOptions
) -> list[Spotted]:
    """The K-grams that explain one text for class number `target`, as `spotting.spot` finds them.

    The target of `options` is not read.
    """
    routing, contribution = to_classes(reading.activity, np.array([0]), np.array([target]))
    weights = rank(routing, contribution, options)
    found = spot(weights, attention_of(reading), kernel_size, options)
    return [Spotted(*row) for row in np.stack(found[1:], axis=1).tolist()]


def cover(spotted: Sequence[Spotted], length: int) -> list[int]:
    """How many K-grams lie over each of a text's `length` words."""
    firsts, lasts = ([getattr(kgram, edge) for kgram in spotted] for edge in ("first", "last"))
    counts: list[int] = _cover(np.array(firsts, int), np.array(lasts, int), length).tolist()
    return counts


def explain(
    batch: Reading,
    classes: tuple[str, ...],
    kernel_size: int,
    options: ExplainOptions,
    *,
    probabilities: NDArray[np.float64],
    hierarchical: bool,
    names: Mapping[int, str] = MappingProxyType({}),
) -> Iterator[Explanation]:
    """The explanations of texts.

    Args:
        batch: The texts and what the network shows of them.
        classes: Names of the classes; `options.target` is one of them, or None.
        kernel_size: K.
        options: What to explain, and how much of it.
        probabilities: (B, J), of the norms.
        hierarchical: Whether texts are split into sentences.
        names: What users called capsules, by number.
    """
    reasons = find_reasons(batch, classes, kernel_size, options)
    tokens = batch.tokens
    assert tokens.truncated is not None
    columns = (
        *(batch.texts, tokens.truncated.tolist(), batch.blank.tolist()),
        tokens.unknown_share.tolist(),
        *(reasons.predicted.tolist(), reasons.targets.tolist(), reasons.norms.tolist()),
        probabilities.tolist(),
        _kgrams(batch, reasons, names),
        _words(batch, reasons),
        _sentences(batch, reasons) if hierarchical else [()] * len(batch.texts),
        _capsules(batch, reasons, names),
    )
    for row in zip(*columns, strict=True):
        text, truncated, blank, unknown, predicted, target, scores, shares, *parts = row
        kgrams, words, sentences, capsules = parts
        yield Explanation(
            text=text,
            classes=classes,
            predicted=classes[predicted],
            target=classes[target],
            scores=tuple(scores),
            probabilities=tuple(shares),
            margin=scores[target] - max(scores[:target] + scores[target + 1 :]),
            kernel_size=kernel_size,
            kgrams=kgrams,
            words=words,
            sentences=sentences,
            capsules=capsules,
            unknown_share=unknown,
            truncated=truncated,
            blank=blank,
            ranking=options.ranking,
        )


def _cut(items: Iterable[_Item], sizes: Numbers) -> Iterator[tuple[_Item, ...]]:
    """Runs of items, of a size each, which are made when they are asked for."""
    left = iter(items)
    return (tuple(islice(left, size)) for size in sizes.tolist())


def _words(batch: Reading, reasons: Reasons) -> Iterator[tuple[WordCount, ...]]:
    spans = batch.tokens.spans
    assert spans is not None
    counts = _cover(reasons.spots.first, reasons.spots.last, len(spans))
    words = map(WordCount, *spans.T.tolist(), counts.tolist())
    return _cut(words, batch.tokens.words_per_text)


def _cover(firsts: Numbers, lasts: Numbers, length: int) -> Numbers:
    """How many runs of words, from a first to before a last, lie over each of `length` words."""
    started = np.bincount(firsts, minlength=length + 1) - np.bincount(lasts, minlength=length + 1)
    return started.cumsum()[:length]


def _kgrams(
    batch: Reading, reasons: Reasons, names: Mapping[int, str]
) -> Iterator[tuple[KGram, ...]]:
    texts = batch.texts
    rows = zip(*(column.tolist() for column in reasons.kgrams), strict=True)
    found = (
        KGram(
            text=texts[text][start:end],
            start=start,
            end=end,
            capsule=capsule,
            routing=routing,
            attention=attention,
            sentence=sentence,
            sentence_attention=rho,
            capsule_name=names.get(capsule, ""),
            contribution=contribution,
        )
        for text, start, end, capsule, routing, attention, sentence, rho, contribution in rows
    )
    return _cut(found, np.bincount(reasons.spots.text, minlength=len(texts)))


def _shown(reasons: Reasons) -> tuple[Numbers, Numbers]:
    """The capsules of K-grams, each once a text, and their texts."""
    text, capsule = reasons.spots.text, reasons.spots.capsule
    new = begins(text, capsule)
    return text[new], capsule[new]


def _capsules(
    batch: Reading, reasons: Reasons, names: Mapping[int, str]
) -> Iterator[tuple[CapsuleReason, ...]]:
    attention, words = attention_of(batch), batch.tokens.words_per_text
    text, capsule = _shown(reasons)
    routing = batch.activity.routing.numpy()[text, capsule].tolist()
    columns = []
    for weights, sizes in ((attention.alpha, words), (attention.rho, attention.counts)):
        rows = ranges((sizes.cumsum() - sizes)[text], sizes[text])
        flat = weights[rows, np.repeat(capsule, sizes[text])]
        columns.append(_cut(flat.tolist(), sizes[text]))
    found = (
        CapsuleReason(number, tuple(betas), alpha, rho, names.get(number, ""))
        for number, betas, alpha, rho in zip(capsule.tolist(), routing, *columns, strict=True)
    )
    return _cut(found, np.bincount(text, minlength=len(batch.texts)))


def _sentences(batch: Reading, reasons: Reasons) -> Iterator[tuple[SentenceWeight, ...]]:
    """Each sentence with the mean of its rho over the capsules, weighted by their beta."""
    attention, spans = attention_of(batch), batch.tokens.spans
    assert spans is not None
    ends = attention.lengths.cumsum()
    starts = (ends - attention.lengths).tolist()
    text, capsule = _shown(reasons)
    beta = np.zeros_like(reasons.routing)
    beta[text, capsule] = reasons.routing[text, capsule]
    shares = np.divide(beta, beta.sum(1, keepdims=True), out=beta, where=beta > 0)
    of_sentence = np.repeat(np.arange(len(batch.texts)), attention.counts)
    weights = (attention.rho * shares[of_sentence]).sum(1)
    places = (spans[starts, 0], spans[ends - 1, 1], weights)
    found = map(SentenceWeight, *(column.tolist() for column in places))
    return _cut(found, attention.counts)
