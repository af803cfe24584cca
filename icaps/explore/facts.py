"""What was counted while a data set was indexed: frozen, plain, and ready for JSON."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, NamedTuple


class Lengths(NamedTuple):
    """How many texts have each length: `texts[n]` of them have `lengths[n]`, in rising order."""

    lengths: tuple[int, ...]
    texts: tuple[int, ...]


@dataclass(frozen=True)
class SplitFacts:
    """A split of a data set.

    Attributes:
        name: "train" or "test".
        rows: Texts with a label.
        bad_rows: How many rows of each kind of problem were left out.
        class_rows: How many texts each class has, in the order of `Facts.classes`.
        running_words: Of all texts together.
        words: How many texts have each number of words.
        sentences: How many texts have each number of sentences with a word, among the first
            `sampled` texts of the split, and of these in the first 100,000 characters.
        sampled: Of how many texts sentences were counted.
    """

    name: str
    rows: int
    bad_rows: dict[str, int]
    class_rows: tuple[int, ...]
    running_words: int
    words: Lengths
    sentences: Lengths
    sampled: int


class Growth(NamedTuple):
    """After so many texts of the first split: its running words and its different words.

    How they grow is Heaps' law (Heaps 1978): different = k running^b.
    """

    texts: int
    running: int
    different: int


class Cut(NamedTuple):
    """What the vocabulary of words seen more than F times in the first split comes to.

    frequency: F; words: how many those are; covered: their share of each split's running words, 0
    to 1, 0 for a split without words.
    """

    frequency: int
    words: int
    covered: tuple[float, ...]


@dataclass(frozen=True)
class Facts:
    """A data set.

    Attributes:
        data: Its file or folder.
        reading: The options with which it was read, those given.
        classes: Their names, in the order of their codes.
        splits: In the order of their rows: "train" before "test".
        different_words: Of all splits together, cased, as `split_words` gives them.
        growth: Of the first split's vocabulary, at some 50 points; texts are in the data's order.
        cuts: Of that vocabulary at several F.
        telling_of: How many of the most frequent words the telling ones were chosen from; their
            counts are exact.
    """

    data: str
    reading: dict[str, Any]
    classes: tuple[str, ...]
    splits: tuple[SplitFacts, ...]
    different_words: int
    growth: tuple[Growth, ...]
    cuts: tuple[Cut, ...]
    telling_of: int

    @property
    def rows(self) -> int:
        """Of all splits together."""
        return sum(split.rows for split in self.splits)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; tuples with named parts become objects."""
        facts = dataclasses.asdict(self)
        facts["growth"] = [point._asdict() for point in self.growth]
        facts["cuts"] = [cut._asdict() for cut in self.cuts]
        for split, plain in zip(self.splits, facts["splits"], strict=True):
            plain["words"] = split.words._asdict()
            plain["sentences"] = split.sentences._asdict()
        return facts

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Facts:
        """The facts that `to_dict` made plain.

        Raises:
            KeyError, TypeError: It did not make these.
        """
        splits = [_split(split) for split in plain["splits"]]
        growth = [Growth(**point) for point in plain["growth"]]
        cuts = [Cut(cut["frequency"], cut["words"], tuple(cut["covered"])) for cut in plain["cuts"]]
        frozen = {
            "classes": tuple(plain["classes"]),
            "splits": tuple(splits),
            "growth": tuple(growth),
            "cuts": tuple(cuts),
        }
        return cls(**{**plain, **frozen})

    def to_text(self) -> str:
        """Lines for a terminal."""
        lines = []
        for split in self.splits:
            bad = sum(split.bad_rows.values())
            lines.append(
                f"{split.name}: {split.rows:,} rows{f', {bad:,} bad' if bad else ''}, "
                f"{split.running_words:,} words"
            )
            named = zip(self.classes, split.class_rows, strict=True)
            lines += [f"  class {name}: {rows:,}" for name, rows in named]
        lines.append(f"different words: {self.different_words:,}")
        names = [split.name for split in self.splits]
        for cut in self.cuts:
            shares = zip(cut.covered, names, strict=True)
            told = ", ".join(f"{share:.1%} of {name}" for share, name in shares)
            lines.append(f"  seen more than {cut.frequency} times: {cut.words:,}, {told}")
        return "\n".join(lines)


def _split(plain: dict[str, Any]) -> SplitFacts:
    frozen = {
        "class_rows": tuple(plain["class_rows"]),
        "words": _lengths(plain["words"]),
        "sentences": _lengths(plain["sentences"]),
    }
    return SplitFacts(**{**plain, **frozen})


def _lengths(plain: dict[str, Any]) -> Lengths:
    return Lengths(tuple(plain["lengths"]), tuple(plain["texts"]))
