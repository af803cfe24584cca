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
from icaps.data.problems import EncodingCandidate, UnclearEncodingError
from icaps.html import printable

_MAX_CHARACTERS = 120  # of a value in the table of all columns


def ask(place: str, key: DataKey) -> dict[str, Any] | None:
    """Asks for options of `open_source`; what is not set is detected.

    None while the encoding is asked for, as the bytes fit several.

    Args:
        place: Prefix of the keys of the widgets.
        key: The data, without options.

    Raises:
        DataError: It is not a file of texts.
    """
    with st.expander("Parsing options", icon=":material/tune:", key=f"{place} reading"):
        reading = _ask_form(place)
        candidates: Sequence[EncodingCandidate] = ()
        try:
            found = data.first_rows(key.read_with(reading))
        except UnclearEncodingError as error:
            candidates = error.candidates
        else:
            if found.unclear is None:
                return reading | _ask_columns(place, key.value, found)
    if candidates:
        _ask_encoding(place, Path(key.value).name, candidates)
        return None
    return reading | _ask_unclear(place, key.value, found)


def take(place: str, value: str, reading: Mapping[str, Any]) -> None:
    """Sets the options for some data."""
    given = {
        "encoding": reading.get("encoding"),
        "delimiter": r"\t" if reading.get("delimiter") == "\t" else reading.get("delimiter"),
        "skip": reading.get("on_bad_rows") == "skip",
        f"text {value}": reading.get("text"),
        f"label {value}": reading.get("label"),
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


def _ask_columns(place: str, value: str, preview: Preview) -> dict[str, Any]:
    """Asks for the columns; returns those that differ from the detected ones."""
    text, label = _columns(place, value, preview.columns, preview.text, preview.label)
    others: dict[str, Any] = {"text": text} if text and tuple(text) != preview.text else {}
    return others | ({"label": label} if label and label != preview.label else {})


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
        place, value, preview.columns, unclear.text, unclear.label, chosen=chosen
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
    chosen: str = "",
) -> tuple[list[str], str | None]:
    """Asks for the text columns and the class column.

    Args:
        place, value: Prefix of the keys of the widgets, and the data.
        columns: All columns.
        text, label: Those that are chosen at first.
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
