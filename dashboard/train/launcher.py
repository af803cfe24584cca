"""The short form in the sidebar of every page: data, name, an estimate and the start."""

import streamlit as st

from dashboard import error_boundary, nav, quotas
from dashboard.train import draft, estimates
from dashboard.url_state import NEW_TRAINING
from dashboard.widgets import data_picker

_TITLE = "Train a model"


def show() -> None:
    """The short form, collapsed at first; the page Train has the whole one."""
    state = st.session_state
    on_page = state.pop("launch on page", False)
    draft.show_started()
    if quotas.read_only():
        with st.sidebar:
            st.caption(quotas.READ_ONLY.format("nothing is trained, uploaded or changed."))
        return
    state.launcher = state.get("launcher", state.get("launcher_was", False))  # open on all pages
    if on_page:
        with st.sidebar:
            st.caption("The form of the new training is on this page.")
        return
    with st.sidebar:
        icon = ":material/add_circle:"
        with st.expander(_TITLE, key="launcher", icon=icon, on_change="rerun") as box:
            state.launcher_was = bool(box.open)
            if box.open:
                with error_boundary.shown():
                    _form()
                st.page_link(
                    nav.page("train"),
                    label="All settings",
                    icon=":material/tune:",
                    query_params={"train_view": NEW_TRAINING},
                )


def _form() -> None:
    choice = data_picker.ask_short(draft.PLACE)
    if choice is None or not choice.ready:
        return
    current = draft.read(choice)
    request = current.request()
    running = draft.show_running(request)
    name = draft.ask_name(choice)
    if not running:
        _show_cost(current, request)
    draft.ask_start(request, name, again=running)


def _show_cost(current: draft.Draft, request: draft.TrainRequest) -> None:
    cost = estimates.cost(current, request)
    if cost is None:
        st.caption("Downloaded when it is needed; the time is estimated then.")
    else:
        st.caption(error_boundary.plain(cost.short + _own_settings(request)))


def _own_settings(request: draft.TrainRequest) -> str:
    """What the form on the page Train has changed, in brief."""
    count = len(request.settings)
    parts = [
        request.preset,
        f"{count} setting{'' if count == 1 else 's'} of yours" if count else "",
        "texts without classes" if request.unlabelled else "",
    ]
    named = [part for part in parts if part]
    return f"; {', '.join(named)}." if named else "."
