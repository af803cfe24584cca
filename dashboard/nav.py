"""The pages and their order."""

from pathlib import Path

import streamlit as st
from streamlit.navigation.page import StreamlitPage


def build(root: Path) -> StreamlitPage:
    """The navigation; returns the page that the visitor chose."""
    folder = root / "pages"
    return st.navigation(
        [
            st.Page(
                folder / "explain.py",
                title="Explain",
                icon=":material/format_ink_highlighter:",
                url_path="explain",
                default=True,
            ),
            st.Page(
                folder / "many.py",
                title="Many texts",
                icon=":material/table_rows:",
                url_path="many",
            ),
        ]
    )
