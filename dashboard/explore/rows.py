"""Shows rows of a data set, as a table or with the shaded words of a model's explanations."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from dashboard.cache import data
from dashboard.explore import inputs
from dashboard.explore.inputs import RowSelection
from dashboard.model_registry import ModelFolder
from dashboard.widgets import background_task, downloads, pager, shaded_text
from icaps.evaluate.predictions import Predictions
from icaps.explore.index import Index
from icaps.html import printable
from icaps.results import Explanation

PAGE = 25  # rows per page
_MAX_CHARACTERS = 400  # of a text in a table


def load_predictions(
    index: Index, model: ModelFolder | None, arguments: Sequence[str]
) -> Predictions | None:
    """The predictions of a model for all rows; if there are none, a button computes them.

    Raises:
        DataError: The predictions are damaged.
    """
    if model is None:
        return None
    predictions = data.row_predictions_of(index, model)
    if predictions is None:
        background_task.show(
            [*arguments, "--judge", str(model.path)],
            f"Predict all rows with {model.name}",
            f"Rows can then be filtered by whether {model.name} predicts them right, and possible "
            "label errors are listed first.",
        )
    return predictions


def show_rows(
    index: Index,
    model: ModelFolder | None,
    predictions: Predictions | None,
    selection: RowSelection,
) -> None:
    """A page of the rows, and one of them opened."""
    rows = selection.rows[pager.ask_page(len(selection.rows), PAGE, "rows page")]
    texts = index.text(rows)
    labels = [index.classes[code] for code in index.labels[rows]]
    if model is not None and st.toggle("Shade the words of the explanations", key="rows shaded"):
        _show_shaded(model, texts, labels)
    else:
        _show_table(row_table(index, rows, texts, predictions), len(selection.rows))
    row = inputs.ask_row(rows, texts)
    if row is not None and model is not None:
        n = int(np.flatnonzero(rows == row)[0])
        _show_shaded(model, [texts[n]], [labels[n]])
        shaded_text.link_to_explain(model, texts[n])


def row_table(
    index: Index, rows: NDArray[np.int64], texts: Sequence[str], predictions: Predictions | None
) -> pd.DataFrame:
    """A row per text: number, text, class, prediction if there is one, words, split and line."""
    table = pd.DataFrame(
        {
            "row": rows,
            "text": [printable(text[:_MAX_CHARACTERS]) for text in texts],
            "class": [index.classes[code] for code in index.labels[rows]],
            "words": index.words[rows],
            "split": [index.splits[code] for code in index.split[rows]],
            "line": index.lines[rows],
        }
    )
    if predictions is not None:
        names = np.array(predictions.classes, dtype=object)[predictions.predicted[rows]]
        table.insert(3, "predicted", np.where(predictions.blank[rows], "", names))
        table.insert(4, "probability", np.round(predictions.confidence[rows], 3))
    return table


def _show_table(table: pd.DataFrame, count: int) -> None:
    st.dataframe(
        table,
        width="stretch",
        hide_index=True,
        column_config={"text": st.column_config.TextColumn(width="large")},
    )
    downloads.show_csv(table, "rows", f"CSV of these {len(table)} of {count:,}")


def _show_shaded(model: ModelFolder, texts: Sequence[str], labels: Sequence[str]) -> None:
    def describe(n: int, explanation: Explanation) -> str:
        prediction = "" if explanation.blank else f", predicted {explanation.predicted}"
        return f"Class {labels[n]}{prediction}"

    shaded_text.show_cards(model, texts, describe, link=False)
