"""The page Label: a person gives texts their classes, and a model learns from them."""

import streamlit as st

from dashboard import error_boundary, url_state
from dashboard.label import acceptance, inputs, labelling, tasks, training, view
from dashboard.label.desk import open_desk
from dashboard.url_state import LABELLING, NEW_TASK
from dashboard.widgets import layout


def main() -> None:
    layout.show_title(
        "Label",
        "Give texts their classes, one key each; a model learns from them and says which text "
        "comes next.",
        wide=True,
    )
    state = st.session_state
    if "started task" in state:  # by the form, which comes after the widgets
        state.task, state.label_view = state.pop("started task"), LABELLING
    names = tasks.names()
    if inputs.ask_view(names) == NEW_TASK:
        url_state.publish(url_state.LABEL_NEW)
        with error_boundary.shown():
            inputs.show_form()
        if not names:
            labelling.show_example()
        return
    with st.container(horizontal=True, vertical_alignment="bottom", key="label head"):
        name = inputs.ask_task(names)
        with error_boundary.shown():
            desk = open_desk(name)
            order = inputs.ask_order(desk.task)
            inputs.ask_options(desk)
    url_state.publish(url_state.LABEL)
    desk.follow(order, training.choose_model(desk.task))
    left, right = layout.master_detail("label")
    with left:
        st.fragment(labelling.show)()
    with right:
        again = training.POLL if desk.waiting or training.polls(desk.task) else None
        st.fragment(training.show, run_every=again)()
        view.show_files(desk)
    st.fragment(acceptance.show, run_every=acceptance.POLL if acceptance.polls(desk) else None)()
    view.show_labels(desk)


with error_boundary.shown():
    main()
