"""The map of texts: asked for, drawn, and picked from."""

from typing import NamedTuple

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from dashboard.cache import data as cached_data
from dashboard.cache import models
from dashboard.explore import charts
from dashboard.explore.view import row_table
from dashboard.model_registry import ModelFolder
from dashboard.widgets.chart_card import ink
from icaps.explore.index import Index
from icaps.explore.label_issues import Judged
from icaps.explore.text_map import SAMPLE
from icaps.reports.render import printable

_SPACES = {"class capsules": "class", "primary capsules": "primary"}
_METHODS = {"t-SNE": "tsne", "PCA": "pca"}
_SEED = 0  # of the sample
_NONE = "none"
_SHOWN = 400  # characters of a text


class _Asked(NamedTuple):
    space: str
    method: str
    color: str


def show(data: Index, model: ModelFolder, judged: Judged | None, rows: NDArray[np.int64]) -> None:
    """A sample of the rows as points; what is picked there is shown in the table of rows."""
    asked = _ask()
    sample = _sample(rows)
    if len(sample) < 2:
        st.caption("A map needs two rows or more; ask for others in Rows.")
        return
    made = cached_data.text_map(data, model, tuple(sample.tolist()), asked.space, asked.method)
    table = _table(data, model, judged, sample, made.points)
    ringed = st.session_state.get("open row")
    colors = charts.map_colors(_names(data, model, judged, asked.color))
    figure = charts.text_map(table, asked.color, colors, ringed, ink())
    event = st.plotly_chart(
        figure,
        width="stretch",
        key="text map",
        on_select="rerun",
        selection_mode=("lasso", "box", "points"),
        config={"displaylogo": False, "scrollZoom": True},
        alt=f"{len(sample):,} texts in the plane, coloured by {asked.color}",
    )
    _caption(made.trustworthiness, made.shuffled, len(sample), len(rows))
    picked = sorted(
        {int(point["customdata"]) for point in event.selection["points"] if "customdata" in point}
    )
    if picked:
        kept = (str(data.folder), tuple(picked))
        if st.session_state.get("picked") != kept:
            st.session_state.picked, st.session_state.picked_anew = kept, True
            st.rerun()  # for the questions above
        chosen = np.array(picked, dtype=np.int64)
        shown = "; they are what *Rows* shows now" * st.session_state["rows picked"]
        st.write(f"{len(picked):,} picked{shown}.")
        st.dataframe(row_table(data, chosen, data.text(chosen), judged), hide_index=True)
    elif st.session_state.get("picked") and st.button("Forget what was picked", key="unpick"):
        del st.session_state.picked
        st.rerun()


def _ask() -> _Asked:
    first, second, third = st.columns(3, gap="medium")
    space = first.selectbox(
        "Texts by their", list(_SPACES), key="map space", persist_state="session"
    )
    method = second.selectbox("Drawn by", list(_METHODS), key="map method", persist_state="session")
    color = third.selectbox(
        "Coloured by", ["class", "predicted"], key="map color", persist_state="session"
    )
    return _Asked(_SPACES[space], _METHODS[method], color)


def _sample(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    if len(rows) <= SAMPLE:
        return rows
    return np.sort(np.random.default_rng(_SEED).choice(rows, SAMPLE, replace=False))


def _names(data: Index, model: ModelFolder, judged: Judged | None, color: str) -> list[str]:
    """All that points may be coloured by, so that a colour stays whatever rows are drawn."""
    if color == "class":
        return list(data.classes)
    classes = models.load(model).classes_ if judged is None else judged.classes
    return [*map(str, classes), _NONE]


def _table(
    data: Index,
    model: ModelFolder,
    judged: Judged | None,
    rows: NDArray[np.int64],
    points: NDArray[np.float64],
) -> pd.DataFrame:
    texts = data.text(rows)
    if judged is None:
        predicted = [str(name) for name in models.load(model).predict(texts)]
    else:
        names = (*judged.classes, _NONE)  # the last one is that of a blank text, -1
        predicted = [names[code] for code in judged.predicted[rows].tolist()]
    return pd.DataFrame(
        {
            "row": rows,
            "x": points[:, 0],
            "y": points[:, 1],
            "class": [data.classes[code] for code in data.labels[rows]],
            "predicted": predicted,
            "text": [printable(text[:_SHOWN]) for text in texts],
        }
    )


def _caption(trust: float | None, shuffled: float | None, drawn: int, found: int) -> None:
    words = f"{drawn:,} of {found:,} rows, drawn at random. " if drawn < found else ""
    if trust is not None and shuffled is not None:
        words += (
            f"Neighbours here are neighbours there to {trust:.2f} (trustworthiness; points dealt "
            f"out at random: {shuffled:.2f})."
        )
    st.caption(words)
