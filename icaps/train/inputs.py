"""What a user gives a classifier, checked: texts, and a label each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from icaps.errors import DataError


def check_texts(texts: Sequence[str]) -> list[str]:
    """The texts as a list.

    Raises:
        DataError: They are one string, or hold something that is no string.
    """
    if isinstance(texts, str):
        raise DataError("Give a list of texts; for one text, [text].")
    texts = list(texts)
    for n, text in enumerate(texts):
        if not isinstance(text, str):
            raise DataError(f"Text {n} is {type(text).__name__}, no string; give texts alone.")
    return texts


def encode_labels(texts: Sequence[str], y: Sequence[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The classes (J,), sorted, and the number of each text's class (texts,).

    Raises:
        DataError: The labels are no classes, not one a text, or all the same.
    """
    given = _check_labels(y)
    if len(texts) != len(given):
        raise DataError(f"{len(texts)} texts have {len(given)} labels; give one a text.")
    classes, labels = np.unique(given, return_inverse=True)
    if len(classes) < 2:
        raise DataError(f"All {len(texts)} texts have one class; a classifier needs two.")
    return classes, labels.astype(np.int64)


def _check_labels(y: Sequence[Any]) -> NDArray[Any]:
    """Labels as (texts,); DataError where they are no classes."""
    if y is None:
        raise DataError("This classifier requires y to be passed, but the target y is None.")
    try:
        labels: NDArray[Any] = column_or_1d(y, warn=True)
        assert_all_finite(labels, input_name="y")
        check_classification_targets(labels)
    except ValueError as error:
        raise DataError(f"The labels can't be used: {error}") from error
    return labels
