"""Shows the explanations of many texts."""

from collections.abc import Iterable, Iterator
from functools import partial

import pandas as pd
import streamlit as st

from dashboard import selection
from dashboard.cache import explanations
from dashboard.cache.data import DataKey
from dashboard.many import charts
from dashboard.many.inputs import Texts, ask_class
from dashboard.many.table import MOST_WORDS, Explained
from dashboard.model_registry import ModelFolder
from dashboard.selection import TextSelection
from dashboard.widgets import chart_card, downloads, shaded_text
from icaps.config import ExplainOptions
from icaps.data.label_sets import shown_label
from icaps.html import escape
from icaps.interpret.local import Reasons
from icaps.reports.files import ModelName
from icaps.results import Explanation

_FIRST = ("text", "predicted", "probability", "probabilities", "words", "words by class")
_FIRST += ("covered", "K-grams", "K-gram shares")
_WIDE = ("text", "words", "words by class", "K-grams", "K-gram shares")


def with_progress(parts: Iterable[Reasons], total: int) -> Iterator[Reasons]:
    """Yields the same parts, with a progress bar."""
    bar = st.progress(0.0)
    done = 0
    for part in parts:
        done += len(part.texts)
        bar.progress(done / total, f"{done:,} of {total:,}")
        yield part
    bar.empty()


def show_classes(explained: Explained) -> None:
    """How many texts each class is predicted for."""
    counted = charts.class_table(explained.table["predicted"])
    if len(counted):
        chart_card.show(
            partial(charts.class_bars, counted),
            counted,
            "predicted-classes",
            "The number of texts per predicted class.",
        )
        if explained.multilabel:
            st.caption("A text with several predicted classes counts for each of them.")


def show_table(
    explained: Explained, texts: Texts, model: ModelFolder, name: ModelName
) -> int | None:
    """The table of predictions, K-grams and words, with its downloads.

    Returns:
        The number of the chosen text; None if none is chosen.
    """
    predicted = ask_class(explained.table["predicted"])
    table = pd.concat([explained.table, texts.frame.add_suffix(" (file)")], axis=1)
    if predicted:
        names = charts.names_of(table["predicted"])
        table = table.loc[names.index[names == predicted]]
    columns = table.columns
    shown = table
    if explained.multilabel:
        labels = table["predicted"]
        shown = table.assign(predicted=labels.map(lambda label: label and shown_label(label)))
    first = [column for column in _FIRST if column in columns]
    others = [
        f"{column} (file)" for column in texts.columns
    ]  # before the norms, of which may be many
    rest = [column for column in columns if column not in (*first, *others)]
    st.caption("Choose a row to see its text with the words shaded.")
    event = st.dataframe(
        shown,
        width="stretch",
        hide_index=True,
        column_order=[*first[:3], *others, *first[3:], *rest],
        column_config={
            **{column: st.column_config.TextColumn(width="large") for column in _WIDE},
            **{f"{column} (file)": st.column_config.TextColumn(column) for column in texts.columns},
            "covered": st.column_config.NumberColumn(format="percent"),
            "probability": st.column_config.NumberColumn(format="percent"),
        },
        on_select="rerun",
        selection_mode="single-row",
        key=f"many table {predicted}",
    )
    st.caption(
        f"The share of a word is what it adds to the norm of the class, or takes away: “words” has "
        f"the {MOST_WORDS} largest, and the JSON all of them. The norm is the bias and all shares "
        "together; “covered” is the part of it that the words of the K-grams carry. The files have "
        "the other columns of your texts, the model's name and the hash of its weights."
    )
    facts = {"model": name.name, "weights": name.weights}
    with st.container(horizontal=True):
        downloads.show_csv(partial(explained.to_file, facts, texts.frame), "explanations")
        downloads.show_file(
            partial(explained.to_json, facts, texts.frame), "explanations.json", "JSON"
        )
    selection.show_actions(_selection(table, texts.data, predicted, model), "many", "many")
    chosen = [row for row in event.selection.rows if row < len(table)]
    return int(table.index[chosen[0]]) if chosen else None


def show_text(model: ModelFolder, text: str, options: ExplainOptions) -> None:
    """One text with its words shaded, and a link to its explanation."""
    explanation = explanations.explain(model, text, options)
    st.html(
        f'<p class="side-title">{escape(_title(explanation))}</p>'
        f"{shaded_text.kgram_card(explanation)}"
    )
    for name in explanation.other_classes:
        st.html(f'<p class="chart-title">What the words add for {escape(name)}</p>')
        st.html(shaded_text.account_card(explanation, of=name, bars=False))
    shaded_text.link_to_explain(model, text)


def _title(explanation: Explanation) -> str:
    """What is predicted."""
    if not explanation.multilabel:
        return explanation.predicted
    return ", ".join(explanation.given_classes) or "No class"


def _selection(
    table: pd.DataFrame, data: DataKey | None, predicted: str, model: ModelFolder
) -> TextSelection:
    """The texts of the table with their predicted classes."""
    found = table[table["predicted"] != ""]
    what = f"predicted as {predicted}" if predicted else "with the predicted classes"
    return TextSelection(
        data or DataKey("typed texts", (), ""),
        "",
        f"{what} by {model.name}",
        len(found),
        lambda: zip(found["text"], found["predicted"], strict=True),
        {"predicted by": model.name},
    )
