"""The rows of a data set that the visitor asks for, as a table or as a map."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from dashboard.cache import data as cached_data
from dashboard.explore import inputs, view
from dashboard.explore import map as dataset_map
from dashboard.model_registry import ModelFolder
from icaps.explore.index import Index
from icaps.explore.label_issues import Judged


def show(data: Index, model: ModelFolder | None, arguments: Sequence[str], as_map: bool) -> None:
    """The rows, after what a model says of all of them."""
    judged = None if model is None else cached_data.judged(data, model)
    if model is not None and judged is None:
        about = (
            f"Then rows can be found by whether {model.name} predicts them right, and labels that "
            "it doubts come first."
        )
        view.while_working(
            [*arguments, "--judge", str(model.path)], f"Let {model.name} judge all rows", about
        )
    found = inputs.which_rows(data, judged, model)
    st.caption(f"{len(found.rows):,} of {len(data):,} rows")
    if not len(found.drawn if as_map else found.rows):
        return
    if as_map and model is not None:
        dataset_map.show(data, model, judged, found.drawn)
    elif as_map:
        st.caption("A map needs a model; train one first.")
    else:
        _show_table(data, model, judged, found)
    inputs.keep_slice(data, found)


def _show_table(
    data: Index, model: ModelFolder | None, judged: Judged | None, found: inputs.Found
) -> None:
    rows = found.rows[inputs.which_page(len(found.rows))]
    texts = data.text(rows)
    labels = [data.classes[code] for code in data.labels[rows]]
    if model is not None and st.toggle("Shade what decided", key="rows shaded"):
        view.show_shaded(model, texts, labels)
    else:
        view.show_rows(view.row_table(data, rows, texts, judged), len(found.rows))
    row = inputs.which_row(rows, texts, "open row")
    if row is not None and model is not None:
        place = int(np.flatnonzero(rows == row)[0])
        view.show_shaded(model, [texts[place]], [labels[place]])
        view.open_in_explain(model, texts[place])
