"""Asks which part of an evaluation is shown, and how."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard import link_notes, url_state
from dashboard.model_registry import ModelFolder
from dashboard.url_state import COUNTS, SHARES
from dashboard.widgets.data_picker import Choice
from icaps.cli.request import option, reading_arguments
from icaps.evaluate.predictions import Predictions

SCORES, CONFUSION, CALIBRATION = "Scores", "Confusion", "Calibration"
ERRORS, TWO_MODELS, LEARNING = "Errors", "Two models", "Learning"
CLASSES = "Classes"
TABS = (SCORES, CONFUSION, CALIBRATION, ERRORS, TWO_MODELS, LEARNING)
# With several labels per text:
TABS_OF_SETS = (SCORES, CLASSES, CALIBRATION, ERRORS, TWO_MODELS, LEARNING)
ANY = ""  # in place of a class
_TABS = "evaluate_tabs"


def command(model: Path, choice: Choice, split: str) -> list[str]:
    """The arguments of `icaps` that evaluate a model."""
    return [
        "evaluate",
        *option("model", str(model)),
        *option("data", choice.value),
        *option("part", split),
        *reading_arguments(choice.key.uncorrected.reading),
    ]


def open_tab(names: Sequence[str] = TABS) -> tuple[str, DeltaGenerator]:
    """Shows the tabs of the page; returns the name and the container of the open one."""
    asked, shown = st.session_state.evaluate_tab, st.session_state.get("evaluate_tab_shown")
    clicked = st.session_state.get(_TABS) not in (None, shown)
    if asked in names and not clicked:  # by the address, or when the page was last visited
        st.session_state[_TABS] = asked
    tabs = st.tabs(names, key=_TABS, on_change="rerun")
    opened = ((name, tab) for name, tab in zip(names, tabs, strict=True) if tab.open)
    name, tab = next(opened, (names[0], tabs[0]))
    st.session_state.evaluate_tab = st.session_state.evaluate_tab_shown = name
    return name, tab


def ask_cell_values() -> str:
    """Asks what the cells of the confusion matrix show: COUNTS or SHARES."""
    url_state.set_default("cells show")
    chosen = st.segmented_control(
        "Cells show", [COUNTS, SHARES], key="cells show", persist_state="session"
    )
    return str(chosen or COUNTS)


def current_cell(predictions: Predictions) -> tuple[str, str]:
    """The chosen class and predicted class; at first the most frequent confusion."""
    state = st.session_state
    if not {state.actual, state.taken} <= set(predictions.classes):
        for key in ("actual", "taken"):
            if state[key] and state[key] not in predictions.classes:
                link_notes.missing(key, "class", [state[key]])
        errors = predictions.confusion - np.diag(predictions.confusion.diagonal())
        row, column = np.unravel_index(errors.argmax(), errors.shape)
        state.actual, state.taken = predictions.classes[row], predictions.classes[column]
    return state.actual, state.taken


def ask_cell(classes: Sequence[str]) -> tuple[int, int]:
    """Asks for a cell of the confusion matrix, as a click in it does."""
    left, right = st.columns(2, gap="medium")
    actual = left.selectbox("Texts of class", classes, key="actual", persist_state="session")
    predicted = right.selectbox("predicted as", classes, key="taken", persist_state="session")
    return classes.index(actual), classes.index(predicted)


def ask_class(classes: Sequence[str]) -> int:
    """Asks for the class whose curves are shown; returns its number."""
    url_state.choose_among("actual", classes, "class")
    name = st.selectbox("Class", classes, key="actual", persist_state="session", width=400)
    return classes.index(name)


def ask_wrong_classes(classes: Sequence[str]) -> tuple[int | None, int | None]:
    """Asks for a missed and an extra class, as a click in the tables does; None: any class."""
    options = [ANY, *classes]
    for key in ("actual", "taken"):
        if st.session_state[key] not in options:
            link_notes.missing(key, "class", [st.session_state[key]])
            st.session_state[key] = ANY
    left, right = st.columns(2, gap="medium")
    names = [
        box.selectbox(
            label,
            options,
            key=key,
            persist_state="session",
            format_func=lambda name: name or "any class",
        )
        for box, label, key in ((left, "Missed", "actual"), (right, "Extra", "taken"))
    ]
    missed, extra = (classes.index(name) if name else None for name in names)
    return missed, extra


def ask_threshold() -> float:
    """Asks for the confidence below which the model abstains."""
    percent: int = st.slider(
        "Predict if the confidence is at least",
        *url_state.THRESHOLDS,
        key="threshold",
        format="%d%%",
        help="Below it, the model abstains (selective prediction).",
        persist_state="session",
    )
    return percent / 100


def ask_other(models: Sequence[ModelFolder]) -> ModelFolder:
    """Asks for the model to compare with."""
    names = [model.name for model in models]
    url_state.choose_among("other", names, "model")
    name = st.selectbox("Second model", names, key="other", persist_state="session")
    return models[names.index(name)]
