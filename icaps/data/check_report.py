"""What a check of data found: frozen, plain, and ready for JSON or a terminal."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from icaps.data.problems import Problem
from icaps.data.source import Description


@dataclass(frozen=True)
class WordCounts:
    """Words a text, separated by white space: the fewest, the median and so on."""

    minimum: int
    median: float
    mean: float
    p95: int
    maximum: int


@dataclass(frozen=True)
class Repeat:
    """A text that was there before, exactly so, and the place where it was first."""

    file: str
    line: int
    first_file: str
    first_line: int


@dataclass(frozen=True)
class SplitReport:
    """The training or the test texts.

    Attributes:
        source: What was found out about the files; None where they can't be read.
        rows: Labelled texts that can be used.
        bad_rows: How many others of each kind.
        problems: The first of each kind.
        classes: How many texts each class has, by its name, in the order of labels.
        words: Of the texts that can be used; None where there are none.
        blank: Texts without a word.
        duplicates: Texts that repeat an earlier one of the split; blank ones don't count.
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


@dataclass(frozen=True)
class Finding:
    """What should be known before training; an error stops it, a warning doesn't."""

    severity: str
    kind: str
    split: str
    message: str


@dataclass(frozen=True)
class DataReport:
    """What a check found in the training texts and, where they were given, the test texts.

    `leaks` counts the test texts that stand among the training texts, and `leaked` are the first.
    """

    train: SplitReport
    test: SplitReport | None
    leaks: int
    leaked: tuple[Repeat, ...]
    findings: tuple[Finding, ...]

    @property
    def usable(self) -> bool:
        """Whether nothing stops training."""
        return all(finding.severity != "error" for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"usable": self.usable, **dataclasses.asdict(self)}

    def to_text(self) -> str:
        """Lines for a terminal."""
        lines = _split_lines("train", self.train)
        if self.test:
            lines += _split_lines("test", self.test)
        lines += [f"{found.severity}: {found.split}: {found.message}" for found in self.findings]
        return "\n".join([*lines, "usable" if self.usable else "not usable as it is"])


def _split_lines(name: str, split: SplitReport) -> list[str]:
    bad = sum(split.bad_rows.values())
    lines = [f"{name}: {split.rows:,} rows" + (f", {bad:,} bad" if bad else "")]
    for file in split.source.files if split.source else ():
        facts = [file.format, file.compression, file.encoding]
        facts.append(f"delimiter {file.delimiter!r}" if file.delimiter else None)
        facts.append("no header" if file.header is False else None)
        columns = f"text {' + '.join(map(repr, file.text))}, label {file.label!r}"
        lines.append(f"  {file.file}: {', '.join(filter(None, facts))}; {columns}")
    if split.words:
        words = split.words
        lines.append(
            f"  words a text (by white space): {words.minimum:,} to {words.maximum:,}, "
            f"median {words.median:g}, mean {words.mean:.1f}, 95% up to {words.p95:,}"
        )
    return lines + [f"  class {label}: {count:,}" for label, count in split.classes.items()]
