"""The global view of a checkpoint: made of labelled texts, or taken from where it is kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from icaps.data.cache import data_folder
from icaps.data.catalog import DATASETS, locate
from icaps.data.resolve import resolve
from icaps.data.source import open_source
from icaps.data.synthetic import NAME
from icaps.errors import CheckpointError, DataError
from icaps.interpret.ablation import smallest_set
from icaps.interpret.corpus import count
from icaps.interpret.global_view import GlobalView, Origin, load_view, weights_fingerprint
from icaps.train.dataset import Labelled, content_hash

if TYPE_CHECKING:
    from icaps.classifier import ICapsClassifier


class Data(NamedTuple):
    """Data as a user named it, its part ("train", "test"), and options of `open_source`."""

    name: str
    part: str
    reading: dict[str, Any]


class Text(NamedTuple):
    """A text of the data that a view was made of, and the name of its class."""

    text: str
    label: str


def make_view(
    classifier: ICapsClassifier,
    checkpoint: str | Path,
    source: Data,
    records: Iterable[Labelled],
    on_texts: Callable[[int], None] = lambda _: None,
) -> GlobalView:
    """The view of these texts: the counts in the checkpoint folder when they are of them, or new.

    Args:
        classifier: As it is in the folder, on a device.
        checkpoint: The folder.
        source: Where they come from.
        records: Labelled texts, the same each time they are read.
        on_texts: See `corpus_level.count`.

    Raises:
        DataError: There is no text, or a label is none of the model's classes.
    """
    origin = Origin(*source, content_hash(_pairs(records)), weights_fingerprint(checkpoint))
    shape = len(classifier.classes_), classifier.network_.config.num_capsules
    try:
        kept = load_view(checkpoint, *shape)
    except CheckpointError:  # damaged: this is what mends it
        kept = None
    if kept is not None and kept.origin.content == origin.content:
        return dataclasses.replace(kept, origin=origin)
    counts = count(classifier, _pairs(records), on_texts)
    few = smallest_set(classifier.network_.capsules, counts.sample)
    return GlobalView(origin, counts.tally, counts.knock_out, few)


def texts_of(origin: Origin, numbers: Iterable[int]) -> dict[int, Text]:
    """Texts by their numbers, from the data that a view was made of.

    That is a path here, or what has this name in the folder of data sets or in `data`.

    Raises:
        DataError: The data is not on this machine, or has changed; the message says what to do.
    """
    place = _find(origin.source)
    wanted, found = set(numbers), dict[int, Text]()

    def collected() -> Iterator[tuple[str, str]]:
        for number, record in enumerate(open_source(place, origin.part, **origin.reading)):
            if number in wanted:
                found[number] = Text(record.text, record.label)
            yield record.text, record.label

    if content_hash(collected()) != origin.content:
        raise DataError(
            f"The texts in {place} are not those that were counted. Run `icaps interpret` again."
        )
    return found


def _find(source: str) -> Path:
    """Where data lies that was named on this or another machine; see `texts_of`."""
    if source == NAME:
        return resolve(source)
    if source in DATASETS and locate(source) is not None:
        return resolve(source)
    places = [Path(source), data_folder() / source, Path("data") / source]
    for place in places:
        if place.exists():
            return resolve(place)
    if source in DATASETS:
        raise DataError(
            f"The texts of {source} are not on this machine; `icaps data fetch {source}` brings "
            "them."
        )
    raise DataError(
        f"The texts of {source} are not on this machine. Put that file or folder at {places[1]}, "
        "or start where it lies."
    )


def _pairs(records: Iterable[Labelled]) -> Iterator[tuple[str, str]]:
    return ((record.text, record.label) for record in records)
