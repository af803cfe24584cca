"""The visitor's question: kept in the session, and in the address of the page.

A link that names text, model and settings reopens them; so do the browser's Back and Forward.
"""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

import pandas as pd
import streamlit as st

from dashboard.cached import Settings
from dashboard.examples import EXAMPLES
from icaps.charts import SELECTED
from icaps.render import printable

MAX_LINK = 2_000  # characters of text that an address may carry
MAX_TEXT = 200_000
PREDICTED = "the predicted class"
NO_CAPSULE = -1
MAX_CAPSULE = 9_999
BOUNDS = {"k1": (1, 8), "k2": (1, 5), "sentences": (1, 5)}
EVERY = "every class"
# What the address of a page holds.
EXPLAIN = ("text", "model", "target", "k1", "k2", "sentences")
CAPSULES = ("model", "capsule", "cell_class")
QUERIES = ("model", "capsule")
TRAIN = ("run",)
DATASETS = ("data", "model")
DATASET_PLACE = "datasets"  # of the widgets that ask for a data set on its page
_MARKS = {"model", "run", "data"}  # what an address of a page holds, and others don't
_START: dict[str, str | int] = {
    "text": next(iter(EXAMPLES.values())),
    "model": "",
    "target": PREDICTED,
    "k1": 2,
    "k2": 2,
    "sentences": 1,
    "capsule": NO_CAPSULE,
    "cell_class": EVERY,
    "run": "",
    "data": "",
}


def restore() -> None:
    """Takes over what the address asks, when the session starts or the address was changed.

    To be called before any widget. An address that differs from the last one published may also
    be late, sent along with a widget's new value: then the widget counts.
    """
    state = st.session_state
    asked = st.query_params.to_dict()
    if "published" not in state:
        state.published, state.published_names = {}, EXPLAIN
        state.update(_START | _read(asked))
    elif (
        asked.keys() & _MARKS
        and asked != state.published
        and _address(state.published_names) == state.published
    ):
        state.update(_read(asked))
        state.example = None
    if "started" in state:  # a training, by the launcher, which comes after the picker of `run`
        state.run = state.pop("started")


def first_question() -> tuple[str, Settings]:
    """What the landing page asks a visitor's first model, unless an address asks otherwise."""
    return str(_START["text"]), Settings(None, *(int(_START[key]) for key in BOUNDS))


def publish(names: Sequence[str]) -> None:
    """Puts what a page shows in its address."""
    st.session_state.published, st.session_state.published_names = _address(names), names
    if st.query_params.to_dict() != st.session_state.published:
        st.query_params.from_dict(st.session_state.published)


def publish_data(value: str) -> None:
    """Puts the data set that is looked at in the address."""
    st.session_state.data = st.session_state.data_shown = value
    publish(DATASETS)


def data_was_asked() -> bool:
    """Whether the address asks for another data set than the one that was looked at last."""
    state = st.session_state
    return bool(state.data) and state.data != state.get("data_shown")


def link() -> str:
    """The address of the question, relative to the page."""
    return f"?{urlencode(st.session_state.published)}"


def choose_among(key: str, options: Sequence[Any]) -> None:
    """Falls back to the first option where the one that was chosen is not among them."""
    if st.session_state[key] not in options:
        st.session_state[key] = options[0]


def text_fits_link() -> bool:
    """Whether the text is short enough for an address."""
    return len(st.session_state.text) <= MAX_LINK


def take_example() -> None:
    """Puts the example that was chosen in the text box."""
    if st.session_state.example:
        st.session_state.text = EXAMPLES[st.session_state.example]


def forget_example() -> None:
    """A text of the visitor's own is no example any more."""
    st.session_state.example = None


def pick(chart: str) -> None:
    """Takes over what was clicked in a chart: a cell, or a capsule."""
    for picked in st.session_state[chart].selection[SELECTED]:
        st.session_state.capsule = picked["capsule"]
        st.session_state.cell_class = picked.get("class", EVERY)


def open_text(text: str) -> None:
    """Makes a text the one that is explained."""
    st.session_state.text, st.session_state.example = text, None


def keep_table(question: Any, table: pd.DataFrame) -> None:
    """Keeps the answers to many texts for this visitor."""
    st.session_state.table = (question, table)


def kept_table(question: Any) -> pd.DataFrame | None:
    """The answers kept, when they are those to this question."""
    asked, table = st.session_state.get("table", (None, None))
    return table if asked == question else None


def _address(names: Sequence[str]) -> dict[str, str]:
    """These as the parameters of a link, without a text that is too long for one."""
    held = [name for name in names if name != "text" or text_fits_link()]
    return {name: str(st.session_state[name]) for name in held}


def _is_published() -> bool:
    return _address(st.session_state.published_names) == st.session_state.published


def _read(asked: dict[str, str]) -> dict[str, str | int]:
    """The part of the question that an address holds; numbers out of bounds are left out."""
    found: dict[str, str | int] = {
        name: printable(asked[name])[:MAX_TEXT]
        for name in ("text", "model", "target", "cell_class", "run", "data")
        if name in asked
    }
    for name, (low, high) in {**BOUNDS, "capsule": (0, MAX_CAPSULE)}.items():
        numbers = {str(number): number for number in range(low, high + 1)}
        if asked.get(name) in numbers:
            found[name] = numbers[asked[name]]
    return found
