"""Asks for many texts, and when to explain them."""

import streamlit as st

from dashboard import quotas, settings
from dashboard.many import table
from dashboard.widgets import live_text


def ask_texts() -> tuple[str, ...]:
    """Asks for texts: an uploaded file, or else the lines of the box.

    Raises:
        DataError: The file can't be read, or there are too many texts.
    """
    lines = st.text_area(
        "Texts, one per line",
        key="lines",
        height=160,
        max_chars=1_000_000,
        persist_state="session",
    )
    live_text.apply_while_typing("Texts, one per line")
    file = st.file_uploader(
        f"or a file of up to {settings.current().table_rows:,} texts: one per line, or a CSV with "
        f"a column named {table.TEXT_COLUMN}",
        type=["txt", "csv"],
        key="file",
        max_upload_size=quotas.upload_mb(),
    )
    if file is None:
        return table.from_lines(lines)
    return table.from_file(file.name, file.getvalue())


def ask_start(texts: tuple[str, ...]) -> bool:
    """The button that starts; whether it was pressed."""
    count = f"{len(texts):,} text{'' if len(texts) == 1 else 's'}"
    return st.button(f"Explain {count}", type="primary", disabled=not texts)
