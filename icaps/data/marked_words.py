"""A file of the words that people marked in texts as the reason for a class.

JSON Lines with `words`, `mask` (1 for each marked word), `label` and `time`, as
`icaps plausibility` reads them. A change replaces the file as a whole, so a process that is killed
while it writes loses none of it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from filelock import FileLock

from icaps.data.paths import check_regular
from icaps.data.plain_json import parse_json
from icaps.errors import DataError

Marks = dict[str, frozenset[int]]  # numbers of the marked words, by class


def split_text(text: str) -> list[str]:
    """The words of a text as they are marked: what white space separates."""
    return text.split()


class MarkedWordsFile:
    """Marked words in a file, which need not exist yet.

    Args:
        path: The file.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = FileLock(self.path.with_name(f".{self.path.name}.lock"))

    def __len__(self) -> int:
        """The number of texts with marked words."""
        return len({tuple(entry["words"]) for entry in self._entries()})

    def marks(self, text: str) -> Marks:
        """The marked words of a text; empty if none are.

        Raises:
            DataError: The file cannot be read, or a line is damaged.
        """
        words = split_text(text)
        return {
            entry["label"]: frozenset(n for n, mark in enumerate(entry["mask"]) if mark)
            for entry in self._entries()
            if entry["words"] == words
        }

    def set_marks(self, text: str, marks: Mapping[str, Collection[int]]) -> None:
        """Replaces the marked words of a text.

        Args:
            text: The text.
            marks: Numbers of words of `split_text(text)`, by the class that they are the reason
                for; a class without marked words is left out.

        Raises:
            DataError: The file cannot be read or written, or a line is damaged.
        """
        words = split_text(text)
        time = datetime.now(timezone.utc).isoformat("T", "seconds")
        new = [
            {
                "words": words,
                "mask": [int(n in marked) for n in range(len(words))],
                "label": label,
                "time": time,
            }
            for label, marked in marks.items()
            if marked
        ]
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self._lock:
                others = [entry for entry in self._entries() if entry["words"] != words]
                scratch = self.path.with_name(f".{self.path.name}.new")
                lines = (json.dumps(entry) for entry in (*others, *new))
                scratch.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
                scratch.replace(self.path)
        except OSError as error:
            raise DataError(f"{self.path} cannot be written ({error}).") from error

    def to_bytes(self) -> bytes:
        """The file as it is."""
        try:
            check_regular(self.path)
            return self.path.read_bytes() if self.path.exists() else b""
        except OSError as error:
            raise DataError(f"{self.path} cannot be read ({error}).") from error

    def _entries(self) -> list[dict[str, Any]]:
        entries = []
        for number, line in enumerate(self.to_bytes().split(b"\n"), 1):
            if not line.strip():
                continue
            try:
                entry = parse_json(line)
            except ValueError:
                entry = None
            match entry:
                case {"words": [*words], "mask": [*mask], "label": str()} if (
                    len(words) == len(mask)
                    and all(isinstance(word, str) for word in words)
                    and all(mark in (0, 1) for mark in mask)
                ):
                    entries.append(entry)
                case _:
                    raise DataError(
                        f"{self.path}, line {number}: it has no marked words; remove the line."
                    )
        return entries
