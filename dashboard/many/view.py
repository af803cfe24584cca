"""Shows the explanations of many texts."""

from collections.abc import Iterable, Iterator

import streamlit as st

from dashboard.many.table import MOST_WORDS, Explained
from dashboard.widgets import downloads
from icaps.interpret.local import Reasons

_FIRST = ("text", "predicted", "probability", "words", "covered", "K-grams", "K-gram shares")


def with_progress(parts: Iterable[Reasons], total: int) -> Iterator[Reasons]:
    """Yields the same parts, with a progress bar."""
    bar = st.progress(0.0)
    done = 0
    for part in parts:
        done += len(part.texts)
        bar.progress(done / total, f"{done:,} of {total:,}")
        yield part
    bar.empty()


def show_table(explained: Explained) -> None:
    """The table of predictions, K-grams and words, with its downloads."""
    columns = explained.table.columns
    first = [name for name in _FIRST if name in columns]  # there may be many norms
    st.dataframe(
        explained.table,
        width="stretch",
        hide_index=True,
        column_order=[*first, *(name for name in columns if name not in first)],
        column_config={"covered": st.column_config.NumberColumn(format="percent")},
    )
    st.caption(
        f"The share of a word is what it adds to the norm of the class, or takes away: “words” has "
        f"the {MOST_WORDS} largest, and the JSON all of them. The norm is the bias and all shares "
        "together; “covered” is the part of it that the words of the K-grams carry."
    )
    with st.container(horizontal=True):
        downloads.show_csv(explained.table, "explanations")
        downloads.show_file(explained.to_json, "explanations.json", "JSON")
