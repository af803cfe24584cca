"""What is explained at a time, and what is written about it."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from icaps.config import ExplainOptions
from icaps.data.unlabelled import TextRow
from icaps.errors import ConfigError

PART_ROWS = 2_000  # as many as are tokenized at a time


@dataclass(frozen=True)
class BulkOptions:
    """What is computed and written for each row.

    Attributes:
        explain: The class to explain, and how many K-grams.
        top_words: Number of words with the largest shares; None: all words.
        mute: Numbers of capsules that are switched off.
        keep: Columns of the data that are written besides, as strings.
        with_text: Whether the texts are written.
        part_rows: Number of rows per part.

    Raises:
        ConfigError: A number is below 1.
    """

    explain: ExplainOptions = field(default_factory=ExplainOptions)
    top_words: int | None = None
    mute: tuple[int, ...] = ()
    keep: tuple[str, ...] = ()
    with_text: bool = True
    part_rows: int = PART_ROWS

    def __post_init__(self) -> None:
        for name in ("top_words", "part_rows"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"{name} is {value}; it must be at least 1.")

    def to_dict(self) -> dict[str, Any]:
        """All options as plain data, with those of `explain` beside the others."""
        values = dataclasses.asdict(self)
        explain = values.pop("explain")
        return {**values, **explain, "mute": list(self.mute), "keep": list(self.keep)}


class Part(NamedTuple):
    """Consecutive rows of a data set.

    Attributes:
        number: From 0.
        start: Number of its first row among all rows, from 1.
        rows: The rows.
    """

    number: int
    start: int
    rows: Sequence[TextRow]

    def __str__(self) -> str:
        """Its place, for messages."""
        return f"rows {self.start:,} to {self.start + len(self.rows) - 1:,}"


class PartReport(NamedTuple):
    """What became of a part.

    Attributes:
        rows: Number of its rows.
        unexplained: Number of rows without a prediction, by their problem.
    """

    rows: int
    unexplained: Counter[str]
