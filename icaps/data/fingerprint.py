"""A fingerprint of the files of a data set: it changes when any file that is read changes."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from icaps.data.part_files import find_files, has_part
from icaps.errors import DataError

PARTS = ("train", "test")
OPTIONS = ("text", "label", "encoding", "delimiter")  # options of reading that change the texts
_SLOW, _REUSE, _MAX_RECENT = 0.2, 10, 100  # seconds; how many times as long; entries
_recent: dict[
    tuple[str, tuple[str, ...], str], tuple[str, float]
] = {}  # fingerprints, and until when they hold


def existing_parts(place: Path) -> tuple[str, ...]:
    """The splits of a data set; a single file is a train split.

    Raises:
        DataError: A folder holds some files of a split, and their names say that there are more.
    """
    return tuple(part for part in PARTS if has_part(place, part)) or ("train",)


def content_options(reading: Mapping[str, Any]) -> dict[str, Any]:
    """The options of `open_source` that change what is read, without defaults, ready for JSON."""
    given = {name: reading[name] for name in OPTIONS if reading.get(name)}
    if "text" in given:
        columns = given["text"]
        given["text"] = [columns] if isinstance(columns, str) else list(columns)
    return given


def fingerprint(place: Path, parts: Sequence[str], reading: Mapping[str, Any] | None = None) -> str:
    """The fingerprint of parts of a data set, as `open_source` would read them now.

    It covers the name, size and modification time of each file of these parts, of the class names
    beside them, and of each text in folders of texts by class.

    Args:
        place: A file or a folder, as `icaps.data.resolve.resolve` returns it.
        parts: Such as "train" and "test"; a single file is the same for all parts.
        reading: The options of reading that go into the fingerprint; see `OPTIONS`.

    Raises:
        DataError: A part is not there, or a folder can't be read.
    """
    root = place.resolve()
    state = [str(root), json.dumps(content_options(reading or {}))]
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
    """`fingerprint` for callers that ask often, such as a page.

    If it takes long, as for a folder of 100,000 texts, the result is reused for ten times as long.

    Raises:
        DataError: See `fingerprint`.
    """
    started = time.monotonic()
    key = (str(place), tuple(parts), json.dumps(content_options(reading or {})))
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
    """The recent fingerprint of data given by a path; empty for a name, whose files never change.

    Args:
        value: A path, or a name as `icaps.data.resolve.resolve` takes it.
        parts: See `fingerprint`; by default those of `existing_parts`.

    Raises:
        DataError: See `fingerprint`.
    """
    place = Path(value)
    return recent_fingerprint(place, parts or existing_parts(place)) if place.exists() else ""


def fingerprint_files(files: Iterable[Path]) -> str:
    """The fingerprint of single files, in their order; files that are missing count as such."""
    return _digest(_state(str(file), file) for file in files)


def check_unchanged(
    place: Path, parts: Sequence[str], reading: Mapping[str, Any], before: str
) -> None:
    """Raises DataError if the fingerprint differs from that `before` the data was read."""
    if fingerprint(place, parts, reading) != before:
        raise DataError(f"{place} was changed while it was read; do this again.")


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
