"""Shows rows of a data set: a table and the open row, or all with their words shaded."""

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from dashboard import error_boundary
from dashboard.cache import data, models
from dashboard.cache.data import DataKey
from dashboard.explore import inputs, row_card
from dashboard.explore.inputs import RowSelection
from dashboard.model_registry import ModelFolder
from dashboard.widgets import background_task, downloads, layout, pager, shaded_text
from icaps.data.label_sets import shown_label
from icaps.explore.index import Index
from icaps.explore.label_issues import LabelIssues
from icaps.explore.predicted_rows import RowPredictions, predicted_labels
from icaps.html import printable
from icaps.reports.files import to_csv
from icaps.results import Explanation

PAGE = 25  # rows per page
MOST_IN_FILE = 200_000  # rows
_BLOCK = 1_000  # rows of a file in memory at a time
_MAX_CHARACTERS = 400  # of a text in a table
_HEIGHT = 640  # pixels of the table
_SEVERAL = "rows selected"  # in the session


def load_predictions(
    index: Index, model: ModelFolder | None, arguments: Sequence[str]
) -> RowPredictions | None:
    """The predictions of a model for all rows; if there are none, a button computes them.

    Raises:
        DataError: The predictions are damaged.
    """
    if model is None:
        return None
    if index.multilabel and not models.load(model).multilabel_:
        st.caption(
            error_boundary.plain(
                f"{model.name} gives a text one label, and these texts have several: its "
                "predictions are neither right nor wrong. Choose a model of several labels."
            )
        )
        return None
    predictions = data.row_predictions_of(index, model)
    if predictions is None:
        background_task.show(
            [*arguments, "--judge", str(model.path)],
            f"Predict all rows with {model.name}",
            f"Rows can then be filtered by whether {model.name} predicts them right.",
            f"{model.name} has predicted all rows: see Datasets.",
        )
    return predictions


def show_rows(
    key: DataKey,
    index: Index,
    model: ModelFolder | None,
    predictions: RowPredictions | None,
    chosen: RowSelection,
    issues: LabelIssues | None = None,
) -> RowSelection:
    """A page of the rows, and beside it the one that is open.

    With `issues`, the table has the probability of each label and the class that is suggested.

    Returns:
        The rows that were selected in the table, if several can be selected, or else all.
    """
    picked = chosen
    master, detail = layout.master_detail("rows")
    with master:
        with st.container(horizontal=True, vertical_alignment="bottom"):
            numbers = chosen.rows[pager.ask_page(len(chosen.rows), PAGE, "rows page")]
            shaded = model is not None and st.toggle(
                "Shade the words of the explanations", key="rows shaded"
            )
            several = not shaded and st.toggle("Select several rows", key="rows several")
        texts = index.text(numbers)
        if model is not None and shaded:
            labels = [shown_label(label) for label in index.labels_of(numbers)]
            _show_shaded(model, texts, labels)
        elif several:
            inputs.keep_open(numbers)
            picked = _ask_several(index, numbers, texts, predictions, chosen, issues)
        else:
            inputs.keep_open(numbers)
            show_table(index, numbers, texts, predictions, "rows table", issues)
        _show_files(index, predictions, chosen.rows, issues)
    with detail:
        row = inputs.ask_row(numbers, texts)
        row_card.show_row(key, index, model, row, issues)
    return picked


def show_table(
    index: Index,
    numbers: NDArray[np.int64],
    texts: Sequence[str],
    predictions: RowPredictions | None,
    key: str,
    issues: LabelIssues | None = None,
    height: int = _HEIGHT,
) -> None:
    """A table of rows; the one that is selected in it is the open row."""
    open_row = st.session_state.get("open row")
    selected = np.flatnonzero(numbers == open_row).tolist() if open_row is not None else []
    st.session_state[key] = {"selection": {"rows": selected, "columns": [], "cells": []}}
    table = row_table(index, numbers, texts, predictions, issues=issues)
    st.dataframe(
        table,
        width="stretch",
        height=min(38 + 35 * len(table), height),
        hide_index=True,
        key=key,
        on_select=lambda: _open_selected(key, numbers),
        selection_mode="single-row",
        column_order=_columns(index, table),
        column_config=_column_config(),
    )


def _ask_several(
    index: Index,
    numbers: NDArray[np.int64],
    texts: Sequence[str],
    predictions: RowPredictions | None,
    chosen: RowSelection,
    issues: LabelIssues | None,
) -> RowSelection:
    """A table in which several rows can be selected; returns these, or all chosen ones if none is.

    The one that was selected last is the open row.
    """
    table = row_table(index, numbers, texts, predictions, issues=issues)
    key = f"rows several {hash(numbers.tobytes())}"
    event = st.dataframe(
        table,
        width="stretch",
        height=min(38 + 35 * len(table), _HEIGHT),
        hide_index=True,
        key=key,
        on_select="rerun",
        selection_mode="multi-row",
        column_order=_columns(index, table),
        column_config=_column_config(),
    )
    selected = numbers[sorted(event.selection.rows)]
    seen = st.session_state.get(_SEVERAL, ())
    new = [row for row in selected.tolist() if row not in seen]
    st.session_state[_SEVERAL] = tuple(selected.tolist())
    if new:
        st.session_state["open row"] = new[-1]
    if not len(selected):
        st.caption("Select rows in the table: what is offered below is then about these.")
        return chosen
    origin = {**chosen.origin, "selected": len(selected)}
    what = f"selected in the table{', ' * bool(chosen.what)}{chosen.what}"
    return RowSelection(selected, selected, origin, what, chosen.doubted)


def _column_config() -> dict[str, Any]:
    return {
        "row": st.column_config.NumberColumn(width=60),
        "text": st.column_config.TextColumn(width="large"),
        "probability": st.column_config.NumberColumn(format="percent"),
        "label probable": st.column_config.NumberColumn(format="percent"),
        "suggested probable": st.column_config.NumberColumn(format="percent"),
    }


def row_table(
    index: Index,
    rows: NDArray[np.int64],
    texts: Sequence[str],
    predictions: RowPredictions | None,
    whole: bool = False,
    issues: LabelIssues | None = None,
) -> pd.DataFrame:
    """A row per text: number, text, class, prediction if there is one, words, split and line.

    Args:
        index: The index of the data set.
        rows: Their numbers.
        texts: Their texts, which are cut unless `whole`.
        predictions: For all rows of the data set.
        whole: Whether texts are whole, and several labels are as they are read again.
        issues: For columns of the probability of each label and the suggested class.
    """
    labels = index.labels_of(rows)
    table = pd.DataFrame(
        {
            "row": rows,
            "text": [printable(text if whole else text[:_MAX_CHARACTERS]) for text in texts],
            "class": [label if whole else shown_label(label) for label in labels],
            "words": index.words[rows],
            "split": [index.facts.split_names[code] for code in index.split[rows]],
            "line": index.lines[rows],
        }
    )
    if predictions is not None:
        predicted = predicted_labels(predictions, rows)
        if not whole:
            predicted = [label and shown_label(label) for label in predicted]
        table.insert(3, "predicted", predicted)
        table.insert(4, "probability", np.round(predictions.confidence[rows], 3))
    if issues is not None:
        names = np.array(index.classes, dtype=object)[issues.suggested[rows]]
        table.insert(3, "label probable", np.round(issues.given[rows].astype(float), 3))
        table.insert(4, "suggested", names)
        table.insert(5, "suggested probable", np.round(issues.probability[rows].astype(float), 3))
    return table


def to_csv_file(
    index: Index,
    numbers: NDArray[np.int64],
    predictions: RowPredictions | None,
    issues: LabelIssues | None = None,
) -> bytes:
    """All rows with their whole texts as CSV; beside the file, some thousand are in memory."""
    file = io.BytesIO()
    for start in range(0, max(len(numbers), 1), _BLOCK):
        block = numbers[start : start + _BLOCK]
        table = row_table(index, block, index.text(block), predictions, True, issues)
        file.write(to_csv(table, header=not start))
    return file.getvalue()


def _show_files(
    index: Index,
    predictions: RowPredictions | None,
    numbers: NDArray[np.int64],
    issues: LabelIssues | None,
) -> None:
    count = len(numbers)
    label = f"CSV of all {count:,} rows"
    if count > MOST_IN_FILE:
        label = f"CSV of the first {MOST_IN_FILE:,} of {count:,} rows"
    downloads.show_csv(
        lambda: to_csv_file(index, numbers[:MOST_IN_FILE], predictions, issues), "rows", label
    )


def _open_selected(key: str, numbers: NDArray[np.int64]) -> None:
    """Opens the row that was selected in a table."""
    for number in st.session_state[key]["selection"]["rows"]:
        st.session_state["open row"] = int(numbers[number])


def _columns(index: Index, table: pd.DataFrame) -> list[str]:
    """The columns that are shown: what is long comes last, and what is the same in all not."""
    last = ["text", "words", *(["split"] if len(index.splits) > 1 else []), "line"]
    return [name for name in table.columns if name not in (*last, "split")] + last


def _show_shaded(model: ModelFolder, texts: Sequence[str], labels: Sequence[str]) -> None:
    def describe(n: int, explanation: Explanation) -> str:
        predicted = shown_label(row_card.predicted_label(explanation))
        prediction = "" if explanation.blank else f", predicted {predicted}"
        return f"Class {labels[n]}{prediction}"

    shaded_text.show_cards(model, texts, describe, link=False)
