"""Check of labelled texts before training: bad rows, classes, duplicates, leakage."""

from __future__ import annotations

import dataclasses
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import dataclass
from hashlib import blake2b
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from icaps.data.class_names import class_name_warnings, sorted_labels, spelling_note
from icaps.data.label_sets import names_in
from icaps.data.problems import FileError, NoLabelsError, Problem, Problems
from icaps.data.raw_table import FileDescription
from icaps.data.records import Record
from icaps.data.source import Description, Source

LISTED = 5  # duplicates and leaks that are listed at most; all are counted
_MOST_CLASSES = 100_000  # different labels at most; more are not classes, and fill the memory
_NAMED = 5  # classes that a message names at most


@dataclass(frozen=True)
class WordCounts:
    """Words per text, separated by white space."""

    minimum: int
    median: float
    mean: float
    p95: int
    maximum: int


@dataclass(frozen=True)
class Repeat:
    """The place of a text that equals an earlier one, and the place of the first such text."""

    file: str
    line: int
    first_file: str
    first_line: int


@dataclass(frozen=True)
class SplitReport:
    """The report on the training or the test texts.

    Attributes:
        source: Format and columns of the files; None if they cannot be read.
        rows: Number of usable labelled texts.
        bad_rows: Number of other rows of each kind.
        problems: The first of each kind.
        classes: Number of texts per class name, in the order of labels; of several labels per text
            each counts.
        label_counts: Number of texts per number of labels, of data with several per text.
        words: Words per usable text; None if there is none.
        blank: Number of texts without a word.
        duplicates: Number of texts that equal an earlier one of the split, without blank ones.
        repeats: The first of these.
    """

    source: Description | None
    rows: int
    bad_rows: dict[str, int]
    problems: tuple[Problem, ...]
    classes: dict[str, int]
    words: WordCounts | None
    blank: int
    duplicates: int
    repeats: tuple[Repeat, ...]
    label_counts: dict[int, int]


@dataclass(frozen=True)
class DataFinding:
    """A finding of the check; an error prevents training, a warning or a note does not."""

    severity: str
    kind: str
    split: str
    message: str


@dataclass(frozen=True)
class DataReport:
    """The result of a check of the training texts and, if given, the test texts.

    `leaks` is the number of test texts that are among the training texts; `leaked` are the first.
    """

    train: SplitReport
    test: SplitReport | None
    leaks: int
    leaked: tuple[Repeat, ...]
    findings: tuple[DataFinding, ...]

    @property
    def usable(self) -> bool:
        """Whether nothing prevents training."""
        return all(finding.severity != "error" for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"usable": self.usable, **dataclasses.asdict(self)}

    def to_text(self) -> str:
        """Lines for a terminal."""
        lines = _split_lines("train", self.train)
        if self.test:
            lines += _split_lines("test", self.test)
        lines += [f"{item.severity}: {item.split}: {item.message}" for item in self.findings]
        return "\n".join([*lines, "usable" if self.usable else "not usable as it is"])


def check(train: Source, test: Source | None = None) -> DataReport:
    """Checks labelled texts: reads the sources to their ends, and reports all problems.

    Bad rows are reported whatever the sources' `on_bad_rows`. No text is stored: memory holds 16
    bytes per text, the class names, and the first problems of each kind.
    """
    training = _SplitCheck("train", train)
    training.check_trainable()
    split = training.report()
    if test is None:
        return DataReport(split, None, 0, (), tuple(training.findings))
    testing = _SplitCheck("test", test)
    testing.check_testable(split)
    leaks, leaked = testing.hashes.leaks(training.hashes)
    if leaks:
        testing.add(
            "warning",
            "leakage",
            f"texts that are also among the training texts: {leaks:,}, the first at "
            f"{_place(leaked[0])}. They make the score too good; remove them.",
        )
    findings = (*training.findings, *testing.findings)
    return DataReport(split, testing.report(), leaks, leaked, findings)


class TextHashes:
    """Hashes of texts with their places, to find duplicates with 16 bytes per text.

    Two different texts among ten million share a 64-bit hash in one of 300,000 data sets.
    """

    def __init__(self) -> None:
        self._hashes = array("Q")
        self._lines = array("Q")
        self._starts: list[int] = []  # number of the first text of each file
        self._files: list[str] = []

    def add(self, record: Record) -> None:
        """Adds the hash and the place of a record's text."""
        if not self._files or self._files[-1] != record.file:
            self._starts.append(len(self._hashes))
            self._files.append(record.file)
        text = record.text.encode("utf-8", "surrogatepass")
        self._hashes.frombytes(blake2b(text, digest_size=8).digest())
        self._lines.append(record.line)

    def duplicates(self) -> tuple[int, tuple[Repeat, ...]]:
        """The number of texts that equal an earlier one, and the first of them."""
        hashes = self._array()
        order = hashes.argsort(kind="stable")
        ordered = hashes[order]
        repeats = np.sort(order[1:][ordered[1:] == ordered[:-1]])
        return len(repeats), self._repeats(repeats, self, order, ordered)

    def leaks(self, train: TextHashes) -> tuple[int, tuple[Repeat, ...]]:
        """The number of these texts that are among `train`'s, and the first of them."""
        hashes = train._array()
        order = hashes.argsort(kind="stable")
        ordered = hashes[order]
        places = np.searchsorted(ordered, self._array())
        places[places == len(ordered)] = 0
        shared = np.flatnonzero(ordered[places] == self._array()) if len(ordered) else places[:0]
        return len(shared), self._repeats(shared, train, order, ordered)

    def _array(self) -> NDArray[np.uint64]:
        return np.asarray(self._hashes)

    def _repeats(
        self,
        texts: NDArray[np.intp],
        others: TextHashes,
        order: NDArray[np.intp],
        ordered: NDArray[np.uint64],
    ) -> tuple[Repeat, ...]:
        """The places of the first of `texts`, and of their first equals in `others`."""
        listed = texts[:LISTED]
        firsts = order[np.searchsorted(ordered, self._array()[listed])]
        return tuple(
            Repeat(*self._place(int(text)), *others._place(int(first)))
            for text, first in zip(listed, firsts, strict=True)
        )

    def _place(self, text: int) -> tuple[str, int]:
        return self._files[bisect_right(self._starts, text) - 1], self._lines[text]


class _SplitCheck:
    """Reads one split, and collects its problems."""

    def __init__(self, name: str, source: Source) -> None:
        self.name = name
        self.findings: list[DataFinding] = []
        self.hashes = TextHashes()
        self.classes: Counter[str] = Counter()
        self._texts = 0
        self._label_counts: Counter[int] = Counter()  # labels of a text -> texts
        self._lengths: Counter[int] = Counter()  # words -> texts
        self._problems = Problems()
        self._description = None
        try:
            self._description = source.describe()
            for note in self._description.notes:
                self.add("note", "note", note)
            self._read(source)
        except NoLabelsError as error:
            self.add("note" if name == "test" else "error", error.problem.kind, str(error))
        except FileError as error:
            self.add("error", error.problem.kind, str(error))
        self._duplicates, self._repeats = self.hashes.duplicates()
        self._check_rows(source)

    def _read(self, source: Source) -> None:
        for item in source.scan():
            if isinstance(item, Problem):
                self._problems.add(item)
                continue
            words = len(item.text.split())
            names = names_in(item.label)
            self.classes.update(names)
            self._label_counts[len(names)] += 1
            self._texts += 1
            self._lengths[words] += 1
            if words:
                self.hashes.add(item)
            if len(self.classes) > _MOST_CLASSES:
                self.add(
                    "error",
                    "too many classes",
                    f"there are more than {_MOST_CLASSES:,} different labels, so that the rest was "
                    "not read. Name the column of the class with --label (label=...).",
                )
                return

    def add(self, severity: str, kind: str, message: str) -> None:
        """Adds a finding."""
        self.findings.append(DataFinding(severity, kind, self.name, message))

    def _check_rows(self, source: Source) -> None:
        """Adds the findings that concern any split."""
        for kind, count in self._problems.counts.items():
            first = self._problems.first[kind][0]
            self.add("error", kind, f"{kind}: {count:,}, the first: {first}")
        if not self._texts and all(item.kind == "note" for item in self.findings):
            self.add("error", "empty file", "there is no row; add texts with labels.")
        files = self._description.files if self._description else ()
        if source.spellings:
            self.add("note", "class names", spelling_note(source.spellings))
        for warning in class_name_warnings(self.classes, files[0].format if files else ""):
            self.add("warning", "class names", warning)
        if self._multilabel and (without := self._label_counts[0]):
            self.add("note", "no label", f"texts without any label: {without:,}.")
        if blank := self._lengths[0]:
            self.add("warning", "blank text", f"texts without a word: {blank:,}.")
        if self._duplicates:
            self.add(
                "warning",
                "duplicates",
                f"texts that repeat an earlier one: {self._duplicates:,}, the first at "
                f"{_place(self._repeats[0])}.",
            )

    def check_trainable(self) -> None:
        """Adds what prevents training on this split."""
        if len(self.classes) == 1:
            name = next(iter(self.classes))
            who = "no text is of another class than" if self._multilabel else "all texts are of the"
            self.add("error", "one class", f"{who} class {name!r}; two are needed.")
        if not self.classes and self._texts:
            self.add("error", "one class", "no text has a label; two classes are needed.")
        names = self._description.classes if self._description else None
        if names and (unused := [name for name in names if name not in self.classes]):
            self.add(
                "warning",
                "class names",
                f"{_names(unused)} without a text, though the labels' names have it. If the names "
                "are those of other data, rename their file.",
            )
        single = [name for name, count in self.classes.items() if count == 1]
        if single:
            self.add(
                "warning" if self._multilabel else "error",
                "single text",
                f"{_names(single)} with a single text; a class needs two, one of which is held "
                "out. Add texts, or remove the class.",
            )

    def check_testable(self, train: SplitReport) -> None:
        """Adds what prevents a test on this split."""
        unseen = [name for name in sorted_labels(self.classes) if name not in train.classes]
        if unseen and train.classes:
            self.add(
                "error",
                "unseen label",
                f"{_names(unseen)} without a training text. Add some, or remove the class.",
            )

    def report(self) -> SplitReport:
        """All counts."""
        return SplitReport(
            source=self._description,
            rows=self._texts,
            bad_rows=dict(self._problems.counts),
            problems=tuple(item for first in self._problems.first.values() for item in first),
            classes={name: self.classes[name] for name in sorted_labels(self.classes)},
            words=_word_counts(self._lengths),
            blank=self._lengths[0],
            duplicates=self._duplicates,
            repeats=self._repeats,
            label_counts=dict(sorted(self._label_counts.items())) if self._multilabel else {},
        )

    @property
    def _multilabel(self) -> bool:
        return self._description is not None and self._description.multilabel


def _word_counts(lengths: Counter[int]) -> WordCounts | None:
    """Statistics of the number of texts per number of words; p95 by nearest rank."""
    total = lengths.total()
    if not total:
        return None
    ordered = sorted(words for words, count in lengths.items() if count)
    ends = list(accumulate(lengths[words] for words in ordered))

    def at(rank: int) -> int:
        return ordered[bisect_left(ends, rank)]

    return WordCounts(
        minimum=ordered[0],
        median=(at((total + 1) // 2) + at(total // 2 + 1)) / 2,
        mean=sum(words * count for words, count in lengths.items()) / total,
        p95=at(-(-total * 95 // 100)),
        maximum=ordered[-1],
    )


def _names(names: list[str]) -> str:
    listed = ", ".join(map(repr, names[:_NAMED])) + (", ..." if len(names) > _NAMED else "")
    return f"{len(names)} {'class' if len(names) == 1 else 'classes'} ({listed})"


def _place(repeat: Repeat) -> str:
    """Both places, by the number of the line or row, depending on the format."""
    return f"{repeat.file}:{repeat.line} (as {repeat.first_file}:{repeat.first_line})"


def _split_lines(name: str, split: SplitReport) -> list[str]:
    bad = sum(split.bad_rows.values())
    lines = [f"{name}: {split.rows:,} rows" + (f", {bad:,} bad" if bad else "")]
    for file in split.source.files if split.source else ():
        lines.append(f"  {describe_file(file)}")
    if split.words:
        words = split.words
        lines.append(
            f"  words per text (by white space): {words.minimum:,} to {words.maximum:,}, "
            f"median {words.median:g}, mean {words.mean:.1f}, 95% up to {words.p95:,}"
        )
    if split.label_counts:
        total = sum(number * count for number, count in split.label_counts.items())
        low, high = min(split.label_counts), max(split.label_counts)
        lines.append(f"  labels per text: {low:,} to {high:,}, mean {total / split.rows:.1f}")
    return lines + [f"  class {label}: {count:,}" for label, count in split.classes.items()]


def describe_file(file: FileDescription) -> str:
    """The format, the columns and the form of the labels of a file, as a line."""
    facts = [file.format, file.compression, file.encoding]
    facts.append(f"delimiter {file.delimiter!r}" if file.delimiter else None)
    facts.append("no header" if file.header is False else None)
    columns = f"text {' + '.join(map(repr, file.text))}, {_labels_of(file)}"
    return f"{file.file}: {', '.join(filter(None, facts))}; {columns}"


def _labels_of(file: FileDescription) -> str:
    """The label columns of a file, and how they are read."""
    if file.label_columns:
        shown = ", ".join(map(repr, file.label_columns[:_NAMED]))
        more = len(file.label_columns) - _NAMED
        return f"a column per class {shown}" + (f" and {more} more" if more > 0 else "")
    several = "several labels in " if file.multilabel else "label "
    separated = f" separated by {file.separator!r}" if file.separator else ""
    return f"{several}{file.label!r}{separated}"
