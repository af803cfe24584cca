"""Whether texts can be trained on, and what one should know about them first."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from itertools import accumulate

from icaps.data.check_report import DataReport, Finding, Repeat, SplitReport, WordCounts
from icaps.data.hashes import TextHashes
from icaps.data.problems import FileError, Problem, Problems
from icaps.data.records import Record, in_order
from icaps.data.source import Source

_MOST_CLASSES = 100_000  # different labels; more are no classes, and their names would fill memory
_NAMED = 5  # classes that a message names


def check(train: Source, test: Source | None = None) -> DataReport:
    """Reads the sources to their ends, and tells all that is wrong with them.

    A source's own choice about bad rows doesn't matter here. No text is kept: memory holds 16 bytes
    a text, the names of the classes, and the first problems of each kind.
    """
    training = _Reading("train", train)
    training.judge()
    split = training.report()
    if test is None:
        return DataReport(split, None, 0, (), tuple(training.findings))
    testing = _Reading("test", test)
    testing.judge_against(split)
    leaks, leaked = testing.hashes.leaks(training.hashes)
    if leaks:
        testing.say(
            "warning",
            "leakage",
            f"texts that are among the training texts too: {leaks:,}, the first at "
            f"{_place(leaked[0])}. They make the score too good; take them out.",
        )
    findings = (*training.findings, *testing.findings)
    return DataReport(split, testing.report(), leaks, leaked, findings)


class _Reading:
    """One split as it is read, and what is to be said about it."""

    def __init__(self, name: str, source: Source) -> None:
        self.name = name
        self.findings: list[Finding] = []
        self.hashes = TextHashes()
        self.classes: Counter[str] = Counter()
        self._lengths: Counter[int] = Counter()
        self._problems = Problems()
        self._description = None
        try:
            self._description = source.describe()
            self._read(source)
        except FileError as error:
            self.say("error", error.problem.kind, str(error))
        self._duplicates, self._repeats = self.hashes.duplicates()
        self._tell()

    def _read(self, source: Source) -> None:
        for item in source.scan():
            if isinstance(item, Problem):
                self._problems.add(item)
                continue
            self._add(item)
            if len(self.classes) > _MOST_CLASSES:
                self.say(
                    "error",
                    "too many classes",
                    f"there are more than {_MOST_CLASSES:,} different labels, so that the rest was "
                    "not read. Name the column of the class with --label (label=...).",
                )
                return

    def _add(self, record: Record) -> None:
        words = len(record.text.split())
        self.classes[record.label] += 1
        self._lengths[words] += 1
        if words:
            self.hashes.add(record)

    def say(self, severity: str, kind: str, message: str) -> None:
        self.findings.append(Finding(severity, kind, self.name, message))

    def _tell(self) -> None:
        """What is wrong with any split."""
        for kind, count in self._problems.counts.items():
            first = self._problems.first[kind][0]
            self.say("error", kind, f"{kind}: {count:,}, the first: {first}")
        if not self.classes and not self.findings:
            self.say("error", "empty file", "there is no row; add texts with labels.")
        if blank := self._lengths[0]:
            self.say("warning", "blank text", f"texts without a word: {blank:,}.")
        if self._duplicates:
            self.say(
                "warning",
                "duplicates",
                f"texts that repeat an earlier one: {self._duplicates:,}, the first at "
                f"{_place(self._repeats[0])}.",
            )

    def judge(self) -> None:
        """What stops training on this split."""
        if len(self.classes) == 1:
            name = next(iter(self.classes))
            self.say("error", "one class", f"all texts are of the class {name!r}; two are needed.")
        single = [name for name, count in self.classes.items() if count == 1]
        if single:
            self.say(
                "error",
                "single text",
                f"{_names(single)} with a single text; a class needs two, one of which is held "
                "out. Add texts, or take the class out.",
            )

    def judge_against(self, train: SplitReport) -> None:
        """What stops a test on this split."""
        unseen = [name for name in in_order(self.classes) if name not in train.classes]
        if unseen and train.classes:
            self.say(
                "error",
                "unseen label",
                f"{_names(unseen)} without a training text. Add some, or take the class out.",
            )

    def report(self) -> SplitReport:
        """All that was counted."""
        return SplitReport(
            self._description,
            self.classes.total(),
            dict(self._problems.counts),
            tuple(problem for first in self._problems.first.values() for problem in first),
            {name: self.classes[name] for name in in_order(self.classes)},
            _word_counts(self._lengths),
            self._lengths[0],
            self._duplicates,
            self._repeats,
        )


def _word_counts(lengths: Counter[int]) -> WordCounts | None:
    """Of how many texts have each number of words; the percentile is of the nearest rank."""
    total = lengths.total()
    if not total:
        return None
    ordered = sorted(words for words, count in lengths.items() if count)
    ends = list(accumulate(lengths[words] for words in ordered))

    def at(rank: int) -> int:
        return ordered[bisect_left(ends, rank)]

    return WordCounts(
        ordered[0],
        (at((total + 1) // 2) + at(total // 2 + 1)) / 2,
        sum(words * count for words, count in lengths.items()) / total,
        at(-(-total * 95 // 100)),
        ordered[-1],
    )


def _names(names: list[str]) -> str:
    listed = ", ".join(map(repr, names[:_NAMED])) + (", ..." if len(names) > _NAMED else "")
    return f"{len(names)} {'class' if len(names) == 1 else 'classes'} ({listed})"


def _place(repeat: Repeat) -> str:
    """Where both stand; the number is that of a line or of a row, as the format has it."""
    return f"{repeat.file}:{repeat.line} (as {repeat.first_file}:{repeat.first_line})"
