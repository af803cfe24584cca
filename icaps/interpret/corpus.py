"""Corpus-level interpretation (section 2.6): one pass over texts, for the matrix C and the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from icaps.errors import DataError
from icaps.inference import read_labelled
from icaps.interpret.ablation import KnockOut, Sample
from icaps.interpret.tally import Tally
from icaps.interpret.winners import find_winners
from icaps.nn import distributed

if TYPE_CHECKING:
    from icaps.classifier import ICapsClassifier


@dataclass
class Counts:
    """What one pass over labelled texts gives; the counts of parts add up to those of the whole."""

    tally: Tally
    knock_out: KnockOut
    sample: Sample

    @classmethod
    def empty(cls, classifier: ICapsClassifier) -> Counts:
        """Of no text."""
        config, classes = classifier.network_.config, len(classifier.classes_)
        return cls(
            Tally.empty(classes, config.num_capsules),
            KnockOut.empty(classes, config.num_capsules),
            Sample.empty(config.num_capsules, config.query_dim),
        )

    def merge(self, other: Counts) -> None:
        """Adds the counts of another part of the texts."""
        self.tally.merge(other.tally)
        self.knock_out.merge(other.knock_out)
        self.sample.merge(other.sample)


def count(
    classifier: ICapsClassifier,
    labelled: Iterable[tuple[str, str]],
    on_texts: Callable[[int], None] = lambda _: None,
) -> Counts:
    """Counts over texts and the names of their classes, in memory that doesn't grow with them.

    Under torchrun each process takes its share, and all get the counts of the whole.

    Args:
        classifier: Fitted.
        labelled: Read once, as a stream.
        on_texts: Told after each batch how many texts it had.

    Raises:
        DataError: There is no text, or a label is none of the model's classes.
    """
    counts = Counts.empty(classifier)
    network, classes = classifier.network_, [str(name) for name in classifier.classes_]
    for batch in read_labelled(network, classifier.vocabulary_, classes, labelled):
        winners = find_winners(batch, network.config.kernel_size)
        counts.tally.add(winners, blank=int(batch.blank.sum()))
        counts.knock_out.add(network.capsules, batch, winners)
        counts.sample.add(batch)
        on_texts(len(batch))
    whole, *others = distributed.gathered(counts)
    for part in others:
        whole.merge(part)
    if not whole.knock_out.confusion[0].sum():
        raise DataError("There are no texts to interpret.")
    return whole
