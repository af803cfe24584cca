"""What can be done where no data on this machine has the classes of a model."""

import streamlit as st

from dashboard import error_boundary
from dashboard.cache import models
from dashboard.model_registry import ModelFolder, find_models
from dashboard.widgets import data_list
from dashboard.widgets.data_list import UPLOAD
from icaps.html import printable

_CLASSES = 6  # that are named


def show(model: ModelFolder) -> None:
    """Says which classes data for a model has, and offers a shipped model that has data here.

    Nothing if there is data for the model.

    Raises:
        CheckpointError: A model is damaged.
    """
    if data_list.listed(model).start != UPLOAD:
        return
    classes = models.classes(model)
    named = ", ".join(printable(name) for name in classes[:_CLASSES])
    others = len(classes) - _CLASSES
    st.info(
        error_boundary.plain(
            f"No data on this machine has the classes of {model.name}: {named}"
            + (f" and {others:,} more" if others > 0 else "")
            + ". Upload a file of labelled texts above, or name a path."
        ),
        icon=":material/upload_file:",
    )
    other = _with_data(model)
    if other is not None:
        st.button(
            f"Look at {error_boundary.plain(other.name)} on the texts of this app",
            icon=":material/swap_horiz:",
            on_click=_choose,
            args=(other.name,),
        )


def _with_data(model: ModelFolder) -> ModelFolder | None:
    """The first other shipped model that data on this machine suits."""
    for other in find_models():
        if other.shipped and other != model and data_list.listed(other).start != UPLOAD:
            return other
    return None


def _choose(name: str) -> None:
    st.session_state.model = name
