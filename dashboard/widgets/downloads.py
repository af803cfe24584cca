"""Buttons that download tables and reports."""

from collections.abc import Callable
from functools import partial

import pandas as pd
import streamlit as st

from icaps.reports.files import FILE_FORMATS, to_csv

ICON = ":material/download:"
_LABELS = {"html": "HTML", "markdown": "Markdown", "json": "JSON", "csv": "CSV"}


def show_csv(
    table: pd.DataFrame | Callable[[], pd.DataFrame | bytes],
    stem: str,
    label: str = "CSV",
    disabled: bool = False,
) -> None:
    """A button for a table as CSV. A function may return the file itself.

    Either is written when the button is pressed.
    """

    def write() -> bytes:
        content = table() if callable(table) else table
        return content if isinstance(content, bytes) else to_csv(content)

    show_file(write, f"{stem}.csv", label, disabled)


def show_file(
    write: Callable[[], bytes | str], name: str, label: str, disabled: bool = False
) -> None:
    """A button for a CSV or JSON file; its name is different for each file of a page.

    The file is written when the button is pressed. One that is written before has an address, which
    the page asks for when it draws the button; if the next run has begun by then and has another
    file, the server answers 404, and the browser's console has an error.
    """
    st.download_button(
        label,
        write,
        name,
        "text/csv" if name.endswith(".csv") else "application/json",
        icon=ICON,
        on_click="ignore",
        disabled=disabled,
        key=f"download {name}",
    )


def show_report(to_bytes: Callable[[str], bytes], stem: str, disabled: bool = False) -> None:
    """A button for each kind of file of a report, which is written when its button is pressed.

    Args:
        to_bytes: Returns the file of a format, one of `files.FILE_FORMATS`.
        stem: The stem of the file names, different for each report of a page.
        disabled: Whether there is nothing to report.
    """
    for kind, (suffix, mime) in FILE_FORMATS.items():
        st.download_button(
            _LABELS[kind],
            partial(to_bytes, kind),
            f"{stem}.{suffix}",
            mime,
            key=f"{stem} {kind}",
            icon=ICON,
            on_click="ignore",
            disabled=disabled,
        )
