"""Local explanation: the K-grams that the most routed capsules attend to (section 2.6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from torch import Tensor, argsort

from icaps.errors import ConfigError
from icaps.inference import Reading
from icaps.results import CapsuleReason, Explanation, KGram, SentenceWeight, WordCount


class Top(NamedTuple):
    """How much to show: k1 capsules, k2 K-grams of each, from each one's best sentences.

    Of a text that is not split into sentences all is one sentence.
    """

    capsules: int = 2
    kgrams: int = 2
    sentences: int = 1


@dataclass(frozen=True)
class Spotted:
    """A K-gram by word positions: words `first` to before `last` around `position`."""

    capsule: int
    sentence: int
    position: int
    first: int
    last: int


def spot_kgrams(reading: Reading, target: int, kernel_size: int, top: Top) -> list[Spotted]:
    """The K-grams that explain one text; ties go to the lower capsule, then the earlier word.

    Of each of the capsules most routed to class `target`, the sentences with the largest rho, and
    in each the positions with the largest alpha. A K-gram is the window of K words that the
    convolution reads there, clipped at the sentence's ends. More than there are means all.

    Raises:
        ConfigError: A number of `top` is below 1.
    """
    if min(top) < 1:
        raise ConfigError(
            f"top_capsules, top_kgrams and top_sentences are {', '.join(map(str, top))}; each must "
            "be at least 1."
        )
    ends = np.cumsum(reading.encoded.sentences).tolist()
    starts = [0, *ends]
    left = (kernel_size - 1) // 2
    spotted = []
    routing = reading.routing[:, target]
    for capsule in largest(routing, top.capsules):
        if not routing[capsule]:  # it is switched off
            continue
        for sentence in largest(reading.sentence_attention[:, capsule], top.sentences):
            start, end = starts[sentence], ends[sentence]
            for step in largest(reading.attention[start:end, capsule], top.kgrams):
                first = start + step - left
                spotted.append(
                    Spotted(
                        capsule,
                        sentence,
                        start + step,
                        max(first, start),
                        min(first + kernel_size, end),
                    )
                )
    return spotted


def largest(weights: Tensor, count: int) -> list[int]:
    """Positions of the `count` largest of (n,) weights, largest first, the earlier on a tie."""
    order: list[int] = argsort(weights, descending=True, stable=True)[:count].tolist()
    return order


def cover(spotted: list[Spotted], length: int) -> list[int]:
    """How many K-grams lie over each of a text's `length` words."""
    counts = [0] * length
    for kgram in spotted:
        for word in range(kgram.first, kgram.last):
            counts[word] += 1
    return counts


def explain(
    reading: Reading,
    classes: tuple[str, ...],
    probabilities: tuple[float, ...],
    kernel_size: int,
    hierarchical: bool,
    target: int | None,
    top: Top,
    names: Mapping[int, str] = MappingProxyType({}),
) -> Explanation:
    """The explanation of one text for a class, the predicted one when `target` is None.

    `names` are what users called capsules, by number.

    Raises:
        ConfigError: A number of `top` is below 1.
    """
    predicted = int(reading.norms.argmax())
    target = predicted if target is None else target
    spotted = spot_kgrams(reading, target, kernel_size, top)
    spotted = [] if reading.blank else spotted
    spans = reading.encoded.spans.tolist()
    counts = cover(spotted, len(spans))
    scores = reading.norms.tolist()
    capsules = list(dict.fromkeys(kgram.capsule for kgram in spotted))
    return Explanation(
        text=reading.text,
        classes=classes,
        predicted=classes[predicted],
        target=classes[target],
        scores=tuple(scores),
        probabilities=probabilities,
        margin=scores[target] - max(scores[:target] + scores[target + 1 :]),
        kernel_size=kernel_size,
        kgrams=tuple(_kgram(reading, found, spans, target, names) for found in spotted),
        words=tuple(
            WordCount(start, end, count) for (start, end), count in zip(spans, counts, strict=True)
        ),
        sentences=_sentences(reading, spans, capsules, target) if hierarchical else (),
        capsules=tuple(
            CapsuleReason(
                i,
                tuple(reading.routing[i].tolist()),
                tuple(reading.attention[:, i].tolist()),
                tuple(reading.sentence_attention[:, i].tolist()),
                names.get(i, ""),
            )
            for i in capsules
        ),
        unknown_share=reading.encoded.unknown_share,
        truncated=reading.encoded.truncated,
        blank=reading.blank,
    )


def _kgram(
    reading: Reading,
    spotted: Spotted,
    spans: list[list[int]],
    target: int,
    names: Mapping[int, str],
) -> KGram:
    start, end = spans[spotted.first][0], spans[spotted.last - 1][1]
    return KGram(
        text=reading.text[start:end],
        start=start,
        end=end,
        capsule=spotted.capsule,
        routing=float(reading.routing[spotted.capsule, target]),
        attention=float(reading.attention[spotted.position, spotted.capsule]),
        sentence=spotted.sentence,
        sentence_attention=float(reading.sentence_attention[spotted.sentence, spotted.capsule]),
        capsule_name=names.get(spotted.capsule, ""),
    )


def _sentences(
    reading: Reading, spans: list[list[int]], capsules: list[int], target: int
) -> tuple[SentenceWeight, ...]:
    """Each sentence with the mean of its rho over the capsules, weighted by their beta."""
    ends = np.cumsum(reading.encoded.sentences).tolist()
    routing = reading.routing[capsules, target]
    weights = reading.sentence_attention[:, capsules] @ (routing / routing.sum())
    return tuple(
        SentenceWeight(spans[first][0], spans[last - 1][1], weight)
        for first, last, weight in zip([0, *ends], ends, weights.tolist(), strict=False)
    )
