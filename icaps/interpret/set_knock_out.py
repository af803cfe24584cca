"""Knock-out of capsules for texts with several labels, where each class is a decision of its own.

What `ablation.KnockOut` counts by accuracy is counted by micro F1 here. With one label per text the
two are the same: each wrong prediction is one class too many and one too few.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from icaps.inference import Reading, predicted_sets
from icaps.interpret.ablation import norms_without_each
from icaps.model import ICapsNet

Counts = NDArray[np.int64]
_PREFIX = "sets_"  # of the names in a file


@dataclass
class SetKnockOut:
    """The predicted classes of texts with several labels, with each capsule switched off.

    The first row is with all capsules, then with capsule 0 off, with capsule 1 off, and so on.

    Attributes:
        labelled: (J,), texts that have each class.
        given: (1 + I, J), texts that get each class.
        right: (1 + I, J), of these, the texts that have it.
        exact: (1 + I,), texts whose classes are all right and complete.
        own: (I, 5), over the texts of which a capsule won a predicted class: their labels, the
            predicted classes with all capsules and the right ones among them, and both without it.
        counted: (1,), number of texts.
    """

    labelled: Counts
    given: Counts
    right: Counts
    exact: Counts
    own: Counts
    counted: Counts

    @classmethod
    def empty(cls, classes: int, capsules: int) -> SetKnockOut:
        """The counts of an empty corpus."""
        rows = 1 + capsules
        shapes = ((classes,), (rows, classes), (rows, classes), (rows,), (capsules, 5), (1,))
        return cls(*(np.zeros(shape, np.int64) for shape in shapes))

    def add(self, network: ICapsNet, batch: Reading, texts: Counts, winners: Counts) -> None:
        """Counts a batch; a blank text has no predicted class.

        Args:
            network: The one that read the batch, with its edits.
            batch: Texts with sets of labels.
            texts: (n,), number of the text in the batch of each predicted class.
            winners: (n,), the capsule that won it.
        """
        assert batch.label_sets is not None
        labels, known = batch.label_sets, np.flatnonzero(~batch.blank)  # (B, J)
        capsules = len(self.own)
        given = np.zeros((len(batch), 1 + capsules, labels.shape[1]), bool)
        given[known] = predicted_sets(network, norms_without_each(network, batch, known))
        right = given & labels[:, None]
        self.labelled += labels.sum(0)
        self.given += given.sum(0)
        self.right += right.sum(0)
        self.exact += (given == labels[:, None]).all(2).sum(0)
        self.counted += len(batch)
        won = np.zeros((len(batch), capsules), np.int64)
        won[texts, winners] = 1
        sizes, hits = given.sum(2), right.sum(2)  # (B, 1 + I)
        columns = [
            np.broadcast_to(column, (len(batch), capsules))
            for column in (
                labels.sum(1)[:, None],
                sizes[:, :1],
                hits[:, :1],
                sizes[:, 1:],
                hits[:, 1:],
            )
        ]
        self.own += np.stack([(won * column).sum(0) for column in columns], axis=1)

    def merge(self, other: SetKnockOut) -> None:
        """Adds the counts of another part of the corpus."""
        for name, counts in vars(self).items():
            counts += getattr(other, name)

    @property
    def texts(self) -> int:
        """Number of texts."""
        return int(self.counted[0])

    @property
    def accuracy(self) -> NDArray[np.float64]:
        """Micro F1 (1 + I,): with all capsules, then with each one off."""
        return np.nan_to_num(micro_f1(self.right.sum(1), self.given.sum(1), self.labelled.sum()))

    @property
    def subset_accuracy(self) -> float:
        """Share of the texts whose classes are all right and complete, with all capsules."""
        return float(self.exact[0] / max(self.texts, 1))

    def recall(self) -> NDArray[np.float64]:
        """Share of the texts of each class that get it (1 + I, J); NaN without texts."""
        return np.asarray(
            np.divide(
                self.right,
                self.labelled,
                out=np.full(self.right.shape, np.nan),
                where=self.labelled > 0,
            )
        )

    def costs(self, wins: Counts, right: Counts) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """By how much micro F1 is lower without each capsule, (I,) each.

        On the texts of which it won a predicted class, and on all others; NaN if there are none.
        """
        labels, given, hits, given_off, hits_off = self.own.T
        own = micro_f1(hits, given, labels) - micro_f1(hits_off, given_off, labels)
        labels = self.labelled.sum() - labels
        before = micro_f1(self.right[0].sum() - hits, self.given[0].sum() - given, labels)
        others = self.right[1:].sum(1) - hits_off, self.given[1:].sum(1) - given_off
        return own, before - micro_f1(*others, labels)

    def matrices(self) -> dict[str, Counts]:
        """The counts by name, for a file."""
        return {f"{_PREFIX}{name}": counts for name, counts in vars(self).items()}

    @classmethod
    def from_matrices(cls, matrices: dict[str, Any], shape: tuple[int, int]) -> SetKnockOut:
        """The counts that `matrices` returned, of J classes x I capsules.

        Raises:
            KeyError, ValueError: They are incomplete, or of other sizes.
        """
        knock_out = cls(*(matrices[f"{_PREFIX}{field.name}"] for field in fields(cls)))
        expected = cls.empty(*shape)
        if any(counts.shape != getattr(expected, n).shape for n, counts in vars(knock_out).items()):
            raise ValueError(f"its counts are not of {shape[0]} classes x {shape[1]} capsules")
        return knock_out


def micro_f1(
    right: NDArray[np.integer[Any]],
    given: NDArray[np.integer[Any]],
    labelled: NDArray[np.integer[Any]] | int,
) -> NDArray[np.float64]:
    """2 right / (given + labelled), from counts over all classes; NaN if there are none."""
    both = np.asarray(given + labelled)
    empty = np.full(np.broadcast_shapes(both.shape, np.shape(right)), np.nan)
    ratio: NDArray[np.float64] = np.divide(2 * right, both, out=empty, where=both > 0)
    return ratio
