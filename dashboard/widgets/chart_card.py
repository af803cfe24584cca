"""A chart with the table of its numbers, and downloads of both."""

import html
from collections.abc import Callable
from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

from icaps.reports.charts import INK, LABEL, image, shorten
from icaps.reports.files import to_csv

_DOWNLOAD = ":material/download:"

Draw = Callable[[str], alt.TopLevelMixin]  # the argument is the text colour


def ink() -> str:
    """The text colour of charts, for the theme of this visitor."""
    return INK.get(st.context.theme.type or "light", INK["light"])


def plotly_text(text: str, length: int = LABEL) -> str:
    """`text`, shortened, with HTML escaped, which Plotly's labels would interpret."""
    return html.escape(shorten(text, length), quote=False)


def show(draw: Draw, table: pd.DataFrame, name: str, about: str, **options: Any) -> None:
    """Draws a chart, or the table of its numbers if the visitor prefers, with downloads of both.

    Args:
        draw: Returns the chart for a text colour.
        table: The numbers of the chart.
        name: The stem of the file names, different for each chart of a page.
        about: What the chart shows, for screen readers.
        options: Further arguments of `st.altair_chart`.
    """
    if st.session_state.get(f"table {name}"):
        st.dataframe(table, width="stretch", hide_index=True)
    else:
        show_chart(draw(ink()), about, **options)
    show_controls(draw, table, name)


def show_chart(chart: alt.TopLevelMixin, about: str, **options: Any) -> None:
    """Draws a chart in the full width; see `show`.

    Streamlit's theme moves the first and the last label of an axis inwards. On an axis of names
    they would no longer be beside their rows.
    """
    chart = chart.configure_axisBand(labelFlush=False)
    st.altair_chart(chart, width="stretch", alt=about, **options)


def show_controls(draw: Draw, table: pd.DataFrame, name: str) -> None:
    """The row below a chart: a toggle for its table, and downloads; see `show`."""
    with st.container(horizontal=True, horizontal_alignment="right", vertical_alignment="center"):
        st.toggle("As a table", key=f"table {name}")
        with st.popover("Save", icon=_DOWNLOAD, type="tertiary"):
            for kind, mime in (("png", "image/png"), ("svg", "image/svg+xml")):
                st.download_button(
                    kind.upper(),
                    lambda kind=kind: image(draw(INK["light"]).properties(width=900), kind),
                    f"{name}.{kind}",
                    mime,
                    key=f"{name}.{kind}",
                    on_click="ignore",
                )
            st.download_button(
                "CSV",
                lambda: to_csv(table),
                f"{name}.csv",
                "text/csv",
                key=f"{name}.csv",
                on_click="ignore",
            )
