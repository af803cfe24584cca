"""The formats of explanations in files: parts of the rows, and the parts joined."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from icaps.errors import ConfigError

_COMPRESSION = "zstd"
_GROUP_BYTES = 1 << 25  # of the rows of a group of a joined Parquet file, in memory
_JSON_ROWS = 1_000  # that are objects of Python at a time


class PartFormat(NamedTuple):
    """A format of files.

    Attributes:
        suffix: Of its files.
        write: Writes a table to a file, which is the first part or not.
        join: Writes the rows of all parts to a new file, in order.
    """

    suffix: str
    write: Callable[[pa.Table, BinaryIO, bool], None]
    join: Callable[[Sequence[Path], BinaryIO], None]


def format_of(out: Path) -> PartFormat:
    """The format of a file by its suffix; Parquet for a folder, which has none.

    Raises:
        ConfigError: The suffix is that of another format.
    """
    suffix = out.suffix.lower() or PARQUET.suffix
    known = {each.suffix: each for each in (PARQUET, CSV, JSON_LINES)} | {".ndjson": JSON_LINES}
    if suffix not in known:
        raise ConfigError(
            f"{out} is of no format that is known: name a file with the suffix "
            f"{', '.join(known)}, or a folder, whose name has no suffix."
        )
    return known[suffix]


def _write_parquet(table: pa.Table, file: BinaryIO, first: bool) -> None:
    pq.write_table(table, file, compression=_COMPRESSION)


def _join_parquet(parts: Sequence[Path], file: BinaryIO) -> None:
    with pq.ParquetWriter(file, pq.read_schema(parts[0]), compression=_COMPRESSION) as writer:
        group: list[pa.Table] = []
        for part in parts:
            # `read_table` would take a folder named a=b on the way for a column.
            group.append(pq.ParquetFile(part).read())
            if sum(table.nbytes for table in group) >= _GROUP_BYTES:
                writer.write_table(pa.concat_tables(group))
                group = []
        if group:
            writer.write_table(pa.concat_tables(group))


def _write_csv(table: pa.Table, file: BinaryIO, first: bool) -> None:
    """Lists and structs are JSON in a cell; the first part has the names of the columns."""
    for place, field in enumerate(table.schema):
        if pa.types.is_nested(field.type):
            cells = map(_to_json, table.column(place).to_pylist())
            table = table.set_column(place, field.name, pa.array(cells, pa.string()))
    pa.csv.write_csv(table, file, pa.csv.WriteOptions(include_header=first))


def _to_json(value: object) -> str | None:
    return None if value is None else json.dumps(value)


def _write_json_lines(table: pa.Table, file: BinaryIO, first: bool) -> None:
    for batch in table.to_batches(_JSON_ROWS):
        file.write("".join(f"{json.dumps(row)}\n" for row in batch.to_pylist()).encode())


def _concatenate(parts: Sequence[Path], file: BinaryIO) -> None:
    for part in parts:
        with part.open("rb") as rows:
            shutil.copyfileobj(rows, file)


PARQUET = PartFormat(".parquet", _write_parquet, _join_parquet)
CSV = PartFormat(".csv", _write_csv, _concatenate)
JSON_LINES = PartFormat(".jsonl", _write_json_lines, _concatenate)
