"""Asks for data: a named data set, an upload, a slice or a path, and parsing options."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from dashboard import (
    corrections,
    error_boundary,
    file_access,
    link_notes,
    nav,
    quotas,
    url_state,
)
from dashboard.cache import data, leaks
from dashboard.cache.data import DataKey
from dashboard.model_registry import ModelFolder
from dashboard.widgets import data_list, reading_options, upload_box
from dashboard.widgets.data_list import NONE, PATH, UPLOAD, Misfit
from icaps.data.fingerprint import existing_parts
from icaps.data.label_sets import shown_label
from icaps.data.preview import Preview
from icaps.data.problems import FileError, UnclearEncodingError
from icaps.data.resolve import available, is_hub_name, resolve
from icaps.data.unlabelled import unlabelled_reading
from icaps.errors import DataError
from icaps.html import printable
from icaps.train.parts import HELD_OUT

__all__ = ["NONE", "PATH", "UPLOAD"]  # labels of the list, as it is read by its users
_PREVIEW_ROWS = 5
_MAX_CHARACTERS = 300  # of a text in the preview


class Choice(NamedTuple):
    """The selected data.

    Attributes:
        key: The data as cached functions take it.
        preview: Its first rows; None if it is not on this machine yet.
        misfit: Why the model that was asked about cannot be scored on it; None if it can.
    """

    key: DataKey
    preview: Preview | None
    misfit: Misfit | None = None

    @property
    def value(self) -> str:
        """A path or a name, as `--data` takes it."""
        return self.key.value

    @property
    def reading(self) -> dict[str, Any]:
        """Options of `open_source`."""
        return self.key.reading

    @property
    def ready(self) -> bool:
        """Whether nothing is known that prevents its use."""
        if self.misfit is not None:
            return False
        return self.preview is None or (not self.preview.trouble and bool(self.preview.rows))


def ask(place: str, model: ModelFolder | None = None) -> Choice | None:
    """Asks for data; None while nothing is chosen.

    Args:
        place: Prefix of the keys of the widgets.
        model: The model that is scored on it: data with other classes is left out of the list.

    Raises:
        DataError: What was named or uploaded can't be used.
        NotAllowedError: It may not be read or uploaded here.
        CheckpointError: The model is damaged.
    """
    value = _ask_value(place, model)
    if not value:
        return None
    file_access.check_data(value)
    key = data.key_of(value, {})
    preview = None
    if _is_here(value):
        if model is None:
            upload_box.ask_test_file(place, value)
        try:
            read_key = _ask_reading(place, key)
            if read_key is None:
                return None
            key = _ask_corrections(place, read_key)
            preview = data.first_rows(key)
        except FileError:
            _link_to_label(value)
            raise
        if preview.trouble and preview.unclear is None:
            _link_to_label(value)
    misfit = None if model is None else data_list.misfit(value, preview, model)
    if misfit is not None:
        st.warning(
            error_boundary.plain(f"This data does not suit the model: {misfit}.")
            + " Choose other data, or a model with its classes.",
            icon=":material/block:",
        )
    return Choice(key, preview, misfit)


def start_with(place: str, model: ModelFolder) -> None:
    """Chooses the data that suits a model, unless there is none or the visitor has chosen some.

    Args:
        place: Prefix of the keys of the widgets.
        model: The model; other data is listed as well.

    Raises:
        CheckpointError: The model is damaged.
    """
    state = st.session_state
    if f"{place} data" in state or state.data:
        return
    start = data_list.listed(model).start
    if start != UPLOAD:
        state[f"{place} data"] = state[f"{place} data start"] = start


def ask_short(place: str) -> Choice | None:
    """As `ask`, in the sidebar: without parsing options, unless the data can't be read without.

    Those that were set in the whole form hold here as well.

    Raises:
        DataError: What was named or uploaded can't be used.
        NotAllowedError: It may not be read or uploaded here.
    """
    value = _ask_value(place, None)
    if not value:
        return None
    file_access.check_data(value)
    key = data.key_of(value, {})
    if not _is_here(value):
        return Choice(key, None)
    key = key.read_with(st.session_state.get(f"{place} reading {value}", {}))
    try:
        preview = data.first_rows(key)
        known = not preview.trouble and preview.unclear is None
    except UnclearEncodingError:
        known = False
    if not known:
        read_key = _ask_reading(place, key)
        if read_key is None:
            return None
        key = read_key
        preview = data.first_rows(key)
        if preview.trouble and preview.unclear is None and not preview.separators:
            st.error(error_boundary.message(preview.trouble), icon=":material/error:")
    key = _ask_corrections(place, key)
    return Choice(key, data.first_rows(key))


def _link_to_label(value: str) -> None:
    """A link for texts that have no classes yet."""
    try:
        data.first_unlabelled(data.key_of(value, {}))
    except DataError:
        return
    st.page_link(
        nav.page("label"),
        label="Has it no classes? Label its texts",
        icon=nav.page("label").icon,
        query_params={"data": value},
    )


def _ask_reading(place: str, key: DataKey) -> DataKey | None:
    """Asks how the data is read, for the short form as well; None while that is not clear."""
    reading = reading_options.ask(place, key.read_with({}))
    if reading is None:
        return None
    st.session_state[f"{place} reading {key.value}"] = reading
    return key.read_with(reading)


def _ask_corrections(place: str, key: DataKey) -> DataKey:
    """Asks whether the data is opened with its corrected labels, if it has some.

    Raises:
        DataError: The file of corrections is damaged.
        NotAllowedError: It may not be read here.
    """
    layer = corrections.layer(key.value)
    if not layer.count:
        return key
    name = f"{place} corrected {key.value}"
    st.session_state[name] = corrections.opened(key.value)

    def follow() -> None:
        corrections.open_with(key.value, st.session_state[name])

    of = "" if layer.own else f" of {layer.path.name}"
    st.toggle(
        error_boundary.plain(f"With {corrections.plural(layer.count)} corrected{of}"),
        key=name,
        on_change=follow,
        help="Labels that were corrected on these pages or by `icaps corrections`. The data "
        "itself is not changed. They are reviewed and undone under *Corrections* on Datasets.",
    )
    return corrections.read_with(key)


def ask_on_page(place: str, model: ModelFolder | None = None) -> Choice | None:
    """As `ask`; a data set in the address of the page, or from another page, comes first.

    Raises:
        DataError: What was named or uploaded can't be used.
        NotAllowedError: It may not be read or uploaded here.
        CheckpointError: The model is damaged.
    """
    if url_state.links_other_data():
        value = st.session_state.data
        file_access.check_data(value)
        if _exists(value):
            take(place, value)
        else:
            link_notes.missing("data", "data", [value])
            st.session_state.data = ""
    return ask(place, model)


def ask_split(choice: Choice, model: ModelFolder | None = None) -> str:
    """Asks for the split of a data set; the test split at first.

    If the model was trained on the data, HELD_OUT is a split as well, and the first one of data
    without a test split.

    Raises:
        CheckpointError: What is stored about the texts of the training is damaged.
        DataError: A split lacks files, or can't be read.
    """
    if choice.preview is None:  # not downloaded yet, and a named data set has a test split
        return "test"
    splits = existing_parts(resolve(choice.value))
    labels = {split: split for split in sorted(splits)}  # "test" comes before "train"
    count = leaks.held_out_count(model, choice.key) if model is not None and choice.ready else 0
    if count:
        words = f"held out of the training ({count:,} texts)"
        tested = {"test": "test"} if "test" in splits else {}
        whole = {"train": "train" if tested else "all texts"}
        labels = tested | {HELD_OUT: words} | whole
    if len(labels) == 1:
        return splits[0]
    state, shown = st.session_state, (choice.value, None if model is None else model.path)
    if "test" not in splits and state.get("split of", shown) != shown:  # not by the address
        state.part = HELD_OUT
    state["split of"] = shown
    url_state.choose_among("part", list(labels))
    split: str = st.selectbox(
        "Split", labels, format_func=labels.__getitem__, key="part", persist_state="session"
    )
    return split


def shown_split(choice: Choice, split: str) -> str:
    """The name of a split, as `ask_split` returned it; empty for a single file, which has none."""
    single = split == "train" and choice.preview is not None and not resolve(choice.value).is_dir()
    return "" if single else split


def ask_unlabelled(place: str, reading: Mapping[str, Any]) -> str:
    """Asks for texts without labels: a path or a name, as `--unlabelled` takes it; "" for none.

    Args:
        place: Prefix of the keys of the widgets.
        reading: Options of `open_source` for the labelled texts.

    Raises:
        DataError: What was named or uploaded can't be used.
        NotAllowedError: It may not be read or uploaded here.
    """
    value = _ask_optional(place)
    if not value:
        return ""
    file_access.check_data(value)
    if not _is_here(value):
        st.caption("Not downloaded yet. It is downloaded when it is needed.")
        return value
    texts = data.first_unlabelled(data.key_of(value, unlabelled_reading(reading)))
    st.caption(error_boundary.plain(f"The first of them: {printable(texts[0][:_MAX_CHARACTERS])}"))
    return value


def ask_texts(place: str) -> DataKey | None:
    """Asks for texts, with or without classes, that are on this machine or uploaded.

    Args:
        place: Prefix of the keys of the widgets.

    Raises:
        DataError: What was named or uploaded can't be used.
        NotAllowedError: It may not be read or uploaded here.
    """
    state, key = st.session_state, f"{place} data"
    _take_upload(place)
    known = data_list.options()
    _follow_label(place, known)
    names = [*([] if quotas.read_only() else [UPLOAD]), *known, PATH]
    if state.get(key) not in names:
        state[key] = names[0]
    state[key] = state[key]  # as in `_ask_value`
    chosen = st.selectbox("Texts of", names, key=key, persist_state="session")
    if chosen == UPLOAD:
        value = upload_box.ask_texts(place)
    else:
        value = _ask_path(place) if chosen == PATH else known[chosen]
    state[f"{place} data value"] = value
    if not value:
        return None
    file_access.check_data(value)
    if not _is_here(value):
        st.caption("Not downloaded yet; it can be downloaded by `icaps data fetch`.")
        return None
    return data.key_of(value, {})


def show_preview(choice: Choice) -> None:
    """The first rows of the data, or the problem with reading them."""
    if choice.preview is None:
        st.caption("Not downloaded yet. It is downloaded when it is needed.")
        return
    if choice.preview.unclear is not None or choice.preview.separators:  # which are asked for
        return
    if choice.preview.trouble:
        st.error(error_boundary.message(choice.preview.trouble), icon=":material/error:")
        st.caption("The columns and the format can be set under *Parsing options*.")
    rows = [
        (printable(shown_label(label)), printable(text[:_MAX_CHARACTERS]))
        for text, label in choice.preview.rows[:_PREVIEW_ROWS]
    ]
    if rows:
        table = pd.DataFrame(rows, columns=["class", "text"])
        st.dataframe(table, width="stretch", hide_index=True, height="content", row_height=28)


def take(place: str, value: str, reading: Mapping[str, Any] | None = None) -> None:
    """Chooses data, and sets its parsing options; None leaves these as they are."""
    names = {value: name for name, value in data_list.options().items()}
    st.session_state[f"{place} data"] = names.get(value, PATH)
    st.session_state[f"{place} path"] = value
    st.session_state.pop(f"{place} data start", None)
    if reading is None:
        return
    reading_options.take(place, value, reading)
    corrections.take(value, reading.get("corrections"))


def remember_reading(place: str, value: str, reading: Mapping[str, Any]) -> None:
    """Sets the columns of data that were chosen elsewhere, unless others were chosen here."""
    corrections.take(value, reading.get("corrections"))
    text, label = reading.get("text"), reading.get("label")
    for name, entry in (("text", text and list(text)), ("label", label)):
        if entry:
            several = name == "label" and not isinstance(entry, str)
            key = f"{place} {'label columns' if several else name} {value}"
            st.session_state.setdefault(key, list(entry) if several else entry)


def take_unlabelled(place: str, value: str) -> None:
    """Chooses texts without labels; "" for none."""
    if value:
        take(place, value)
    else:
        st.session_state[f"{place} data"] = NONE


def _ask_value(place: str, model: ModelFolder | None) -> str:
    """Asks for labelled data; empty while there is none."""
    state, key = st.session_state, f"{place} data"
    _take_upload(place)
    known = data_list.listed(model)
    if key not in state and state.data:  # shown on another page
        take(place, state.data)
        if state[key] in known.misfits:
            del state[key]
    _follow_label(place, known.values)
    names = [*([] if quotas.read_only() else [UPLOAD]), *known.values, PATH]
    chosen_for_visitor = state.get(key) == state.get(f"{place} data start")
    unsuitable = state.get(key) in (*known.misfits, UPLOAD)  # for a model that was chosen since
    if state.get(key) not in names or (chosen_for_visitor and unsuitable):
        state[key] = state[f"{place} data start"] = (
            known.start if known.start in names else names[0]
        )
    state[key] = state[key]  # set again, as a list with other options begins at its first one
    hidden = set() if state.get(f"{place} data all") else known.misfits.keys() - {state[key]}
    chosen = st.selectbox(
        "Data",
        [name for name in names if name not in hidden],
        key=key,
        persist_state="session",
    )
    if known.misfits:
        data_list.ask_all(place, known.misfits)
    if chosen == UPLOAD:
        return upload_box.ask(place)
    value = _ask_path(place) if chosen == PATH else known.values[chosen]
    state[f"{place} data value"] = value
    return value


def _ask_optional(place: str) -> str:
    """Asks for texts without labels; empty for none."""
    state, key = st.session_state, f"{place} data"
    _take_upload(place)
    known = data_list.options()
    names = [NONE, *([] if quotas.read_only() else [UPLOAD]), *known, PATH]
    if state.get(key) not in names:
        state[key] = NONE
    state[key] = state[key]  # as above
    chosen = st.selectbox(
        "Texts without classes",
        names,
        key=key,
        help="They train the model as well, which helps where few texts have classes. Classes in "
        "this data are not read.",
        persist_state="session",
    )
    if chosen == UPLOAD:
        return upload_box.ask_texts(place)
    if chosen == PATH:
        return _ask_path(place)
    return known.get(chosen, "")


def _ask_path(place: str) -> str:
    return st.text_input(
        "Path or name",
        key=f"{place} path",
        placeholder="/data/texts.csv, or owner/name",
        help="A file or folder on this machine, or owner/name on the Hugging Face Hub.",
        persist_state="session",
    ).strip()


def _take_upload(place: str) -> None:
    """Chooses what was uploaded in the last run, so that the list names it from then on."""
    if value := st.session_state.pop(upload_box.stored(place), ""):
        take(place, value)


def _follow_label(place: str, values: Mapping[str, str]) -> None:
    """Chooses the same data by its new label, as after a download."""
    state, key = st.session_state, f"{place} data"
    if key in state and state[key] not in (*values, UPLOAD, PATH):
        labels = {value: label for label, value in values.items()}
        state[key] = labels.get(state.get(f"{place} data value", ""), state[key])


def _exists(value: str) -> bool:
    """Whether there is such a file or folder, or a data set of that name may exist."""
    names = {row.name for row in available()}
    return file_access.exists(Path(value)) or value in names or is_hub_name(value)


def _is_here(value: str) -> bool:
    """Whether the data can be read without a download.

    Raises:
        DataError: There is no such data.
    """
    if file_access.exists(Path(value)):
        return True
    row = next((row for row in available() if row.name == value), None)
    if not _exists(value):
        raise DataError(f"There is no file or folder {value}, and no data set of that name.")
    return row is not None and (row.place is not None or row.synthetic)
