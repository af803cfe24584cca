"""Asks for a task of labelling, for the order of its texts, and for what a new task consists of."""

from pathlib import Path
from typing import Any

import streamlit as st

from dashboard import error_boundary, quotas, url_state
from dashboard.cache import data
from dashboard.cache.data import DataKey
from dashboard.label import tasks, training
from dashboard.label.desk import Desk
from dashboard.label.labelling import GUESS
from dashboard.model_registry import find_models
from dashboard.url_state import LABEL_PLACE, LABEL_VIEWS, LABELLING, NEW_TASK
from dashboard.widgets import data_picker
from icaps.data.label_values import label_value
from icaps.data.problems import FileError, UnclearColumnsError
from icaps.data.resolve import resolve
from icaps.errors import DataError
from icaps.html import printable
from icaps.label.defaults import CAPSULE, DEFAULT, ORDERS, SEARCH
from icaps.label.order import Order
from icaps.label.task import LabelTask

NO_COLUMN, NO_CLASSES = "No column", "Typed ones"
_HELD_OUT = 50
_PREVIEW = 200  # texts whose columns and labels are looked at
_MOST_CLASSES = 500
_SHOWN_CLASSES = 30


def ask_view(names: list[str]) -> str:
    """Asks for labelling or a new task; the form at first if there is no task."""
    state = st.session_state
    if url_state.opens_data("label"):
        data_picker.take(LABEL_PLACE, state.data)
        state.data_shown, state.label_view = state.data, NEW_TASK
    if state.get("label_view") is None or (state.label_view == LABELLING and not names):
        state.label_view = LABELLING if names else NEW_TASK
    view: str = st.segmented_control(
        "View",
        LABEL_VIEWS,
        key="label_view",
        required=True,
        label_visibility="collapsed",
        persist_state="session",
    )
    return view


def ask_task(names: list[str]) -> str:
    """Asks for a task; the one that was worked on last at first."""
    url_state.choose_among("task", names, "task")
    return str(st.selectbox("Task", names, key="task", persist_state="session"))


def ask_order(task: LabelTask) -> Order:
    """Asks for the order of the texts, with its options."""
    state = st.session_state
    if state.get("order") not in ORDERS:
        state.order = DEFAULT
    name = st.selectbox(
        "Order",
        list(ORDERS),
        key="order",
        format_func=lambda name: f"{name}: {ORDERS[name]}",
        persist_state="session",
    )
    if name == CAPSULE:
        url_state.set_default("order capsule")
        capsule = st.number_input(
            "Capsule", 0, url_state.MAX_CAPSULE, key="order capsule", persist_state="session"
        )
        return Order(name, capsule=int(capsule))
    if name == SEARCH:
        url_state.set_default("order words")
        words = st.text_input(
            "Search",
            key="order words",
            max_chars=url_state.MAX_PATTERN,
            placeholder="a word, or a regular expression",
            persist_state="session",
        )
        return Order(name, pattern=words) if words.strip() else Order()
    return Order(name)


def ask_options(desk: Desk) -> None:
    """Asks for the model that guesses, for further classes, and whether to delete the task."""
    with st.popover("Options", icon=":material/tune:"):
        training.ask_model(desk.task)
        st.toggle("Show guesses", value=True, key=GUESS, persist_state="session")
        if quotas.read_only():
            return
        with st.form("label new class", border=False, clear_on_submit=True):
            name = st.text_input("Add a class", placeholder="name of the class")
            if st.form_submit_button("Add it") and name.strip():
                with error_boundary.shown():
                    quotas.change("no class can be added.")
                    desk.task.add_class(printable(name.strip()))
                    st.rerun()
        st.caption(error_boundary.plain(f"Delete {desk.name} with all its labels, permanently?"))
        sure = st.checkbox("I have exported what I need", key=f"label sure {desk.name}")
        if st.button("Delete the task", key=f"label delete {desk.name}", disabled=not sure):
            with error_boundary.shown():
                tasks.delete(desk.name)
                st.rerun()


def show_form() -> None:
    """The form of a new task.

    Raises:
        DataError: The texts cannot be read, or the task cannot be written.
        ConfigError: The name cannot be used.
        NotAllowedError: No task can be created here.
    """
    if quotas.read_only():
        st.info(quotas.READ_ONLY.format("nothing is labelled."), icon=":material/lock:")
        return
    key = data_picker.ask_texts(LABEL_PLACE)
    if key is None:
        st.caption(
            "Texts without classes, or with classes in some rows: these count as given by the data."
        )
        return
    reading, labels = _ask_columns(key)
    if reading is None:
        return
    are_lists = any(isinstance(label, tuple) for label in labels)
    several = st.toggle(
        "A text can have several classes",
        value=are_lists,
        disabled=are_lists,
        key=f"label several, data {are_lists}",
        persist_state="session",
    )
    found = _names(labels)
    classes, model = _ask_classes(found)
    left, right = st.columns(2)
    with right:
        held_out = st.number_input(
            "Texts held out",
            0,
            1_000,
            _HELD_OUT,
            step=10,
            key="label held out",
            help="They are drawn at random and labelled first. Models are scored on them: 50 tell "
            "the accuracy to within some 14 points, 100 within 10.",
        )
    with left:
        _suggest("label name", tasks.free_name(Path(key.value).name.split(".")[0]))
        name = st.text_input("Name of the task", key="label name").strip()
    ready = len(classes) > 1 or bool(found)
    if st.button(
        "Start labelling", type="primary", key="label start", disabled=not (ready and name)
    ):
        folder = tasks.new_folder(name)
        with st.spinner("Reading the texts …"):
            task = LabelTask.create(
                folder,
                resolve(key.value),
                classes,
                several=several,
                held_out=int(held_out),
                reading=reading,
            )
        tasks.store_page_settings(task, tasks.PageSettings(model=model))
        state = st.session_state
        state["started task"] = name
        st.rerun()
    if not ready:
        st.caption("Name at least two classes.")


def _ask_columns(key: DataKey) -> tuple[dict[str, Any] | None, list[Any]]:
    """Asks for the columns of texts and labels; returns options of reading, and the labels seen.

    A label is a tuple where a text of the data has several, see `label_value`.
    """
    text = st.session_state.get(f"{LABEL_PLACE} text {key.value}")
    reading: dict[str, Any] = {"text": tuple(text)} if text else {}
    try:
        rows = data.text_rows(key.read_with({**reading, "on_bad_rows": "skip"}), _PREVIEW)
        columns, chosen = list(rows.columns), rows.text
    except FileError as error:
        if not isinstance(error, UnclearColumnsError):
            raise
        rows, columns, chosen = None, list(error.columns), error.text_candidates[:1]
    if len(columns) > 1:
        left, right = st.columns(2)
        with left:
            picked = st.multiselect(
                "Text columns",
                columns,
                default=list(chosen),
                key=f"{LABEL_PLACE} texts {key.value}",
            )
        others = [NO_COLUMN, *(name for name in columns if name not in picked)]
        usual = next((name for name in others if name.lower() in _LABELS), NO_COLUMN)
        with right:
            label = st.selectbox(
                "Column of classes",
                others,
                index=others.index(usual),
                key=f"{LABEL_PLACE} label {key.value}",
                help="What it has counts as given by the data.",
            )
        if not picked:
            return None, []
        if rows is None or tuple(picked) != rows.text:
            st.session_state[f"{LABEL_PLACE} text {key.value}"] = list(picked)
            st.rerun()
    else:
        label = NO_COLUMN
    assert rows is not None
    for one in rows.texts[:1]:
        st.caption(error_boundary.plain(f"The first of them: {printable(one[:300])}"))
    if len(columns) > 1:
        reading = {"text": tuple(rows.text)}
    if label == NO_COLUMN:
        return reading, []
    labels = [label_value(value.strip()) for value in rows.columns[label] if value.strip()]
    return {**reading, "label": label}, labels


_LABELS = ("label", "labels", "class", "category", "target", "topic")


def _names(labels: list[Any]) -> list[str]:
    """The class names in labels, which are tuples where a text has several."""
    sets = (label if isinstance(label, tuple) else (str(label),) for label in labels)
    return list(dict.fromkeys(name for names in sets for name in names))


def _ask_classes(found: list[str]) -> tuple[list[str], str]:
    """Asks for the classes; returns them, and the model that they are from, "" for none."""
    models = {model.name: model for model in find_models()}
    source = st.selectbox(
        "Classes",
        [NO_CLASSES, *models],
        key="label classes from",
        format_func=lambda name: name if name == NO_CLASSES else f"those of {name}, which guesses",
        persist_state="session",
    )
    if source != NO_CLASSES:
        names = list(training.classes_of(models[source]))
        st.caption(error_boundary.plain(", ".join(names[:50])))
        return names, source
    if found:
        shown = ", ".join(found[:_SHOWN_CLASSES]) + ", …" * (len(found) > _SHOWN_CLASSES)
        st.caption(error_boundary.plain(f"The data has {shown}; name others below."))
    typed = st.text_area(
        "Classes, one per line",
        key="label classes",
        height=120,
        placeholder="praise\ncomplaint\nquestion",
        persist_state="session",
    )
    names = list(dict.fromkeys(printable(line.strip()) for line in typed.splitlines()))
    names = [name for name in names if name]
    if len(names) > _MOST_CLASSES:
        raise DataError(f"These are {len(names):,} classes; at most {_MOST_CLASSES} are possible.")
    return names, ""


def _suggest(key: str, value: str) -> None:
    """Puts a name in a field, unless the visitor has changed it."""
    state, before = st.session_state, f"{key} suggested"
    if state.get(key, state.get(before)) == state.get(before):
        state[key] = value
    state[before] = value
