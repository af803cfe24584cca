"""Labelled texts in memory: a DataFrame, lists, or a data set of the `datasets` library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from icaps.data.raw_table import FileDescription, RawTable, Row
from icaps.errors import DataError

_BATCH = 1024  # rows converted to plain values at once


class FrameTable:
    """A pandas DataFrame; a missing value is treated like an empty field of a file."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame
        self.about = FileDescription(
            "<DataFrame>", "DataFrame", tuple(map(str, frame.columns)), unit="row"
        )

    def rows(self, columns: Sequence[str]) -> Iterator[Row]:
        """Yields the values of `columns` per row, in order."""
        places = [self.about.columns.index(column) for column in columns]
        batches = (
            self._frame.iloc[start : start + _BATCH, places].itertuples(index=False, name=None)
            for start in range(0, len(self._frame), _BATCH)
        )
        for number, row in enumerate(chain.from_iterable(batches), 1):
            yield self.about.file, number, row

    def class_names(self, column: str) -> None:
        """None: the rows of a DataFrame have the class names themselves."""


class ListsTable:
    """Texts and their labels, as two sequences of equal length.

    Raises:
        DataError: Their lengths differ.
    """

    def __init__(self, texts: Sequence[Any], labels: Sequence[Any]) -> None:
        if len(texts) != len(labels):
            raise DataError(f"{len(texts)} texts have {len(labels)} labels; give one per text.")
        self._values = {"text": texts, "label": labels}
        self.about = FileDescription("<lists>", "lists", ("text", "label"), unit="row")

    def rows(self, columns: Sequence[str]) -> Iterator[Row]:
        """Yields the values of `columns` per row, in order."""
        values = zip(*(self._values[column] for column in columns), strict=True)
        for number, row in enumerate(values, 1):
            yield self.about.file, number, row

    def class_names(self, column: str) -> None:
        """None: lists have no names for numbers."""


class DatasetTable:
    """A `datasets.Dataset`, recognised by its `column_names`, `features` and `iter`."""

    def __init__(self, data: Any) -> None:
        self._data = data
        self.about = FileDescription("<Dataset>", "Dataset", tuple(data.column_names), unit="row")

    def rows(self, columns: Sequence[str]) -> Iterator[Row]:
        """Yields the values of `columns` per row, in order."""
        batches = (
            zip(*(batch[column] for column in columns), strict=True)
            for batch in self._data.iter(batch_size=_BATCH)
        )
        for number, row in enumerate(chain.from_iterable(batches), 1):
            yield self.about.file, number, row

    def class_names(self, column: str) -> tuple[str, ...] | None:
        """The names of a `ClassLabel`, or of a list of them."""
        feature = self._data.features[column]
        while isinstance(feature, list) or hasattr(feature, "feature"):
            feature = feature[0] if isinstance(feature, list) else feature.feature
        names = getattr(feature, "names", None)
        return None if names is None else tuple(names)


def memory_table(data: Any, part: str) -> RawTable | None:
    """Wraps a DataFrame, (texts, labels) or a data set as a table; None for names of files.

    Of a mapping from part to one of these, such as a `datasets.DatasetDict`, `part` is taken.

    Raises:
        DataError: The mapping has no such part, or the numbers of texts and labels differ.
    """
    if isinstance(data, Mapping):
        if part not in data:
            raise DataError(f"The data has no part {part!r}; it has {', '.join(map(str, data))}.")
        return memory_table(data[part], part)
    if isinstance(data, pd.DataFrame):
        return FrameTable(data)
    if all(hasattr(data, name) for name in ("column_names", "features", "iter")):
        return DatasetTable(data)
    if isinstance(data, tuple) and len(data) == 2 and all(map(_is_sequence, data)):
        return ListsTable(*data)
    return None


def _is_sequence(values: Any) -> bool:
    return isinstance(values, (Sequence, np.ndarray, pd.Series)) and not isinstance(values, str)
