"""The texts of a labelling task in the order in which they come."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from icaps.label.defaults import DOUBTED
from icaps.label.log import LabelLog
from icaps.label.order import Candidates, Choice, Comparison, Order, choose
from icaps.label.pool import Pool
from icaps.label.scores import Scorer

_HELD_OUT_WHY = (
    "It is one of the held-out texts, which are drawn at random and labelled first: models are "
    "scored on them."
)


@dataclass(frozen=True)
class Item:
    """A text to label.

    Attributes:
        id: Its number.
        text: The text.
        why: Why it is this text's turn, as a sentence.
        held_out: Whether it is of the held-out part.
        label: The label that it has; empty for none. It has one if labels are doubted.
        guess: The model's probability of each class, the most probable first; empty without one.
    """

    id: int
    text: str
    why: str
    held_out: bool = False
    label: str = ""
    guess: Mapping[str, float] = field(default_factory=dict)


class Queue:
    """The texts of a task that are still to be labelled, or to be labelled again.

    Args:
        pool: All texts.
        log: Their labels.
        held_out: The ids of the held-out part, which comes first.
        seed: Seed of all that is random.
    """

    def __init__(self, pool: Pool, log: LabelLog, held_out: Sequence[int], seed: int) -> None:
        self._pool, self._log, self._held_out, self._seed = pool, log, held_out, seed
        self._comparison = Comparison()
        self._batch: tuple[Order, Scorer | None, list[Choice]] | None = None

    def items(self, count: int, order: Order, model: Scorer | None, skip: set[int]) -> list[Item]:
        """The next texts in an order, one to `count` of them if any is left.

        Args:
            count: Number of texts at most.
            order: The order.
            model: A trained model of the task's classes, or some of them.
            skip: Ids of texts that are passed over.

        Raises:
            ConfigError: The order needs a model, or another one.
            DataError: A search has a mistake.
        """
        passed = {*self._log.current(), *skip}
        first = [n for n in self._held_out if n not in passed and self._log.given(n) is None]
        texts = self._pool.text(first[:count])
        items = [Item(n, t, _HELD_OUT_WHY, True) for n, t in zip(first, texts, strict=False)]
        if len(items) < count:
            chosen = self._chosen(order, model, skip)
            items += self._items(chosen[: count - len(items)])
        return items

    def _chosen(self, order: Order, model: Scorer | None, skip: set[int]) -> list[Choice]:
        """The rest of the batch; a new one if none is left, or for another order or model."""
        left: list[Choice] = []
        if self._batch is not None and self._batch[0] == order and self._batch[1] is model:
            left = self._left(self._batch[2], order, skip)
        if left:
            return left
        choices = choose(order, self.candidates(skip), model, self._comparison)
        self._batch = order, model, choices
        return choices

    def _left(self, choices: Sequence[Choice], order: Order, skip: set[int]) -> list[Choice]:
        """The choices that are still to be labelled, or to be labelled again."""
        current = self._log.current()

        def wanted(id: int) -> bool:
            one = current.get(id)
            return one is None or (order.name == DOUBTED and bool(one.label) and not one.before)

        return [choice for choice in choices if choice.id not in skip and wanted(choice.id)]

    def open_ids(self, skip: Collection[int] = ()) -> NDArray[np.int64]:
        """The ids of the texts that are neither labelled, skipped, held out nor in `skip`."""
        closed = np.zeros(len(self._pool), dtype=bool)
        closed[[*self._log.current(), *skip, *self._held_out]] = True
        return np.flatnonzero(~closed & (self._pool.given < 0))

    def candidates(self, skip: Collection[int] = ()) -> Candidates:
        """What an order chooses from, without the texts of some ids."""
        held_out = set(self._held_out)
        known = [one for one in self._log.labels() if one.id not in held_out and one.id not in skip]
        return Candidates(
            texts=self._pool.texts,
            open=self.open_ids(skip),
            labelled=np.array([one.id for one in known], np.int64),
            labels=[one.label for one in known],
            reviewed=np.array([bool(one.before) for one in known], np.bool_),
            seed=self._seed,
        )

    def _items(self, choices: Sequence[Choice]) -> list[Item]:
        texts = self._pool.text(choice.id for choice in choices)
        items = []
        for choice, text in zip(choices, texts, strict=True):
            one = self._log.label(choice.id)
            label = "" if one is None else one.label
            items.append(Item(choice.id, text, choice.why, False, label, choice.guess))
        return items
