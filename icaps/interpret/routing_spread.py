"""How much capsules are routed to classes over a corpus: histograms, and texts along their range.

One pass counts how many texts route how much of a capsule to their predicted class, and keeps the
numbers of a few texts of each bin. From these, texts of high, middle and low routing are chosen for
the class that a capsule serves most; their excerpts are read in a second pass over the data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from icaps.inference import each_prediction, read_labelled, read_texts, to_classes
from icaps.model import ICapsNet
from icaps.text.vocabulary import Vocabulary

BINS = 50
EDGES = (np.arange(BINS + 1) / BINS) ** 2  # finer near 0, as with J classes routing is about 1 / J
LEVELS = HIGH, MIDDLE, LOW = ("high", "middle", "low")  # thirds of a capsule's range
EXCERPT = 300  # characters of a stored text, at most
_PER_BIN = 3  # texts that are kept of each bin
_PER_LEVEL = 3  # texts of each level

Bin = tuple[int, int, int]  # class j, capsule i, bin


class RoutedText(NamedTuple):
    """A text by its number in the data, and the routing weight beta_ij of a capsule in it."""

    number: int
    routing: float


class Excerpt(NamedTuple):
    """At most EXCERPT characters of a text, around what a capsule attends to, and its class."""

    text: str
    label: str


@dataclass(frozen=True)
class CapsuleRouting:
    """The routing weights of capsules over a corpus, as a global view has them.

    Attributes:
        counts: See `RoutingSpread`.
        levels: For each capsule, by LEVELS, texts of the class that it serves most.
        excerpts: By capsule and number what is stored of these texts; empty if nothing is.
    """

    counts: NDArray[np.int64]
    levels: list[dict[str, list[RoutedText]]]
    excerpts: dict[tuple[int, int], Excerpt]

    @property
    def numbers(self) -> dict[int, list[int]]:
        """The numbers of the texts of each capsule."""
        return {
            capsule: [text.number for texts in levels.values() for text in texts]
            for capsule, levels in enumerate(self.levels)
        }


@dataclass
class RoutingSpread:
    """Histograms of the routing weights of capsules; those of parts of a corpus can be merged.

    Attributes:
        counts: (J, I, BINS), texts of predicted class j by the bin of EDGES that beta_ij is in,
            whichever capsule won.
        texts: A few texts of each bin, the first of the data.
    """

    counts: NDArray[np.int64]
    texts: dict[Bin, list[RoutedText]] = field(default_factory=dict)

    @classmethod
    def empty(cls, classes: int, capsules: int) -> RoutingSpread:
        """The histograms of an empty corpus."""
        return cls(np.zeros((classes, capsules, BINS), np.int64))

    def add(
        self,
        predicted: NDArray[np.int64],
        routing: NDArray[np.floating],
        numbers: NDArray[np.int64],
    ) -> None:
        """Counts a batch of texts.

        Args:
            predicted: (n,), class numbers.
            routing: (n, I), beta_ij for the predicted class j.
            numbers: (n,), positions of the texts in the data, ascending.
        """
        capsules = self.counts.shape[1]
        bins = EDGES.searchsorted(routing, side="right").clip(1, BINS) - 1  # (n, I)
        cells = (predicted[:, None] * capsules + np.arange(capsules)) * BINS + bins
        flat = cells.ravel()
        self.counts += np.bincount(flat, minlength=self.counts.size).reshape(self.counts.shape)
        order = flat.argsort(kind="stable")  # by bin, then by number
        starts = np.flatnonzero(np.diff(flat[order], prepend=-1))
        rank = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
        first = order[rank < _PER_BIN]
        rows, columns = np.divmod(first, capsules)
        chosen = (predicted[rows], columns, bins[rows, columns], numbers[rows], routing.flat[first])
        for j, i, n, number, weight in zip(*(one.tolist() for one in chosen), strict=True):
            texts = self.texts.setdefault((j, i, n), [])
            if len(texts) < _PER_BIN:
                texts.append(RoutedText(number, round(weight, 4)))

    def merge(self, other: RoutingSpread) -> None:
        """Adds the texts of another part of the corpus."""
        self.counts += other.counts
        for cell, texts in other.texts.items():
            self.texts[cell] = sorted([*self.texts.get(cell, []), *texts])[:_PER_BIN]

    def of_classes(self, classes: NDArray[np.int64]) -> CapsuleRouting:
        """The histograms, with texts of one class per capsule (I,); without excerpts."""
        levels = [self.levels(capsule, j) for capsule, j in enumerate(classes.tolist())]
        return CapsuleRouting(self.counts, levels, {})

    def levels(self, capsule: int, class_number: int) -> dict[str, list[RoutedText]]:
        """Texts of high, middle and low routing of a capsule to a class.

        High ones are those of the highest bins, low ones of the lowest, and the others are nearest
        to the middle of the range; each in its third of the range.
        """
        counts = self.counts[class_number, capsule]
        chosen: dict[str, list[RoutedText]] = {}
        for level, bins in thirds(counts).items():
            middle = (bins.start + bins.stop - 1) / 2
            centre = {HIGH: bins.stop, LOW: bins.start}.get(level, middle)
            nearest = sorted(bins, key=partial(_distance, centre))
            cells = ((class_number, capsule, n) for n in nearest)
            texts = [text for cell in cells for text in self.texts.get(cell, [])][:_PER_LEVEL]
            chosen[level] = sorted(texts, key=lambda text: (-text.routing, text.number))
        return chosen


def thirds(counts: NDArray[np.int64]) -> dict[str, range]:
    """The bins (BINS,) of each level: thirds of those from the first to the last with a text.

    Without a text there are none.
    """
    occupied = np.flatnonzero(counts)
    if not len(occupied):
        return {level: range(0) for level in LEVELS}
    first, end = int(occupied[0]), int(occupied[-1]) + 1
    third = max((end - first) // 3, min(end - first - 1, 1))
    low, high = first + third, end - third
    return {HIGH: range(high, end), MIDDLE: range(low, high), LOW: range(first, low)}


def main_classes(frequency: NDArray[np.int64], routing: NDArray[np.float64]) -> NDArray[np.int64]:
    """The class that each capsule serves most (I,): of most wins, or if it never wins, of routing.

    Args:
        frequency: C (J, I).
        routing: (J, I), sums of routing weights, as in `Tally`.
    """
    wins = frequency.sum(0) > 0
    classes: NDArray[np.int64] = np.where(wins, frequency.argmax(0), routing.argmax(0))
    return classes


def spread_of(
    network: ICapsNet,
    vocabulary: Vocabulary,
    classes: Sequence[str],
    labelled: Iterable[tuple[str, str]],
) -> RoutingSpread:
    """The histograms of a stream of pairs of a text and its class; blank texts are left out.

    Raises:
        DataError: A label is none of the classes.
    """
    spread = RoutingSpread.empty(len(classes), network.config.num_capsules)
    multilabel = network.thresholds is not None
    for labelled_batch in read_labelled(network, vocabulary, classes, labelled, multilabel):
        batch, predicted = each_prediction(network, labelled_batch)
        known = np.flatnonzero(~batch.blank)
        routing, _ = to_classes(batch.activity, known, predicted[known])
        spread.add(predicted[known], routing, batch.numbers[known])
    return spread


def read_excerpts(
    network: ICapsNet,
    vocabulary: Vocabulary,
    labelled: Iterable[tuple[str, str]],
    wanted: Mapping[int, Sequence[int]],
) -> dict[tuple[int, int], Excerpt]:
    """Excerpts of texts around what capsules attend to, by capsule and number of the text.

    Args:
        network: In eval mode.
        vocabulary: The vocabulary of the network.
        labelled: The data, as a stream of pairs of a text and its class.
        wanted: By capsule the numbers of its texts.
    """
    numbers = {number for some in wanted.values() for number in some}
    rows = {n: row for n, row in enumerate(labelled) if n in numbers}
    capsules: dict[int, list[int]] = {number: [] for number in rows}
    for capsule, some in wanted.items():
        for number in some:
            if number in rows:
                capsules[number].append(capsule)
    excerpts: dict[tuple[int, int], Excerpt] = {}
    readings = read_texts(network, vocabulary, [text for text, _ in rows.values()])
    ones = (one for reading in readings for one in reading)
    for (number, (text, label)), one in zip(rows.items(), ones, strict=True):
        sentences = np.repeat(
            np.arange(len(one.tokens.words_per_sentence)), one.tokens.words_per_sentence
        )
        attention = one.activity.attention.numpy()  # (T, I)
        attention = attention * one.activity.sentence_attention.numpy()[sentences]
        for capsule in capsules[number]:
            start = 0
            if len(attention) and one.tokens.spans is not None:
                start = int(one.tokens.spans[attention[:, capsule].argmax(), 0])
            excerpts[capsule, number] = Excerpt(excerpt(text, start), label)
    return excerpts


def excerpt(text: str, position: int, length: int = EXCERPT) -> str:
    """At most `length` characters of a text around a position, cut between words.

    "…" stands for what is left out.
    """
    if len(text) <= length:
        return text
    room = length - 4  # two ellipses with their spaces
    start = min(max(position - room // 2, 0), len(text) - room)
    end = start + room
    if start:
        gap = _first_space(text, start, min(position, end))
        start = start if gap is None else gap + 1
    if end < len(text):
        cut = text[start:end].rstrip()
        shorter = cut.rsplit(None, 1)[0] if " " in cut and not text[end].isspace() else cut
        end = start + len(shorter)
    return ("… " if start else "") + text[start:end].strip() + (" …" if end < len(text) else "")


def _distance(centre: float, number: int) -> tuple[float, int]:
    return abs(number - centre), number


def _first_space(text: str, start: int, stop: int) -> int | None:
    return next((n for n in range(start, stop) if text[n].isspace()), None)
