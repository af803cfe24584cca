"""How far a labelling task is: counts of its texts and labels."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from icaps.data.label_sets import names_in
from icaps.label.guesses import is_by_model
from icaps.label.log import LabelLog
from icaps.label.pool import Pool


@dataclass(frozen=True)
class Progress:
    """How far a task is.

    Attributes:
        texts: Number of all texts.
        labelled: Those with a label, of the held-out part as well.
        skipped: Those that were skipped.
        held_out, held_out_labelled: Texts of the held-out part, and those with a label.
        by_class: Labelled texts of each class, in the order of the classes.
        given: Labelled texts whose label is that of the data.
        by_models: Labelled texts whose label is a guess of a model that was accepted.
    """

    texts: int
    labelled: int
    skipped: int
    held_out: int
    held_out_labelled: int
    by_class: Mapping[str, int]
    given: int
    by_models: int

    @property
    def left(self) -> int:
        """Texts that are neither labelled nor skipped."""
        return self.texts - self.labelled - self.skipped

    @property
    def training(self) -> int:
        """Labelled texts outside the held-out part."""
        return self.labelled - self.held_out_labelled

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        plain = dataclasses.asdict(self)
        return {**plain, "left": self.left, "training": self.training}


def count_progress(
    pool: Pool, log: LabelLog, held_out: Collection[int], classes: Iterable[str]
) -> Progress:
    """Counts the texts and labels of a task.

    Args:
        pool: All texts.
        log: Their labels.
        held_out: The ids of the held-out part.
        classes: Names of the classes.
    """
    current = log.current()
    by_data = pool.given >= 0
    by_data[list(current)] = False
    codes = np.bincount(pool.given[by_data], minlength=len(pool.names)).tolist()
    counts: Counter[str] = Counter()
    for label, count in zip(pool.names, codes, strict=True):
        counts.update(dict.fromkeys(names_in(label), count))
    labels = [one for one in current.values() if one.label]
    for one in labels:
        counts.update(one.names)
    held_out = set(held_out)
    inside = int(by_data[list(held_out)].sum()) + sum(one.id in held_out for one in labels)
    return Progress(
        texts=len(pool),
        labelled=sum(codes) + len(labels),
        skipped=len(current) - len(labels),
        held_out=len(held_out),
        held_out_labelled=inside,
        by_class={name: counts[name] for name in classes},
        given=sum(codes),
        by_models=sum(is_by_model(one.by) for one in labels),
    )
