"""A dictionary of bounded size that threads can share."""

from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class BoundedDict(Generic[Key, Value]):
    """A dictionary that drops its oldest entries when there are more than `max_entries`.

    Args:
        max_entries: The largest number of entries.
        droppable: Whether a value may be dropped; one that may not be dropped counts as well.
    """

    def __init__(
        self, max_entries: int, droppable: Callable[[Value], bool] = lambda _: True
    ) -> None:
        self._max_entries = max_entries
        self._droppable = droppable
        self._entries: dict[Key, Value] = {}
        self._lock = Lock()

    def get(self, key: Key) -> Value | None:
        """The value of a key, or None."""
        with self._lock:
            return self._entries.get(key)

    def put(self, key: Key, value: Value) -> None:
        """Adds a value as the latest entry, or replaces that of its key."""
        with self._lock:
            self._entries.pop(key, None)
            old = [other for other, entry in self._entries.items() if self._droppable(entry)]
            for other in old[: max(len(self._entries) + 1 - self._max_entries, 0)]:
                del self._entries[other]
            self._entries[key] = value

    def items(self) -> list[tuple[Key, Value]]:
        """The entries, the oldest first."""
        with self._lock:
            return list(self._entries.items())
