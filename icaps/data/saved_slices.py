"""Saved slices: texts of a data set stored under a name, as a file that is a data set itself."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from icaps.data.cache import FOLDER_SETTING, data_folder
from icaps.data.formats.columnar import MULTILABEL
from icaps.data.label_sets import is_multilabel
from icaps.data.plain_json import parse_json
from icaps.data.surrogates import replace_surrogates
from icaps.errors import ConfigError, DataError

_SUFFIX = ".parquet"
_ORIGIN = b"icaps slice"  # the key in the metadata of the file
_LONGEST = 60  # characters of a name
_BATCH = 1024  # rows in memory at a time
_SELECTIONS = 50  # files of selections that are stored
_UNFIT = re.compile(r"[^a-z0-9]+")  # in the name of such a file
_FIELDS = [("text", pa.string()), ("label", pa.string())]


@dataclass(frozen=True)
class Slice:
    """A saved slice.

    Attributes:
        name: The name under which it was saved.
        path: A Parquet file with the columns text and label, which `--data` and `open_source` take.
        rows: Number of rows.
        origin: Its origin: "data", "reading", "created" (UTC, ISO 8601), and other entries that
            `save_texts` was called with.
    """

    name: str
    path: Path
    rows: int
    origin: dict[str, Any]


def save_texts(
    labelled: Iterable[tuple[str, str]], count: int, name: str, origin: Mapping[str, Any]
) -> Path:
    """Writes texts with the names of their classes to a file in the cache, atomically.

    They are read back exactly, except that lone surrogates, which Parquet cannot hold, become
    U+FFFD, as everywhere.

    Args:
        labelled: Pairs of a text and the name of its class.
        count: Number of pairs.
        name: 1 to 60 printable characters without slashes, the first of which is not a dot.
        origin: Plain data that is stored with them, such as "data" and "reading".

    Raises:
        ConfigError: The name is not allowed.
        DataError: A slice of that name exists, there are no texts, or the file can't be written.
    """
    path = _path(name)
    with _written(labelled, count, name, origin, path.parent) as (written, _):
        _publish(written, path)
    return path


def store_selection(
    labelled: Iterable[tuple[str, str]], count: int, what: str, origin: Mapping[str, Any]
) -> Path:
    """Writes texts to a file that is not listed as a slice: a selection that pages pass on.

    The same texts have the same file. Of all selections, the latest are stored.

    Args:
        labelled, count, origin: See `save_texts`.
        what: What the texts have in common; the file is named after it.

    Raises:
        DataError: There are no texts, or the file can't be written.
    """
    root = data_folder() / "selected"
    stem = _UNFIT.sub("-", what.casefold()).strip("-")[:_LONGEST].strip("-") or "selection"
    with _written(labelled, count, what, origin, root) as (written, content):
        path = root / content / f"{stem}{_SUFFIX}"
        path.parent.mkdir(exist_ok=True)
        written.replace(path)
    folders = sorted(root.glob("[!.]*/"), key=lambda folder: -folder.stat().st_mtime_ns)
    for folder in folders[_SELECTIONS:]:
        shutil.rmtree(folder, ignore_errors=True)
    return path


def slices() -> list[Slice]:
    """All saved slices, sorted by name.

    Raises:
        DataError: One is damaged.
    """
    return [_read(path) for path in sorted(_folder().glob(f"[!.]*{_SUFFIX}"))]


def origin_of(path: Path) -> str:
    """The data that the texts of a slice or a selection are from; "" for another file."""
    if path.suffix != _SUFFIX or data_folder() not in path.parents or not path.is_file():
        return ""
    try:
        return str(_read(path).origin.get("data", ""))
    except DataError:
        return ""


def delete_slice(name: str) -> None:
    """Deletes a slice.

    Raises:
        ConfigError: A slice cannot have this name.
        DataError: There is no slice of that name, or it can't be deleted.
    """
    path = _path(name)
    try:
        path.unlink()
    except FileNotFoundError as error:
        names = ", ".join(sorted(file.stem for file in _folder().glob(f"[!.]*{_SUFFIX}")))
        raise DataError(f"There is no slice {name!r}; there is {names or 'none'}.") from error
    except OSError as error:
        raise DataError(f"{path} can't be deleted ({error}). Make its folder writable.") from error


@contextmanager
def _written(
    labelled: Iterable[tuple[str, str]],
    count: int,
    name: str,
    origin: Mapping[str, Any],
    place: Path,
) -> Iterator[tuple[Path, str]]:
    """A temporary file in `place` with the texts, to be moved from there, and their hash."""
    if not count:
        raise DataError(f"No rows were chosen, so that {name!r} would be empty; choose some.")
    stream, content = iter(labelled), hashlib.sha256()
    first = list(islice(stream, 1))
    stream = chain(first, stream)
    created = datetime.now(timezone.utc).isoformat(timespec="seconds")
    stored = json.dumps({"created": created, **origin, "name": name, "rows": count}).encode()
    metadata = {_ORIGIN: stored}
    if is_multilabel(label for _, label in first):
        metadata[MULTILABEL] = b"1"  # also if each of these texts has one label
    schema = pa.schema(_FIELDS, metadata=metadata)
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".", dir=place) as folder:
            written = Path(folder) / f"texts{_SUFFIX}"
            with pq.ParquetWriter(written, schema, compression="zstd") as writer:
                while batch := list(islice(stream, _BATCH)):
                    columns = [list(map(replace_surrogates, c)) for c in zip(*batch, strict=True)]
                    writer.write_batch(pa.record_batch(columns, schema=schema))
                    content.update(json.dumps(columns).encode())
            yield written, content.hexdigest()[:32]
    except OSError as error:
        raise DataError(
            f"{place} can't be written to ({error}). Make it writable, or name another folder in "
            f"the environment variable {FOLDER_SETTING}."
        ) from error


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


def _read(path: Path) -> Slice:
    try:
        schema = pq.read_schema(path)
        origin = parse_json(schema.metadata[_ORIGIN])
        return Slice(origin.pop("name"), path, origin.pop("rows"), origin)
    except (OSError, KeyError, TypeError, ValueError, pa.ArrowException) as error:
        raise DataError(
            f"{path} is no slice, or is damaged ({error}). Delete it, or put it elsewhere."
        ) from error
