"""Which files a data set has, and the key of its index: other files or options, another key."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from icaps.data.cache import data_folder
from icaps.data.files import find_files, has_part

VERSION = 1  # of what an index holds
PARTS = ("train", "test")
OPTIONS = ("text", "label", "encoding", "delimiter")  # of reading that change what is read


def parts_of(place: Path) -> tuple[str, ...]:
    """The splits of a data set; a file is a train split.

    Raises:
        DataError: A folder holds some of a split's files, and their names say that there are more.
    """
    return tuple(part for part in PARTS if has_part(place, part)) or ("train",)


def options_of(reading: Mapping[str, Any]) -> dict[str, Any]:
    """The options of `open_source` that say what is read, those given, as JSON would have them."""
    given = {name: reading[name] for name in OPTIONS if reading.get(name)}
    if "text" in given:
        columns = given["text"]
        given["text"] = [columns] if isinstance(columns, str) else list(columns)
    return given


def home_of(place: Path, reading: Mapping[str, Any]) -> Path:
    """The folder of the cache in which the index lives, whether made or not.

    Raises:
        DataError: There is no data at `place`.
    """
    files = [str(place.resolve())]
    for part in parts_of(place):
        files += [part, *map(_state, _all_files(find_files(place, part)))]
    told = json.dumps([VERSION, files, options_of(reading)])
    key = hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return data_folder() / "explored" / key


def _all_files(found: Iterable[Path]) -> Iterator[Path]:
    """Files with those in folders of texts by class, and the lists of class names beside them."""
    for path in found:
        if path.is_dir():
            yield from sorted(file for file in path.rglob("*") if file.is_file())
        else:
            yield path
            names = path.parent / "classes.txt"
            if names.is_file():
                yield names


def _state(file: Path) -> str:
    facts = file.stat()
    return f"{file.resolve()}\0{facts.st_size}\0{facts.st_mtime_ns}"
