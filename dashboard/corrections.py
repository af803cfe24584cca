"""The corrected labels of a data set: whether it is opened with them, and how they are changed."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import streamlit as st

from dashboard import file_access, quotas
from dashboard.cache.data import DataKey
from icaps.data.correction_files import corrected_data, corrections_of
from icaps.data.fingerprint import fingerprint_files
from icaps.data.label_file import PERSON, GivenLabel, LabelFile
from icaps.data.text_hash import text_hash

MOST = 10_000  # labels that are changed at a time
_APART, _OTHERS, _LAST = "opened without corrections", "files of corrections", "last correction"


class Layer(NamedTuple):
    """A file of corrections of some data.

    Attributes:
        path: The file.
        count: The number of texts whose label it has.
        own: Whether it is the file that the app keeps for the data, and not one that a command
            named; only that one is changed here.
    """

    path: Path
    count: int
    own: bool


class LastChange(NamedTuple):
    """The last change of labels by this visitor: the data, the batch, and what was changed."""

    data: str
    batch: str
    what: str


def layer(value: str) -> Layer:
    """The corrections of some data, of which there may be none.

    Raises:
        DataError: Their file is damaged.
        NotAllowedError: It may not be read here.
    """
    other = _others().get(value)
    if other is not None and file_access.exists(Path(other)):
        file_access.check_data(other)
        return Layer(Path(other), len(_labels_of_texts(LabelFile(other))), own=False)
    file = corrections_of(value)
    return Layer(file.path, len(_labels_of_texts(file)), own=True)


def opened(value: str) -> bool:
    """Whether this visitor opens some data with its corrections, which is so at first."""
    return corrected_data(value) not in _apart()


def open_with(value: str, chosen: bool) -> None:
    """Opens some data with its corrections from now on, or without them."""
    if chosen:
        _apart().discard(corrected_data(value))
    else:
        _apart().add(corrected_data(value))


def take(value: str, file: str | None) -> None:
    """Opens some data with the corrections that a command named; None leaves them as they are."""
    if not file:
        return
    open_with(value, chosen=True)
    if Path(file).resolve() != corrections_of(value).path.resolve():
        _others()[value] = str(Path(file).resolve())


def read_with(key: DataKey) -> DataKey:
    """The data, opened with its corrections if there are some and the visitor wants them.

    Raises:
        DataError: Their file is damaged.
        NotAllowedError: It may not be read here.
    """
    found = layer(key.value)
    if not found.count or not opened(key.value):
        return key.uncorrected
    return key.read_with({**key.reading, "corrections": str(found.path)})


def entry(data: DataKey, text: str) -> GivenLabel | None:
    """The correction of a text, with which the data is opened; None without one."""
    file = data.reading.get("corrections")
    return _labels_of_texts(LabelFile(file)).get(text_hash(text)) if file else None


def change(data: DataKey, labels: Iterable[GivenLabel]) -> int:
    """Changes the labels of texts of some data, as one batch; the data itself stays as it is.

    Labels that are as before are left out. The data is opened with its corrections from then on.

    Returns:
        The number of labels that were changed.

    Raises:
        DataError: The file can't be written.
        NotAllowedError: The app is read-only, the visitor exceeds the rate limit, or there are too
            many corrections.
    """
    quotas.change("no label can be changed.")
    quotas.request()
    changed = [label for label in labels if label.label != label.before]
    if not changed:
        return 0
    found = layer(data.value)
    quotas.new_corrections(found.count, len(changed))
    batch = corrections_of(data.value).add(changed)
    open_with(data.value, chosen=True)
    sides = {
        "from": {label.before for label in changed},
        "to": {label.label for label in changed},
    }
    names = (f" {word} {side.pop()}" for word, side in sides.items() if len(side) == 1)
    remember(data.value, batch, f"{plural(len(changed))} changed{''.join(names)}")
    return len(changed)


def undo(value: str, batch: str, texts: Iterable[str] = ()) -> None:
    """Takes back a batch of corrections, or those of some texts in it.

    Raises:
        DataError: There is no such batch any more, or the file can't be written.
        NotAllowedError: The app is read-only, or the visitor exceeds the rate limit.
    """
    quotas.change("no label can be changed.")
    quotas.request()
    corrections_of(value).undo(batch, *texts)
    last: LastChange | None = st.session_state.get(_LAST)
    if last is not None and last.batch == batch:
        del st.session_state[_LAST]


def remember(value: str, batch: str, what: str) -> None:
    """Makes this the last change, which `last_change` returns."""
    st.session_state[_LAST] = LastChange(corrected_data(value), batch, what)


def last_change(value: str) -> LastChange | None:
    """The last change of the labels of some data by this visitor; None without one."""
    last: LastChange | None = st.session_state.get(_LAST)
    return last if last is not None and last.data == corrected_data(value) else None


def who() -> str:
    """The address of the visitor who is logged in; PERSON where nobody logs in."""
    address = st.user.get("email", "") if st.user.get("is_logged_in", False) else ""
    return str(address or PERSON)


def labels(value: str) -> list[GivenLabel]:
    """All labels in the corrections of some data that were not undone, in their order.

    Raises:
        DataError: Their file is damaged.
    """
    return _labels(LabelFile(layer(value).path))


def plural(count: int) -> str:
    """A number of labels in words."""
    return f"{count:,} label{'' if count == 1 else 's'}"


def _labels_of_texts(file: LabelFile) -> dict[int, GivenLabel]:
    """The last label of each text by its hash, without texts that were skipped."""
    return _last(str(file.path), fingerprint_files([file.path]))


def _labels(file: LabelFile) -> list[GivenLabel]:
    return _all(str(file.path), fingerprint_files([file.path]))


@st.cache_resource(max_entries=10, show_spinner=False)
def _all(path: str, state: str) -> list[GivenLabel]:
    return LabelFile(path).labels()


@st.cache_resource(max_entries=10, show_spinner=False)
def _last(path: str, state: str) -> dict[int, GivenLabel]:
    labels = {text_hash(label.text): label for label in _all(path, state)}
    return {key: label for key, label in labels.items() if label.label}


def _apart() -> set[str]:
    apart: set[str] = st.session_state.setdefault(_APART, set())
    return apart


def _others() -> dict[str, str]:
    others: dict[str, str] = st.session_state.setdefault(_OTHERS, {})
    return others
