"""Rows of a data set that are kept under a name, as a file that is a data set itself."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from icaps.data.cache import FOLDER_SETTING, data_folder
from icaps.errors import ConfigError, DataError
from icaps.explore.index import Index
from icaps.text.clean import replace_surrogates

_SUFFIX = ".parquet"
_ORIGIN = b"icaps slice"  # the key of the file's own metadata
_LONGEST = 60  # characters of a name
_BATCH = 1024  # rows held at once
_FIELDS = [("text", pa.string()), ("label", pa.string())]


@dataclass(frozen=True)
class Slice:
    """Rows that are kept.

    Attributes:
        name: By which they were saved.
        path: A Parquet file with the columns text and label, which `--data` and `open_source` take.
        rows: How many there are.
        origin: Where they come from: "data", "reading", "created" (UTC, ISO 8601), and what
            `save_slice` was given.
    """

    name: str
    path: Path
    rows: int
    origin: dict[str, Any]


def save_slice(index: Index, rows: NDArray[np.int64], name: str, origin: dict[str, Any]) -> Path:
    """Writes rows of a data set to a file in the cache, whole or not at all.

    Texts and names of classes come back exactly, but for lone surrogates, which Parquet can't hold:
    they are U+FFFD, as which they are read everywhere.

    Args:
        index: Of the data set.
        rows: Numbers of rows, in the order in which they are written, (n,).
        name: 1 to 60 printable characters without slashes, the first of which is no dot.
        origin: What else is to be remembered, such as {"query": query.to_dict()}; plain data.

    Raises:
        ConfigError: The name is none, as said above.
        DataError: There is a slice of that name, there are no rows, or the file can't be written.
    """
    about = {"data": index.facts.data, "reading": index.facts.reading}
    return _save(_labelled(index, rows), len(rows), name, {**about, **origin})


def save_texts(labelled: Sequence[tuple[str, str]], name: str, origin: dict[str, Any]) -> Path:
    """Writes texts and names of their classes, as `save_slice` does with rows of an index.

    Args:
        labelled: In memory, in the order in which they are written.
        name: See `save_slice`.
        origin: What is to be remembered: "data", "reading" and what else there is; plain data.

    Raises:
        ConfigError: The name is none.
        DataError: There is a slice of that name, there are no texts, or the file can't be written.
    """
    return _save(iter(labelled), len(labelled), name, origin)


def _save(
    labelled: Iterator[tuple[str, str]], count: int, name: str, origin: dict[str, Any]
) -> Path:
    path = _path(name)
    if not count:
        raise DataError(f"No rows were chosen, so that {name!r} would be empty; choose some.")
    created = datetime.now(timezone.utc).isoformat(timespec="seconds")
    stored = json.dumps({"created": created, **origin, "name": name, "rows": count}).encode()
    schema = pa.schema(_FIELDS, metadata={_ORIGIN: stored})
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".", dir=path.parent) as folder:
            written = Path(folder) / path.name
            with pq.ParquetWriter(written, schema, compression="zstd") as writer:
                while batch := list(islice(labelled, _BATCH)):
                    columns = [list(map(replace_surrogates, c)) for c in zip(*batch, strict=True)]
                    writer.write_batch(pa.record_batch(columns, schema=schema))
            _publish(written, path)
    except OSError as error:
        raise DataError(
            f"{path} can't be written ({error}). Make its folder writable, or name another one in "
            f"the environment variable {FOLDER_SETTING}."
        ) from error
    return path


def slices() -> list[Slice]:
    """All slices that are kept, by name.

    Raises:
        DataError: One is damaged.
    """
    return [_read(path) for path in sorted(_folder().glob(f"[!.]*{_SUFFIX}"))]


def delete_slice(name: str) -> None:
    """Deletes a slice.

    Raises:
        ConfigError: This can't be the name of one.
        DataError: There is none of that name, or it can't be deleted.
    """
    path = _path(name)
    try:
        path.unlink()
    except FileNotFoundError as error:
        names = ", ".join(sorted(file.stem for file in _folder().glob(f"[!.]*{_SUFFIX}")))
        raise DataError(f"There is no slice {name!r}; there is {names or 'none'}.") from error
    except OSError as error:
        raise DataError(f"{path} can't be deleted ({error}). Make its folder writable.") from error


def _folder() -> Path:
    return data_folder() / "slices"


def _path(name: str) -> Path:
    good = 1 <= len(name) <= _LONGEST and name.isprintable() and name.strip() == name
    if not good or name.startswith(".") or "/" in name or "\\" in name:
        raise ConfigError(
            f"A slice can't be called {name!r}: a name is 1 to {_LONGEST} printable characters "
            "without slashes, starts with no dot, and has no space at either end."
        )
    return _folder() / f"{name}{_SUFFIX}"


def _publish(written: Path, path: Path) -> None:
    try:
        os.link(written, path)  # unlike a rename, it replaces no file
    except FileExistsError as error:
        raise DataError(
            f"There is a slice {path.stem!r} already; give another name, or delete it first."
        ) from error


def _labelled(index: Index, rows: NDArray[np.int64]) -> Iterator[tuple[str, str]]:
    """Texts of rows and the names of their classes, a batch in memory."""
    for start in range(0, len(rows), _BATCH):
        some = rows[start : start + _BATCH]
        labels = (index.classes[code] for code in index.labels[some].tolist())
        yield from zip(index.text(some), labels, strict=True)


def _read(path: Path) -> Slice:
    try:
        schema = pq.read_schema(path)
        origin = json.loads(schema.metadata[_ORIGIN])
        return Slice(origin.pop("name"), path, origin.pop("rows"), origin)
    except (OSError, KeyError, TypeError, ValueError, pa.ArrowException) as error:
        raise DataError(
            f"{path} is no slice, or is damaged ({error}). Delete it, or put it elsewhere."
        ) from error
