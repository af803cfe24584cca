"""Ablation of primary capsules at inference: the cost of each one, and a small sufficient set.

A capsule that is switched off casts no votes; everything else stays as it was trained. Nothing
below the capsule layer is computed again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from icaps.inference import Reading
from icaps.interpret.edits import Edits, edited_norms
from icaps.model import CapsuleLayer, ICapsNet
from icaps.nn.thresholds import ClassThresholds

ROUTED_AT_ONCE = 2_000_000  # routing weights at a time, which bounds memory
SAMPLE = 2_000  # texts in the search for a smallest set at most
SEARCHED = 300_000_000  # routing weights of a whole search, which bounds its time
FEWEST = 50  # texts in the search at least, whatever the size of the network
ENOUGH = 0.99  # share of the accuracy with all capsules that the smallest set must reach


@dataclass
class KnockOut:
    """The predictions of labelled texts with each capsule switched off.

    Attributes:
        confusion: (1 + I, J, J), texts of each class (row) by predicted class (column): with all
            capsules, then with capsule 0 off, with capsule 1 off, and so on.
        own_right: (I,), of the texts that a capsule won, those predicted right when it is off.
    """

    confusion: NDArray[np.int64]
    own_right: NDArray[np.int64]

    @classmethod
    def empty(cls, classes: int, capsules: int) -> KnockOut:
        """The counts of an empty corpus."""
        shape = 1 + capsules, classes, classes
        return cls(np.zeros(shape, np.int64), np.zeros(capsules, np.int64))

    def add(self, network: ICapsNet, batch: Reading, winners: NDArray[np.int64]) -> None:
        """Counts a batch; the prediction of a blank text is the first class, as always.

        Args:
            network: The one that read the batch, with its edits.
            batch: Labelled texts.
            winners: The capsule that won each text that is not blank.
        """
        assert batch.labels is not None
        capsules = len(self.own_right)
        predicted = np.zeros((len(batch), 1 + capsules), dtype=np.int64)
        known = np.flatnonzero(~batch.blank)
        predicted[known] = norms_without_each(network, batch, known).argmax(2)
        places = np.arange(1 + capsules), batch.labels[:, None], predicted
        np.add.at(self.confusion, places, 1)
        own_right = predicted[known, 1 + winners] == batch.labels[known]
        np.add.at(self.own_right, winners, own_right)

    def merge(self, other: KnockOut) -> None:
        """Adds the counts of another part of the corpus."""
        self.confusion += other.confusion
        self.own_right += other.own_right

    @property
    def texts(self) -> int:
        """Number of texts."""
        return int(self.confusion[0].sum())

    @property
    def accuracy(self) -> NDArray[np.float64]:
        """Share of right predictions (1 + I,): with all capsules, then with each one off."""
        right = np.trace(self.confusion, axis1=1, axis2=2)
        shares: NDArray[np.float64] = right / max(self.texts, 1)
        return shares

    def costs(
        self, wins: NDArray[np.int64], right: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """By how much the accuracy is lower without each capsule, (I,) each.

        On the texts that it won, and on all others; NaN if there are none.

        Args:
            wins: (I,), texts that each capsule won.
            right: (I,), of these, the texts that are predicted right with all capsules.
        """
        lost = np.round((self.accuracy[0] - self.accuracy[1:]) * self.texts)
        own, others = right - self.own_right, self.texts - wins
        none = np.full(len(wins), np.nan)
        return (
            np.divide(own, wins, out=none.copy(), where=wins > 0),
            np.divide(lost - own, others, out=none, where=others > 0),
        )

    def matrices(self) -> dict[str, NDArray[np.int64]]:
        """The counts by name, for a file."""
        return dict(vars(self))

    def recall(self) -> NDArray[np.float64]:
        """Share of each class's texts that are predicted right (1 + I, J); NaN without texts."""
        right = np.diagonal(self.confusion, axis1=1, axis2=2)
        texts = self.confusion[0].sum(1)
        return np.asarray(
            np.divide(right, texts, out=np.full(right.shape, np.nan), where=texts > 0)
        )


def norms_without_each(
    network: ICapsNet, batch: Reading, texts: NDArray[np.int64]
) -> NDArray[np.float32]:
    """The class norms (n, 1 + I, J) of texts of a batch, by number (n,).

    With all capsules, then with capsule 0 off, with capsule 1 off, and so on.
    """
    capsules, edits, removed = network.config.num_capsules, network.edits, None
    mask = torch.cat([torch.ones(1, capsules), 1 - torch.eye(capsules)])
    if edits is not None:
        removed = edits.removed(network, batch)[texts]
    primary = batch.activity.primary_capsules[texts]
    return norms_of_sets(network.capsules, primary, mask, edits, removed)


def norms_of_sets(
    layer: CapsuleLayer,
    primary: Tensor,
    mask: Tensor,
    edits: Edits | None = None,
    removed: Tensor | None = None,
) -> NDArray[np.float32]:
    """The class norms (texts, sets, J) with each of several sets of capsules.

    Args:
        layer: The capsule layer of the network.
        primary: (texts, I, d_p).
        mask: (sets, I), 1 for the capsules of a set and 0 for those that are switched off.
        edits: Of the network; None if it has none.
        removed: (texts, G, I, d_p), `Edits.removed` of the texts, if there are edits.
    """
    primary, mask = primary.to(layer.capsule_bias), mask.to(layer.capsule_bias)
    capsules, classes, _ = layer.capsule_bias.shape
    if removed is None:
        removed = primary[:, None][:, :0]
    size = len(mask) * capsules * classes
    parts = [np.zeros((0, len(mask), classes), np.float32)]
    with torch.inference_mode():
        at_once = max(1, ROUTED_AT_ONCE // max(size, 1))
        for part, left_out in zip(primary.split(at_once), removed.split(at_once), strict=True):
            primary_of_sets = part.repeat_interleave(len(mask), dim=0)  # (texts sets, I, d_p)
            routed = layer(primary_of_sets, mask.repeat(len(part), 1))
            if edits is None:
                norms = torch.linalg.vector_norm(routed.class_capsules, dim=2)
            else:
                norms = edited_norms(layer, routed, edits, left_out.to(primary))
            parts.append(norms.view(len(part), len(mask), classes).cpu().numpy())
    return np.concatenate(parts)


@dataclass
class CapsuleSample:
    """The primary capsules of at most SAMPLE texts of a stream, whatever its batches are.

    The texts are spread evenly over the stream.

    Attributes:
        primary: (texts, I, d_p).
        labels: (texts,); of texts with several labels (texts, J), whether each is one.
        keys: (texts,), hashes of the positions in the stream; the smallest are in the sample.
        removed: (texts, G, I, d_p), `Edits.removed`; by default of a model without edits.
    """

    primary: NDArray[np.float32]
    labels: NDArray[np.int64] | NDArray[np.bool_]
    keys: NDArray[np.uint64]
    removed: NDArray[np.float32] | None = None

    @classmethod
    def empty(cls, capsules: int, size: int, classes: int | None = None) -> CapsuleSample:
        """A sample of no text; `size` is d_p, and `classes` J for several labels per text."""
        primary = np.zeros((0, capsules, size), np.float32)
        labels: NDArray[Any] = np.zeros(0, np.int64)
        if classes is not None:
            labels = np.zeros((0, classes), bool)
        return cls(primary, labels, np.zeros(0, np.uint64))

    def add(self, network: ICapsNet, batch: Reading) -> None:
        """Adds the texts of a batch with a known word, and keeps the smallest keys."""
        known = np.flatnonzero(~batch.blank)
        keys = batch.numbers[known].astype(np.uint64) * _GOLDEN  # modulo 2^64
        primary = batch.activity.primary_capsules[known].numpy()
        labels = batch.labels if batch.label_sets is None else batch.label_sets
        assert labels is not None
        removed = None
        if network.edits is not None:
            removed = network.edits.removed(network, batch)[known].numpy()
        self.merge(CapsuleSample(primary, labels[known], keys, removed))

    def merge(self, other: CapsuleSample) -> None:
        """Adds the sample of another part of the stream, and keeps the smallest keys."""
        keys = np.concatenate([self.keys, other.keys])
        smallest = np.argsort(keys)[:SAMPLE]
        self.primary = np.concatenate([self.primary, other.primary])[smallest]
        self.labels = np.concatenate([self.labels, other.labels])[smallest]
        parts = [part.removed for part in (self, other) if part.removed is not None]
        self.removed = np.concatenate(parts)[smallest] if parts else None
        self.keys = keys[smallest]


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio, whose multiples are even


class FewCapsules(NamedTuple):
    """A small set of capsules, the accuracy on the sample with it alone, and with all capsules.

    With several labels per text it is micro F1, as in `set_knock_out`.
    """

    capsules: tuple[int, ...]
    accuracy: float
    of_all: float


def smallest_set(
    layer: CapsuleLayer,
    sample: CapsuleSample,
    edits: Edits | None = None,
    thresholds: ClassThresholds | None = None,
) -> FewCapsules:
    """A small set of capsules with ENOUGH of the accuracy on a sample, by a greedy search.

    Starting with all, each step switches off the capsule without which most texts are predicted
    right (ties: the lower number), as long as enough of them are. With many capsules and classes
    fewer texts of the sample are used, at least FEWEST.
    """
    capsule_count, classes = layer.capsule_bias.shape[:2]
    texts = max(FEWEST, SEARCHED // (capsule_count**3 * classes))
    sample = CapsuleSample(
        sample.primary[:texts],
        sample.labels[:texts],
        sample.keys[:texts],
        None if sample.removed is None else sample.removed[:texts],
    )
    capsules = tuple(range(capsule_count))
    whole = torch.ones(1, len(capsules))
    of_all = accuracy = float(_accuracies(layer, whole, sample, edits, thresholds)[0])
    while len(capsules) > 1:
        mask = torch.zeros(len(capsules), capsule_count)
        mask[:, list(capsules)] = 1
        mask[range(len(capsules)), list(capsules)] = 0
        accuracies = _accuracies(layer, mask, sample, edits, thresholds)
        best = int(accuracies.argmax())
        if accuracies[best] < ENOUGH * of_all:
            break
        accuracy = float(accuracies[best])
        capsules = capsules[:best] + capsules[best + 1 :]
    return FewCapsules(capsules, accuracy, of_all)


def _accuracies(
    layer: CapsuleLayer,
    mask: Tensor,
    sample: CapsuleSample,
    edits: Edits | None,
    thresholds: ClassThresholds | None,
) -> NDArray[np.float64]:
    """Accuracy on the sample with each set of capsules (sets,); 0 for an empty sample."""
    primary = torch.from_numpy(sample.primary).to(layer.capsule_bias.device)
    removed = None if sample.removed is None else torch.from_numpy(sample.removed)
    norms = norms_of_sets(layer, primary, mask, edits, removed)
    if thresholds is not None:
        given, labels = thresholds.predicted(norms), sample.labels[:, None]  # (texts, sets, J)
        sizes = given.sum((0, 2)) + labels.sum()  # (sets,)
        scores: NDArray[np.float64] = 2 * (given & labels).sum((0, 2)) / np.maximum(sizes, 1)
        return scores
    right = norms.argmax(2) == sample.labels[:, None]
    shares: NDArray[np.float64] = right.sum(0) / max(len(right), 1)
    return shares
