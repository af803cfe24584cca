"""The next texts of a task, chosen in the background before they are needed."""

from collections.abc import Collection
from concurrent.futures import Future, ThreadPoolExecutor

from dashboard.cache import models
from dashboard.model_registry import ModelFolder
from icaps.label.defaults import DOUBTED
from icaps.label.order import Order
from icaps.label.queue import Item
from icaps.label.task import LabelTask

_COUNT = 25  # texts that are chosen at a time
_LOW = 10  # fewer than these are left when the next ones are chosen
_workers = ThreadPoolExecutor(max_workers=2, thread_name_prefix="label")


class Ahead:
    """The next texts in an order; the first ones are being chosen when this returns.

    Args:
        task: The task.
        order: The order.
        model: The model whose predictions the order uses; None without one.
    """

    def __init__(self, task: LabelTask, order: Order, model: ModelFolder | None) -> None:
        self.order, self.model = order, model
        self._task = task
        self._items: list[Item] = []
        self._coming: Future[list[Item]] | None = _workers.submit(self._choose, frozenset())

    @property
    def ready(self) -> bool:
        """Whether `take` returns at once."""
        return bool(self._items) or self._coming is None or self._coming.done()

    def take(self, passed: Collection[int] = ()) -> Item | None:
        """The next text that is still to be labelled; None if there is none.

        Args:
            passed: Ids of texts that are left to later calls.

        Raises:
            ConfigError: The order needs a model.
            DataError: The task cannot be read, or a search has a mistake.
        """
        if self._coming is not None and (self._coming.done() or not self._items):
            coming, self._coming = self._coming, None
            self._items += coming.result()
        item = self._first(passed)
        if item is None:
            self._items = self._choose(frozenset(passed))
            item = self._first(passed)
        if item is not None and len(self._items) < _LOW and self._coming is None:
            known = frozenset({*passed, item.id, *(other.id for other in self._items)})
            self._coming = _workers.submit(self._choose, known)
        return item

    def put_back(self, item: Item) -> None:
        """Makes a text that was taken the next one."""
        self._items.insert(0, item)

    def _choose(self, known: frozenset[int]) -> list[Item]:
        model = None if self.model is None else models.load(self.model)
        return self._task.queue(_COUNT, self.order, model, known)

    def _first(self, passed: Collection[int]) -> Item | None:
        """Takes out the first text that is not labelled since it was chosen."""
        self._items = [item for item in self._items if self._is_open(item)]
        item = next((item for item in self._items if item.id not in passed), None)
        if item is not None:
            self._items.remove(item)
        return item

    def _is_open(self, item: Item) -> bool:
        entry = self._task.label(item.id)
        if self.order.name == DOUBTED and not item.held_out:
            return entry is not None and entry.label == item.label
        return entry is None
