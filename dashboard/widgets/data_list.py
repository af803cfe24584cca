"""The data to choose from: uploads, slices, data sets on this machine, and those to download."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from dashboard import error_boundary, file_access
from dashboard.cache import data, models
from dashboard.model_registry import ModelFolder
from icaps.data.label_sets import label_set, names_in
from icaps.data.preview import Preview
from icaps.data.resolve import Available
from icaps.data.saved_slices import slices
from icaps.data.uploads import uploads
from icaps.errors import DataError

UPLOAD, PATH = "Upload a file …", "A path or a name …"
NONE = "None"  # of texts without labels
_OFFERED = "offered data"  # by `offer`
_READ = 40  # uploads and slices whose first rows are read to know their classes


@dataclass(frozen=True)
class Misfit:
    """Why a model cannot be scored on data: it lacks one of the data's classes.

    Or the texts have several labels, of which the class is one, and the model gives a text one.
    """

    class_name: str
    model_name: str
    several: bool = False

    def __str__(self) -> str:
        if self.several:
            return f"its texts have several labels, and {self.model_name} gives a text one"
        return f"it has the class {self.class_name!r}, which {self.model_name} does not know"


@dataclass(frozen=True)
class Listed:
    """The data to choose from.

    Attributes:
        values: The value of each, as `--data` takes it, by its label; in the order of the list.
        misfits: Why the model cannot be scored on some of it, by their labels.
        start: The label of what is chosen at first.
    """

    values: Mapping[str, str]
    misfits: Mapping[str, Misfit]
    start: str


def listed(model: ModelFolder | None) -> Listed:
    """The data to choose from; what suits a model is known as far as its classes are.

    Raises:
        CheckpointError: The model is damaged.
    """
    values, rows = options(), {row.name: row for row in file_access.named()}
    if model is None:
        return Listed(values, {}, next(iter(_here(rows)), UPLOAD))
    names = _classes(values, rows)
    found = {label: _misfit(classes, model) for label, classes in names.items()}
    misfits = {label: reason for label, reason in found.items() if reason is not None}
    start = next((label for label in values if names[label] and label not in misfits), UPLOAD)
    return Listed(values, misfits, start)


def misfit(value: str, preview: Preview | None, model: ModelFolder) -> Misfit | None:
    """Why a model cannot be scored on data; None if it can, as far as the data is known.

    Raises:
        CheckpointError: The model is damaged.
    """
    if preview is not None and preview.rows:
        return _misfit([label for _, label in preview.rows], model)
    row = next((row for row in file_access.named() if row.name == value), None)
    return None if row is None else _misfit(row.classes, model)


def ask_all(place: str, misfits: Mapping[str, Misfit]) -> None:
    """Says what is left out of the list, and why; asks whether it is listed all the same."""
    label, reason = next(iter(misfits.items()))
    verb = "data set is" if len(misfits) == 1 else "data sets are"
    why = (
        f", such as {label}: {reason}."
        if reason.several
        else f", with classes that {reason.model_name} does not know, such as "
        f"{reason.class_name!r} of {label}."
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(error_boundary.plain(f"{len(misfits):,} {verb} left out{why}"))
        st.toggle("Show all", key=f"{place} data all", persist_state="session")


def options() -> dict[str, str]:
    """The value of all data, as `--data` takes it, by its label."""
    choices: dict[str, str] = dict(st.session_state.get(_OFFERED, {}))
    for upload in uploads():  # the latest first
        name = f"upload: {upload.name}"
        if name in choices:  # another file of this name
            name += f" of {upload.when:%Y-%m-%d %H:%M} UTC ({upload.path.parent.name[:4]})"
        choices[name] = str(upload.path)
    try:
        choices |= {f"slice: {piece.name}": str(piece.path) for piece in slices()}
    except DataError as error:  # a damaged slice; other data can still be chosen
        error_boundary.show(error)
    rows = {row.name: row for row in file_access.named()}
    here = _here(rows)
    choices |= {name: name for name in here}
    return choices | {f"{name} (download)": name for name in rows if name not in here}


def offer(choices: Mapping[str, str]) -> None:
    """Adds data to those that this visitor can choose; what was added before is removed."""
    st.session_state[_OFFERED] = dict(choices)


def _here(rows: Mapping[str, Available]) -> list[str]:
    """The data sets that need no download: the texts that a program generated come first."""
    here = [row for row in rows.values() if row.place is not None or row.synthetic]
    return [row.name for row in sorted(here, key=lambda row: not row.synthetic)]


def _misfit(labels: Iterable[str], model: ModelFolder) -> Misfit | None:
    """Why a model cannot be scored on texts with these labels, each of one class or of several."""
    known, several = set(models.classes(model)), models.scorer(model).multilabel_
    for label in labels:
        if label not in known and not several and label_set(label) is not None:
            return Misfit(label, model.name, several=True)
        foreign = next((name for name in names_in(label) if name not in known), None)
        if foreign is not None:
            return Misfit(foreign, model.name)
    return None


def _classes(values: Mapping[str, str], rows: Mapping[str, Available]) -> dict[str, Sequence[str]]:
    """The known classes of all data by its label: of a file those of its first rows."""
    files = [label for label, value in values.items() if value not in rows]
    known = {label: data.first_classes(values[label]) for label in files[:_READ]}
    named = {label: rows[value].classes for label, value in values.items() if value in rows}
    return {label: (*known.get(label, ()), *named.get(label, ())) for label in values}
