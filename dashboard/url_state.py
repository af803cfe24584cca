"""The visitor's question: kept in the session, and in the address of the page.

A link that names text, model and settings reopens them; so do the browser's Back and Forward.
"""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

import pandas as pd
import streamlit as st

from dashboard import settings
from dashboard.address import VIEWS, parameter
from dashboard.example_texts import EXAMPLES
from icaps.config import CAPSULE_RANKINGS, ExplainOptions
from icaps.html import printable
from icaps.reports.charts import SELECTED

MAX_LINK = 2_000  # characters of text that an address may carry
PREDICTED = "the predicted class"
NO_CAPSULE = -1
MAX_CAPSULE = 9_999
BOUNDS = {"k1": (1, 8), "k2": (1, 5), "sentences": (1, 5)}
EVERY = "every class"
# What the address of a page holds.
MANY = ("lines", "model", "target", "k1", "k2", "sentences", "ranking")
EXPLAIN = ("text", "model", "target", "k1", "k2", "sentences", "ranking")
CAPSULES = ("model", "capsule", "cell_class", "cell_value", "columns", "capsule_tab")
QUERIES = ("model", "capsule", "space", "method", "perplexity", "map_seed")
TRAIN = ("run", "beside", "train_tabs")
DATASETS = ("data", "model", "data_tabs", "rows words", "rows regex")
COMPARE = ("compared", "data", "compare size", "compare_tab")
SHORTCUTS = ("data", "model", "part", "looked_at", "finding")
LOOKED_AT = ("1,000", "2,000", "5,000", "10,000")  # texts
EVALUATE = ("data", "model", "part", "evaluate_tab", "actual", "taken", "threshold", "other")
EVALUATE += ("cells show", "card limit")
THRESHOLDS = (0, 100)  # per cent
DATASET_PLACE = "datasets"  # of the widgets that ask for a data set on its page
COMPARE_PLACE = "compare"  # likewise
_MARKS = {"model", "run", "data", "compared"}  # what an address of a page holds, and others don't
_WORDS = (
    "text",
    "lines",
    "model",
    "target",
    "cell_class",
    "run",
    "data",
    "compared",
)  # in an address
_WORDS += ("ranking", "looked_at", "finding", "part", "evaluate_tab", "actual", "taken", "other")
_NUMBERS = {**BOUNDS, "capsule": (0, MAX_CAPSULE), "threshold": THRESHOLDS}  # likewise
_START: dict[str, str | int] = {
    "text": next(iter(EXAMPLES.values())),
    "lines": "",
    "model": "",
    "target": PREDICTED,
    "k1": 2,
    "k2": 2,
    "sentences": 1,
    "ranking": CAPSULE_RANKINGS[0],
    "capsule": NO_CAPSULE,
    "cell_class": EVERY,
    "run": "",
    "data": "",
    "compared": "",  # names with commas between
    "looked_at": LOOKED_AT[1],
    "finding": "",
    "part": "test",
    "evaluate_tab": "",
    "actual": "",
    "taken": "",
    "threshold": 0,
    "other": "",
}


def restore() -> None:
    """Takes over what the address asks, when the session starts or the address was changed.

    To be called before any widget. An address that differs from the last one published may also
    be late, sent along with a widget's new value: then the widget counts. One that names what the
    page before doesn't is a link to another page, whose widgets are gone by now.
    """
    state = st.session_state
    asked = st.query_params.to_dict()
    if "published" not in state:
        state.published, state.published_names = {}, EXPLAIN
        state.update(_START | _read(asked))
    elif (
        asked.keys() & _MARKS
        and asked != state.published
        and (
            (state.published and not asked.keys() <= set(map(parameter, state.published_names)))
            or _address(state.published_names) == state.published
        )
    ):
        shown = {name: VIEWS[name].first for name in state.published_names if name in VIEWS}
        state.update(shown | _read(asked))
        state.example = None
    if "started" in state:  # a training, by the launcher, which comes after the picker of `run`
        state.run = state.pop("started")


def first_question() -> tuple[str, ExplainOptions]:
    """What the landing page asks a visitor's first model, unless an address asks otherwise."""
    return str(_START["text"]), ExplainOptions(None, *(int(_START[key]) for key in BOUNDS))


def publish(names: Sequence[str]) -> None:
    """Puts what a page shows in its address."""
    st.session_state.published, st.session_state.published_names = _address(names), names
    if st.query_params.to_dict() != st.session_state.published:
        st.query_params.from_dict(st.session_state.published)


def publish_data(value: str, names: Sequence[str] = DATASETS) -> None:
    """Puts the data set that is looked at in the address, with what else the page shows."""
    st.session_state.data = st.session_state.data_shown = value
    publish(names)


def data_was_asked() -> bool:
    """Whether the address asks for another data set than the one that was looked at last."""
    state = st.session_state
    return bool(state.data) and state.data != state.get("data_shown")


def link() -> str:
    """The address of the question, relative to the page."""
    return f"?{urlencode(st.session_state.published)}"


def begin(key: str) -> None:
    """Gives a widget its value at first, where it has none yet."""
    st.session_state.setdefault(key, VIEWS[key].first)


def choose_among(key: str, options: Sequence[Any]) -> None:
    """Falls back to the first option where the one that was chosen is not among them."""
    if st.session_state[key] not in options:
        st.session_state[key] = options[0]


def text_fits_link() -> bool:
    """Whether the text is short enough for an address."""
    return not _is_long("text")


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


def pick_confusion(chart: str) -> None:
    """Takes over the cell that was clicked in a confusion matrix."""
    for picked in st.session_state[chart].selection[SELECTED]:
        st.session_state.actual, st.session_state.taken = picked["class"], picked["predicted"]


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
    state = st.session_state
    plain = [name for name in names if name not in VIEWS]
    held = {name: str(state[name]) for name in plain if not _is_long(name)}
    looks = {name: state.get(name, VIEWS[name].first) for name in names if name in VIEWS}
    return held | {
        parameter(name): VIEWS[name].write(value)
        for name, value in looks.items()
        if value not in (None, VIEWS[name].first)
    }


def _is_long(name: str) -> bool:
    return name in ("text", "lines") and len(st.session_state[name]) > MAX_LINK


def _is_published() -> bool:
    return _address(st.session_state.published_names) == st.session_state.published


def _read(asked: dict[str, str]) -> dict[str, Any]:
    """The part of the question that an address holds; what can't be meant is left out."""
    found: dict[str, Any] = {
        name: printable(asked[name])[: settings.current().text_characters]
        for name in _WORDS
        if name in asked
    }
    for name, (low, high) in _NUMBERS.items():
        numbers = {str(number): number for number in range(low, high + 1)}
        if asked.get(name) in numbers:
            found[name] = numbers[asked[name]]
    looks = {
        name: view.read(asked[parameter(name)])
        for name, view in VIEWS.items()
        if parameter(name) in asked
    }
    return found | {name: value for name, value in looks.items() if value is not None}
