"""Fingerprint of a data set: it changes when any file that is read changes."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from icaps.data.catalog import PARTS
from icaps.data.part_files import find_files, has_part
from icaps.errors import DataError

OPTIONS = (
    "text",
    "label",
    "label_separator",
    "multilabel",
    "encoding",
    "delimiter",
    "corrections",
)  # options of reading that change the texts
_SLOW = 0.2  # seconds from which a fingerprint is reused
_REUSE = 10  # times as long as its computation took
_MAX_RECENT = 100  # fingerprints in memory at most
_Key = tuple[str, tuple[str, ...], str]  # place, parts, options
_recent: dict[_Key, tuple[str, float]] = {}  # the fingerprint, and until when it is valid


def existing_parts(place: Path) -> tuple[str, ...]:
    """The parts of a data set that exist; a single file is a train part.

    Raises:
        DataError: A folder has some shards of a part, but not all.
    """
    return tuple(part for part in PARTS if has_part(place, part)) or ("train",)


def content_options(reading: Mapping[str, Any]) -> dict[str, Any]:
    """The options of `open_source` that change the texts, without defaults, as plain data."""
    options = {name: reading[name] for name in OPTIONS if reading.get(name) not in (None, "", ())}
    if not isinstance(options.get("label", ""), str):
        labels = list(options["label"])
        options["label"] = labels[0] if len(labels) == 1 else labels
    if "text" in options:
        columns = options["text"]
        options["text"] = [columns] if isinstance(columns, str) else list(columns)
    return options


def fingerprint(place: Path, parts: Sequence[str], reading: Mapping[str, Any] | None = None) -> str:
    """Computes the fingerprint of parts of a data set as they are now.

    It covers the name, size and modification time of each file of these parts, of the class names
    beside them, of each text in folders of texts by class, and of the file of corrections.

    Args:
        place: A file or a folder, as `icaps.data.resolve.resolve` returns it.
        parts: Names of parts, such as "train"; ignored for a single file.
        reading: Options of `open_source`; those of `OPTIONS` go into the fingerprint.

    Raises:
        DataError: A part does not exist, or a folder can't be read.
    """
    root = place.resolve()
    options = content_options(reading or {})
    state = [str(root), json.dumps(options)]
    if "corrections" in options:
        state.append(corrections_state(options))
    for part in parts if place.is_dir() else ("",):
        state.append(part)
        for file in find_files(place, part):
            try:
                state += sorted(_folder_state(file) if file.is_dir() else _file_states(file))
            except OSError as error:
                raise DataError(
                    f"{file} can't be read ({error.strerror}). Make it readable, and try again."
                ) from error
    return _digest(state)


def recent_fingerprint(
    place: Path, parts: Sequence[str], reading: Mapping[str, Any] | None = None
) -> str:
    """Like `fingerprint`, for frequent calls, such as those of a page.

    A slow one, as of a folder of 100,000 texts, is reused for ten times as long as it took, unless
    the corrections change.

    Raises:
        DataError: See `fingerprint`.
    """
    started = time.monotonic()
    options = content_options(reading or {})
    state = [corrections_state(options)] if "corrections" in options else []
    key = (str(place), tuple(parts), json.dumps([options, *state]))
    known, until = _recent.get(key, ("", 0.0))
    if started < until:
        return known
    computed = fingerprint(place, parts, reading)
    ended = time.monotonic()
    if ended - started > _SLOW:
        if len(_recent) >= _MAX_RECENT:
            _recent.clear()
        _recent[key] = computed, ended + _REUSE * (ended - started)
    return computed


def named_fingerprint(value: str, parts: Sequence[str] = ()) -> str:
    """The recent fingerprint of data by its path; "" for data with a name, which never changes.

    Args:
        value: A path, or a name as `icaps.data.resolve.resolve` takes it.
        parts: See `fingerprint`; by default those of `existing_parts`.

    Raises:
        DataError: See `fingerprint`.
    """
    place = Path(value)
    return recent_fingerprint(place, parts or existing_parts(place)) if place.exists() else ""


def corrections_state(reading: Mapping[str, Any]) -> str:
    """The state of the file of corrections; "" without one."""
    file = reading.get("corrections")
    return _state("corrections", Path(file)) if file else ""


def fingerprint_files(files: Iterable[Path]) -> str:
    """The fingerprint of several files in their order, some of which may be missing."""
    return _digest(_state(str(file), file) for file in files)


def check_unchanged(
    place: Path, parts: Sequence[str], reading: Mapping[str, Any], before: str
) -> None:
    """Raises DataError if the fingerprint differs from that `before` the data was read."""
    if fingerprint(place, parts, reading) != before:
        raise DataError(f"{place} was changed while it was read; try again.")


def _file_states(file: Path) -> Iterator[str]:
    """The state of a file of texts, and of the class names beside it."""
    yield _state(file.name, file)
    names = file.parent / "classes.txt"
    if names.is_file():
        yield _state(names.name, names)


def _folder_state(folder: Path) -> Iterator[str]:
    """The states of the texts of a folder of texts by class; hidden files are not read."""
    for group in os.scandir(folder):
        if not group.name.startswith(".") and group.is_dir():
            yield group.name
            for entry in os.scandir(group):
                if not entry.name.startswith("."):
                    yield _state(f"{group.name}/{entry.name}", entry)


def _state(name: str, file: Path | os.DirEntry[str]) -> str:
    try:
        facts = file.stat()
    except FileNotFoundError:  # a dangling link, which reading reports as a bad row
        return f"{name}\0missing"
    return f"{name}\0{facts.st_size}\0{facts.st_mtime_ns}"


def _digest(state: Iterable[str]) -> str:
    lines = "\n".join(state).encode("utf-8", "surrogatepass")
    return hashlib.sha256(lines).hexdigest()[:24]
