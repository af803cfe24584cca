"""Parquet and Arrow files, read one batch of rows at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from icaps.data.problems import FileError
from icaps.data.raw_table import FileDescription, Row
from icaps.data.streams import BLOCK, DataFile

MAGIC = {
    b"PAR1": "Parquet",
    b"ARROW1": "Arrow file",
    b"\xff\xff\xff\xff": "Arrow stream",
}
MULTILABEL = b"icaps multilabel"  # in the metadata of files whose labels are sets of classes
_BATCH = 1024  # rows in memory at once


class ColumnarTable:
    """A Parquet file, or an Arrow IPC (Feather) file or stream.

    Raises:
        FileError: It is damaged.
    """

    def __init__(self, file: DataFile, kind: str) -> None:
        self._file = file
        self._kind = kind
        self._name = str(file.path)
        with self._opened() as reader:
            schema = reader.schema_arrow if kind == "Parquet" else reader.schema
            self._names = _class_names(schema) or _names_beside(file)
            columns = tuple(schema.names)
            several = MULTILABEL in (schema.metadata or {})
        self.about = FileDescription(
            self._name,
            kind,
            columns,
            unit="row",
            compression=file.compression,
            multilabel=several,
        )

    def rows(self, columns: Sequence[str]) -> Iterator[Row]:
        """Yields the values of `columns` per row, in order.

        Raises:
            FileError: The rest of the file cannot be read.
        """
        with self._opened() as reader:
            batches = (
                zip(*(batch.column(name).to_pylist() for name in columns), strict=True)
                for batch in self._batches(reader, list(columns))
            )
            for number, row in enumerate(chain.from_iterable(batches), 1):
                yield self._name, number, row

    def class_names(self, column: str) -> tuple[str, ...] | None:
        """The names of the numbers in a column, as the datasets library stores them."""
        return self._names.get(column)

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        stream = self._kind == "Arrow stream"
        with self._file.open() if stream else self._file.seekable() as raw:
            try:
                if self._kind == "Parquet":
                    # With a buffer a column is read page by page, not as a whole row group.
                    yield pq.ParquetFile(raw, buffer_size=BLOCK, pre_buffer=False)
                else:
                    yield pa.ipc.open_stream(raw) if stream else pa.ipc.open_file(raw)
            except (pa.ArrowException, OSError, ValueError) as error:
                kind = self._kind.split()[0]
                reason = f"it is a damaged {kind} file ({error}). Copy or download it again."
                raise FileError("unreadable file", self._name, reason) from error

    def _batches(self, reader: Any, columns: list[str]) -> Iterator[Any]:
        if self._kind == "Parquet":
            yield from reader.iter_batches(_BATCH, columns=columns)
            return
        batches = reader
        if self._kind == "Arrow file":
            batches = map(reader.get_batch, range(reader.num_record_batches))
        for batch in batches:
            selected = batch.select(columns)
            selected.validate(full=True)  # a damaged one could point outside its own memory
            for start in range(0, len(selected), _BATCH):
                yield selected.slice(start, _BATCH)


def _class_names(schema: Any) -> dict[str, tuple[str, ...]]:
    stored = (schema.metadata or {}).get(b"huggingface")
    match json.loads(stored) if stored else None:
        case {"info": dict(info)}:
            return _feature_names(info)
    return {}


def _feature_names(info: Any) -> dict[str, tuple[str, ...]]:
    match info:
        case {"features": dict(features)}:
            named = {column: _names_of(feature) for column, feature in features.items()}
            return {column: names for column, names in named.items() if names}
    return {}


def _names_of(feature: Any) -> tuple[str, ...]:
    """The names of the classes of a feature, or of the items of its lists."""
    match feature:
        case {"names": [*names]}:
            return tuple(map(str, names))
        case {"feature": item} | [item]:
            return _names_of(item)
    return ()


def _names_beside(file: DataFile) -> dict[str, tuple[str, ...]]:
    """The class names in the `dataset_info.json` beside a file that `datasets` saved."""
    info = file.path.with_name("dataset_info.json")
    if file.suffix != ".arrow" or not info.is_file():
        return {}
    try:
        return _feature_names(json.loads(info.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        reason = f"the class names of the data set cannot be read ({error}). Copy it again."
        raise FileError("class names", str(info), reason) from error
