"""The texts that a visitor chose on one page, and carries to the others.

They are written to a file of the cache, which is a data set like any other: `data_picker` lists it,
and each page that takes data can read it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import streamlit as st

from dashboard import error_boundary, nav, quotas, url_state
from dashboard.cache.data import DataKey
from dashboard.widgets import data_list, data_picker, label_change
from icaps.data.saved_slices import save_texts, store_selection
from icaps.html import escape
from icaps.text.tokenizer import split_words

MOST_CARRIED = 100_000  # texts; more can be saved as a slice
_PLACES = {  # the pages that take data
    "datasets": "Open in Datasets",
    "evaluate": "Evaluate",
    "shortcuts": "Shortcuts",
    "many": "Many texts",
    "label": "Label",
}
_ICONS = {
    "datasets": ":material/dataset:",
    "evaluate": ":material/target:",
    "shortcuts": ":material/alt_route:",
    "many": ":material/table_rows:",
    "label": ":material/new_label:",
    "explain": ":material/format_ink_highlighter:",
}
_BAR = "bar"  # the key of the actions in the sidebar
_CARRIED, _DIALOG, _SAVED = "carried texts", "slice dialog", "slice saved"


@dataclass(frozen=True)
class TextSelection:
    """Some texts of a data set.

    Attributes:
        data: The data set.
        split: The split that they are from; empty if they may be from all.
        what: What they have in common, such as "World predicted as Business by ag_news".
        count: Number of texts.
        labelled: Returns the pairs of a text and the name of its class, in the order shown.
        origin: Plain data that is stored with them, such as {"query": ...}.
        classes: The labels that they can be given; empty if labels are not changed.
        suggested: By a name, such as "as predicted", functions that return a label for each text.
        typed: Whether they can be given a class that no text has yet.
    """

    data: DataKey
    split: str
    what: str
    count: int
    labelled: Callable[[], Iterable[tuple[str, str]]]
    origin: Mapping[str, Any]
    classes: Sequence[str] = ()
    suggested: Mapping[str, Callable[[], Iterable[str]]] = field(default_factory=dict)
    typed: bool = False

    @property
    def title(self) -> str:
        """The number of texts and the data set, such as "33 texts of news.csv"."""
        part = f", {self.split}" if self.split else ""
        return f"{plural(self.count)} of {data_name(self.data.value)}{part}"

    @property
    def stored(self) -> dict[str, Any]:
        """What is stored with the texts."""
        about = {"data": self.data.value, "reading": self.data.reading}
        return about | ({"split": self.split} if self.split else {}) | dict(self.origin)


class Carried(NamedTuple):
    """The selection of a visitor, and the file that its texts are in."""

    selection: TextSelection
    path: Path


def current() -> Carried | None:
    """The texts that the visitor carries from page to page; None if there are none."""
    carried: Carried | None = st.session_state.get(_CARRIED)
    return carried if carried is not None and carried.path.exists() else None


def carry(selection: TextSelection) -> Carried:
    """Makes a selection the one that all pages offer as data.

    Raises:
        DataError: It has no texts, or its file can't be written.
        NotAllowedError: The app is read-only, or the visitor exceeds the rate limit.
    """
    quotas.change("no texts can be carried to another page.")
    quotas.request()
    path = store_selection(selection.labelled(), selection.count, selection.what, selection.stored)
    carried = Carried(selection, path)
    st.session_state[_CARRIED] = carried
    data_list.offer({f"selected: {selection.title}": str(path)})
    return carried


def clear() -> None:
    """Forgets the selection; a page that shows it shows the data that it is from."""
    carried = st.session_state.pop(_CARRIED, None)
    if carried is not None and st.session_state.data == str(carried.path):
        st.session_state.data, st.session_state.data_shown = carried.selection.data.value, ""
    data_list.offer({})


def show_actions(selection: TextSelection, key: str, here: str = "") -> None:
    """Buttons that carry texts to another page, explain the first of them, or save them.

    Args:
        selection: The texts.
        key: Prefix of the keys of the buttons, different for each selection on a page.
        here: The file name of the page that shows them, which has no button.
    """
    if not selection.count:
        return
    with st.container(horizontal=True, vertical_alignment="center", key=f"actions {key}"):
        st.caption(f"{'These' if selection.count > 1 else 'This'} {plural(selection.count)}:")
        many = selection.count > MOST_CARRIED
        hint = f"At most {MOST_CARRIED:,} texts; save them as a slice instead." if many else None
        for page in () if quotas.read_only() else (page for page in _PLACES if page != here):
            if st.button(
                _PLACES[page],
                icon=_ICONS[page],
                key=f"{key} to {page}",
                disabled=many,
                help=hint,
                type="tertiary",
            ):
                with error_boundary.shown():
                    _open(page, str(carry(selection).path))
        _ask_explain(selection, key)
        ask_slice(selection, key)
        if selection.classes:
            label_change.ask_many(
                selection.data,
                selection.count,
                selection.labelled,
                selection.classes,
                key,
                selection.suggested,
                selection.typed,
            )
    _show_saved(key)


def show_bar() -> None:
    """What the visitor carries, with links to the pages that take it; nothing without it."""
    carried = current()
    if carried is None:
        return
    selection, data = carried.selection, {"data": str(carried.path)}
    st.html(
        f'<p class="side-title">Selected: {escape(selection.title)}</p>'
        f'<p class="selected">{escape(selection.what)}</p>'
    )
    with st.container(horizontal=True, gap="xsmall", key="selection bar"):
        for page, label in _PLACES.items():
            st.page_link(nav.page(page), label=label, icon=_ICONS[page], query_params=data)
        _ask_explain(selection, _BAR)
        ask_slice(selection, _BAR)
        st.button("Clear", icon=":material/close:", on_click=clear, type="tertiary")
    _show_saved(_BAR)


def ask_slice(selection: TextSelection, key: str) -> None:
    """A button that opens a dialog, which saves texts as a slice."""
    if quotas.read_only():
        return
    state = st.session_state
    if st.button(
        "Save as a slice", icon=":material/bookmark_add:", key=f"{key} slice", type="tertiary"
    ):
        state[_DIALOG] = key
        state.pop(_SAVED, None)
    if state.get(_DIALOG) == key:  # also when the page is run again meanwhile
        title = "Save as a slice"
        st.dialog(title, on_dismiss=_close)(_slice_form)(selection, key)


def save_slice(selection: TextSelection, name: str) -> Path:
    """Saves texts as a slice.

    Raises:
        ConfigError: The name can't be one of a slice.
        DataError: There is a slice of this name, or it can't be written.
        NotAllowedError: No further slice is allowed.
    """
    quotas.new_slice()
    return save_texts(selection.labelled(), selection.count, name, selection.stored)


def plural(count: int) -> str:
    """A number of texts in words."""
    return f"{count:,} text{'' if count == 1 else 's'}"


def data_name(value: str) -> str:
    """A short name of data, such as that of its file."""
    path = Path(value)
    name = path.stem if path.suffix == ".parquet" else path.name
    return name or value


def _ask_explain(selection: TextSelection, key: str) -> None:
    """A button that opens the first text on Explain."""
    if st.button(
        "Explain the first", icon=_ICONS["explain"], key=f"{key} to explain", type="tertiary"
    ):
        url_state.open_text(_first(selection))
        st.switch_page(nav.page("explain"))


def _slice_form(selection: TextSelection, key: str) -> None:
    """The dialog."""
    st.caption(
        "A slice is a data set of its own: train on it, evaluate with it, or explore it on "
        "Datasets."
    )
    with st.form("slice form", border=False, enter_to_submit=True):
        name = st.text_input("Name", key="slice name", placeholder="such as “doubtful reviews”")
        pressed = st.form_submit_button(
            f"Save {plural(selection.count)}", type="primary", key="save slice"
        )
    if not pressed:
        return
    with error_boundary.shown():
        path = save_slice(selection, name.strip())
        st.session_state[_SAVED] = key, path, selection.count, True
        _close()
        st.rerun()  # so that the slice is in the lists of data at once


def _show_saved(key: str) -> None:
    """What was saved here, and what can be done with it."""
    saved_at, path, count, new = st.session_state.get(_SAVED, ("", Path(), 0, False))
    if saved_at != key or not path.exists():
        return
    line = error_boundary.plain(f"Saved {plural(count)} as the slice {path.stem}.")
    if new:
        st.toast(line, icon=":material/bookmark_added:")
        st.session_state[_SAVED] = key, path, count, False
    with st.container(border=True, key=f"saved {key}"):
        st.markdown(line)
        with st.container(horizontal=True, gap="small"):
            if st.button("Train on it", icon=":material/model_training:", key=f"{key} train"):
                data_picker.take(url_state.LAUNCH_PLACE, str(path))
                st.session_state.train_view = url_state.NEW_TRAINING
                st.switch_page(nav.page("train"))
            if st.button("Evaluate on it", icon=_ICONS["evaluate"], key=f"{key} evaluate"):
                _open("evaluate", str(path))
            if st.button("Explore it", icon=_ICONS["datasets"], key=f"{key} explore"):
                _open("datasets", str(path))


def _open(page: str, data: str) -> None:
    """Opens a page with data."""
    st.session_state.data = data
    st.session_state.data_shown = ""  # so that the page takes it over
    st.session_state["data opened"] = page
    st.switch_page(nav.page(page))


def _close() -> None:
    st.session_state.pop(_DIALOG, None)


def _first(selection: TextSelection) -> str:
    """The first text with a word; empty if there is none among the first hundred."""
    for number, (text, _) in enumerate(selection.labelled()):
        if split_words(text):
            return text
        if number == 100:
            break
    return ""
