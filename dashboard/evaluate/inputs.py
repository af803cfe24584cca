"""What the visitor is asked about an evaluation."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray
from streamlit.delta_generator import DeltaGenerator

from dashboard import url_state
from dashboard.evaluate.charts import COUNTS, SHARES
from dashboard.model_registry import ModelFolder
from dashboard.widgets import data_picker
from dashboard.widgets.data_picker import Choice
from icaps.data.fingerprint import parts_of
from icaps.data.resolve import resolve
from icaps.evaluate.predictions import Predictions

SCORES, CONFUSION, CALIBRATION = "Scores", "Confusion", "Calibration"
ERRORS, TWO_MODELS, LEARNING = "Errors", "Two models", "Learning"
TABS = (SCORES, CONFUSION, CALIBRATION, ERRORS, TWO_MODELS, LEARNING)
PAGE = 5  # texts shown at once
_TABS = "evaluate_tabs"
_KEPT: dict[str, Any] = {"persist_state": "session"}


def which_part(choice: Choice) -> str:
    """The part of a data set that the model is evaluated on; the test part at first.

    Raises:
        DataError: A part lacks files.
    """
    if choice.preview is None:  # not here yet, and what has a name has a test part
        return "test"
    parts = sorted(parts_of(resolve(choice.value)))  # "test" comes before "train"
    if len(parts) == 1:
        return parts[0]
    url_state.choose_among("part", parts)
    part: str = st.selectbox("Part", parts, key="part", **_KEPT)
    return part


def command(model: Path, choice: Choice, part: str) -> list[str]:
    """The arguments of `icaps` that make the evaluation."""
    return [
        *("evaluate", *data_picker.option("model", str(model))),
        *data_picker.option("data", choice.value),
        *data_picker.option("part", part),
        *data_picker.as_arguments(choice.reading),
    ]


def which_tab() -> tuple[str, DeltaGenerator]:
    """The parts of the page: the one that is open, and its place."""
    asked, shown = st.session_state.evaluate_tab, st.session_state.get("evaluate_tab_shown")
    clicked = st.session_state.get(_TABS) not in (None, shown)
    if asked in TABS and not clicked:  # the address or another visit of the page may differ
        st.session_state[_TABS] = asked
    places = st.tabs(TABS, key=_TABS, on_change="rerun")
    opened = next(
        (pair for pair in zip(TABS, places, strict=True) if pair[1].open), (TABS[0], places[0])
    )
    st.session_state.evaluate_tab = st.session_state.evaluate_tab_shown = opened[0]
    return opened


def which_value() -> str:
    """What the cells of the confusion matrix show."""
    values = [COUNTS, SHARES]
    url_state.begin("cells show")
    chosen = st.segmented_control("Cells show", values, key="cells show", **_KEPT)
    return str(chosen or COUNTS)


def chosen_cell(told: Predictions) -> tuple[str, str]:
    """The class and the prediction that were asked for, else the most frequent confusion."""
    names = [st.session_state.actual, st.session_state.taken]
    if not set(names) <= set(told.classes):
        mistakes = told.confusion - np.diag(told.confusion.diagonal())
        place = np.unravel_index(mistakes.argmax(), mistakes.shape)
        names = [told.classes[n] for n in place]
        st.session_state.actual, st.session_state.taken = names
    return names[0], names[1]


def which_cell(classes: Sequence[str]) -> tuple[int, int]:
    """Asks for a cell; a click in the matrix does the same."""
    left, right = st.columns(2, gap="medium")
    actual = left.selectbox("Texts of class", classes, key="actual", **_KEPT)
    taken = right.selectbox("predicted as", classes, key="taken", **_KEPT)
    return classes.index(actual), classes.index(taken)


def which_threshold() -> float:
    """The confidence from which the model answers."""
    percent: int = st.slider(
        "Answer where the confidence is at least",
        *url_state.THRESHOLDS,
        key="threshold",
        format="%d%%",
        help="Below it the model is silent.",
        **_KEPT,
    )
    return percent / 100


def which_other(models: Sequence[ModelFolder]) -> ModelFolder:
    """The model that is compared with, one of some."""
    names = [model.name for model in models]
    url_state.choose_among("other", names)
    name = st.selectbox("Second model", names, key="other", **_KEPT)
    return models[names.index(name)]


def which_texts(rows: NDArray[np.int64], key: str) -> NDArray[np.int64]:
    """A page of the texts."""
    pages = -(-len(rows) // PAGE)
    if pages < 2:
        return rows
    st.session_state[key] = min(st.session_state.get(key, 1), pages)
    page = st.number_input(f"Page of {pages:,}", 1, pages, key=key, width=180, **_KEPT)
    return rows[(page - 1) * PAGE : page * PAGE]
