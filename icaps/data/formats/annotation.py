"""Exports of annotation tools in JSON: nested objects to flat ones with texts and labels.

Label Studio's JSON has the texts of a task in "data" and its choices in "annotations", "result",
"value", "choices". Prodigy's has a text with a label that was accepted or rejected, or options of
which some were accepted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

Flat = dict[str, Any]


class Fault(NamedTuple):
    """Why an object has no usable label: kind and reason of its problem."""

    kind: str
    reason: str


class AnnotationExport(NamedTuple):
    """An export of an annotation tool.

    Attributes:
        flatten: An object to its texts and labels by column, or the fault of its annotation.
        note: What a user should know about how it is read.
    """

    flatten: Callable[[Mapping[str, Any]], Flat | Fault]
    note: str


def find_export(objects: Sequence[Mapping[str, Any]]) -> AnnotationExport | None:
    """The export that these first objects of a file are of; None for other objects."""
    if objects and _is_task(objects[0]):
        return LABEL_STUDIO
    if objects and all(value.get("answer") in _ANSWERS and "text" in value for value in objects):
        return PRODIGY
    return None


def _is_task(value: Mapping[str, Any]) -> bool:
    """Whether an object is a task of Label Studio."""
    return isinstance(value.get("data"), dict) and isinstance(_annotations(value), list)


def _flatten_task(value: Mapping[str, Any]) -> Flat | Fault:
    """The data of a task, and its choices by the name of the control they were made with."""
    if not _is_task(value):
        return Fault("no task", "it is no task with data and annotations, as the others are.")
    answers = [answer for item in _annotations(value) if (answer := _choices(item))]
    if any(answer != answers[0] for answer in answers):
        return Fault(
            "annotators disagree",
            f"its {len(answers)} annotations differ; decide on one, or leave such tasks out.",
        )
    return {**value["data"], **(answers[0] if answers else {})}


def _annotations(value: Mapping[str, Any]) -> Any:
    """The annotations of a task; "completions" in exports of early versions."""
    return value.get("annotations", value.get("completions"))


def _choices(annotation: Any) -> Flat:
    """The choices of an annotation by their control, sorted; none if it was cancelled."""
    choices: Flat = {}
    match annotation:
        case {"was_cancelled": True}:
            pass
        case {"result": [*parts]}:
            for part in parts:
                match part:
                    case {"from_name": str(name), "value": {"choices": [*given]}}:
                        choices[name] = sorted({*choices.get(name, ()), *map(str, given)})
    return choices


_ANSWERS = ("accept", "reject", "ignore")


def _flatten_answer(value: Mapping[str, Any]) -> Flat | Fault:
    """The text of an example with the label, or the options, that were accepted."""
    answer = value.get("answer")
    if answer == "reject":
        label = value.get("label", "")
        return Fault("rejected label", f"its label {label!r} was rejected; leave such rows out.")
    if answer != "accept":
        return Fault("no answer", "no answer was given for it; leave such rows out.")
    match value:
        case {"options": [*options], "accept": [*accepted]}:
            names = {
                str(option["id"]): option.get("text", option["id"])
                for option in options
                if isinstance(option, dict) and "id" in option
            }
            return {**value, "label": [names.get(str(key), key) for key in accepted]}
    return dict(value)


LABEL_STUDIO = AnnotationExport(
    _flatten_task,
    "it is an export of Label Studio: a task's data are its texts, its choices its labels.",
)
PRODIGY = AnnotationExport(
    _flatten_answer,
    "it is an export of Prodigy: labels that were accepted are read, others are bad rows.",
)
