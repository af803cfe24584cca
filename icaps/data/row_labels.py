"""The label of a row: a class name, or the set of them, from the values of its label columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from icaps.data.class_names import class_name
from icaps.data.columns import ColumnChoice
from icaps.data.label_sets import format_label_set, label_set
from icaps.data.label_values import Spans, flag, label_value, plain, split_labels
from icaps.errors import DataError

MISSING_LABEL = "missing label"  # kind of problem
MULTILABEL = "--multilabel (multilabel=True)"
_CACHED_CLASSES = 4096  # labels whose class is cached


class Fault(NamedTuple):
    """What is wrong with a value: kind and reason of its problem, and the column if known."""

    kind: str
    reason: str
    column: str = ""


_Reader = Callable[[Sequence[Any]], "str | Fault"]


def label_reader(choice: ColumnChoice, spellings: Counter[tuple[str, str]] | None) -> _Reader:
    """Makes the function from the values of the label columns to a label or a fault.

    Class names that are spelled otherwise in the file are counted in `spellings`, unless None.
    """

    @lru_cache(_CACHED_CLASSES, typed=True)
    def class_of(value: Any) -> str | Fault:
        return _class_name(value, choice)

    if len(choice.labels) > 1:
        return _flags_reader(choice)
    counted = None if choice.names else spellings
    if choice.multilabel:
        return _several_reader(choice, class_of, counted)
    return _single_reader(choice, class_of, counted)


def corrected_label(label: str, multilabel: bool) -> str:
    """A label that replaces one of the data, in the form that the labels of the data have.

    Raises:
        DataError: It has several classes, or none, and a text of the data has one.
    """
    if multilabel:
        value = label_value(label)
        return format_label_set(value if isinstance(value, tuple) else [label])
    names = label_set(label)
    if names is None:
        return label
    if len(names) != 1:
        raise DataError(
            f"A correction is the label {label}, and the texts of this data have one label each. "
            f"Undo it, or, if they may have any number, say so with {MULTILABEL}."
        )
    return names[0]


def wrong_type(value_type: type, field: str) -> Fault:
    """The fault of a value that is neither text nor a number."""
    return Fault("wrong type", f"the {field} is {value_type.__name__}, not a string or number.")


def _single_reader(
    choice: ColumnChoice,
    class_of: Callable[[Any], str | Fault],
    spellings: Counter[tuple[str, str]] | None,
) -> _Reader:
    """Reads one label per text, which may be the only item of a list."""

    def read(values: Sequence[Any]) -> str | Fault:
        value = label_value(values[0])
        if isinstance(value, tuple):
            if len(value) != 1:
                return _not_one(len(value), choice)
            (value,) = value
        label = class_of(value)
        if spellings is not None and isinstance(label, str):
            _count_spelling(values[0], label, spellings)
        return label

    return read


def _several_reader(
    choice: ColumnChoice,
    class_of: Callable[[Any], str | Fault],
    spellings: Counter[tuple[str, str]] | None,
) -> _Reader:
    """Reads a list of labels per text, or a cell with a separator between them."""
    format_names = lru_cache(_CACHED_CLASSES)(format_label_set)

    def read(values: Sequence[Any]) -> str | Fault:
        value = label_value(values[0])
        if isinstance(value, tuple):
            items: Sequence[Any] = value
        elif choice.separator and not isinstance(value, type):
            items = [] if value is None else split_labels(str(value), choice.separator)
        elif choice.lists and value is not None and not isinstance(value, type):
            return Fault(
                "no list of labels",
                f"the label {value!r} is no list, as those of the first rows are. Write a list; "
                f"or, if it is one label, say so with {MULTILABEL}.",
            )
        else:
            items = (value,)
        names = []
        for item in items:
            name = class_of(item)
            if not isinstance(name, str):
                return name
            if spellings is not None:
                _count_spelling(item, name, spellings)
            names.append(name)
        return format_names(tuple(names))

    return read


def _flags_reader(choice: ColumnChoice) -> _Reader:
    """Reads a column of 0 or 1 per class."""
    names = [class_name(column) for column in choice.labels]
    format_names = lru_cache(_CACHED_CLASSES)(format_label_set)

    def read(values: Sequence[Any]) -> str | Fault:
        present = []
        for column, name, value in zip(choice.labels, names, values, strict=True):
            has = flag(value)
            if has is None:
                return _no_flag(column, value)
            if has:
                present.append(name)
        if choice.multilabel:
            return format_names(tuple(present))
        return present[0] if len(present) == 1 else _not_one(len(present), choice)

    return read


def _no_flag(column: str, value: Any) -> Fault:
    value = plain(value)
    shown = "missing" if value is None or value == "" else repr(value)[:60]
    return Fault(
        "neither 0 nor 1",
        f"the value is {shown}; a column per class has 1 where a text is of the class, else 0.",
        column,
    )


def _not_one(count: int, choice: ColumnChoice) -> Fault:
    """The fault of a row with several labels or none, where texts have one each."""
    advice = "Choose one, or leave such rows out." if count else "Add one."
    if not choice.exclusive:
        advice = (
            "The first rows have one label each; if a text may have any number, say so with "
            f"{MULTILABEL}. Else {advice[0].lower()}{advice[1:]}"
        )
    if count:
        return Fault("several labels", f"it has several labels for one text. {advice}")
    return Fault(MISSING_LABEL, f"the row has no label. {advice}")


def _count_spelling(value: Any, name: str, spellings: Counter[tuple[str, str]]) -> None:
    """Counts the spelling of a class name if it is text or a float that differs."""
    spelled = str(value).strip() if isinstance(value, (str, float)) else name
    if spelled != name and spelled[:1] not in ("[", "{"):
        spellings[name, spelled] += 1


def _class_name(value: Any, choice: ColumnChoice) -> str | Fault:
    if value is Spans:
        return Fault(
            "several labels",
            "it has several labels or spans for one text, as objects or nested lists. Choose one, "
            "write a list of names, or leave such rows out.",
        )
    if isinstance(value, type):
        return wrong_type(value, "label")
    if isinstance(value, float) and choice.whole and value.is_integer():
        value = int(value)
    label = "" if value is None else class_name(str(value))
    if choice.whole and label.endswith(".0"):
        label = label.removesuffix(".0")
    if not label:
        return Fault(MISSING_LABEL, "the row has no label; add one.")
    if "\n" in label or "\r" in label:
        return Fault("line end in label", f"the class name {label!r} has a line end; rename it.")
    if choice.names is None:
        return label
    number = int(label) - choice.base if label.isascii() and label.isdecimal() else -1
    if 0 <= number < len(choice.names):
        return choice.names[number]
    return Fault(
        "unknown class number",
        f"the label {label} has no name: the {len(choice.names)} names of classes are those of the "
        f"labels {choice.base} to {len(choice.names) - 1 + choice.base}. Fix it, or the names.",
    )
