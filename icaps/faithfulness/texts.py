"""Texts that a network has read, with the class of each that is explained."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

from torch import Tensor

from icaps.errors import DataError
from icaps.inference import Reading, capsule_mask, each_prediction, read_texts
from icaps.model import ICapsNet
from icaps.trained_model import TrainedModel


@dataclass(frozen=True)
class ExplainedTexts:
    """Texts with a known word, as a network reads them, and the explained class of each.

    Attributes:
        network: The network, in eval mode.
        muted: Primary capsules that are switched off.
        readings: The activity of the network for each text.
        targets: The explained classes, by number.
        blank: Number of texts without a known word, which were left out.
        undecided: Number of texts without a predicted class, which were left out as well.
    """

    network: ICapsNet
    muted: tuple[int, ...]
    readings: tuple[Reading, ...]
    targets: tuple[int, ...]
    blank: int = 0
    undecided: int = 0

    @classmethod
    def predicted(
        cls, network: ICapsNet, muted: tuple[int, ...], readings: Iterable[Reading]
    ) -> ExplainedTexts:
        """The readings that are not blank, each with its predicted class as the target.

        A text with several predicted classes is there once for each.
        """
        explained, targets, blank, undecided = [], [], 0, 0
        for reading in readings:
            if reading.blank[0]:
                blank += 1
                continue
            _, classes = each_prediction(network, reading)
            explained += [reading] * len(classes)
            targets += classes.tolist()
            undecided += not len(classes)
        return cls(network, muted, tuple(explained), tuple(targets), blank, undecided)

    def __len__(self) -> int:
        return len(self.readings)

    def __iter__(self) -> Iterator[tuple[Reading, int]]:
        return iter(zip(self.readings, self.targets, strict=True))

    def take(self, numbers: Iterable[int]) -> ExplainedTexts:
        """Some of the texts, by number."""
        chosen = list(numbers)
        return replace(
            self,
            readings=tuple(self.readings[n] for n in chosen),
            targets=tuple(self.targets[n] for n in chosen),
        )

    @property
    def capsule_mask(self) -> Tensor | None:
        """(I,), 0 for each capsule that is switched off; None if none is."""
        return capsule_mask(self.network, self.muted) if self.muted else None


def read_explained(classifier: TrainedModel, texts: Iterable[str]) -> ExplainedTexts:
    """Reads texts; those with a known word are returned, with their predicted class as the target.

    Raises:
        DataError: No text has a word of the vocabulary, or none has a predicted class.
    """
    network, muted = classifier.network_, classifier.muted_
    batches = read_texts(network, classifier.vocabulary_, texts, muted)
    explained = ExplainedTexts.predicted(network, muted, chain.from_iterable(batches))
    if not len(explained) and explained.undecided:
        raise DataError(
            "No class reaches its threshold for any of these texts; use texts similar to the "
            "model's training texts."
        )
    if not len(explained):
        raise DataError(
            "The model knows no word of these texts; use texts similar to its training texts."
        )
    return explained


def common_texts(one: ExplainedTexts, other: ExplainedTexts) -> list[tuple[int, int]]:
    """The texts in which two models know a word, as their numbers in `one` and in `other`.

    Both were read from the same strings. A text with several predicted classes is paired by class;
    a class that `other` does not predict is paired with one that it does.
    """
    number: dict[tuple[str, int | None], int] = {}
    for m, (reading, target) in enumerate(other):
        number[reading.texts[0], target] = number[reading.texts[0], None] = m
    pairs = []
    for n, (reading, target) in enumerate(one):
        places = ((reading.texts[0], target), (reading.texts[0], None))
        pairs += [(n, number[place]) for place in places if place in number][:1]
    return pairs
