"""Search in an index by words, regular expression, class, split and length, and saved results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from icaps.data.saved_slices import save_texts
from icaps.errors import DataError
from icaps.explore.index import Index
from icaps.explore.word_numbers import iter_words


@dataclass(frozen=True)
class Query:
    """Conditions of a search, all of which a row must meet; an empty one is met by all rows.

    Attributes:
        words: Words such as "not good": the text contains each of them as a whole word, in any
            order and case. They are tokenized as texts are ("don't" is "do" and "n't").
        regex: A regular expression of RE2 that matches somewhere in the text; case-sensitive unless
            it starts with "(?i)".
        classes: Names of classes; the row has one of them at least.
        split: Name of the row's split.
        fewest_words, most_words: Bounds of the number of words, inclusive.
    """

    words: str = ""
    regex: str = ""
    classes: tuple[str, ...] = ()
    split: str = ""
    fewest_words: int | None = None
    most_words: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: the conditions that are set."""
        plain = {**asdict(self), "classes": list(self.classes)}
        return {name: value for name, value in plain.items() if value not in ("", [], None)}


def search(index: Index, query: Query, among: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
    """The numbers of the rows that meet all conditions of a query, in rising order.

    Args:
        index: The index of the data set.
        query: The conditions.
        among: A mask (rows,) of the rows to search; None for all.

    Raises:
        DataError: The regular expression is not valid, or there is no such class or split.
        ValueError: The mask does not have one value per row.
    """
    if query.regex:
        check_pattern(query.regex)
    mask = np.ones(len(index), np.bool_) if among is None else np.array(among, np.bool_)
    if mask.shape != (len(index),):
        raise ValueError(f"the mask is {mask.shape}; it must be ({len(index)},)")
    if query.classes:
        mask &= index.with_class(query.classes)
    if query.split:
        mask &= index.split == index.split_code(query.split)
    if query.fewest_words is not None:
        mask &= index.words >= query.fewest_words
    if query.most_words is not None:
        mask &= index.words <= query.most_words
    for word in {word.casefold() for word in iter_words(query.words)}:
        if mask.any():
            mask &= index.tokens.rows_with(index.vocabulary.ids(word))
    if query.regex:
        index.texts.match(query.regex, mask)
    return np.flatnonzero(mask)


def check_pattern(pattern: str) -> None:
    """Checks a regular expression of RE2.

    Raises:
        DataError: It is not valid; the message says what is wrong, and where.
    """
    try:
        pc.match_substring_regex(pa.array([""]), pattern)
    except pa.ArrowInvalid as error:
        fault, _, part = str(error).removeprefix("Invalid regular expression: ").partition(": ")
        place = pattern.find(part) + 1
        raise DataError(
            f"The regular expression {pattern!r} has a mistake at character {place}, {part!r}: "
            f"{fault}. Correct it; https://github.com/google/re2/wiki/Syntax lists the syntax, and "
            r"\Q...\E matches literally what is between."
        ) from error
    except UnicodeEncodeError as error:
        raise DataError(
            f"The regular expression {pattern!r} has half a character at character "
            f"{error.start + 1}, which no text can be compared with; remove it."
        ) from error


def save_slice(index: Index, rows: NDArray[np.int64], name: str, origin: Mapping[str, Any]) -> Path:
    """Saves rows of a data set under a name; see `icaps.data.saved_slices.save_texts`.

    Args:
        index: The index of the data set.
        rows: (n,), numbers of rows, in the order in which they are written.
        name: Name of the slice.
        origin: What is stored with it, such as {"query": query.to_dict()}; plain data.

    Raises:
        ConfigError: The name is not allowed.
        DataError: A slice of that name exists, there are no rows, or the file can't be written.
    """
    about = {"data": index.facts.data, "reading": index.facts.reading}
    return save_texts(index.labelled(rows), len(rows), name, {**about, **origin})
