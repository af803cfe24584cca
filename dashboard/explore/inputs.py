"""What the visitor is asked about a data set: which rows, and what to do with them."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from dashboard import error_boundary, quotas
from dashboard.cache import data as cached_data
from dashboard.model_registry import ModelFolder
from dashboard.widgets.data_picker import Choice
from icaps.data.uploads import delete_upload, uploads
from icaps.errors import DataError
from icaps.explore.index import Index
from icaps.explore.label_issues import Judged, correct, suspicious
from icaps.explore.query import Query
from icaps.explore.saved_slices import delete_slice, save_slice, slices
from icaps.reports.render import printable

PAGE = 25  # rows shown at once
ALL, RIGHT, WRONG, DOUBTED = "all", "predicted right", "predicted wrong", "label doubted"
_KEPT: dict[str, Any] = {"persist_state": "session"}  # also while another tab is open


class Found(NamedTuple):
    """The rows that were asked for, (n,), in the order to show them, and what was asked.

    `drawn` are those of the map, from which `rows` may have been picked.
    """

    rows: NDArray[np.int64]
    drawn: NDArray[np.int64]
    origin: dict[str, Any]


def whether_to_delete(choice: Choice) -> None:
    """Deletes an upload or a slice, when the visitor says so twice."""
    path = Path(choice.value)
    kept = {upload.path: upload.name for upload in uploads()}
    try:
        names = {part.path: part.name for part in slices()}
    except DataError:  # one is damaged, which was told where data is chosen
        names = {}
    if quotas.read_only() or (path not in kept and path not in names):
        return
    with st.popover("Delete", icon=":material/delete:"):
        st.write(error_boundary.plain(f"Delete {kept.get(path) or names[path]} for good?"))
        if st.button("Delete it", type="primary", key=f"delete data {path}"):
            quotas.change("nothing can be deleted.")
            if path in kept:
                delete_upload(path)
            else:
                delete_slice(names[path])
            st.session_state.data = ""
            st.rerun()


def which_rows(data: Index, judged: Judged | None, model: ModelFolder | None) -> Found:
    """Rows by their words, a pattern, class, split, length and what a model says of them.

    Raises:
        DataError: The pattern is wrong.
    """
    first, second = st.columns(2, gap="medium")
    words = first.text_input(
        "Words",
        key="rows words",
        **_KEPT,
        help="All of them, in any order and case.",
    )
    regex = second.text_input(
        "Pattern",
        key="rows regex",
        **_KEPT,
        help="A regular expression (RE2); (?i) ignores case.",
    )
    classes, split, length = st.columns(3, gap="medium")
    chosen = classes.multiselect(
        "Classes", data.classes, key="rows classes", **_KEPT, placeholder="all"
    )
    part = split.selectbox("Split", ["all", *data.splits], key="rows split", **_KEPT)
    most = int(data.words.max(initial=1))
    fewest, longest = length.slider(
        "Words a text", 0, max(most, 1), (0, most), key="rows length", **_KEPT
    )
    query = Query(
        words,
        regex,
        tuple(chosen),
        "" if part == "all" else part,
        fewest or None,
        longest if longest < most else None,
    )
    said = _ask_judgement(judged)
    picked = _ask_picked(data)
    mask, name = _among(data, judged, model, said)
    rows = cached_data.rows(data, query, name, mask)
    if said == DOUBTED and judged is not None:  # the most doubted first
        ordered = suspicious(judged, data.labels)
        rows = ordered[np.isin(ordered, rows)]
    origin: dict[str, Any] = {"query": query.to_dict()}
    if said != ALL and model is not None:
        origin |= {"model": model.name, "judged": said}
    if not len(picked):
        return Found(rows, rows, origin)
    return Found(rows[np.isin(rows, picked)], rows, origin | {"picked": len(picked)})


def which_page(count: int) -> slice:
    """Which of the rows are shown."""
    pages = max(-(-count // PAGE), 1)
    st.session_state["rows page"] = min(st.session_state.get("rows page", 1), pages)
    page = st.number_input(f"Page of {pages:,}", 1, pages, key="rows page", width=180, **_KEPT)
    return slice((page - 1) * PAGE, page * PAGE)


def which_row(rows: NDArray[np.int64], texts: list[str], key: str) -> int | None:
    """The row that is opened, of those that are shown."""
    labels = {int(row): printable(text[:80]) for row, text in zip(rows, texts, strict=True)}
    return st.selectbox(
        "Open a row",
        list(labels),
        index=None,
        format_func=lambda row: f"{row}: {labels[row]}",
        placeholder="to see its reasons",
        key=key,
        **_KEPT,
    )


def keep_slice(data: Index, found: Found) -> None:
    """Saves the rows under a name."""
    if quotas.read_only():
        return
    with st.popover("Save as a slice", icon=":material/bookmark_add:"):
        st.caption(
            "A slice is a data set of its own: train on it, evaluate and interpret with it, or "
            "explore it here."
        )
        name = st.text_input("Name", key="slice name")
        if st.button(f"Save {len(found.rows):,} rows", key="save slice", disabled=not name):
            with error_boundary.shown():
                quotas.new_slice()
                path = save_slice(data, found.rows, name, found.origin)
                st.success(error_boundary.plain(f"Saved as {path}."))


def _ask_judgement(judged: Judged | None) -> str:
    if judged is None:
        return ALL
    options = [ALL, RIGHT, WRONG, DOUBTED]
    said = st.segmented_control("By the model", options, default=ALL, key="rows judged", **_KEPT)
    return str(said or ALL)


def _ask_picked(data: Index) -> tuple[int, ...]:
    """The rows that were picked on the map, where the visitor wants these alone."""
    kept = st.session_state.get("picked", ("", ()))
    rows: tuple[int, ...] = kept[1] if kept[0] == str(data.folder) else ()
    if not rows:
        return ()
    state, key = st.session_state, "rows picked"
    state[key] = state.pop("picked_anew", False) or state.get(key, True)
    only = st.toggle(f"Only the {len(rows):,} picked on the map", key=key, **_KEPT)
    return rows if only else ()


def _among(
    data: Index, judged: Judged | None, model: ModelFolder | None, said: str
) -> tuple[NDArray[np.bool_] | None, str]:
    """The mask of the rows that may be found, and a name that is another for another mask."""
    if said == ALL or judged is None or model is None:
        return None, ""
    return _said(data, judged, said), f"{said} {model.path} {model.stamp}"


def _said(data: Index, judged: Judged, said: str) -> NDArray[np.bool_]:
    if said == DOUBTED:
        mask = np.zeros(len(data), dtype=bool)
        mask[suspicious(judged, data.labels)] = True
        return mask
    right = correct(judged, data.labels)
    return right if said == RIGHT else ~right
