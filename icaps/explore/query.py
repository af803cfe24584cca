"""What is looked for in a data set."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Query:
    """Conditions on a row, all of which it must meet; one that is left out is met by all.

    Attributes:
        words: Words as typed, such as "not good": the text has each of them, in any order and in
            upper or lower case, as a whole word. They are read as texts are ("don't" is "do" and
            "n't").
        regex: A regular expression of RE2 that the text must have somewhere; it heeds upper and
            lower case unless it starts with "(?i)".
        classes: Names, one of which the row must have.
        split: Name of the split.
        fewest_words, most_words: Bounds of the text's words, inclusive.
    """

    words: str = ""
    regex: str = ""
    classes: tuple[str, ...] = ()
    split: str = ""
    fewest_words: int | None = None
    most_words: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: the conditions that are given."""
        plain = {**asdict(self), "classes": list(self.classes)}
        return {name: value for name, value in plain.items() if value not in ("", [], None)}
