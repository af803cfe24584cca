"""Samples: of a stream, random or evenly spaced, and of a source that is read for some time."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import pyarrow.parquet as pq

from icaps.data.label_sets import names_in
from icaps.data.problems import Problem
from icaps.data.raw_table import FileDescription
from icaps.data.source import Source
from icaps.data.streams import data_file

_BY_LINES = (
    "CSV",
    "TSV",
    "JSON Lines",
    "fastText",
    "lines of text",
)  # formats whose rows are lines
_INTERVAL = 256  # texts between two checks of the time
_SPACED = 2_000  # maximum number of texts in an evenly spaced sample
_FRACTION = 2**64  # of 64-bit fractions
_GOLDEN = 0x9E3779B97F4A7C15  # the fraction of the golden ratio
T = TypeVar("T")


@dataclass(frozen=True)
class Sample:
    """A random sample of the texts of a source, in random order, with their labels as numbers.

    Attributes:
        total: Number of texts in the source.
        exact: Whether all texts were read; else their number is estimated from the file sizes.
        classes: Sorted class names of all texts that were read.
        distinct: The labels of all texts that were read; of data with several per text they are
            sets of classes (`label_sets`), else the classes.
        texts: The texts of the sample.
        labels: Their labels, as numbers of `distinct`.
        read: Number of texts that were read.
        counts: Number of texts of each class among these.
        spaced: The evenly spaced sample of all texts that were read, in their order.
    """

    total: int
    exact: bool
    classes: tuple[str, ...]
    distinct: tuple[str, ...]
    texts: tuple[str, ...]
    labels: tuple[int, ...]
    read: int
    counts: tuple[int, ...]
    spaced: tuple[str, ...]

    def pairs(self) -> list[tuple[str, str]]:
        """The texts of the sample with their labels."""
        names = (self.distinct[label] for label in self.labels)
        return list(zip(self.texts, names, strict=True))


class Reservoir(Generic[T]):
    """A random sample of a stream of unknown length (Vitter 1985, algorithm R).

    Attributes:
        seen: Number of items that were added.
        items: The sample; in no particular order once there are more items than `size`.

    Args:
        size: Number of items in the sample at most; None takes all.
        seed: Seed of the sample.
    """

    def __init__(self, size: int | None, seed: int) -> None:
        self.seen = 0
        self.items: list[T] = []
        self._size = size
        self._random = random.Random(seed)

    def add(self, item: T) -> None:
        """Adds the next item of the stream."""
        self.seen += 1
        if self._size is None or len(self.items) < self._size:
            self.items.append(item)
        elif (place := self._random.randrange(self.seen)) < self._size:
            self.items[place] = item

    def shuffle(self) -> None:
        """Puts the sample in random order."""
        self._random.shuffle(self.items)


class SpacedSample:
    """An evenly spaced sample of a stream whose length is not known before.

    It has all of at most `_SPACED` texts, and at least about half as many of more. Text n is in it
    if the fraction of n φ is below a bound, which is halved when the sample is full. So it depends
    on the number of texts alone, and rows whose classes alternate are sampled alike, as the
    multiples of the golden ratio φ have no period.
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._seen = 0
        self._bound = _FRACTION
        self._items: list[tuple[int, str]] = []
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        """Adds the next text of the stream."""
        fraction = self._seen * _GOLDEN % _FRACTION
        self._seen += 1
        if fraction >= self._bound:
            return
        self._items.append((fraction, text))
        while len(self._items) > _SPACED:
            self._bound //= 2
            self._items = [item for item in self._items if item[0] < self._bound]

    @property
    def texts(self) -> list[str]:
        """The sample, in the order of the stream."""
        return [text for _, text in self._items]


def draw_sample(source: Source, size: int, seconds: float, seed: int = 0) -> Sample:
    """Draws at most `size` texts, uniformly from those that are read.

    Reading ends after `seconds`. The number of texts is then that of Parquet's metadata, or
    estimated from the share of bytes that was read; a compressed file is decompressed to its end
    for this, which is much faster than reading it. Where neither is possible (Arrow files, JSON
    arrays, folders of texts, data in memory) everything is read, whatever time it takes. Bad rows
    are left out.

    Raises:
        DataError: A file cannot be read, or there is no text.
    """
    files = source.describe().files
    bounded = can_estimate_total(files)
    reservoir = Reservoir[tuple[str, str]](size, seed)
    spaced = SpacedSample()
    distinct = Counter[str]()
    end = time.monotonic() + seconds
    total = None
    for item in source.scan():
        if isinstance(item, Problem):
            continue
        distinct[item.label] += 1
        reservoir.add((item.text, item.label))
        spaced.add(item.text)
        if bounded and reservoir.seen % _INTERVAL == 0 and time.monotonic() > end:
            total = estimate_total(files, item.file, item.line, reservoir.seen)
            break
    if not reservoir.seen:
        raise source.empty_error()
    reservoir.shuffle()
    counts = Counter[str]()
    for label, texts in distinct.items():
        for name in names_in(label):
            counts[name] += texts
    number = {label: n for n, label in enumerate(sorted(distinct))}
    return Sample(
        total=total or reservoir.seen,
        exact=total is None,
        classes=tuple(sorted(counts)),
        distinct=tuple(number),
        texts=tuple(text for text, _ in reservoir.items),
        labels=tuple(number[label] for _, label in reservoir.items),
        read=reservoir.seen,
        counts=tuple(counts[name] for name in sorted(counts)),
        spaced=tuple(spaced.texts),
    )


def count_texts(source: Source, seconds: float = 0.5) -> int:
    """Counts the texts of a source, or estimates their number after `seconds`; see `draw_sample`.

    Raises:
        DataError: A file cannot be read, or there is no text.
    """
    return draw_sample(source, 0, seconds).total


def can_estimate_total(files: Sequence[FileDescription]) -> bool:
    """Whether `estimate_total` is possible without reading files as texts to their end."""
    return _is_parquet(files) or all(file.format in _BY_LINES for file in files)


def estimate_total(files: Sequence[FileDescription], file: str, line: int, seen: int) -> int:
    """The number of texts of files, of which `seen` were read up to a line of one of the files.

    It is that of Parquet's metadata, or is estimated from the share of bytes that was read.

    Args:
        files: For which `can_estimate_total` is true.
        file, line: The place of the last text that was read.
        seen: The number of texts that were read.
    """
    if _is_parquet(files):
        return sum(pq.read_metadata(each.file).num_rows for each in files)
    sizes = [Path(each.file).stat().st_size for each in files]
    place = [each.file for each in files].index(file)
    read = sum(sizes[:place]) + sizes[place] * _share_before(Path(file), line)
    return max(seen, round(seen * sum(sizes) / read))


def _is_parquet(files: Sequence[FileDescription]) -> bool:
    return all(file.format == "Parquet" and not file.compression for file in files)


def _share_before(path: Path, line: int) -> float:
    """The share of a file's (decompressed) bytes up to the end of a line."""
    file = data_file(path)
    lines, before, size = 0, 0.0, 0
    for block in file.blocks():
        ends = max(block.count(b"\n"), block.count(b"\r"))
        if lines < line:
            before += len(block) * min(1.0, (line - lines) / max(ends, 1))
        lines += ends
        size += len(block)
        if lines >= line and not file.compression:
            return before / path.stat().st_size
    return before / size
