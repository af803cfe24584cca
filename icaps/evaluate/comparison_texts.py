"""The texts on which classifiers are compared, and how long their predictions take."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from icaps.data.class_names import class_numbers
from icaps.data.label_sets import indicator
from icaps.data.sample import Reservoir
from icaps.errors import DataError
from icaps.evaluate.predictions import Scorer, check_one_label

_WARM_UP = 64  # texts that are predicted before the time is measured

T = TypeVar("T")


@dataclass(frozen=True)
class ComparisonTexts:
    """The texts of a comparison, and their labels (texts,) as numbers in `classes`.

    With several labels per text, `labels` (texts, J) says whether a text has a class.
    """

    texts: tuple[str, ...]
    labels: NDArray[np.int64] | NDArray[np.bool_]
    classes: tuple[str, ...]

    @property
    def multilabel(self) -> bool:
        """Whether a text may have several labels."""
        return self.labels.ndim == 2


def sample_texts(
    labelled: Iterable[tuple[str, str]],
    classes: Sequence[str],
    limit: int | None = None,
    seed: int = 0,
    multilabel: bool = False,
) -> ComparisonTexts:
    """Reads all texts, or a random sample of `limit` of them, in their order.

    Args:
        labelled: Texts with their labels.
        classes: Those of the classifiers.
        limit: None reads all.
        seed: Of the sample.
        multilabel: Whether the classifiers give a text several labels.

    Raises:
        DataError: There are no texts, or a label is none of the classes.
    """
    reservoir = Reservoir[tuple[int, str, str]](limit, seed)
    for number, (text, label) in enumerate(labelled):
        reservoir.add((number, text, label))
    if not reservoir.items:
        raise DataError("There are no texts to compare on.")
    _, texts, names = zip(*sorted(reservoir.items), strict=True)
    if multilabel:
        return ComparisonTexts(texts, indicator(names, classes), tuple(classes))
    check_one_label(names[0], classes)
    return ComparisonTexts(texts, class_numbers(names, classes), tuple(classes))


def check_same_kind(name: str, classifier: Scorer, sample: ComparisonTexts) -> list[str]:
    """The classes of a classifier, if they and the number of labels per text are the sample's.

    Raises:
        DataError: They are not.
    """
    names, several = [str(label) for label in classifier.classes_], sample.multilabel
    if classifier.multilabel_ != several:
        own, others = ("one label", "several") if several else ("several labels", "one")
        raise DataError(
            f"{name} gives a text {own}, and the first model {others}; compare models that were "
            "trained on the same data."
        )
    if set(names) != set(sample.classes):
        raise DataError(
            f"{name} has the classes {', '.join(names)}, and not {', '.join(sample.classes)}; "
            "compare models of the same classes."
        )
    return names


def timed(predict: Callable[[Sequence[str]], T], texts: Sequence[str]) -> tuple[T, float]:
    """What is predicted for texts, and the seconds it took, after some texts to warm up."""
    predict(texts[:_WARM_UP])
    started = time.perf_counter()
    predicted = predict(texts)
    return predicted, time.perf_counter() - started
