"""Asks how data is read: encoding, delimiter, and columns; on the spot if these are unclear."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import error_boundary
from dashboard.cache import data
from dashboard.cache.data import DataKey
from icaps.data.preview import Preview
from icaps.data.problems import EncodingCandidate, SeparatorCandidate, UnclearEncodingError
from icaps.html import printable

_MAX_CHARACTERS = 120  # of a value in the table of all columns
_ONE, _SEVERAL = "one label per text", "any number of labels"
_BY_MULTILABEL = {None: None, False: _ONE, True: _SEVERAL}


def ask(place: str, key: DataKey) -> dict[str, Any] | None:
    """Asks for options of `open_source`; what is not set is detected.

    None while the encoding is asked for, as the bytes fit several, or what is between labels.

    Args:
        place: Prefix of the keys of the widgets.
        key: The data, without options.

    Raises:
        DataError: It is not a file of texts.
    """
    with st.expander("Parsing options", icon=":material/tune:", key=f"{place} reading"):
        reading = _ask_form(place) | _ask_labels(place, key.value)
        candidates: Sequence[EncodingCandidate] = ()
        try:
            found = data.first_rows(key.read_with(reading))
        except UnclearEncodingError as error:
            candidates = error.candidates
        else:
            if found.unclear is None and not found.separators:
                columns = _ask_columns(place, key.value, found)
                reading |= columns
                if columns:
                    found = data.first_rows(key.read_with(reading))
                if not found.separators:
                    return reading
    if candidates:
        _ask_encoding(place, Path(key.value).name, candidates)
        return None
    if not found.separators:
        reading |= _ask_unclear(place, key.value, found)
        found = data.first_rows(key.read_with(reading))
    if found.separators:
        _ask_separator(place, key.value, found.separators)
        return None
    return reading


def take(place: str, value: str, reading: Mapping[str, Any]) -> None:
    """Sets the options for some data."""
    label = reading.get("label")
    given = {
        "encoding": reading.get("encoding"),
        "delimiter": r"\t" if reading.get("delimiter") == "\t" else reading.get("delimiter"),
        "skip": reading.get("on_bad_rows") == "skip",
        f"text {value}": reading.get("text"),
        f"label {value}": label if isinstance(label, str) else None,
        f"label columns {value}": None if isinstance(label, str) else label and list(label),
        f"separator {value}": reading.get("label_separator"),
        f"labels {value}": _BY_MULTILABEL.get(reading.get("multilabel")),
        _chosen(value): bool(reading.get("text") or reading.get("label")),
    }
    for name, entry in given.items():
        if entry:
            st.session_state[f"{place} {name}"] = entry
        else:  # detected automatically
            st.session_state.pop(f"{place} {name}", None)


def _ask_form(place: str) -> dict[str, Any]:
    options: dict[str, Any] = {"placeholder": "detected automatically", "persist_state": "session"}
    encoding = st.text_input(
        "Encoding", key=f"{place} encoding", help="Such as utf-8 or cp1252.", **options
    )
    delimiter = st.text_input(
        "Delimiter",
        key=f"{place} delimiter",
        help=r"Between the fields of a line; \t is a tab.",
        **options,
    )
    skip = st.checkbox("Skip rows that can't be read", key=f"{place} skip", persist_state="session")
    reading: dict[str, Any] = {"encoding": encoding} if encoding else {}
    if delimiter:
        reading["delimiter"] = "\t" if delimiter == r"\t" else delimiter
    return reading | ({"on_bad_rows": "skip"} if skip else {})


def _ask_encoding(place: str, name: str, candidates: Sequence[EncodingCandidate]) -> None:
    """Asks which encoding gives the right characters, beside a line of the file in each."""
    st.info(
        error_boundary.plain(
            f"{name} can be read in several ways. In which line are all letters right?"
        ),
        icon=":material/help:",
    )
    samples = {one.encoding: printable(one.sample[:_MAX_CHARACTERS]) for one in candidates}
    key = f"{place} encoding choice"

    def take_choice() -> None:
        st.session_state[f"{place} encoding"] = st.session_state[key]

    st.radio(
        "Encoding of the text",
        list(samples),
        index=None,
        key=key,
        format_func=lambda encoding: error_boundary.plain(f"{samples[encoding]} ({encoding})"),
        on_change=take_choice,
        help="Another one can be typed under *Parsing options*.",
    )


def _ask_labels(place: str, value: str) -> dict[str, Any]:
    """Asks whether texts have several labels, and what is between these."""
    with st.container(horizontal=True):
        st.selectbox(
            "Labels",
            [_ONE, _SEVERAL],
            index=None,
            key=f"{place} labels {value}",
            placeholder="detected automatically",
            persist_state="session",
        )
        st.text_input(
            "Between labels",
            key=f"{place} separator {value}",
            placeholder="nothing",
            help="What is between several labels in a cell, such as a semicolon.",
            persist_state="session",
        )
    return _label_options(place, value)


def _label_options(place: str, value: str) -> dict[str, Any]:
    """The options of `_ask_labels` as they were set."""
    state = st.session_state
    separator, labels = (
        state.get(f"{place} separator {value}"),
        state.get(f"{place} labels {value}"),
    )
    if separator and labels != _ONE:
        return {"label_separator": separator}
    return {} if labels is None else {"multilabel": labels == _SEVERAL}


def _ask_separator(place: str, value: str, candidates: Sequence[SeparatorCandidate]) -> None:
    """Asks whether there are several labels in a cell, and what is between them."""
    cell = printable(candidates[0].sample[:_MAX_CHARACTERS])
    st.info(
        error_boundary.plain(
            f"Texts of {Path(value).name} have labels such as “{cell}”. Is that one class, or are "
            "they several?"
        ),
        icon=":material/help:",
    )
    key = f"{place} separator choice {value}"
    ways = {
        one.separator: f"{len(one.classes)} classes: {', '.join(map(printable, one.classes))}"
        for one in candidates
    }
    ways[""] = f"one class: {cell}"

    def take_choice() -> None:
        separator = st.session_state[key]
        st.session_state[f"{place} separator {value}"] = separator
        st.session_state[f"{place} labels {value}"] = _SEVERAL if separator else _ONE

    st.radio(
        "Labels",
        list(ways),
        index=None,
        key=key,
        format_func=lambda separator: error_boundary.plain(ways[separator]),
        on_change=take_choice,
    )


def _ask_columns(place: str, value: str, preview: Preview) -> dict[str, Any]:
    """Asks for the columns; returns those that differ from the detected ones."""
    text, label = _columns(
        place, value, preview.columns, preview.text, preview.label, flags=preview.label_columns
    )
    others: dict[str, Any] = {"text": text} if text and tuple(text) != preview.text else {}
    known = preview.label or preview.label_columns
    return others | ({"label": label} if label and _frozen(label) != known else {})


def _frozen(label: str | list[str]) -> str | tuple[str, ...]:
    return label if isinstance(label, str) else tuple(label)


def _ask_unclear(place: str, value: str, preview: Preview) -> dict[str, Any]:
    """Asks for columns that can't be detected, at first the likeliest, beside the first rows."""
    unclear, chosen = preview.unclear, f"{place} {_chosen(value)}"
    assert unclear is not None
    if not st.session_state.get(chosen):
        name = Path(value).name
        st.info(
            error_boundary.plain(
                f"{name} has the columns {', '.join(unclear.names)}. Which has the texts, and "
                "which the classes?"
            ),
            icon=":material/help:",
        )
        rows = [[printable(value[:_MAX_CHARACTERS]) for value in row] for row in unclear.rows]
        table = pd.DataFrame(rows, columns=[printable(name) for name in unclear.names])
        st.dataframe(table, width="stretch", hide_index=True, height="content", row_height=28)
    text, label = _columns(
        place,
        value,
        preview.columns,
        unclear.text,
        unclear.label,
        flags=unclear.label_columns,
        chosen=chosen,
    )
    if not st.session_state.get(chosen):
        st.button(
            "Use these columns",
            type="primary",
            key=f"{place} use columns",
            disabled=not text or not label,
            on_click=_choose,
            args=(chosen,),
        )
        return {}
    others: dict[str, Any] = {"text": text} if text else {}
    return others | ({"label": label} if label else {})


def _columns(
    place: str,
    value: str,
    columns: tuple[str, ...],
    text: tuple[str, ...],
    label: str,
    flags: tuple[str, ...] = (),
    chosen: str = "",
) -> tuple[list[str], str | list[str] | None]:
    """Asks for the text columns and the class column, or a column per class.

    Args:
        place, value: Prefix of the keys of the widgets, and the data.
        columns: All columns.
        text, label: Those that are chosen at first.
        flags: Columns that may each be a class; chosen at first if there is no `label`.
        chosen: The key of the session state that is set once the visitor has changed a column.
    """
    names = [name for name in dict.fromkeys(columns) if printable(name) == name]  # for a command
    change: dict[str, Any] = {"on_change": _choose, "args": (chosen,)} if chosen else {}
    # Set in each run: a browser to which a field is new, as the sidebar had it before, would send
    # what the field shows at first.
    state, text_key, label_key = st.session_state, f"{place} text {value}", f"{place} label {value}"
    state[text_key] = [name for name in state.get(text_key, text) if name in names]
    present = state.get(label_key, label)
    state[label_key] = present if present in names else None
    texts = st.multiselect(
        "Text columns",
        names,
        key=text_key,
        help="Several are joined with a space.",
        persist_state="session",
        **change,
    )
    flags_key = f"{place} label columns {value}"
    if (flags or state.get(flags_key)) and st.toggle(
        "A column per class",
        value=not label,
        key=f"{place} flags {value}",
        help="Columns with 1 where a text is of the class, and 0 where it is not.",
        persist_state="session",
        **change,
    ):
        present = state.get(flags_key) or flags
        state[flags_key] = [name for name in present if name in names]
        columns_of_classes = st.multiselect(
            "Columns of classes", names, key=flags_key, persist_state="session", **change
        )
        return texts, columns_of_classes
    classes = st.selectbox(
        "Class column",
        names,
        index=None,
        key=label_key,
        persist_state="session",
        **change,
    )
    return texts, classes


def _choose(chosen: str) -> None:
    st.session_state[chosen] = True


def _chosen(value: str) -> str:
    return f"columns chosen {value}"
