"""Corpus-level interpretation (section 2.6): the matrix C, its by-products, and the words of cells.

One pass over labelled texts counts, for each text with a known word, which primary capsule won,
for which predicted class, and by which K-gram. It also adds up what capsules, words and K-grams add
to the scores (`share_totals`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from icaps.config import ExplainOptions
from icaps.errors import DataError
from icaps.inference import Reading, each_prediction, most_probable, read_labelled
from icaps.interpret.ablation import CapsuleSample, KnockOut
from icaps.interpret.account import BatchAccount
from icaps.interpret.kgrams import top_kgrams
from icaps.interpret.routing_spread import RoutingSpread
from icaps.interpret.set_knock_out import SetKnockOut
from icaps.interpret.share_totals import ShareCounter
from icaps.model import ICapsNet
from icaps.nn import distributed
from icaps.text.vocabulary import Vocabulary
from icaps.train.text_hashes import TextHashes

MAX_KGRAMS = 500_000  # different K-grams in memory
TYPICAL = 5  # typical texts per cell
ABSENT = -1  # in place of a word id, beyond the ends of a sentence

Cell = tuple[int, int]  # class j, capsule i
Words = tuple[int, ...]  # word ids
Item = TypeVar("Item", bound=Hashable)

_WINNER = ExplainOptions(top_capsules=1, top_kgrams=1)


class FittedModel(Protocol):
    """The attributes of a fitted `ICapsClassifier` that are used here."""

    @property
    def network_(self) -> ICapsNet:
        """The trained network."""

    @property
    def vocabulary_(self) -> Vocabulary:
        """Its vocabulary."""

    @property
    def classes_(self) -> NDArray[Any]:
        """(J,), names of the classes."""

    @property
    def text_hashes_(self) -> TextHashes | None:
        """Hashes of the texts of its training; None if they are not known."""


class Winners(NamedTuple):
    """The predicted class, the winning capsule and its K-gram of each text with a known word.

    A text with several predicted classes is there once for each, and one without any is not.

    Attributes:
        numbers: (texts,), position of each text in the stream.
        right: (texts,), whether the text has the predicted class.
        predicted: (texts,), class numbers.
        capsules: (texts,), the capsule with the largest routing weight for the predicted class.
        kgrams: (texts, K), word ids; ABSENT where the window passes the ends of the sentence, and
            for words that an edit makes neutral.
        routing: (texts, I), beta_ij for the predicted class j.
        contribution: (texts, I), beta_ij (u_j|i . cc_j) / |cc_j|, whose sum over capsules is the
            length of cc_j before the squash.
    """

    numbers: NDArray[np.int64]
    right: NDArray[np.bool_]
    predicted: NDArray[np.int64]
    capsules: NDArray[np.int64]
    kgrams: NDArray[np.int64]
    routing: NDArray[np.float32]
    contribution: NDArray[np.float32]


def find_winners(account: BatchAccount, predicted: NDArray[np.int64] | None = None) -> Winners:
    """The winning capsule of each text and its K-gram: section 2.6 with k1 = k2 = 1.

    What an edit of the model makes neutral for the predicted class does not win, and its words are
    not counted.

    Args:
        account: Of a batch of labelled texts.
        predicted: (B,), the class of each (`inference.each_prediction`); None: the most probable.
    """
    batch, kernel_size = account.batch, account.network.config.kernel_size
    known = np.flatnonzero(~batch.blank)
    if predicted is None:
        predicted = most_probable(account.network, batch.activity.class_norms.numpy())
    routing, contribution = account.weights(predicted)
    windows_count = account.windows_count(predicted)
    top = top_kgrams(batch, routing, contribution, kernel_size, _WINNER, windows_count)
    window = top.position[:, None] + np.arange(kernel_size) - (kernel_size - 1) // 2  # (texts, K)
    inside = (window >= top.first[:, None]) & (window < top.last[:, None])
    ids, counts = batch.tokens.ids, account.counts(predicted)
    if counts is not None:
        inside &= counts[window.clip(0, len(ids) - 1)]
    return Winners(
        numbers=batch.numbers[known],
        right=batch.has_label(predicted)[known],
        predicted=predicted[known],
        capsules=top.capsule,
        kgrams=np.where(inside, ids[window.clip(0, len(ids) - 1)], ABSENT),
        routing=routing[known],
        contribution=contribution[known],
    )


class Typical(NamedTuple):
    """A typical text of a cell: the winner's contribution, and its position in the stream."""

    contribution: float
    number: int


@dataclass
class Tally:
    """The matrix C and other counts over texts; tallies of parts of a corpus can be merged.

    Attributes:
        frequency: (J, I), c_ji of section 2.6: texts of predicted class j that capsule i won. A
            text with several predicted classes counts for each of them.
        right: (J, I), the part of `frequency` whose label is j, the predicted class.
        routing: (J, I), sum of beta_ij over the texts of predicted class j, whichever capsule won.
        contribution: (J, I), the same sum of beta_ij (u_j|i . cc_j) / |cc_j|.
        blank: Texts without a known word, which are in none of the others.
        undecided: Texts with a known word and without a predicted class, of a model of several
            labels per text.
        further: Predicted classes beyond the first of their text.
        words: By cell, the count of each word in its K-grams.
        kgrams: By cell, the count of each K-gram, without positions beyond the sentence.
        dropped: By how much the count of a K-gram may be too low, as rare ones are dropped to bound
            memory.
        typical: For each cell the texts with the largest contribution of the winner, largest first.
    """

    frequency: NDArray[np.int64]
    right: NDArray[np.int64]
    routing: NDArray[np.float64]
    contribution: NDArray[np.float64]
    blank: int = 0
    words: dict[Cell, Counter[int]] = field(default_factory=partial(defaultdict, Counter))
    kgrams: dict[Cell, Counter[Words]] = field(default_factory=partial(defaultdict, Counter))
    dropped: int = 0
    typical: dict[Cell, list[Typical]] = field(default_factory=partial(defaultdict, list))
    undecided: int = 0
    further: int = 0

    @classmethod
    def empty(cls, classes: int, capsules: int) -> Tally:
        """The counts of an empty corpus."""
        shape = classes, capsules
        return cls(
            frequency=np.zeros(shape, np.int64),
            right=np.zeros(shape, np.int64),
            routing=np.zeros(shape),
            contribution=np.zeros(shape),
        )

    def add(self, winners: Winners, blank: int) -> None:
        """Counts a batch, and its `blank` texts without a known word."""
        cells = winners.predicted, winners.capsules
        np.add.at(self.frequency, cells, 1)
        np.add.at(self.right, cells, winners.right)
        np.add.at(self.routing, winners.predicted, winners.routing)
        np.add.at(self.contribution, winners.predicted, winners.contribution)
        self.blank += blank
        contributed = winners.contribution[np.arange(len(winners.capsules)), winners.capsules]
        columns = (*cells, winners.kgrams, contributed, winners.numbers)
        for j, i, window, contribution, number in zip(
            *(column.tolist() for column in columns), strict=True
        ):
            kgram = tuple(word for word in window if word != ABSENT)
            if kgram:
                self.words[j, i].update(kgram)
                self.kgrams[j, i][kgram] += 1
            self._add_typical((j, i), [Typical(contribution, number)])
        self._drop_rare_kgrams()

    def merge(self, other: Tally) -> None:
        """Adds the counts of another part of the corpus; exact unless K-grams were dropped."""
        self.frequency += other.frequency
        self.right += other.right
        self.routing += other.routing
        self.contribution += other.contribution
        self.blank += other.blank
        self.undecided += other.undecided
        self.further += other.further
        self.dropped += other.dropped
        for cell, words in other.words.items():
            self.words[cell].update(words)
        for cell, kgrams in other.kgrams.items():
            self.kgrams[cell].update(kgrams)
        for cell, texts in other.typical.items():
            self._add_typical(cell, texts)
        self._drop_rare_kgrams()

    @property
    def texts(self) -> int:
        """Number of counted texts, without blank ones."""
        return self.predictions - self.further + self.undecided

    @property
    def predictions(self) -> int:
        """Number of predicted classes of all texts together: the sum of C."""
        return int(self.frequency.sum())

    def column(self, capsule: int) -> list[Cell]:
        """The cells of a capsule."""
        return [(j, capsule) for j in range(len(self.frequency))]

    def words_of(self, cells: Iterable[Cell]) -> Counter[int]:
        """The count of each word in the K-grams of these cells together."""
        return _sum(self.words[cell] for cell in cells if cell in self.words)

    def kgrams_of(self, cells: Iterable[Cell]) -> Counter[Words]:
        """The count of each K-gram in these cells together."""
        return _sum(self.kgrams[cell] for cell in cells if cell in self.kgrams)

    def _add_typical(self, cell: Cell, texts: list[Typical]) -> None:
        candidates = [*self.typical[cell], *texts]
        candidates.sort(key=lambda text: (-text.contribution, text.number))
        self.typical[cell] = candidates[:TYPICAL]

    def _drop_rare_kgrams(self) -> None:
        """Bounds memory: subtracts the median from every count (Misra and Gries 1982)."""
        if sum(map(len, self.kgrams.values())) <= MAX_KGRAMS:
            return
        counts = sorted(n for kgrams in self.kgrams.values() for n in kgrams.values())
        median = counts[len(counts) // 2]
        for cell, kgrams in self.kgrams.items():
            self.kgrams[cell] = Counter(
                {kgram: n - median for kgram, n in kgrams.items() if n > median}
            )
        self.dropped += median


@dataclass
class CorpusCounts:
    """The results of one pass over labelled texts; those of parts of a corpus can be merged."""

    tally: Tally
    knock_out: KnockOut | SetKnockOut
    sample: CapsuleSample
    shares: ShareCounter
    routing: RoutingSpread

    @classmethod
    def empty(cls, model: FittedModel) -> CorpusCounts:
        """The counts of an empty corpus."""
        config, classes = model.network_.config, len(model.classes_)
        multilabel = model.network_.thresholds is not None
        knock_out = SetKnockOut if multilabel else KnockOut
        return cls(
            Tally.empty(classes, config.num_capsules),
            knock_out.empty(classes, config.num_capsules),
            CapsuleSample.empty(
                config.num_capsules, config.query_dim, classes if multilabel else None
            ),
            ShareCounter(classes, config.num_capsules),
            RoutingSpread.empty(classes, config.num_capsules),
        )

    def add(self, network: ICapsNet, batch: Reading) -> None:
        """Counts a batch of labelled texts that the network read."""
        predictions, classes = each_prediction(network, batch)
        account = BatchAccount(network, predictions)
        winners = find_winners(account, classes)
        self.tally.add(winners, blank=int(batch.blank.sum()))
        if isinstance(self.knock_out, SetKnockOut):
            texts = batch.numbers.searchsorted(winners.numbers)
            decided = len(np.unique(texts))
            self.tally.further += len(texts) - decided
            self.tally.undecided += int((~batch.blank).sum()) - decided
            self.knock_out.add(network, batch, texts, winners.capsules)
        else:
            self.knock_out.add(network, batch, winners.capsules)
        self.sample.add(network, batch)
        self.routing.add(winners.predicted, winners.routing, winners.numbers)
        self.shares.add(account, classes)

    def merge(self, other: CorpusCounts) -> None:
        """Adds the counts of another part of the texts."""
        self.tally.merge(other.tally)
        if isinstance(self.knock_out, SetKnockOut):
            assert isinstance(other.knock_out, SetKnockOut)
            self.knock_out.merge(other.knock_out)
        else:
            assert isinstance(other.knock_out, KnockOut)
            self.knock_out.merge(other.knock_out)
        self.sample.merge(other.sample)
        self.shares.merge(other.shares)
        self.routing.merge(other.routing)


def count_corpus(
    model: FittedModel,
    labelled: Iterable[tuple[str, str]],
    on_texts: Callable[[int], None] = lambda _: None,
) -> CorpusCounts:
    """Counts a stream of pairs of a text and the name of its class, in bounded memory.

    Under torchrun each process takes its share, and all return the counts of the whole.

    Args:
        model: A fitted classifier.
        labelled: Read once, as a stream.
        on_texts: Called after each batch with its number of texts.

    Raises:
        DataError: There is no text, or a label is none of the model's classes.
    """
    counts = CorpusCounts.empty(model)
    network, classes = model.network_, [str(name) for name in model.classes_]
    multilabel = network.thresholds is not None
    for batch in read_labelled(network, model.vocabulary_, classes, labelled, multilabel):
        counts.add(network, batch)
        on_texts(len(batch))
    whole, *others = distributed.all_gather(counts)
    for part in others:
        whole.merge(part)
    if not whole.knock_out.texts:
        raise DataError("There are no texts to interpret.")
    return whole


def _sum(counters: Iterable[Counter[Item]]) -> Counter[Item]:
    total: Counter[Item] = Counter()
    for counter in counters:
        total.update(counter)
    return total
