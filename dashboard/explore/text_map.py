"""Shows texts on a map, by the capsules that a model computes for them; picks rows from it."""

from typing import NamedTuple

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from dashboard.cache import data, models
from dashboard.explore import charts
from dashboard.explore.rows import row_table
from dashboard.model_registry import ModelFolder
from dashboard.widgets.chart_card import ink
from icaps.evaluate.predictions import Predictions
from icaps.explore.index import Index
from icaps.explore.text_projection import SAMPLE
from icaps.html import printable
from icaps.interpret.projection import PlaneMap

_SPACES = {"class capsules": "class", "primary capsules": "primary"}
_METHODS = {"t-SNE": "tsne", "PCA": "pca"}
_SEED = 0  # of the sample
_NO_CLASS = "none"  # of a text without a known word
_MAX_CHARACTERS = 400  # of a text


class _Options(NamedTuple):
    space: str
    method: str
    color: str


def show_map(
    index: Index,
    model: ModelFolder | None,
    predictions: Predictions | None,
    rows: NDArray[np.int64],
) -> None:
    """A point per row, for a sample of the rows; what is picked can be shown in Rows."""
    if model is None:
        st.caption("A map needs a model; train one first.")
        return
    options = _ask_options()
    sample = _sample(rows)
    if len(sample) < 2:
        st.caption("A map needs two rows or more; choose others in Rows.")
        return
    projected = data.text_map(index, model, tuple(sample.tolist()), options.space, options.method)
    table = _point_table(index, model, predictions, sample, projected.points)
    colors = charts.map_colors(_color_names(index, model, options.color))
    figure = charts.text_map(table, options.color, colors, st.session_state.get("open row"), ink())
    event = st.plotly_chart(
        figure,
        width="stretch",
        key="text map",
        on_select="rerun",
        selection_mode=("lasso", "box", "points"),
        config={"displaylogo": False, "scrollZoom": True},
        alt=f"{len(sample):,} texts on a plane, coloured by {options.color}",
    )
    _show_caption(projected, len(sample), len(rows))
    points = event.selection["points"]
    picked = sorted({int(point["customdata"]) for point in points if "customdata" in point})
    _show_picked(index, predictions, picked)


def _ask_options() -> _Options:
    left, middle, right = st.columns(3, gap="medium")
    space = left.selectbox(
        "Texts by their", list(_SPACES), key="map space", persist_state="session"
    )
    method = middle.selectbox(
        "Projection", list(_METHODS), key="map method", persist_state="session"
    )
    color = right.selectbox(
        "Coloured by", ["class", "predicted"], key="map color", persist_state="session"
    )
    return _Options(_SPACES[space], _METHODS[method], color)


def _show_picked(index: Index, predictions: Predictions | None, picked: list[int]) -> None:
    """The picked rows; a new selection reruns the page, whose inputs come before the map."""
    state = st.session_state
    if picked:
        stored = (str(index.folder), tuple(picked))
        if state.get("picked") != stored:
            state.picked, state.picked_anew = stored, True
            st.rerun()
        rows = np.array(picked, dtype=np.int64)
        shown = "; *Rows* shows only these" if state["rows picked"] else ""
        st.write(f"{len(picked):,} picked{shown}.")
        st.dataframe(row_table(index, rows, index.text(rows), predictions), hide_index=True)
    elif state.get("picked") and st.button("Clear the selection", key="unpick"):
        del state.picked
        st.rerun()


def _show_caption(projected: PlaneMap, drawn: int, count: int) -> None:
    parts = [f"A random sample of {drawn:,} of {count:,} rows."] if drawn < count else []
    if projected.preservation is not None and projected.shuffled is not None:
        parts.append(
            f"Trustworthiness {projected.preservation:.2f} (1: all neighbours on the map are "
            f"neighbours in the model's space; shuffled points: {projected.shuffled:.2f})."
        )
    st.caption(" ".join(parts))


def _sample(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    if len(rows) <= SAMPLE:
        return rows
    return np.sort(np.random.default_rng(_SEED).choice(rows, SAMPLE, replace=False))


def _color_names(index: Index, model: ModelFolder, color: str) -> list[str]:
    """All classes that may occur, so that a class has the same colour whatever rows are drawn."""
    if color == "class":
        return list(index.classes)
    classes = [*index.classes, *map(str, models.load(model).classes_)]
    return [*dict.fromkeys(classes), _NO_CLASS]


def _point_table(
    index: Index,
    model: ModelFolder,
    predictions: Predictions | None,
    rows: NDArray[np.int64],
    points: NDArray[np.float64],
) -> pd.DataFrame:
    """A row per point: row, x, y, class, predicted, text."""
    texts = index.text(rows)
    if predictions is None:
        predicted = [str(name) for name in models.load(model).predict(texts)]
    else:
        names = np.array([*predictions.classes, _NO_CLASS], dtype=object)
        codes = np.where(predictions.blank[rows], -1, predictions.predicted[rows])
        predicted = names[codes].tolist()
    return pd.DataFrame(
        {
            "row": rows,
            "x": points[:, 0],
            "y": points[:, 1],
            "class": [index.classes[code] for code in index.labels[rows]],
            "predicted": predicted,
            "text": [printable(text[:_MAX_CHARACTERS]) for text in texts],
        }
    )
