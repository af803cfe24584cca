"""The labels of a task by the ids of its texts, read from a file that only grows."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from icaps.data.label_file import GIVEN, LabelFile, Undone
from icaps.data.label_sets import names_in
from icaps.label.pool import Pool


@dataclass(frozen=True)
class Labelled:
    """The label of a text, or that it was skipped.

    Attributes:
        id: Number of the text.
        label: Name of the class, or a set of names (`data.label_sets`); empty if it was skipped.
        by: Who gave it: "given" (the data), "person", "model", or a name.
        time: When, as ISO 8601 in UTC.
        batch: For `LabelTask.undo`; empty for a label of the data.
        before: The label that the text had before; empty for none.
    """

    id: int
    label: str
    by: str
    time: str
    batch: str = ""
    before: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its classes."""
        return names_in(self.label) if self.label else ()


class LabelLog:
    """What was given or skipped, without texts in memory; only new lines are read each time.

    Args:
        file: The file.
        pool: The texts, with the labels of the data. Lines of other texts are ignored.
        created: When the task was created, which is the time of the labels of the data.
    """

    def __init__(self, file: LabelFile, pool: Pool, created: str) -> None:
        self._file, self._pool, self._created = file, pool, created
        self._lock = threading.Lock()  # several threads of a server share a task
        self._end = 0  # bytes that were read
        self._entries: list[Labelled] = []
        self._current: dict[int, Labelled] = {}

    def entries(self) -> list[Labelled]:
        """All that was given or skipped and not undone, in its order.

        Raises:
            DataError: The file cannot be read, or a line is damaged.
        """
        self._refresh()
        return self._entries

    def current(self) -> dict[int, Labelled]:
        """The last entry of each text, by its id.

        Raises:
            DataError: As in `entries`.
        """
        self._refresh()
        return self._current

    def given(self, id: int) -> Labelled | None:
        """The label that the data has for a text; None without one."""
        number = self._pool.given[id]
        if number < 0:
            return None
        return Labelled(id, self._pool.names[number], GIVEN, self._created)

    def label(self, id: int) -> Labelled | None:
        """The label of a text, or that it was skipped; None if neither.

        Raises:
            DataError: As in `entries`.
        """
        return self.current().get(id) or self.given(id)

    def labels(self) -> Iterator[Labelled]:
        """The labels of all texts that have one, by id.

        Raises:
            DataError: As in `entries`.
        """
        state = self.current()
        for n in sorted({*state, *np.flatnonzero(self._pool.given >= 0).tolist()}):
            one = state.get(n) or self.given(n)
            if one is not None and one.label:
                yield one

    def _refresh(self) -> None:
        with self._lock:
            new, self._end = self._file.entries_after(self._end)
            if not new:
                return
            ids = self._pool.find(entry.text or "" for entry in new)
            entries = list(self._entries)  # new objects, since the former ones may be in use
            undone = set[tuple[str, int | None]]()
            for entry, n in zip(new, ids, strict=True):
                if isinstance(entry, Undone) and entry.text is None:
                    undone.add((entry.batch, None))
                elif n is None:
                    continue
                elif isinstance(entry, Undone):
                    undone.add((entry.batch, n))
                else:
                    one = Labelled(n, entry.label, entry.by, entry.time, entry.batch, entry.before)
                    entries.append(one)
            self._entries = [
                entry
                for entry in entries
                if not {(entry.batch, None), (entry.batch, entry.id)} & undone
            ]
            self._current = {entry.id: entry for entry in self._entries}
