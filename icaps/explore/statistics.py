"""Statistics of a data set: lengths of texts, growth of the vocabulary, and its coverage."""

from __future__ import annotations

import dataclasses
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from icaps.explore.distinctive_words import ClassCounts
from icaps.text.sentences import sentence_lengths
from icaps.text.tokenizer import split_words

SENTENCE_TEXTS = 20_000  # the first texts of a split, as splitting sentences is slow
SENTENCE_CHARACTERS = 100_000  # the first of a text, which bounds memory
FREQUENCIES = (0, 1, 2, 3, 5, 10, 20, 50, 100, 200, 500)  # F of `Cut`
_POINTS = 50  # of the vocabulary's growth


class Lengths(NamedTuple):
    """A histogram of lengths: `texts[n]` texts have the length `lengths[n]`, in rising order."""

    lengths: tuple[int, ...]
    texts: tuple[int, ...]


NO_LENGTHS = Lengths((), ())


@dataclass(frozen=True)
class SplitFacts:
    """The statistics of a split of a data set.

    Attributes:
        name: "train" or "test".
        rows: Texts with a label.
        bad_rows: Number of rows that were left out, by kind of problem.
        class_rows: Number of texts per class, in the order of `Facts.classes`; of several labels
            per text each counts.
        running_words: Number of words of all texts together.
        words: Histogram of the numbers of words per text.
        sentences: Histogram of the numbers of sentences with a word, in the first `sampled` texts
            of the split, and of these in the first 100,000 characters.
        sampled: Number of texts whose sentences were counted.
        labels: Histogram of the numbers of labels per text; empty if each text has one.
    """

    name: str
    rows: int
    bad_rows: dict[str, int]
    class_rows: tuple[int, ...]
    running_words: int
    words: Lengths
    sentences: Lengths
    sampled: int
    labels: Lengths = NO_LENGTHS


class Growth(NamedTuple):
    """The running words and the different words of the first `texts` texts of the first split.

    Their growth follows Heaps' law (Heaps 1978): different = k running^b.
    """

    texts: int
    running: int
    different: int


class Cut(NamedTuple):
    """The vocabulary of the words that occur more than F times in the first split.

    `frequency` is F, `words` the size of the vocabulary, and `covered` its share of each split's
    running words, 0 to 1; 0 for a split without words.
    """

    frequency: int
    words: int
    covered: tuple[float, ...]


class Coverage(NamedTuple):
    """Shares, 0 to 1, of a split's different words and of its running words; 0 without words."""

    different: float
    running: float


@dataclass(frozen=True)
class Facts:
    """The statistics of a data set.

    Attributes:
        data: The file or folder of the data.
        reading: The options with which it was read, without defaults.
        classes: Names of the classes, in the order of their codes.
        splits: Statistics per split, "train" before "test".
        different_words: Number of different words of all splits together, cased, by
            `split_words`.
        growth: Growth of the first split's vocabulary at some 50 points, in the order of the texts.
        cuts: Sizes of that vocabulary at several F.
        distinctive_of: Number of the most frequent words from which the distinctive ones were
            chosen; their counts are exact.
    """

    data: str
    reading: dict[str, Any]
    classes: tuple[str, ...]
    splits: tuple[SplitFacts, ...]
    different_words: int
    growth: tuple[Growth, ...]
    cuts: tuple[Cut, ...]
    distinctive_of: int

    @property
    def rows(self) -> int:
        """The number of rows of all splits together."""
        return sum(split.rows for split in self.splits)

    @property
    def split_names(self) -> tuple[str, ...]:
        """The names of the splits as they are shown: "data" for a single file, which has none."""
        if len(self.splits) == 1 and not Path(self.data).is_dir():
            return ("data",)
        return tuple(split.name for split in self.splits)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; tuples with named parts become objects."""
        facts = dataclasses.asdict(self)
        facts["telling_of"] = facts.pop("distinctive_of")
        facts["growth"] = [point._asdict() for point in self.growth]
        facts["cuts"] = [cut._asdict() for cut in self.cuts]
        for split, plain in zip(self.splits, facts["splits"], strict=True):
            plain["words"] = split.words._asdict()
            plain["sentences"] = split.sentences._asdict()
            plain["labels"] = split.labels._asdict()
        return facts

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Facts:
        """The facts from the output of `to_dict`.

        Raises:
            KeyError, TypeError: It is not the output of `to_dict`.
        """
        return cls(
            data=plain["data"],
            reading=plain["reading"],
            classes=tuple(plain["classes"]),
            splits=tuple(_split(split) for split in plain["splits"]),
            different_words=plain["different_words"],
            growth=tuple(Growth(**point) for point in plain["growth"]),
            cuts=tuple(
                Cut(cut["frequency"], cut["words"], tuple(cut["covered"])) for cut in plain["cuts"]
            ),
            distinctive_of=plain["telling_of"],
        )

    def to_text(self) -> str:
        """Lines for a terminal."""
        lines = []
        for split in self.splits:
            bad = sum(split.bad_rows.values())
            lines.append(
                f"{split.name}: {split.rows:,} rows{f', {bad:,} bad' if bad else ''}, "
                f"{split.running_words:,} words"
            )
            if split.labels.lengths:
                mean = sum(n * texts for n, texts in zip(*split.labels, strict=True)) / split.rows
                most = split.labels.lengths[-1]
                lines.append(f"  labels per text: up to {most:,}, mean {mean:.1f}")
            named = zip(self.classes, split.class_rows, strict=True)
            lines += [f"  class {name}: {rows:,}" for name, rows in named]
        lines.append(f"different words: {self.different_words:,}")
        names = [split.name for split in self.splits]
        for cut in self.cuts:
            shares = zip(cut.covered, names, strict=True)
            covered = ", ".join(f"{share:.1%} of {name}" for share, name in shares)
            lines.append(f"  seen more than {cut.frequency} times: {cut.words:,}, {covered}")
        return "\n".join(lines)


def _split(plain: dict[str, Any]) -> SplitFacts:
    frozen = {
        "class_rows": tuple(plain["class_rows"]),
        "words": _lengths(plain["words"]),
        "sentences": _lengths(plain["sentences"]),
        "labels": _lengths(plain["labels"]),
    }
    return SplitFacts(**{**plain, **frozen})


def _lengths(plain: dict[str, Any]) -> Lengths:
    return Lengths(tuple(plain["lengths"]), tuple(plain["texts"]))


def sentence_count(text: str) -> int:
    """The number of sentences with a word, as `icaps.text.sentences` splits a text.

    Only the first `SENTENCE_CHARACTERS` characters of a text are counted.
    """
    text = text[:SENTENCE_CHARACTERS]
    starts = np.array([word.start for word in split_words(text)], np.int64)
    return len(sentence_lengths(text, starts))


def lengths(counts: Counter[int]) -> Lengths:
    """The histogram of a counter of lengths."""
    ordered = sorted(counts)
    return Lengths(tuple(ordered), tuple(counts[length] for length in ordered))


class WordStatistics:
    """Counts words by their numbers, which are in the order of falling frequency.

    Args:
        counts: (splits, V), count of each word in each split.
        classes: Number of classes.
        rows: Number of rows of the first split, from which vocabularies are built.
        label_sets: See `ClassCounts`.
    """

    def __init__(
        self,
        counts: NDArray[np.int64],
        classes: int,
        rows: int,
        label_sets: NDArray[np.int32] | None = None,
    ) -> None:
        self.by_class = ClassCounts(classes, counts.shape[1], label_sets)
        points = np.linspace(0, rows, min(_POINTS, rows) + 1).round().astype(int)
        self.points: tuple[int, ...] = tuple(points[1:].tolist())
        self._counts = counts
        self._seen = np.zeros(counts.shape[1], np.bool_)
        self._running = 0
        self._growth: list[Growth] = []

    def add(self, ids: NDArray[np.int32], labels: NDArray[np.int32], rows: int) -> None:
        """Counts the next words of the first split.

        Args:
            ids: (n,), numbers of these words.
            labels: (n,), the label of the text of each word.
            rows: Number of rows of the split up to here; a call must end at each of `points`.
        """
        self.by_class.add(ids, labels)
        self._seen[ids] = True
        self._running += len(ids)
        if rows in self.points:
            self._growth.append(Growth(rows, self._running, int(self._seen.sum())))

    def facts(
        self,
        data: str,
        reading: dict[str, Any],
        classes: tuple[str, ...],
        splits: tuple[SplitFacts, ...],
    ) -> Facts:
        """All facts of the data set, after all words were counted."""
        cuts = tuple(cut(self._counts, frequency) for frequency in FREQUENCIES)
        different = self._counts.shape[1]
        return Facts(
            data=data,
            reading=reading,
            classes=classes,
            splits=splits,
            different_words=different,
            growth=tuple(self._growth),
            cuts=cuts,
            distinctive_of=self.by_class.words,
        )


def cut(counts: NDArray[np.int64], frequency: int) -> Cut:
    """The vocabulary of words that occur more than `frequency` times in the first split.

    Args:
        counts: (splits, V), count of each word in each split.
        frequency: F; 0 keeps all words of the first split.
    """
    mask = counts[0] > frequency
    shares = counts[:, mask].sum(axis=1) / np.maximum(counts.sum(axis=1), 1)
    return Cut(frequency, int(mask.sum()), tuple(shares.tolist()))
