"""Shows the explanations of many texts."""

from collections.abc import Iterable, Iterator

import pandas as pd
import streamlit as st

from dashboard.widgets import downloads
from icaps.interpret.local import Reasons


def with_progress(parts: Iterable[Reasons], total: int) -> Iterator[Reasons]:
    """Yields the same parts, with a progress bar."""
    bar = st.progress(0.0)
    done = 0
    for part in parts:
        done += len(part.texts)
        bar.progress(done / total, f"{done:,} of {total:,}")
        yield part
    bar.empty()


def show_table(table: pd.DataFrame) -> None:
    """The table of predictions and K-grams, with its download."""
    st.dataframe(table, width="stretch", hide_index=True)
    downloads.show_csv(table, "explanations")
