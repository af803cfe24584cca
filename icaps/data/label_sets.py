"""Several labels per text ("multilabel") as one string: the sorted JSON list of class names.

Wherever a text has one label, a string, a text with several has `["a", "b"]`, one with a single
label `["a"]`, and one without any `[]`. The form is canonical, so equal sets are equal strings. A
data set is multilabel as a whole or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from icaps.data.class_names import class_numbers, sorted_labels
from icaps.errors import DataError


def format_label_set(names: Iterable[str]) -> str:
    """The class names of a text as one label: `["a", "b"]`."""
    return json.dumps(sorted(set(names)), ensure_ascii=False)


@lru_cache(65_536)
def label_set(label: str) -> tuple[str, ...] | None:
    """The class names in a label that `format_label_set` made; None for an ordinary class name."""
    if not (label.startswith("[") and label.endswith("]")):
        return None
    try:
        names = json.loads(label)
    except (ValueError, RecursionError):
        return None
    if not all(isinstance(name, str) for name in names) or format_label_set(names) != label:
        return None
    return tuple(names)


def is_multilabel(labels: Iterable[str]) -> bool:
    """True if each label is a set of class names; False for none at all."""
    labels = iter(labels)
    first = next(labels, None)
    if first is None or label_set(first) is None:
        return False
    return all(label_set(label) is not None for label in labels)


def classes_of(labels: Iterable[str]) -> tuple[str, ...]:
    """The distinct class names in labels or sets of labels, sorted by `sorted_labels`."""
    return sorted_labels(name for label in set(labels) for name in names_in(label))


def names_in(label: str) -> tuple[str, ...]:
    """The class names in a label: those of a set, or the ordinary label itself."""
    names = label_set(label)
    return (label,) if names is None else names


def numbers_of_one(labels: Sequence[str], classes: Sequence[str]) -> NDArray[np.int64]:
    """The class number of each label, for a model of one label per text (labels,).

    Raises:
        DataError: A label is a set of class names, or not among the classes.
    """
    known = set(classes)
    for label in labels:
        if label not in known and label_set(label) is not None:
            raise DataError(
                "The data has several labels per text, and the model gives a text one: use a model "
                "that was trained on such data."
            )
    return class_numbers(labels, classes)


def shown_label(label: str) -> str:
    """A label for people: the class names of a set with commas, "no class" for an empty set."""
    return ", ".join(names_in(label)) or "no class"


def indicator(labels: Sequence[str], classes: Sequence[str]) -> NDArray[np.bool_]:
    """Which of the classes each text has, (texts, J), from its label or set of labels.

    Raises:
        DataError: A name is not among the classes.
    """
    distinct = list(dict.fromkeys(labels))
    rows = np.zeros((len(distinct), len(classes)), dtype=bool)
    for row, label in zip(rows, distinct, strict=True):
        row[class_numbers(names_in(label), classes)] = True
    row_of = {label: number for number, label in enumerate(distinct)}
    return rows[[row_of[label] for label in labels]]  # (texts, J)
