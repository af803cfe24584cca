"""Texts of which some have a label, as a stream: what a person is to label, and what is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from icaps.data.columns import is_label_name
from icaps.data.problems import FileError, Problem, Problems
from icaps.data.source import Source, open_source
from icaps.data.unlabelled import open_unlabelled, unlabelled_reading


def partly_labelled(place: str | Path, reading: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields each text of a file, or of the train part of a folder, with its label; "" for none.

    The labels are in the column that `reading` names, or in one with a usual name such as "label";
    else no text has one. Texts may be lines of a file.

    Args:
        place: As of `source.open_source`.
        reading: Options of `source.open_source`.

    Raises:
        DataError: A file cannot be read, its text column is unclear, or there is no text. If bad
            rows are not to be skipped, also for such a row.
    """
    source = open_source(place, "train", **reading)
    if _has_labels(source, bool(reading.get("label"))):
        yield from _pairs(source, strict=reading.get("on_bad_rows", "strict") == "strict")
        return
    for text in open_unlabelled(place, **unlabelled_reading(reading)):
        yield text, ""


def _has_labels(source: Source, named: bool) -> bool:
    """Whether all files have a column of labels, which the user named or which is a usual one."""
    try:
        files = source.describe().files
    except FileError:
        if named:
            raise
        return False  # what is wrong with the texts is raised when they are read
    return named or all(
        file.class_first or file.label_columns or is_label_name(file.label) for file in files
    )


def _pairs(source: Source, strict: bool) -> Iterator[tuple[str, str]]:
    problems, good = Problems(), 0
    for item in source.scan(unlabelled=True):
        if isinstance(item, Problem):
            problems.add(item)
            continue
        good += 1
        yield item.text, item.label
    if strict and problems:
        raise problems.error(good)
    if not good:
        raise source.empty_error()
