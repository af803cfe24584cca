"""Shows texts on a map, by the capsules that a model computes for them; picks rows from it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from dashboard.cache import data, maps, models
from dashboard.cache.data import DataKey
from dashboard.cache.maps import MapTask, TextMap
from dashboard.explore import charts, inputs, row_card
from dashboard.explore.rows import show_table
from dashboard.model_registry import ModelFolder
from dashboard.widgets import layout, progress_bar
from dashboard.widgets.chart_card import ink
from icaps.data.label_sets import format_label_set, shown_label
from icaps.explore.index import Index
from icaps.explore.predicted_rows import RowPredictions, predicted_labels
from icaps.explore.search import Query
from icaps.explore.text_projection import SAMPLE
from icaps.html import printable

_SPACES = {"class capsules": "class", "primary capsules": "primary"}
_METHODS = {"t-SNE": "tsne", "PCA": "pca"}
MOST_COLORS = 8  # in the legend
_POLL = 0.2  # seconds between two looks at a map that is being computed
_LISTED = 500  # picked rows in the table
_HEIGHT = 250  # pixels of that table
_SEEN, _CLEARED = "map selection", "maps cleared"  # in the session
_SEED = 0  # of the sample
_NO_CLASS = "none"  # of a text without a known word
_MAX_CHARACTERS = 400  # of a text


class _Options(NamedTuple):
    space: str
    method: str
    color: str
    words: str  # that are highlighted


def show_map(
    key: DataKey,
    index: Index,
    model: ModelFolder | None,
    predictions: RowPredictions | None,
    rows: NDArray[np.int64],
) -> None:
    """A point per row, for a sample of the rows, and beside it the picked rows and the open one."""
    if model is None:
        st.caption("A map needs a model; train one first.")
        return
    options = _ask_options()
    sample = _sample(rows)
    if len(sample) < 2:
        st.caption("A map needs two rows or more; choose others in Rows.")
        return
    drawn = _compute(maps.text_map(index, model, sample, options.space, options.method))
    table = _point_table(index, model, predictions, sample, drawn.plane.points)
    group, colors = _groups(
        table[options.color], _color_names(index, model, options.color, table["predicted"])
    )
    table["group"] = group
    matching = _matching(index, sample, options.words)
    master, detail = layout.master_detail("map")
    with master:
        figure = charts.text_map(
            table,
            "group",
            colors,
            st.session_state.get("open row"),
            ink(),
            clusters=[label for label in drawn.clusters if _ask_labels()],
            matching=matching,
        )
        st.caption(
            "Draw a line around points (lasso) or a box to pick rows; click a point to open it; "
            "scroll to zoom."
        )
        event = st.plotly_chart(
            figure,
            width="stretch",
            key=f"text map {st.session_state.get(_CLEARED, 0)}",
            on_select="rerun",
            selection_mode=("lasso", "box", "points"),
            config={"displaylogo": False, "scrollZoom": True, "displayModeBar": True},
            alt=f"{len(sample):,} texts on a plane, coloured by {options.color}",
        )
        _show_caption(drawn, len(sample), len(rows))
        if matching is not None:
            _show_matching(index, sample[matching])
    points = event.selection["points"]
    _follow(index, sorted({int(point["customdata"]) for point in points if "customdata" in point}))
    with detail:
        _show_picked(key, index, model, predictions, sample)


def _ask_options() -> _Options:
    with st.container(horizontal=True, key="map options"):
        space = st.selectbox(
            "Texts by their", list(_SPACES), key="map space", persist_state="session", width=190
        )
        method = st.selectbox(
            "Projection", list(_METHODS), key="map method", persist_state="session", width=120
        )
        color = st.selectbox(
            "Coloured by",
            ["class", "predicted"],
            key="map color",
            persist_state="session",
            width=150,
        )
        words = st.text_input(
            "Highlight words",
            key="map words",
            persist_state="session",
            help="The texts with all of these words stand out; the map stays as it is.",
            width=220,
        )
    return _Options(_SPACES[space], _METHODS[method], color, words)


def _ask_labels() -> bool:
    """Whether the names of the clusters are drawn; the toggle is below the map."""
    return bool(st.session_state.get("map labels", True))


def _compute(task: MapTask) -> TextMap:
    """Waits for a map, with a progress bar."""
    place = st.empty()
    while (drawn := task.wait(_POLL)) is None:
        progress_bar.show("Map", *task.progress, place)
    place.empty()
    return drawn


def _groups(names: "pd.Series[str]", order: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """What the points are coloured by: the most frequent names, and one group of all others.

    Returns:
        The group of each point, and a colour per group, the most frequent first.
    """
    colors = charts.map_colors(order)
    frequent = list(names.value_counts().index)
    if len(frequent) <= MOST_COLORS:
        return names.tolist(), {name: colors[name] for name in order if name in set(frequent)}
    shown = frequent[:MOST_COLORS]
    others = f"{len(frequent) - MOST_COLORS:,} others"
    while others in shown:
        others += " "
    groups = names.where(names.isin(shown), others).tolist()
    return groups, {**{name: colors[name] for name in shown}, others: charts.GREY}


def _matching(index: Index, sample: NDArray[np.int64], words: str) -> NDArray[np.bool_] | None:
    """The mask of the points whose texts have these words (n,); None without words."""
    if not words.strip():
        return None
    return np.isin(sample, data.rows(index, Query(words=words), "", None))


def _show_matching(index: Index, rows: NDArray[np.int64]) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        count = len(rows)
        st.caption(f"{count:,} of the points {'has' if count == 1 else 'have'} the words.")
        if count and st.button(f"Pick {'it' if count == 1 else 'them'}", key="pick matching"):
            _pick(index, rows.tolist())


def _follow(index: Index, selected: list[int]) -> None:
    """Opens a point that was clicked, and picks points that were drawn around."""
    state, selection = st.session_state, (str(index.folder), tuple(selected))
    if state.get(_SEEN) == selection:
        return
    state[_SEEN] = selection
    if len(selected) == 1:
        (state["open row"],) = selected
        st.rerun()
    if selected:
        _pick(index, selected)


def _pick(index: Index, rows: list[int]) -> None:
    """Picks rows; the page is run again, as its inputs come before the map."""
    st.session_state.picked = (str(index.folder), tuple(rows))
    st.session_state.picked_anew = True
    st.rerun()


def _clear() -> None:
    """Picks no rows, on a map of a new key, since the old one still has its selection."""
    state = st.session_state
    state[_CLEARED] = state.get(_CLEARED, 0) + 1
    state.pop("picked", None)
    state.pop(_SEEN, None)


def _show_picked(
    key: DataKey,
    index: Index,
    model: ModelFolder,
    predictions: RowPredictions | None,
    sample: NDArray[np.int64],
) -> None:
    """The picked rows, and the open row."""
    state = st.session_state
    folder, picked = state.get("picked", ("", ()))
    picked = picked if folder == str(index.folder) else ()
    if picked:
        shown = "; *Rows* shows only these" if state.get("rows picked") else ""
        with st.container(horizontal=True, vertical_alignment="center"):
            st.write(f"{len(picked):,} picked{shown}.")
            st.button("Clear the selection", key="unpick", type="tertiary", on_click=_clear)
        listed = np.array(picked[:_LISTED], dtype=np.int64)
        show_table(index, listed, index.text(listed), predictions, "picked table", height=_HEIGHT)
        if len(picked) > _LISTED:
            st.caption(f"The first {_LISTED:,}; *Rows* has all.")
    inputs.keep_open(sample)
    row_card.show_row(key, index, model, state["open row"])


def _show_caption(drawn: TextMap, shown: int, count: int) -> None:
    parts = [f"A random sample of {shown:,} of {count:,} rows."] if shown < count else []
    plane = drawn.plane
    if plane.preservation is not None and plane.shuffled is not None:
        parts.append(
            f"Trustworthiness {plane.preservation:.2f} (1: all neighbours on the map are "
            f"neighbours in the model's space; shuffled points: {plane.shuffled:.2f})."
        )
    if drawn.clusters:
        parts.append(
            f"The labels are the most distinctive words of {len(drawn.clusters)} clusters of "
            "points (k-means)."
        )
    st.caption(" ".join(parts))
    if drawn.clusters:
        st.toggle("Labels of clusters", value=True, key="map labels", persist_state="session")


def _sample(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    if len(rows) <= SAMPLE:
        return rows
    return np.sort(np.random.default_rng(_SEED).choice(rows, SAMPLE, replace=False))


def _color_names(
    index: Index, model: ModelFolder, color: str, predicted: Sequence[str]
) -> list[str]:
    """All classes that may occur, so that a class has the same colour whatever rows are drawn.

    Of several labels per text, sets of classes; the predicted ones are those of the points.
    """
    if color == "class":
        return [shown_label(label) for label in index.distinct]
    classifier = models.load(model)
    if classifier.multilabel_:
        return sorted(set(predicted))
    classes = [*index.classes, *map(str, classifier.classes_)]
    return [*dict.fromkeys(classes), _NO_CLASS]


def _predict(model: ModelFolder, texts: Sequence[str]) -> list[str]:
    """The predicted class of each text, or its classes with commas between them."""
    classifier = models.load(model)
    if classifier.multilabel_:
        sets = classifier.predict_labels(texts)
        return [shown_label(format_label_set(map(str, names))) for names in sets]
    return [str(name) for name in classifier.predict(texts)]


def _point_table(
    index: Index,
    model: ModelFolder,
    predictions: RowPredictions | None,
    rows: NDArray[np.int64],
    points: NDArray[np.float64],
) -> pd.DataFrame:
    """A row per point: row, x, y, class, predicted, text."""
    texts = index.text(rows)
    if predictions is None:
        predicted = _predict(model, texts)
    else:
        labels = predicted_labels(predictions, rows)
        predicted = [shown_label(label) if label else _NO_CLASS for label in labels]
    return pd.DataFrame(
        {
            "row": rows,
            "x": points[:, 0],
            "y": points[:, 1],
            "class": [shown_label(label) for label in index.labels_of(rows)],
            "predicted": predicted,
            "text": [printable(text[:_MAX_CHARACTERS]) for text in texts],
        }
    )
