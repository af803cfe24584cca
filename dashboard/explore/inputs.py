"""Asks which rows of a data set are shown; saves slices, and deletes uploads and slices."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from dashboard import error_boundary, quotas
from dashboard.cache import data
from dashboard.model_registry import ModelFolder
from dashboard.selection import TextSelection
from dashboard.widgets.data_picker import Choice
from icaps.data.saved_slices import delete_slice, slices
from icaps.data.uploads import delete_upload, uploads
from icaps.errors import DataError
from icaps.evaluate.multilabel import MultilabelPredictions
from icaps.explore.index import Index
from icaps.explore.label_issues import LabelIssues
from icaps.explore.predicted_rows import RowPredictions, is_right, predicted_labels
from icaps.explore.search import Query
from icaps.html import printable

ALL, RIGHT, WRONG = "all", "predicted right", "predicted wrong"
LABEL_ISSUE = "possible label error"
_ANY_SPLIT = "all"
_FIELD = 220  # pixels of a filter


class RowSelection(NamedTuple):
    """The rows that match a query, in the order in which they are shown.

    Attributes:
        rows: Numbers of rows, (n,).
        on_map: Numbers of the rows that the map shows; `rows` are these, or those picked there.
        origin: The query and the filters, stored with a slice.
        what: The same in words; empty for all rows.
        doubted: Whether they are the rows whose label is doubted.
    """

    rows: NDArray[np.int64]
    on_map: NDArray[np.int64]
    origin: dict[str, Any]
    what: str
    doubted: bool = False


def ask_delete(choice: Choice) -> None:
    """Deletes an upload or a slice after a second click."""
    path = Path(choice.value)
    uploaded = {upload.path: upload.name for upload in uploads()}
    try:
        saved = {part.path: part.name for part in slices()}
    except DataError:  # one is damaged, which the data picker reports
        saved = {}
    if quotas.read_only() or (path not in uploaded and path not in saved):
        return
    with st.popover("Delete", icon=":material/delete:"):
        name = uploaded.get(path) or saved[path]
        st.write(error_boundary.plain(f"Delete {name} permanently?"))
        if st.button("Delete it", type="primary", key=f"delete data {path}"):
            quotas.change("nothing can be deleted.")
            if path in uploaded:
                delete_upload(path)
            else:
                delete_slice(name)
            st.session_state.data = ""
            st.rerun()


def ask_rows(
    index: Index,
    predictions: RowPredictions | None,
    model: ModelFolder | None,
    issues: LabelIssues | None = None,
) -> RowSelection:
    """Asks for rows by words, pattern, class, split, length, prediction, and doubted labels.

    Without `issues`, as they were not computed yet, no label is doubted.

    Raises:
        DataError: The pattern is not a regular expression.
    """
    with st.container(horizontal=True, key="row filters"):  # as many in a line as fit
        query = _ask_query(index)
        prediction = _ask_prediction(predictions, index.multilabel)
    picked = _ask_picked(index)
    mask, name = None, ""
    doubted = prediction == LABEL_ISSUE
    if prediction in (RIGHT, WRONG) and predictions is not None and model is not None:
        right = is_right(predictions)
        mask = right if prediction == RIGHT else ~right
        name = f"{prediction} {model.path} {model.stamp}"
    rows = data.rows(index, query, name, mask)
    if doubted:  # the surest first
        ordered = np.zeros(0, np.int64) if issues is None else issues.rows
        rows = ordered[np.isin(ordered, rows)]
        if predictions is not None:  # those that this model contradicts, too, come first
            right = is_right(predictions)[rows]
            rows = np.concatenate([rows[~right], rows[right]])
    origin: dict[str, Any] = {"query": query.to_dict()}
    what = describe(query)
    if doubted:
        origin["judged"] = prediction
        what = f"{prediction}{', ' * bool(what)}{what}"
    elif mask is not None and model is not None:
        origin |= {"model": model.name, "judged": prediction}
        what = f"{prediction} with {model.name}{', ' * bool(what)}{what}"
    if not picked:
        return RowSelection(rows, rows, origin, what, doubted)
    what = f"picked on the map{', ' * bool(what)}{what}"
    origin["picked"] = len(picked)
    return RowSelection(rows[np.isin(rows, picked)], rows, origin, what, doubted)


def describe(query: Query) -> str:
    """The conditions of a query in words; empty if there are none."""
    parts = [f"class {', '.join(query.classes)}"] if query.classes else []
    parts += [f"with “{query.words}”"] if query.words else []
    parts += [f"matching {query.regex}"] if query.regex else []
    low, high = query.fewest_words, query.most_words
    if low is not None or high is not None:
        parts.append(f"{low or 0} to {high} words" if high is not None else f"{low} words or more")
    return ", ".join(parts)


def keep_open(numbers: NDArray[np.int64]) -> None:
    """Opens the first of the rows, unless one of them is open."""
    if st.session_state.get("open row") not in numbers:
        st.session_state["open row"] = int(numbers[0])


def ask_row(numbers: NDArray[np.int64], texts: Sequence[str]) -> int:
    """Asks for the row to open, as a selection in the table does."""
    keep_open(numbers)
    labels = {int(row): printable(text[:80]) for row, text in zip(numbers, texts, strict=True)}
    row: int = st.selectbox(
        "Open a row",
        list(labels),
        format_func=lambda row: f"{row}: {labels[row]}",
        key="open row",
        help="Or select it in the table.",
        persist_state="session",
    )
    return row


def selected(
    choice: Choice,
    index: Index,
    chosen: RowSelection,
    predictions: RowPredictions | None = None,
    issues: LabelIssues | None = None,
) -> TextSelection:
    """The rows, to be carried to another page, saved, or given other labels."""
    suggested: dict[str, Callable[[], Iterable[str]]] = {}
    if issues is not None and chosen.doubted:
        suggested["the suggested class"] = lambda: [
            index.classes[code] for code in issues.suggested[chosen.rows]
        ]
    if predictions is not None and index.multilabel == isinstance(
        predictions, MultilabelPredictions
    ):
        what = "the predicted classes" if index.multilabel else "the predicted class"
        suggested[what] = lambda: predicted_labels(predictions, chosen.rows)
    return TextSelection(
        choice.key,
        chosen.origin["query"].get("split", ""),
        chosen.what or "All rows",
        len(chosen.rows),
        lambda: index.labelled(chosen.rows),
        chosen.origin,
        classes=index.classes,
        suggested=suggested,
        typed=True,
    )


def _ask_query(index: Index) -> Query:
    longest = max(int(index.words.max(initial=1)), 1)
    words = st.text_input(
        "Words",
        key="rows words",
        persist_state="session",
        help="All of them, in any order, ignoring case.",
        width=_FIELD,
    )
    regex = st.text_input(
        "Pattern",
        key="rows regex",
        persist_state="session",
        help="A regular expression (RE2); (?i) ignores case.",
        width=_FIELD,
    )
    classes = st.multiselect(
        "Classes",
        index.classes,
        key="rows classes",
        persist_state="session",
        placeholder=f"all {len(index.classes):,}; type to search",
        width=_FIELD,
    )
    split = _ANY_SPLIT
    if len(index.splits) > 1:
        split = st.selectbox(
            "Split",
            [_ANY_SPLIT, *index.splits],
            key="rows split",
            persist_state="session",
            width=130,
        )
    if st.session_state.get("rows longest") != longest:  # other data: its lengths are other ones
        st.session_state["rows longest"] = longest
        st.session_state["rows length"] = (0, longest)
    low, high = st.slider(
        "Words per text",
        0,
        longest,
        key="rows length",
        persist_state="session",
        width=_FIELD,
    )
    return Query(
        words,
        regex,
        tuple(classes),
        "" if split == _ANY_SPLIT else split,
        low or None,
        high if high < longest else None,
    )


def _ask_prediction(predictions: RowPredictions | None, several: bool) -> str:
    """One of ALL, RIGHT and WRONG with predictions, and LABEL_ISSUE with one label per text."""
    judged = [] if predictions is None else [RIGHT, WRONG]
    kinds = [ALL, *judged, *([] if several else [LABEL_ISSUE])]
    if st.session_state.get("rows judged", ALL) not in kinds:
        st.session_state["rows judged"] = ALL
    if len(kinds) == 1:
        return ALL
    chosen = st.segmented_control(
        "By prediction",
        kinds,
        default=ALL,
        key="rows judged",
        help="A text is predicted right if all its labels are predicted, and no others. Label "
        "errors are looked for where a text has one label."
        if several
        else "Possible label errors: five linear models, each trained on four fifths of the rows, "
        "predict the rest. A label is doubted if a model that did not see it is as sure of another "
        "class as it is on average of rows with that label (Northcutt et al. 2021).",
        persist_state="session",
    )
    return str(chosen or ALL)


def _ask_picked(index: Index) -> tuple[int, ...]:
    """The rows that were picked on the map, if only these are wanted; else none."""
    state, key = st.session_state, "rows picked"
    folder, rows = state.get("picked", ("", ()))
    if not rows or folder != str(index.folder):
        return ()
    state[key] = state.pop("picked_anew", False) or state.get(key, True)
    only = st.toggle(f"Only the {len(rows):,} picked on the map", key=key, persist_state="session")
    return rows if only else ()
