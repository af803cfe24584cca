"""Local explanation: the K-grams that the most routed capsules attend to (section 2.6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from icaps.errors import ConfigError
from icaps.inference import Reading
from icaps.results import CapsuleReason, Explanation, KGram, SentenceWeight, WordCount

CAPSULE_RANKINGS = ("routing", "contribution")


class Top(NamedTuple):
    """How much to show: k1 capsules, k2 K-grams of each, from each one's best sentences.

    Of a text that is not split into sentences all is one sentence. `ranking` says which capsules
    come first: "routing", those of the largest beta_ij, as in the paper, or "contribution", those
    that add most to the class (`inference.contributions`).
    """

    capsules: int = 2
    kgrams: int = 2
    sentences: int = 1
    ranking: str = "routing"


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

    Of each of the first capsules for class `target`, the sentences with the largest rho, and in
    each the positions with the largest alpha. A K-gram is the window of K words that the
    convolution reads there, clipped at the sentence's ends. More than there are means all.

    Raises:
        ConfigError: A number of `top` is below 1, or there is no such ranking.
    """
    *numbers, ranking = top
    if min(numbers) < 1:
        raise ConfigError(
            f"top_capsules, top_kgrams and top_sentences are {', '.join(map(str, numbers))}; each "
            "must be at least 1."
        )
    if ranking not in CAPSULE_RANKINGS:
        raise ConfigError(
            f"The ranking is {ranking!r}; it must be one of {', '.join(CAPSULE_RANKINGS)}."
        )
    ends = np.cumsum(reading.encoded.sentences).tolist()
    starts = [0, *ends]
    left = (kernel_size - 1) // 2
    spotted = []
    # Of a few numbers numpy makes less ado than torch.
    attention, rho = reading.attention.numpy(), reading.sentence_attention.numpy()
    routing = reading.routing[:, target].numpy()
    weights = routing if ranking == "routing" else reading.contribution[:, target].numpy()
    on = routing > 0  # those that are not switched off
    for capsule in largest(np.where(on, weights, -inf), min(top.capsules, int(on.sum()))):
        for sentence in largest(rho[:, capsule], top.sentences):
            start, end = starts[sentence], ends[sentence]
            for step in largest(attention[start:end, capsule], top.kgrams):
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


def largest(weights: NDArray[np.floating[Any]], count: int) -> list[int]:
    """Positions of the `count` largest of (n,) weights, largest first, the earlier on a tie."""
    order: list[int] = np.argsort(-weights, kind="stable")[:count].tolist()
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
    reasons = {
        i: CapsuleReason(
            i,
            tuple(reading.routing[i].tolist()),
            tuple(reading.attention[:, i].tolist()),
            tuple(reading.sentence_attention[:, i].tolist()),
            names.get(i, ""),
        )
        for i in capsules
    }
    return Explanation(
        text=reading.text,
        classes=classes,
        predicted=classes[predicted],
        target=classes[target],
        scores=tuple(scores),
        probabilities=probabilities,
        margin=scores[target] - max(scores[:target] + scores[target + 1 :]),
        kernel_size=kernel_size,
        kgrams=tuple(
            _kgram(reading, found, reasons[found.capsule], spans, target) for found in spotted
        ),
        words=tuple(map(WordCount, *reading.encoded.spans.T.tolist(), counts)),
        sentences=_sentences(reading, spans, capsules, target) if hierarchical else (),
        capsules=tuple(reasons.values()),
        unknown_share=reading.encoded.unknown_share,
        truncated=reading.encoded.truncated,
        blank=reading.blank,
        ranking=top.ranking,
    )


def _kgram(
    reading: Reading, spotted: Spotted, reason: CapsuleReason, spans: list[list[int]], target: int
) -> KGram:
    start, end = spans[spotted.first][0], spans[spotted.last - 1][1]
    return KGram(
        text=reading.text[start:end],
        start=start,
        end=end,
        capsule=spotted.capsule,
        routing=reason.routing[target],
        attention=reason.attention[spotted.position],
        sentence=spotted.sentence,
        sentence_attention=reason.sentence_attention[spotted.sentence],
        capsule_name=reason.name,
        contribution=float(reading.contribution[spotted.capsule, target]),
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
