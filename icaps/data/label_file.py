"""Labels that people give to texts, or correct, in a file to which lines are only ever added.

A line is JSON: a label that was given to a text, or the undoing of an earlier line. So a process
that is killed while it writes loses at most the line that it was writing, several processes can
write at the same time, and who said what remains to be seen. The last label of a text counts. Texts
are equal up to case and white space, as in `text_hash`.

As corrections of a data set, the labels replace those of its texts when it is read; the data itself
is not changed.
"""

from __future__ import annotations

import io
import json
import os
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from filelock import FileLock

from icaps.data.paths import check_regular
from icaps.data.plain_json import parse_json
from icaps.data.surrogates import replace_surrogates
from icaps.data.text_hash import text_hash
from icaps.errors import DataError

PERSON, MODEL, GIVEN = "person", "model", "given"  # who gave a label
EXPORTED = ("text", "label", "before", "by", "time")  # columns of an exported file


@dataclass(frozen=True)
class GivenLabel:
    """The label that was given to a text.

    Attributes:
        text: The text.
        label: Name of the class; empty if the text was skipped.
        before: The label that it had before; empty if it had none.
        by: Who gave them: PERSON, MODEL, GIVEN, or a name.
        time: When, as ISO 8601 in UTC.
        batch: The labels that are undone together.
    """

    text: str
    label: str
    before: str = ""
    by: str = PERSON
    time: str = field(default_factory=lambda: datetime.now(timezone.utc).isoformat("T", "seconds"))
    batch: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


class Undone(NamedTuple):
    """The undoing of a batch, or of the label of one text in it."""

    batch: str
    text: str | None = None


class LabelFile:
    """Labels in a file, which need not exist yet.

    Args:
        path: The file.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.lock_path = self.path.with_name(f".{self.path.name}.lock")
        self._lock = FileLock(self.lock_path)

    def add(self, labels: Iterable[GivenLabel]) -> str:
        """Adds labels as one batch; returns the name of the batch, for `undo`.

        They are on the disk when this returns.

        Raises:
            DataError: The file cannot be written, or is not one of labels.
        """
        batch = uuid.uuid4().hex
        self._append([{**label.to_dict(), "batch": batch} for label in labels])
        return batch

    def undo(self, batch: str, *texts: str) -> None:
        """Takes back a batch, or the labels of some texts in it; its lines stay in the file.

        Raises:
            DataError: There is no such label, or the file cannot be written.
        """
        of_batch = {label.text for label in self.labels() if label.batch == batch}
        if not of_batch or not of_batch.issuperset(texts):
            raise DataError(f"{self.path.name} has no labels {batch} that could be undone.")
        self._append([{"undo": batch, "text": text} for text in texts] or [{"undo": batch}])

    def labels(self) -> list[GivenLabel]:
        """All labels that were not undone, in their order.

        Raises:
            DataError: The file cannot be read, or a line is damaged.
        """
        entries, _ = self.entries_after(0)
        undone = {entry for entry in entries if isinstance(entry, Undone)}
        return [
            entry
            for entry in entries
            if isinstance(entry, GivenLabel)
            and not {Undone(entry.batch), Undone(entry.batch, entry.text)} & undone
        ]

    def entries_after(self, start: int) -> tuple[list[GivenLabel | Undone], int]:
        """Reads the file from a byte on: labels, and what was undone.

        Args:
            start: 0, or what an earlier call returned, so that only new lines are read.

        Returns:
            The entries in their order, and the byte after the last whole line.

        Raises:
            DataError: The file cannot be read, or a line is damaged.
        """
        entries: list[GivenLabel | Undone] = []
        content = self._read(start)
        for number, line in enumerate(content.split(b"\n") if content else ()):
            try:
                entry = parse_json(line)
                if not all(isinstance(value, str) for value in entry.values()):
                    raise TypeError
                if "undo" in entry:
                    entries.append(Undone(entry["undo"], entry.get("text")))
                else:
                    entries.append(GivenLabel(**entry))
            except (ValueError, TypeError, AttributeError) as error:
                raise self._damaged(start, number) from error
        return entries, start + len(content) + bool(content)

    def current(self) -> dict[int, GivenLabel]:
        """The last label of each text, by the hash of the text."""
        return {text_hash(label.text): label for label in self.labels()}

    def to_bytes(self, kind: str) -> bytes:
        """The last label of each text, as a file of kind "csv", "jsonl" or "parquet".

        The columns are text, label, before, by and time; a text that was skipped is left out. Lone
        surrogates, which these files cannot hold, are replaced by U+FFFD.
        """
        table = pd.DataFrame(
            [
                tuple(map(replace_surrogates, (one.text, one.label, one.before, one.by, one.time)))
                for one in self.current().values()
                if one.label
            ],
            columns=EXPORTED,
        )
        if kind == "csv":
            return str(table.to_csv(index=False)).encode()
        if kind == "jsonl":
            return str(table.to_json(orient="records", lines=True, force_ascii=False)).encode()
        assert kind == "parquet", kind
        buffer = io.BytesIO()
        table.to_parquet(buffer, index=False)
        return buffer.getvalue()

    def _read(self, start: int) -> bytes:
        """The whole lines from a byte on, without the last line end.

        A line that was cut off while it was written is left out.
        """
        try:
            check_regular(self.path)
            if not self.path.exists():
                return b""
            with self.path.open("rb") as file:
                file.seek(start)
                return file.read().rpartition(b"\n")[0]
        except OSError as error:
            raise DataError(f"{self.path} cannot be read ({error}).") from error

    def _append(self, entries: Sequence[dict[str, Any]]) -> None:
        content = "".join(json.dumps(entry) + "\n" for entry in entries).encode()
        try:
            check_regular(self.path)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self._lock, self.path.open("ab+") as file:
                _cut_torn_line(file)
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise DataError(f"{self.path} cannot be written ({error}).") from error

    def _damaged(self, start: int, number: int) -> DataError:
        """The error for a line, by its number from 0 after the byte `start`."""
        number += self.path.read_bytes()[:start].count(b"\n") + 1
        return DataError(f"{self.path}, line {number}: it is no label; remove the line.")


def _cut_torn_line(file: io.BufferedRandom) -> None:
    """Removes a last line without an end, which a killed process left."""
    end = file.seek(0, os.SEEK_END)
    file.seek(0)
    content = file.read()
    whole = content.rfind(b"\n") + 1
    if whole < end:
        file.truncate(whole)
    file.seek(0, os.SEEK_END)


def load_corrections(path: str | Path) -> dict[int, str]:
    """The labels in a file by the hash of their texts; texts that were skipped have none.

    Raises:
        DataError: The file does not exist, or is not one of labels.
    """
    if not Path(path).is_file():
        raise DataError(f"There is no file of corrections {path}.")
    labels = LabelFile(path).current().items()
    return {number: one.label for number, one in labels if one.label}
