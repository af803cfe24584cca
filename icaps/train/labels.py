"""Labels as numbers: checks them, and numbers the classes of texts in memory or in a stream."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from icaps.data.label_sets import format_label_set, indicator, is_multilabel, names_in
from icaps.data.sample import SpacedSample
from icaps.errors import DataError
from icaps.train.checkpoint_files import check_class_names

Numbers = NDArray[np.integer[Any]]


class Labelled(Protocol):
    """A text and the name of its class."""

    @property
    def text(self) -> str:
        """The text."""

    @property
    def label(self) -> str:
        """The name of its class."""


class NumberedLabels(NamedTuple):
    """The labels of texts as numbers.

    Attributes:
        classes: (J,), the distinct labels, sorted.
        labels: (texts,), class numbers; with several labels per text, rows of `label_sets`.
        label_sets: (sets, J), whether a set of labels has a class; None: one label per text.
    """

    classes: NDArray[Any]
    labels: Numbers
    label_sets: NDArray[np.bool_] | None = None

    def names(self) -> Iterator[str]:
        """The label of each text as one string, several as `data.label_sets` writes them."""
        if self.label_sets is None:
            return (str(name) for name in self.classes[self.labels])
        rows = [format_label_set(map(str, self.classes[row])) for row in self.label_sets]
        return (rows[number] for number in self.labels.tolist())


def encode_labels(texts: Sequence[str], y: Sequence[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Encodes labels as class numbers: classes (J,), sorted, and numbers (texts,).

    Raises:
        DataError: The labels are not categorical or of mixed types, their number is not that of
            the texts, all are equal, or a class name cannot be stored in a checkpoint.
    """
    if y is None:
        raise DataError("This classifier requires y to be passed, but the target y is None.")
    try:
        given: NDArray[Any] = column_or_1d(y, warn=True)
        _check_one_type(y)
        assert_all_finite(given, input_name="y")
        check_classification_targets(given)
    except DataError:
        raise
    except ValueError as error:
        raise DataError(f"The labels cannot be used: {error}") from error
    if len(texts) != len(given):
        raise DataError(f"{len(texts)} texts have {len(given)} labels; give one per text.")
    classes, labels = np.unique(given, return_inverse=True)
    if len(classes) < 2:
        raise DataError(f"All {len(texts)} texts have one class; a classifier needs two.")
    check_class_names(map(str, classes))
    return classes, labels.astype(np.int64)


def _check_one_type(y: Any) -> None:
    """DataError if text and other labels are mixed, which numpy would turn into text."""
    if getattr(getattr(y, "dtype", None), "kind", "O") != "O":
        return
    labels = np.asarray(y, dtype=object).ravel()
    examples = {isinstance(label, str): label for label in labels}
    if len(examples) > 1:
        raise DataError(
            f"The labels mix text and other values, such as {examples[True]!r} and "
            f"{examples[False]!r}; give labels of one type."
        )


def encode_label_sets(texts: Sequence[str], y: Any) -> NumberedLabels:
    """Encodes several labels per text.

    Args:
        texts: The texts.
        y: An indicator matrix (texts, J), dense or sparse, as `MultiLabelBinarizer` returns it,
            whose classes are 0 to J - 1; or per text a list, a tuple or a set of labels.

    Raises:
        DataError: The labels cannot be used, their number is not that of the texts, there are
            fewer than two classes, or a class name cannot be stored in a checkpoint.
    """
    y = _matrix_or_lists(y)
    if isinstance(y, list):
        _check_one_type([label for labels in y for label in labels])
        classes: NDArray[Any] = np.unique([label for labels in y for label in labels])
        rows = indicator_matrix(y, classes.tolist())
    else:
        classes, rows = np.arange(y.shape[1]), y
    if len(texts) != len(rows):
        raise DataError(f"{len(texts)} texts have {len(rows)} sets of labels; give one per text.")
    if len(classes) < 2:
        raise DataError(
            f"The labels of {len(texts)} texts name {len(classes) or 'no'} class; a classifier "
            "needs two."
        )
    check_class_names(map(str, classes))
    label_sets, labels = np.unique(rows, axis=0, return_inverse=True)
    return NumberedLabels(classes, labels.reshape(-1).astype(np.int64), label_sets)


def has_label_sets(y: Any) -> bool:
    """Whether `y` has several labels per text, in one of the forms of `encode_label_sets`."""
    if y is None or isinstance(y, str):
        return False
    if sp.issparse(y) or (isinstance(y, np.ndarray) and y.dtype != object):
        return len(y.shape) == 2 and y.shape[1] > 1
    if hasattr(y, "columns"):  # a frame of pandas
        return len(y.columns) > 1
    kinds = {type(labels) for labels in y}
    if kinds == {str}:
        return is_multilabel(y)
    return any(issubclass(kind, list | tuple | set | frozenset | np.ndarray) for kind in kinds)


def indicator_matrix(y: Any, classes: Sequence[Any]) -> NDArray[np.bool_]:
    """Several labels per text as a matrix (texts, J): whether a text has a class.

    Args:
        y: In one of the forms of `encode_label_sets`.
        classes: (J,), the labels. A label may be given as a string, whatever its type.

    Raises:
        DataError: A label is none of the classes, or a matrix has another number of columns.
    """
    given = _matrix_or_lists(y)
    if not isinstance(given, list):
        if given.shape[1] != len(classes):
            raise DataError(f"The labels have {given.shape[1]} columns for {len(classes)} classes.")
        return given
    number_of: dict[Any, int] = {str(label): number for number, label in enumerate(classes)}
    number_of |= {label: number for number, label in enumerate(classes)}
    rows = np.zeros((len(given), len(classes)), dtype=bool)
    for row, labels in zip(rows, given, strict=True):
        for label in labels:
            if label not in number_of:
                known = ", ".join(map(str, classes))
                raise DataError(f"The label {label!r} is none of the classes: {known}.")
            row[number_of[label]] = True
    return rows


def _matrix_or_lists(y: Any) -> NDArray[np.bool_] | list[list[Any]]:
    """Several labels per text as a matrix (texts, J), or as a list of labels per text.

    Raises:
        DataError: A matrix has other values than 0 and 1.
    """
    rows: Any = y
    if sp.issparse(y):
        rows = y.toarray()
    elif not hasattr(y, "columns") and not (isinstance(y, np.ndarray) and y.ndim == 2):
        lists = [list(names_in(labels) if isinstance(labels, str) else labels) for labels in y]
        width = len(lists[0]) if lists else 0
        if width < 2 or any(len(row) != width or not set(row) <= {0, 1} for row in lists):
            return lists
        rows = lists  # as labels, each text would have 0 and 1, or one of them several times
    matrix: NDArray[Any] = np.asarray(rows)
    if not np.isin(matrix, (0, 1)).all():
        raise DataError(
            "The labels are a matrix with other values than 0 and 1; give an indicator matrix as "
            "scikit-learn's MultiLabelBinarizer returns it, or a list of labels per text."
        )
    truth: NDArray[np.bool_] = matrix.astype(bool)
    return truth


def number_labels(
    records: Iterable[Labelled], sample: SpacedSample | None = None
) -> tuple[NumberedLabels, str]:
    """Reads a stream: the labels as numbers, and a hash of all texts and labels.

    The texts are also added to the sample, if there is one. Several labels per text are known by
    the form of the labels (`data.label_sets`).

    Raises:
        DataError: A text cannot be read, all are of one class, or a class name cannot be stored in
            a checkpoint.
    """
    number_of: dict[str, int] = {}  # in the order in which classes appear
    numbers = array("i")

    def pairs() -> Iterator[tuple[str, str]]:
        for record in records:
            numbers.append(number_of.setdefault(record.label, len(number_of)))
            if sample is not None:
                sample.add(record.text)
            yield record.text, record.label

    content = content_hash(pairs())
    distinct = sorted(number_of)
    several = is_multilabel(distinct)
    names = (
        sorted({name for label in distinct for name in names_in(label)}) if several else distinct
    )
    classes = np.array(names, dtype=object)
    if len(classes) < 2:
        raise DataError(f"All {len(numbers)} texts have one class; a classifier needs two.")
    check_class_names(classes)
    sorted_number = {label: number for number, label in enumerate(distinct)}
    renumbered = np.array([sorted_number[label] for label in number_of], dtype=np.int32)
    labels = renumbered[np.frombuffer(numbers, np.intc)]
    label_sets = indicator(distinct, names) if several else None
    return NumberedLabels(classes, labels, label_sets), content


def read_labels(
    records: Iterable[Labelled], sample: SpacedSample | None = None
) -> tuple[NDArray[Any], Numbers, str]:
    """As `number_labels`, of one label per text: classes (J,), class numbers (texts,), hash.

    Raises:
        DataError: As in `number_labels`, or the texts have several labels.
    """
    (classes, labels, label_sets), content = number_labels(records, sample)
    if label_sets is not None:
        raise DataError("The texts have several labels each, and this needs one label per text.")
    return classes, labels, content


def content_hash(labelled: Iterable[tuple[str, str]]) -> str:
    """A hash (BLAKE2) of texts and labels in their order."""
    digest = hashlib.blake2b(digest_size=16)
    for text, label in labelled:
        line = f"{len(text)}\n{text}\n{label}\n"
        digest.update(line.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
